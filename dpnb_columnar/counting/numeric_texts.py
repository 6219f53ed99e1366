"""Find the text columns whose texts are numbers, so that a domain is suggested for the numbers. CONFIDENTIAL."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from dpnb_columnar.rows.column_kinds import LARGEST_KEY, Kind
from dpnb_columnar.rows.row_rules import column, number

NEARLY_ALL_NUMBERS = 0.9
"""Share of numbers among a column's texts from which on the others are taken for remarks, which are missing values."""


def read_numeric_texts(
    rows: pl.LazyFrame, kinds: Mapping[str, Kind], most_values: int
) -> tuple[pl.LazyFrame, dict[str, Kind]]:
    """Read text columns of numbers as numbers: those of numbers alone, and those of many values, most of them numbers.

    Args:
        rows: Rows. Confidential.
        kinds: Kind of each column.
        most_values: Largest number of distinct values of a column that are listed.

    Returns:
        The rows with these columns as numbers, and the kinds of all columns then.

    Raises:
        polars.exceptions.PolarsError: if the rows cannot be read.
    """
    texts = [name for name, kind in kinds.items() if kind is Kind.TEXT]
    found = rows.select(pl.lit(0), *(count for name in texts for count in _counts(name)))
    counted = found.collect(engine="streaming").row(0, named=True)
    numbers: dict[str, Kind] = {}
    for name in texts:
        present, spelled = counted[f"present {name}"], counted[f"spelled {name}"]
        many = counted[f"distinct {name}"] > most_values and spelled >= NEARLY_ALL_NUMBERS * present
        if spelled and (spelled == present or many):
            numbers[name] = Kind.INTEGER if counted[f"whole {name}"] == spelled else Kind.FLOAT
    read = rows.with_columns(
        number(name, Kind.TEXT).cast(pl.Int64 if kind is Kind.INTEGER else pl.Float64).alias(name)
        for name, kind in numbers.items()
    )
    return read, {**kinds, **numbers}


def _counts(name: str) -> list[pl.Expr]:
    """Count the texts of a column, distinct ones, numbers and whole numbers among them; a blank one is no text."""
    value, text = number(name, Kind.TEXT), column(name).cast(pl.String)
    text = pl.when(text.str.strip_chars(" ") != "").then(text)
    whole = (value == value.floor()) & (value.abs() <= LARGEST_KEY)
    return [
        text.count().alias(f"present {name}"),
        text.drop_nulls().approx_n_unique().alias(f"distinct {name}"),
        value.count().alias(f"spelled {name}"),
        whole.sum().alias(f"whole {name}"),
    ]
