"""CONFIDENTIAL. How the rows fit the domain, in exact numbers, for the curator. No release calls this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import polars as pl

from dpnb_columnar.counting.engines.polars import scan
from dpnb_columnar.domain import Attribute, Categorical, Domain, Numeric
from dpnb_columnar.rows.column_kinds import Kind
from dpnb_columnar.rows.parquet import ParquetSource
from dpnb_columnar.rows.row_rules import (
    category_code,
    category_fits,
    category_key,
    class_code,
    column,
    grid_code,
    label_missing,
    number,
)
from dpnb_columnar.runtime.confinement import confined

# MERGED FROM dpnb_columnar/counting/diagnostics.py: CONFIDENTIAL. Which values stand where the domain declares none
# of them.

MOST_SHOWN = 20
MOST_KEPT = 10_000
"""Values of a column that are counted at a time: a column of free text has no end of them."""

PART_ROWS = 2**17


@dataclass(frozen=True, slots=True)
class UndeclaredValues:
    """The most frequent undeclared values of one column. Confidential.

    Attributes:
        column: The column.
        values: At most ``MOST_SHOWN`` values as text, and the number of rows of each, most frequent first.
        more: Whether there are others.
        exact: Whether the numbers are exact; otherwise, with very many values, they are at least these.
    """

    column: str
    values: tuple[tuple[str, int], ...]
    more: bool
    exact: bool


def count_undeclared(source: ParquetSource, wanted: Sequence[Categorical]) -> tuple[UndeclaredValues, ...]:
    """Undeclared values of some categorical attributes, or of a label that is a column (``Label.categories``).

    Rows are read in parts, and of each column a bounded number of values is kept between them.
    """
    return tuple(_most_frequent(attribute, source) for attribute in wanted)


def _most_frequent(attribute: Categorical, source: ParquetSource) -> UndeclaredValues:
    counts, exact = pl.DataFrame(schema={"value": pl.String, "rows": pl.Int64}), True

    def add(part: pl.DataFrame) -> None:
        nonlocal counts, exact
        both = pl.concat([counts, part.group_by("value").agg(pl.len().cast(pl.Int64).alias("rows"))])
        both = both.group_by("value").agg(pl.col("rows").sum())
        exact &= len(both) <= MOST_KEPT
        counts = both.sort(["rows", "value"], descending=[True, False]).head(MOST_KEPT)

    # Not collect_batches: it ends as if all were well where a thread of the query panics, and rows would be missing.
    _undeclared(attribute, source).sink_batches(add, chunk_size=PART_ROWS, engine="streaming")
    return UndeclaredValues(attribute.name, tuple(counts.head(MOST_SHOWN).iter_rows()), len(counts) > MOST_SHOWN, exact)


def _undeclared(attribute: Categorical, source: ParquetSource) -> pl.LazyFrame:
    kind = source.kinds[attribute.name]
    undeclared = category_key(attribute, kind).is_not_null() & category_code(attribute, kind).is_null()
    return scan(source).filter(undeclared).select(column(attribute.name).cast(pl.String).alias("value"))


LABEL = "(label)"
"""Name of the label among the columns of a diagnosis; parentheses, since a column may be called label."""


@dataclass(frozen=True, slots=True)
class ColumnDiagnosis:
    """How one attribute's values, or the label's, fit. Numbers of rows.

    Attributes:
        name: The attribute, or ``LABEL``.
        missing: Rows without a value.
        outside: Rows with a value that is no declared category or class.
        dropped: Rows that training drops because of this column, and perhaps because of others as well.
        only: Rows that it drops because of this column alone.
        below, above: Rows whose value counts as the lower or the upper bound, being beyond it.
        constant: Whether all rows that fit, at least one, hold the same.
    """

    name: str
    missing: int
    outside: int
    dropped: int
    only: int
    below: int = 0
    above: int = 0
    constant: bool = False


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What ``check`` reports. Confidential.

    Attributes:
        rows, fitting: All rows, and those that training would count.
        row_groups: Rows of every row group of the Parquet files, in order.
        columns: The label first, then every attribute.
        class_rows: Fitting rows per class.
        undeclared: For each column with values outside the domain, which they are.
    """

    rows: int
    fitting: int
    row_groups: tuple[int, ...]
    columns: tuple[ColumnDiagnosis, ...]
    class_rows: tuple[int, ...]
    undeclared: tuple[UndeclaredValues, ...]


@confined()
def diagnose(source: ParquetSource, domain: Domain) -> Diagnosis:
    """Compare every row with the domain; the rows are streamed.

    Raises:
        DataError: A file is damaged.
    """
    names = [LABEL, *(attribute.name for attribute in domain.attributes)]
    try:
        looked_at = scan(source).select(**_looks(domain, source.kinds))
        found = looked_at.select(**_sums(domain)).collect(engine="streaming").row(0, named=True)
        columns = tuple(_column(name, place, found) for place, name in enumerate(names))
        outside = [place for place, column in enumerate(columns) if column.outside]
        undeclared = count_undeclared(source, [_categories(domain, place) for place in outside])
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        # The engine's own text may quote values.
        raise source.unreadable() from None
    return Diagnosis(
        rows=found["rows"],
        fitting=found["fitting"],
        row_groups=_row_groups(source),
        columns=columns,
        class_rows=tuple(found[f"class {code}"] for code in range(len(domain.classes))),
        undeclared=undeclared,
    )


def _looks(domain: Domain, kinds: Mapping[str, Kind]) -> dict[str, pl.Expr]:
    """Per row and column, the label being column 0: its code, and whether it is missing, fits and is clamped."""
    label = class_code(domain, kinds)
    found = {"code 0": label, "missing 0": label_missing(domain, kinds), "fits 0": label.is_not_null()}
    for place, attribute in enumerate(domain.attributes, start=1):
        looks = _look(attribute, kinds[attribute.name])
        found |= {f"{name} {place}": expression for name, expression in looks.items()}
    # Summed here, not where it is used, so that it is done once.
    unfit = [(~found[f"fits {place}"]).cast(pl.UInt32) for place in range(len(domain.attributes) + 1)]
    return {**found, "unfit": reduce(add, unfit)}


def _look(attribute: Attribute, kind: Kind) -> dict[str, pl.Expr]:
    if isinstance(attribute, Categorical):
        return {
            "code": category_code(attribute, kind),
            "missing": category_key(attribute, kind).is_null(),
            "fits": category_fits(attribute, kind),
        }
    value = number(attribute.name, kind, attribute.missing_values)
    return {
        "code": grid_code(attribute, kind),
        "missing": value.is_null(),
        "fits": value.is_not_null(),
        "below": (value < float(attribute.lower)).fill_null(False),
        "above": (value > float(attribute.upper)).fill_null(False),
    }


def _sums(domain: Domain) -> dict[str, pl.Expr]:
    """What the diagnosis is made of, over all rows."""
    fitting = pl.col("unfit") == 0
    found: dict[str, pl.Expr] = {"rows": pl.len(), "fitting": fitting.sum()}
    for code in range(len(domain.classes)):
        found[f"class {code}"] = (fitting & (pl.col("code 0") == code)).sum()
    for place in range(len(domain.attributes) + 1):
        fits, held = pl.col(f"fits {place}"), pl.when(fitting).then(pl.col(f"code {place}"))
        found |= {
            f"missing {place}": pl.col(f"missing {place}").sum(),
            f"outside {place}": (~fits & ~pl.col(f"missing {place}")).sum(),
            f"dropped {place}": (~fits).sum(),
            f"only {place}": (~fits & (pl.col("unfit") == 1)).sum(),
            f"constant {place}": (held.min() == held.max()).fill_null(False),
        }
    for place, attribute in enumerate(domain.attributes, start=1):
        if isinstance(attribute, Numeric):
            found |= {f"{side} {place}": pl.col(f"{side} {place}").sum() for side in ("below", "above")}
    return found


def _column(name: str, place: int, found: Mapping[str, Any]) -> ColumnDiagnosis:
    counts = {
        key: found.get(f"{key} {place}", 0) for key in ("missing", "outside", "dropped", "only", "below", "above")
    }
    return ColumnDiagnosis(name, **counts, constant=found[f"constant {place}"])


def _categories(domain: Domain, place: int) -> Categorical:
    """The attribute, or the label, that a column is."""
    attribute = domain.attributes[place - 1] if place else domain.label.categories
    assert isinstance(attribute, Categorical)
    return attribute


def _row_groups(source: ParquetSource) -> tuple[int, ...]:
    import pyarrow.parquet as pq

    footers = [pq.read_metadata(file) for file in source.files]
    return tuple(footer.row_group(index).num_rows for footer in footers for index in range(footer.num_row_groups))
