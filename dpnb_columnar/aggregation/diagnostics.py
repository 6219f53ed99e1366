"""CONFIDENTIAL. How the rows fit the domain, in exact numbers, for the curator. No release calls this."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from dpnb_columnar.aggregation.polars_engine import scan
from dpnb_columnar.domain import Categorical, Domain, Missing, Numeric
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.expressions import category_code, category_key, class_code, fits, label_missing, number
from dpnb_columnar.rows.source import Source

SMALL_ROW_GROUP = 10_000
LARGE_ROW_GROUP = 10_000_000
LABEL = "(label)"


@dataclass(frozen=True, slots=True)
class ColumnDiagnosis:
    """How one attribute's values, or the label's, fit. Numbers of rows."""

    name: str
    missing: int
    outside: int
    below: int = 0
    above: int = 0


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What ``check`` reports. Confidential.

    Attributes:
        rows, fitting: All rows, and those that training would count.
        row_groups, largest_row_group: Layout of the Parquet files.
        columns: The label first, then every attribute.
        class_rows: Fitting rows per class.
        advice: Remarks on layout and bounds.
        faults: What has to be put right before a release, each with its remedy.
    """

    rows: int
    fitting: int
    row_groups: int
    largest_row_group: int
    columns: tuple[ColumnDiagnosis, ...]
    class_rows: tuple[int, ...]
    advice: tuple[str, ...]
    faults: tuple[str, ...]


def diagnose(source: Source, domain: Domain) -> Diagnosis:
    """Compare every row with the domain.

    Raises:
        DataError: A file is damaged.
    """
    expressions = {"rows": pl.len(), "fitting": fits(domain, source.kinds).sum()}
    label = class_code(domain, source.kinds)
    absent = label_missing(domain, source.kinds)
    expressions |= {"label missing": absent.sum(), "label outside": (label.is_null() & ~absent).sum()}
    for code in range(len(domain.classes)):
        expressions[f"class {code}"] = (fits(domain, source.kinds) & (label == code)).sum()
    for index, attribute in enumerate(domain.attributes):
        for name, expression in _attribute(attribute, source).items():
            expressions[f"{name} {index}"] = expression.sum()
    try:
        found = scan(source).select(**expressions).collect(engine="streaming").row(0, named=True)
    except (pl.exceptions.PolarsError, OSError):
        raise DataError(f"{source.files[0]}: cannot be read to the end (damaged or cut short); copy it again") from None
    columns = [ColumnDiagnosis(LABEL, found["label missing"], found["label outside"])]
    for index, attribute in enumerate(domain.attributes):
        counts = (found.get(f"{name} {index}", 0) for name in ("missing", "outside", "below", "above"))
        columns.append(ColumnDiagnosis(attribute.name, *counts))
    class_rows = tuple(found[f"class {code}"] for code in range(len(domain.classes)))
    groups = _row_groups(source)
    return Diagnosis(
        rows=found["rows"],
        fitting=found["fitting"],
        row_groups=len(groups),
        largest_row_group=max(groups, default=0),
        columns=tuple(columns),
        class_rows=class_rows,
        advice=tuple(_advice(columns, groups)),
        faults=tuple(_faults(found["rows"], found["fitting"], columns, class_rows, domain)),
    )


def _attribute(attribute: Numeric | Categorical, source: Source) -> dict[str, pl.Expr]:
    kind = source.kinds[attribute.name]
    if isinstance(attribute, Categorical):
        missing = category_key(attribute, kind).is_null()
        return {"missing": missing, "outside": category_code(attribute, kind).is_null() & ~missing}
    value = number(attribute.name, kind, attribute.missing_values)
    return {
        "missing": value.is_null(),
        "below": (value < float(attribute.lower)).fill_null(False),
        "above": (value > float(attribute.upper)).fill_null(False),
    }


def _row_groups(source: Source) -> list[int]:
    import pyarrow.parquet as pq

    sizes = []
    for file in source.files:
        metadata = pq.read_metadata(file)
        sizes += [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)]
    return sizes


def _advice(columns: list[ColumnDiagnosis], groups: list[int]) -> list[str]:
    found = []
    if len(groups) > 1 and sum(groups) / len(groups) < SMALL_ROW_GROUP:
        found.append(f"row groups average fewer than {SMALL_ROW_GROUP} rows; larger ones are read faster")
    if max(groups, default=0) > LARGE_ROW_GROUP:
        found.append(f"a row group has more than {LARGE_ROW_GROUP} rows; smaller ones need less memory")
    for column in columns:
        if column.below or column.above:
            found.append(f"{column.name}: values beyond the declared bounds count as the nearest bound")
        if column.outside and column.name != LABEL:
            found.append(f"{column.name}: rows with undeclared categories are dropped; see its values in the domain")
    return found


def _faults(
    rows: int, fitting: int, columns: list[ColumnDiagnosis], class_rows: tuple[int, ...], domain: Domain
) -> list[str]:
    found = []
    label = ", ".join(domain.label.columns)
    for column in columns:
        kept = column.name != LABEL and _keeps_missing(domain, column.name)
        if rows and column.missing == rows and not kept:
            name = f"label column {label}" if column.name == LABEL else f"column {column.name!r}"
            found.append(f"{name} has no value in any row: fill it, or take it out of the domain")
    if columns[0].outside:
        found.append(
            f"label column {label} holds values that are not declared classes: add them to classes, or correct them"
        )
    if not fitting:
        found.append("no row fits the domain: training would release noise alone")
    else:
        empty = [name for name, count in zip(domain.classes, class_rows, strict=True) if not count]
        if empty:
            found.append(f"no row in class {', '.join(empty)}: take it out of the domain if it cannot occur")
    return found


def _keeps_missing(domain: Domain, name: str) -> bool:
    attribute = domain[name]
    return isinstance(attribute, Categorical) and attribute.missing is Missing.CATEGORY
