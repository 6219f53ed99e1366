"""Compute an attribute's code per row by looking it up.

A column of whole numbers holds few values that the rules of ``row_rules`` tell apart, so each rule is applied once to
all of these values, not once to each row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from dpnb_columnar.domain import Attribute, Numeric
from dpnb_columnar.domain.column_kinds import LARGEST_KEY, category_keys, kind_of, value_keys
from dpnb_columnar.rows.row_rules import category_code, column, grid_code

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_LOOKED_UP = 2**16
"""Values of the largest lookup table: it stays within a processor's cache."""

MOST_STEPPED = 2**17
"""Codes of the largest table of steps; it holds the grid of a float column without a declared step."""

INTEGER_RANGES: Mapping[pl.DataType | type[pl.DataType], tuple[int, int]] = {
    pl.Boolean: (0, 1),
    **{
        type_: (-(2**bits), 2**bits - 1)
        for type_, bits in [(pl.Int8, 7), (pl.Int16, 15), (pl.Int32, 31), (pl.Int64, 63)]
    },
    **{type_: (0, 2**bits - 1) for type_, bits in [(pl.UInt8, 8), (pl.UInt16, 16), (pl.UInt32, 32), (pl.UInt64, 64)]},
}
"""Least and largest value of the types that hold whole numbers, or truth values as 0 and 1."""


def number_of_codes(attribute: Attribute) -> int:
    """Count the codes of an attribute: grid codes 0..cells of a numeric one, one code per category otherwise."""
    return attribute.cells + 1 if isinstance(attribute, Numeric) else attribute.size


def cell_code(attribute: Attribute, type_: pl.DataType, code_type: type[pl.DataType]) -> pl.Expr:
    """Return the grid code or category code of an attribute, null where the row does not fit it.

    Args:
        attribute: A numeric or a categorical attribute.
        type_: The type of its column, one that it can be read from.
        code_type: The type of the code, one that holds all of them.
    """
    return _looked_up(attribute, type_, _code(attribute, type_).cast(code_type))


def step_score(
    attribute: Attribute, type_: pl.DataType, starts: Sequence[int], scores: Sequence[int], missing: int
) -> pl.Expr:
    """Return a whole number that depends on the attribute's code by steps, as a 64-bit integer (never null).

    Args:
        attribute: A numeric or a categorical attribute.
        type_: The type of its column, one that it can be read from.
        starts: First code of every step, rising from 0.
        scores: The number of every step.
        missing: The number where the row does not fit the attribute.
    """
    import numpy as np  # prediction goes without it

    code, codes = _code(attribute, type_), number_of_codes(attribute)
    if codes <= MOST_STEPPED:
        table = np.repeat(np.array(scores, dtype=np.int64), np.diff([*starts, codes]))
        place = code.fill_null(codes)
        by_place = [*table, missing]
    else:
        # A row without a value comes before the first step.
        place = code.fill_null(-1).map_batches(
            partial(_step, starts=np.array(starts, dtype=np.int64)), return_dtype=pl.Int64, is_elementwise=True
        )
        by_place = [missing, *scores]
    return _looked_up(attribute, type_, pl.lit(pl.Series(by_place, dtype=pl.Int64)).gather(place))


def _step(codes: pl.Series, starts: NDArray[np.int64]) -> pl.Series:
    """Count the starts that each code reaches."""
    import numpy as np

    return pl.Series(codes.name, np.searchsorted(starts, codes.to_numpy(), side="right"), dtype=pl.Int64)


def _code(attribute: Attribute, type_: pl.DataType) -> pl.Expr:
    """Compute the code of a row by the rule itself."""
    kind = kind_of(type_)
    assert kind is not None
    return grid_code(attribute, kind) if isinstance(attribute, Numeric) else category_code(attribute, kind)


def _looked_up(attribute: Attribute, type_: pl.DataType, rule: pl.Expr) -> pl.Expr:
    """Tabulate a rule about an attribute's column where its values are few; else return the rule itself."""
    distinguished = distinguished_range(attribute, type_)
    if distinguished is None or distinguished[1] - distinguished[0] >= MOST_LOOKED_UP:
        return rule
    first, last = distinguished
    # Named last: Polars takes some names for patterns.
    values = pl.Series(range(first, last + 1), dtype=pl.Int64).extend_constant(None, 1).cast(type_)
    results = values.alias(attribute.name).to_frame().select(rule).to_series()
    number = column(attribute.name)
    if distinguished != INTEGER_RANGES[type_]:
        number = number.clip(first, last)
    place = (number.cast(pl.Int64) - first).cast(pl.UInt32)
    return pl.lit(results).gather(place if results[-1] is None else place.fill_null(len(results) - 1))


def distinguished_range(attribute: Attribute, type_: pl.DataType) -> tuple[int, int] | None:
    """Bound the whole numbers that an attribute's rules tell apart: every number beyond them has the code of the bound.

    Args:
        attribute: The attribute as declared.
        type_: The type of its column, one that it can be read from.

    Returns:
        The first and the last such number, the whole range for types of one byte. None where the column holds no whole
        numbers, or where a bound is so large that floats, on which the rules work, do not tell it from its neighbours.
    """
    kind = kind_of(type_)
    if type_ not in INTEGER_RANGES or kind is None:
        return None
    low, high = INTEGER_RANGES[type_]
    if high - low < 2**8:
        return low, high
    if isinstance(attribute, Numeric):
        special = [int(value) for value in map(float, attribute.missing_values) if value.is_integer()]
        first, last = math.floor(float(attribute.lower)), math.ceil(float(attribute.upper))
    else:
        keys = [*category_keys(attribute, kind), *value_keys(attribute.missing_values, kind)]
        special = [key for key in keys if isinstance(key, int)]
        first = last = special[0] if special else 0
    # One beyond every special number, so that the numbers beyond the range are read as an ordinary one.
    first, last = min([first, *(value - 1 for value in special)]), max([last, *(value + 1 for value in special)])
    first, last = min(max(first, low), high), max(min(last, high), low)
    return (first, last) if max(abs(first), abs(last)) <= LARGEST_KEY else None
