"""Count the values of a column that its domain does not declare, for the curator. CONFIDENTIAL."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from dpnb_columnar.domain import Categorical
from dpnb_columnar.domain.column_kinds import Kind
from dpnb_columnar.rows.row_rules import attribute_fits, category_key, column

MOST_SHOWN = 20
"""Undeclared values of a column that a diagnosis lists."""

LONGEST_SHOWN = 1000
"""Characters of an undeclared value that a diagnosis holds: a text may be as large as the file."""

MOST_VALUES = 10_000
"""Undeclared values of a column that are counted at a time: a column of free text may have as many as rows."""

PART_ROWS = 2**17
"""Rows whose undeclared values are counted at a time."""


@dataclass(frozen=True, slots=True)
class UndeclaredValues:
    """The most frequent undeclared values of one column. Confidential.

    Attributes:
        column: The column.
        values: At most ``MOST_SHOWN`` values as text, cut to ``LONGEST_SHOWN`` characters, and the number of rows of
            each, most frequent first.
        more: Whether there are other values.
        exact: Whether the numbers of rows are exact; with very many values they are lower bounds.
    """

    column: str
    values: tuple[tuple[str, int], ...]
    more: bool
    exact: bool


def undeclared_values(attribute: Categorical, kind: Kind, rows: pl.LazyFrame) -> UndeclaredValues:
    """Count the undeclared values of a categorical attribute, or of a label that is a column (``Label.categories``).

    Rows are read in parts, and at most ``MOST_VALUES`` values are held between them.
    """
    counts, exact = pl.DataFrame(schema={"value": pl.String, "rows": pl.Int64}), True

    def count(part: pl.DataFrame) -> None:
        nonlocal counts, exact
        both = pl.concat([counts, part.group_by("value").agg(pl.len().cast(pl.Int64).alias("rows"))])
        both = both.group_by("value").agg(pl.col("rows").sum())
        exact &= len(both) <= MOST_VALUES
        counts = both.sort(["rows", "value"], descending=[True, False]).head(MOST_VALUES)

    # Not collect_batches: it ends as if all were well where a thread of the query panics, and rows would be missing.
    _undeclared(attribute, kind, rows).sink_batches(count, chunk_size=PART_ROWS, engine="streaming")
    return UndeclaredValues(attribute.name, tuple(counts.head(MOST_SHOWN).iter_rows()), len(counts) > MOST_SHOWN, exact)


def _undeclared(attribute: Categorical, kind: Kind, rows: pl.LazyFrame) -> pl.LazyFrame:
    undeclared = category_key(attribute, kind).is_not_null() & ~attribute_fits(attribute, kind)
    return rows.filter(undeclared).select(
        column(attribute.name).cast(pl.String).str.slice(0, LONGEST_SHOWN).alias("value")
    )
