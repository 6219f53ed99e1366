"""Which whole numbers the rules of an attribute tell apart: what is done with each may be found once, not per row."""

from __future__ import annotations

import math
from collections.abc import Mapping

import polars as pl

from dpnb_columnar.domain import Attribute, Numeric
from dpnb_columnar.rows.kinds import LARGEST_KEY, category_keys, keys, kind_of

LIMITS: Mapping[pl.DataType | type[pl.DataType], tuple[int, int]] = {
    pl.Boolean: (0, 1),
    **{
        type_: (-(2**bits), 2**bits - 1)
        for type_, bits in [(pl.Int8, 7), (pl.Int16, 15), (pl.Int32, 31), (pl.Int64, 63)]
    },
    **{type_: (0, 2**bits - 1) for type_, bits in [(pl.UInt8, 8), (pl.UInt16, 16), (pl.UInt32, 32), (pl.UInt64, 64)]},
}
"""The least and the largest number of the types that hold whole numbers, or truth values."""


def extent(attribute: Attribute, type_: pl.DataType) -> tuple[int, int] | None:
    """First and last of the whole numbers that are told apart: whatever lies beyond them is read as they are.

    None where the column holds no whole numbers, or such that floats, on which the rules work, do not tell apart. Types
    of one byte are taken whole.

    Args:
        attribute: The attribute as declared.
        type_: The type of its column, one that it can be read from.
    """
    kind = kind_of(type_)
    if type_ not in LIMITS or kind is None:
        return None
    low, high = LIMITS[type_]
    if high - low < 2**8:
        return low, high
    if isinstance(attribute, Numeric):
        apart = [int(value) for value in map(float, attribute.missing_values) if value.is_integer()]
        first, last = math.floor(float(attribute.lower)), math.ceil(float(attribute.upper))
    else:
        found = [*category_keys(attribute, kind), *keys(attribute.missing_values, kind)]
        apart = [key for key in found if isinstance(key, int)]
        first = last = apart[0] if apart else 0
    # One beyond every number that is set apart, so that what lies beyond is read as if it were not.
    first, last = min([first, *(value - 1 for value in apart)]), max([last, *(value + 1 for value in apart)])
    first, last = min(max(first, low), high), max(min(last, high), low)
    return (first, last) if max(abs(first), abs(last)) <= LARGEST_KEY else None
