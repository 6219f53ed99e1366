"""CONFIDENTIAL. Which values stand where the domain declares none of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from dpnb_columnar.aggregation.polars_engine import scan
from dpnb_columnar.domain import Categorical
from dpnb_columnar.rows.expressions import category_code, category_key, column
from dpnb_columnar.rows.source import Source

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


def count_undeclared(source: Source, wanted: Sequence[Categorical]) -> tuple[UndeclaredValues, ...]:
    """Undeclared values of some categorical attributes, or of a label that is a column (``Label.categories``).

    Rows are read in parts, and of each column a bounded number of values is kept between them.
    """
    return tuple(_most_frequent(attribute, source) for attribute in wanted)


def _most_frequent(attribute: Categorical, source: Source) -> UndeclaredValues:
    counts, exact = pl.DataFrame(schema={"value": pl.String, "rows": pl.Int64}), True
    for part in _undeclared(attribute, source).collect_batches(chunk_size=PART_ROWS, engine="streaming"):
        both = pl.concat([counts, part.group_by("value").agg(pl.len().cast(pl.Int64).alias("rows"))])
        both = both.group_by("value").agg(pl.col("rows").sum())
        exact &= len(both) <= MOST_KEPT
        counts = both.sort(["rows", "value"], descending=[True, False]).head(MOST_KEPT)
    return UndeclaredValues(attribute.name, tuple(counts.head(MOST_SHOWN).iter_rows()), len(counts) > MOST_SHOWN, exact)


def _undeclared(attribute: Categorical, source: Source) -> pl.LazyFrame:
    kind = source.kinds[attribute.name]
    undeclared = category_key(attribute, kind).is_not_null() & category_code(attribute, kind).is_null()
    return scan(source).filter(undeclared).select(column(attribute.name).cast(pl.String).alias("value"))
