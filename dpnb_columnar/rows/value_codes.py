"""Apply the rule of an attribute once to each value that its column can hold, not once to each row.

A column of whole numbers holds few values that the rules of ``rows.row_rules`` tell apart. So rows are read as the
numbers of their values, counted and scored by these, and what a rule makes of a value is looked up in a table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import DTypeLike, NDArray

from dpnb_columnar.domain import Attribute, Numeric
from dpnb_columnar.domain.column_kinds import kind_of
from dpnb_columnar.rows.row_rules import (
    INTEGER_RANGES,
    MOST_LOOKED_UP,
    category_code,
    column,
    distinguished_range,
    grid_code,
    number_of_codes,
)

Whole: TypeAlias = NDArray[Any]
"""Whole numbers of any integer type."""

MOST_STEPPED = 2**17
"""Codes of the largest table of steps; it holds the grid of a float column without a declared step."""

UNSIGNED = {8: pl.UInt8, 16: pl.UInt16, 32: pl.UInt32}
"""Types of numbers and codes, by their bits."""


@dataclass(frozen=True, slots=True)
class ValueCodes:
    """The values of a column that an attribute's rule tells apart, numbered from 0, and the code of each. Public.

    Attributes:
        number: Expression of the number of a row's value, in the narrowest type; null where the row has none.
        size: Number of values.
        codes: Shape (size + 1,): per value, and last for a row that has none, its code, or ``missing`` where it does
            not fit the attribute. None where the numbers are the codes themselves.
        missing: The number of codes of the attribute.
    """

    number: pl.Expr
    size: int
    codes: Whole | None
    missing: int

    def numbers(self, column: pl.Series) -> Whole:
        """Return a column of ``number`` without nulls, shape (rows,): ``size`` where a row has no value."""
        if column.null_count():
            column = column.cast(pl.Int64).fill_null(self.size)
        return column.to_numpy()

    def codes_of(self, numbers: Whole) -> Whole:
        """Return the codes of numbers."""
        return numbers if self.codes is None else self.codes[numbers]

    def steps(
        self, starts: Sequence[int], scores: Sequence[int], missing: int, type_: DTypeLike = np.int64
    ) -> Callable[[Whole], Whole]:
        """Return what looks up a whole number that depends on the code by steps.

        Args:
            starts: First code of every step, rising from 0.
        """
        first, by_step = np.array([*starts, self.missing], dtype=np.int64), np.array([*scores, missing], dtype=type_)
        if self.codes is None and self.size > MOST_STEPPED:
            return lambda numbers: by_step[np.searchsorted(first, numbers, side="right") - 1]
        codes = np.arange(self.size + 1) if self.codes is None else self.codes
        by_number = by_step[np.searchsorted(first, codes, side="right") - 1]
        # No number is beyond the table: it is looked up without a test for that.
        return lambda numbers: by_number.take(numbers, mode="clip")


def coded(attribute: Attribute, code: pl.Expr) -> ValueCodes:
    """Return the codes of an attribute as the values themselves, of rows that are coded already."""
    codes = number_of_codes(attribute)
    return ValueCodes(code, codes, None, codes)


def value_codes(attribute: Attribute, type_: pl.DataType) -> ValueCodes:
    """Return the values of an attribute's column with their codes: the codes themselves where the values are many."""
    codes = number_of_codes(attribute)
    numbered = numbered_values(attribute, type_, MOST_LOOKED_UP)
    if numbered is None:
        return coded(attribute, once_per_entry(attribute, type_, _rule(attribute, type_)))
    number, values = numbered
    looked_up = values.to_frame().select(_rule(attribute, values.dtype)).to_series().cast(pl.Int64).fill_null(codes)
    size = len(values) - 1
    return ValueCodes(number.cast(narrowest(size), wrap_numerical=True), size, looked_up.to_numpy(), codes)


def _rule(attribute: Attribute, type_: pl.DataType) -> pl.Expr:
    """Write the rule of an attribute's code, in the narrowest type."""
    kind = kind_of(type_)
    assert kind is not None
    rule = grid_code(attribute, kind) if isinstance(attribute, Numeric) else category_code(attribute, kind)
    return rule.cast(narrowest(number_of_codes(attribute)))


def numbered_values(attribute: Attribute, type_: pl.DataType, most: int) -> tuple[pl.Expr, pl.Series] | None:
    """Number the values of an attribute's column that its rules tell apart, from 0 on."""
    value = column(attribute.name).to_physical()
    if isinstance(type_, pl.Enum):
        values = type_.categories.alias(attribute.name).extend_constant(None, 1)
        return (value, values) if len(values) <= most else None
    distinguished = distinguished_range(attribute, type_)
    if distinguished is None or distinguished[1] - distinguished[0] >= most:
        return None
    first, last = distinguished
    numbers = [*range(first, last + 1)]
    if len(numbers) <= 2**8 and distinguished == INTEGER_RANGES.get(type_):
        # A byte is its own number: from 0 on, then those below.
        number, numbers = value.cast(pl.UInt8, wrap_numerical=True), numbers[-first:] + numbers[:-first]
    else:
        number = value.clip(first, last).cast(pl.Int64) - first
    values = pl.Series(numbers, dtype=pl.Int64)
    if isinstance(type_, pl.Decimal):
        values = pl.Series(values.to_numpy() / 10.0**type_.scale)
    else:
        values = values.cast(pl.Int32).cast(type_) if type_ == pl.Date else values.cast(type_)
    # Named last: Polars takes some names for patterns.
    return number, values.extend_constant(None, 1).alias(attribute.name)


def once_per_entry(attribute: Attribute, type_: pl.DataType, rule: pl.Expr) -> pl.Expr:
    """Apply a rule of an attribute's column once to each entry of a dictionary, in every part of the rows."""
    if type_ not in (pl.Categorical, pl.Enum):
        return rule

    def look_up(part: pl.Series) -> pl.Series:
        numbers = part.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()  # null has the last place
        size = int(numbers.max(initial=-1)) + 2
        if size > len(part):
            return applied(part)
        place = np.full(size, len(part), dtype=np.uint32)
        place[numbers] = np.arange(len(part))  # a row of each entry
        seen = np.flatnonzero(place < len(part))
        results = applied(part.gather(place[seen]))
        place[seen] = np.arange(len(seen))
        return results.gather(place[numbers])

    def applied(part: pl.Series) -> pl.Series:
        return part.alias(attribute.name).to_frame().select(rule).to_series()

    result = applied(pl.Series(dtype=type_)).dtype
    return column(attribute.name).map_batches(look_up, return_dtype=result, is_elementwise=True)


def narrowest(codes: int) -> type[pl.DataType]:
    """Return the narrowest type that holds so many codes, from 0 on."""
    return next((type_ for bits, type_ in UNSIGNED.items() if codes <= 2**bits), pl.UInt64)


def cell_code(attribute: Attribute, type_: pl.DataType) -> pl.Expr:
    """Return an attribute's grid code or category code in the narrowest type, null where the row does not fit it."""
    values = value_codes(attribute, type_)
    if values.codes is None:
        return values.number
    codes = pl.Series(values.codes).replace(values.missing, None).cast(narrowest(values.missing))
    place = values.number.cast(pl.UInt32)
    return pl.lit(codes).gather(place if codes[-1] is None else place.fill_null(values.size))


def step_score(
    attribute: Attribute, type_: pl.DataType, starts: Sequence[int], scores: Sequence[int], missing: int
) -> pl.Expr:
    """Return a whole number that depends on the attribute's code by steps, as a 64-bit integer (never null).

    Args:
        starts: First code of every step, rising from 0.
    """
    values = value_codes(attribute, type_)
    look_up = values.steps(starts, scores, missing)
    return values.number.map_batches(
        lambda numbers: pl.Series(numbers.name, look_up(values.numbers(numbers))),
        return_dtype=pl.Int64,
        is_elementwise=True,
    )
