"""CONFIDENTIAL. Which values stand where the domain declares none of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from dpnb_columnar.aggregation.polars_engine import passes
from dpnb_columnar.domain import Categorical
from dpnb_columnar.rows.expressions import category_code, category_key, column
from dpnb_columnar.rows.source import Source

MOST_SHOWN = 20
MOST_KEPT = 10_000
"""Values of a column that are counted at a time: a column of free text has no end of them."""


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


def count_undeclared(source: Source, wanted: Sequence[Categorical]) -> tuple[UndeclaredValues, ...]:
    """Undeclared values of some categorical attributes, or of a label that is a column (``Label.categories``).

    Rows are read in parts, and of each column a bounded number of values is kept between them.
    """
    if not wanted:
        return ()
    counts = [pl.DataFrame(schema={"value": pl.String, "rows": pl.Int64})] * len(wanted)
    exact = [True] * len(wanted)
    for rows in passes(source):
        parts = pl.collect_all([_counted(rows, attribute, source) for attribute in wanted], engine="streaming")
        for place, part in enumerate(parts):
            both = pl.concat([counts[place], part]).group_by("value").agg(pl.col("rows").sum())
            exact[place] &= len(both) <= MOST_KEPT
            counts[place] = both.sort(["rows", "value"], descending=[True, False]).head(MOST_KEPT)
    return tuple(
        UndeclaredValues(attribute.name, tuple(found.head(MOST_SHOWN).iter_rows()), len(found) > MOST_SHOWN, certain)
        for attribute, found, certain in zip(wanted, counts, exact, strict=True)
    )


def _counted(rows: pl.LazyFrame, attribute: Categorical, source: Source) -> pl.LazyFrame:
    kind = source.kinds[attribute.name]
    undeclared = category_key(attribute, kind).is_not_null() & category_code(attribute, kind).is_null()
    values = rows.filter(undeclared).select(column(attribute.name).cast(pl.String).alias("value"))
    return values.group_by("value").agg(pl.len().cast(pl.Int64).alias("rows"))
