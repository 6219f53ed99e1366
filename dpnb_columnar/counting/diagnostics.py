"""Diagnose how the rows fit the domain, in exact numbers, and which values it does not declare. CONFIDENTIAL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import polars as pl

from dpnb_columnar.domain import Attribute, Categorical, Domain, Missing, Numeric
from dpnb_columnar.domain.column_kinds import Kind, kinds_of
from dpnb_columnar.rows.input_files import arrow_file
from dpnb_columnar.rows.parquet import ParquetSource
from dpnb_columnar.rows.row_rules import (
    attribute_fits,
    category_code,
    category_key,
    class_code,
    column,
    grid_code,
    has_weight,
    label_missing,
    number,
    weight_steps,
)
from dpnb_columnar.rows.streaming import Source, stream
from dpnb_columnar.runtime.confinement import confined

MOST_SHOWN = 20  # undeclared values of a column that a diagnosis lists
LONGEST_SHOWN = 1000  # characters of an undeclared value that a diagnosis holds: a text may be as large as the file
MOST_VALUES = 10_000
"""Undeclared values of a column that are counted at a time: a column of free text may have as many as rows."""

PART_ROWS = 2**17  # rows whose undeclared values are counted at a time


@dataclass(frozen=True, slots=True)
class UndeclaredValues:
    """The most frequent undeclared values of one column. Confidential."""

    column: str
    values: tuple[tuple[str, int], ...]  # cut to ``LONGEST_SHOWN`` characters, with their rows, most frequent first
    more: bool
    exact: bool  # of very many values the numbers of rows are lower bounds


def undeclared_values(attribute: Categorical, kind: Kind, rows: pl.LazyFrame) -> UndeclaredValues:
    """Count the undeclared values of an attribute or a label; between parts at most ``MOST_VALUES`` are held."""
    counts, exact = pl.DataFrame(schema={"value": pl.String, "rows": pl.Int64}), True

    def count(part: pl.DataFrame) -> None:
        nonlocal counts, exact
        both = pl.concat([counts, part.group_by("value").agg(pl.len().cast(pl.Int64).alias("rows"))])
        both = both.group_by("value").agg(pl.col("rows").sum())
        exact &= len(both) <= MOST_VALUES
        counts = both.sort(["rows", "value"], descending=[True, False]).head(MOST_VALUES)

    undeclared = rows.filter(category_key(attribute, kind).is_not_null() & ~attribute_fits(attribute, kind))
    values = undeclared.select(column(attribute.name).cast(pl.String).str.slice(0, LONGEST_SHOWN).alias("value"))
    # Not collect_batches: it ends as if all were well where a thread of the query panics, and rows would be missing.
    values.sink_batches(count, chunk_size=PART_ROWS, engine="streaming")
    return UndeclaredValues(attribute.name, tuple(counts.head(MOST_SHOWN).iter_rows()), len(counts) > MOST_SHOWN, exact)


MOST_ROWS = 2**22
"""Rows that are compared by 64-bit hashes in memory, some 200 MiB; of more rows, a fixed share of all hashes is."""

WEIGHTS = ("lacking", "above", "nothing")  # fields of ``WeightDiagnosis``, in order
LABEL = "(label)"
"""Name of the label among the columns of a diagnosis; in parentheses, since a column may be called label."""


@dataclass(frozen=True, slots=True)
class ColumnDiagnosis:
    """How one attribute's values, or the label's, fit the domain, in numbers of rows. Confidential."""

    name: str  # the attribute, or ``LABEL``
    missing: int
    outside: int  # with a value that is no declared category or class
    lacking: int  # that training counts, but for this attribute
    dropped: int  # because of this column, and perhaps because of others as well
    only: int  # because of this column alone
    below: int = 0  # the lower bound, as which they count
    above: int = 0
    constant: bool = False  # whether rows that training counts have a code, and all the same


@dataclass(frozen=True, slots=True)
class WeightDiagnosis:
    """How the weights of all rows fit the domain, in numbers of rows. Confidential."""

    lacking: int  # missing, negative, infinite or no number
    above: int  # the cap, as which they count
    nothing: int  # weigh nothing, by what counts


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """How the rows fit the domain, as ``check`` reports it. Confidential."""

    rows: int
    fitting: int  # that training would count
    complete: int  # of those, with a value of every attribute
    row_groups: tuple[int, ...]  # rows of each in the Parquet files, in order; none of other rows
    columns: tuple[ColumnDiagnosis, ...]  # the label first
    class_rows: tuple[int, ...]  # fitting rows per class
    undeclared: tuple[UndeclaredValues, ...]
    weight: WeightDiagnosis | None = None


@dataclass(frozen=True, slots=True)
class Repeats:
    """How many rows repeat others. Confidential."""

    rows: int  # rows less different rows
    exact: bool  # of more than ``MOST_ROWS`` rows the number is an estimate


@confined()
def diagnose(source: Source, domain: Domain) -> Diagnosis:
    """Compare every row with the domain; the rows are streamed."""
    groups, kinds = _row_groups(source), kinds_of(source.types)
    described, sums = _per_row(domain, kinds), _totals(domain)

    def counted(rows: pl.LazyFrame) -> dict[str, Any]:
        return rows.select(**described).select(**sums).collect(engine="streaming").row(0, named=True)

    def undeclared_in(rows: pl.LazyFrame) -> tuple[UndeclaredValues, ...]:
        return tuple(undeclared_values(each, kinds[each.name], rows) for each in outside)

    totals = stream(source, counted)
    names = [LABEL, *(attribute.name for attribute in domain.attributes)]
    columns = tuple(_column(name, place, totals) for place, name in enumerate(names))
    outside = [_categories(domain, place) for place, column in enumerate(columns) if column.outside]
    undeclared = stream(source, undeclared_in, passes=len(outside)) if outside else ()
    return Diagnosis(
        rows=totals["rows"],
        fitting=totals["fitting"],
        complete=totals["complete"],
        row_groups=groups,
        columns=columns,
        class_rows=tuple(totals[f"class {code}"] for code in range(len(domain.classes))),
        undeclared=undeclared,
        weight=None if domain.weight is None else WeightDiagnosis(*(totals[f"weight {name}"] for name in WEIGHTS)),
    )


def _per_row(domain: Domain, kinds: Mapping[str, Kind]) -> dict[str, pl.Expr]:
    """Describe each row: per column, its code and whether it is missing, fits and is clamped; the label is column 0."""
    label = class_code(domain, kinds)
    described = {"code 0": label, "missing 0": label_missing(domain, kinds), "fits 0": label.is_not_null()}
    for place, attribute in enumerate(domain.attributes, start=1):
        properties = _properties(attribute, kinds[attribute.name])
        described |= {f"{name} {place}": expression for name, expression in properties.items()}
    # Summed here, not where the sums are used, so that each is computed once.
    lacking = [(~described[f"fits {place}"]).cast(pl.UInt32) for place in range(len(domain.attributes) + 1)]
    dropping = [lacking[place] for place in _dropping(domain)]
    return {**described, **_weights(domain, kinds), "lacking": reduce(add, lacking), "unfit": reduce(add, dropping)}


def _weights(domain: Domain, kinds: Mapping[str, Kind]) -> dict[str, pl.Expr]:
    if (weight := domain.weight) is None:
        return {}
    kind = kinds[weight.column]
    has, value = has_weight(weight, kind), number(weight.column, kind)
    tests = (~has, has & (value > float(weight.cap)), weight_steps(weight, kind) == 0)
    return {f"weight {name}": test for name, test in zip(WEIGHTS, tests, strict=True)}


def _dropping(domain: Domain) -> list[int]:
    """List the columns without a value of which a row does not count: the label, and attributes that say so."""
    declared = [place for place, each in enumerate(domain.attributes, start=1) if each.missing is Missing.ROW]
    return [0, *declared]


def _properties(attribute: Attribute, kind: Kind) -> dict[str, pl.Expr]:
    fits = attribute_fits(attribute, kind)
    if isinstance(attribute, Categorical):
        missing = category_key(attribute, kind).is_null()
        return {"code": category_code(attribute, kind), "missing": missing, "fits": fits}
    value = number(attribute.name, kind, attribute.missing_values)
    return {
        "code": grid_code(attribute, kind),
        "missing": value.is_null(),
        "fits": fits,
        "below": (value < float(attribute.lower)).fill_null(False),
        "above": (value > float(attribute.upper)).fill_null(False),
    }


def _totals(domain: Domain) -> dict[str, pl.Expr]:
    fitting = pl.col("unfit") == 0
    complete = pl.col("lacking") == 0
    totals: dict[str, pl.Expr] = {"rows": pl.len(), "fitting": fitting.sum(), "complete": complete.sum()}
    if domain.weight is not None:
        totals |= {f"weight {name}": pl.col(f"weight {name}").sum() for name in WEIGHTS}
    for code in range(len(domain.classes)):
        totals[f"class {code}"] = (fitting & (pl.col("code 0") == code)).sum()
    for place in range(len(domain.attributes) + 1):
        fits, code_of_fitting = pl.col(f"fits {place}"), pl.when(fitting).then(pl.col(f"code {place}"))
        totals |= {
            f"missing {place}": pl.col(f"missing {place}").sum(),
            f"outside {place}": (~fits & ~pl.col(f"missing {place}")).sum(),
            f"lacking {place}": (~fits & fitting).sum(),
            f"constant {place}": (code_of_fitting.min() == code_of_fitting.max()).fill_null(False),
        }
    for place in _dropping(domain):
        lacks = ~pl.col(f"fits {place}")
        totals |= {f"dropped {place}": lacks.sum(), f"only {place}": (lacks & (pl.col("unfit") == 1)).sum()}
    for place, attribute in enumerate(domain.attributes, start=1):
        if isinstance(attribute, Numeric):
            totals |= {f"{side} {place}": pl.col(f"{side} {place}").sum() for side in ("below", "above")}
    return totals


def _column(name: str, place: int, totals: Mapping[str, Any]) -> ColumnDiagnosis:
    keys = ("missing", "outside", "lacking", "dropped", "only", "below", "above")
    counts = {key: totals.get(f"{key} {place}", 0) for key in keys}
    return ColumnDiagnosis(name, **counts, constant=totals[f"constant {place}"])


def _categories(domain: Domain, place: int) -> Categorical:
    attribute = domain.attributes[place - 1] if place else domain.label.categories
    assert isinstance(attribute, Categorical)
    return attribute


def _row_groups(source: Source) -> tuple[int, ...]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not isinstance(source, ParquetSource):
        return ()
    try:
        footers = [pq.read_metadata(arrow_file(file)) for file in source.files]
    except (pa.ArrowException, OSError):
        raise source.unreadable() from None
    return tuple(footer.row_group(index).num_rows for footer in footers for index in range(footer.num_row_groups))


@confined()
def count_repeats(source: Source, rows: int) -> Repeats:
    """Count rows equal to others by hashes, which two of 2^22 different rows share with a probability below 10^-6."""
    share = -(-rows // MOST_ROWS)

    def rows_and_hashes(every: pl.LazyFrame) -> tuple[int, ...]:
        hashes = every.select(hash=pl.struct(pl.all()).hash())
        compared = hashes if share <= 1 else hashes.filter(pl.col("hash") % share == 0)
        return compared.select(rows=pl.len(), different=pl.col("hash").n_unique()).collect(engine="streaming").row(0)

    some, different = stream(source, rows_and_hashes)
    return Repeats(rows * (some - different) // max(some, 1), share <= 1)
