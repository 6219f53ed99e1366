"""Cells of a row by looking them up: a column of whole numbers holds few values that the rules tell apart, so each rule
of ``expressions`` is applied once to all of these, not once to each row."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import polars as pl

from dpnb_columnar.domain import Attribute, Numeric
from dpnb_columnar.rows.expressions import category_code, column, grid_code
from dpnb_columnar.rows.kinds import LARGEST_KEY, Kind, category_keys, keys, kind_of

MOST_LOOKED_UP = 2**16
"""Values of the largest lookup table: it stays within a processor's cache."""

NARROW = (pl.Int8, pl.UInt8, pl.Int16, pl.UInt16)
"""Types in which a difference of two values may not fit."""


def number_of_codes(attribute: Attribute) -> int:
    """How many codes an attribute has."""
    return attribute.cells + 1 if isinstance(attribute, Numeric) else attribute.size


def cell_code(attribute: Attribute, type_: pl.DataType, code_type: type[pl.DataType]) -> pl.Expr:
    """Grid code or category code of an attribute, null where the row does not fit it.

    Args:
        attribute: A numeric or a categorical attribute.
        type_: The type of its column, one that it can be read from.
        code_type: The type of the code, one that holds all of them.
    """
    kind = kind_of(type_)
    assert kind is not None
    rule = grid_code(attribute, kind) if isinstance(attribute, Numeric) else category_code(attribute, kind)
    values = _told_apart(attribute, type_, kind)
    if values is None:
        return rule.cast(code_type)
    codes = pl.DataFrame(values.extend_constant(None, 1)).select(rule).to_series().cast(code_type)
    place = _place(attribute.name, type_, values)
    return pl.lit(codes).gather(place if codes[-1] is None else place.fill_null(len(codes) - 1))


def _told_apart(attribute: Attribute, type_: pl.DataType, kind: Kind) -> pl.Series | None:
    """Consecutive values, in a column's type, of which the first and the last stand for all beyond; None where they are
    too many, or no whole numbers."""
    if kind is Kind.BOOLEAN:
        return pl.Series(attribute.name, [False, True])
    if kind not in (Kind.INTEGER, Kind.UNSIGNED):
        return None
    smallest, largest = _range(type_)
    if largest - smallest < 256:  # all of them: nothing to clip
        low, high = smallest, largest
    else:
        named = list(_named(attribute, kind)) or [0]
        if max(map(abs, named)) >= LARGEST_KEY:  # the rules work on floats, which are no longer a whole number apart
            return None
        low = min(max(min(named) - 1, smallest), largest)
        high = min(max(max(named) + 1, smallest), largest)
    if high - low >= MOST_LOOKED_UP:
        return None
    return pl.Series(attribute.name, np.arange(low, high + 1, dtype=_numpy_type(type_)))


def _named(attribute: Attribute, kind: Kind) -> Iterable[int]:
    """Whole numbers such that the rule does not tell those below all of them apart, nor those above."""
    if isinstance(attribute, Numeric):
        for bound in (attribute.lower, attribute.upper, *attribute.missing_values):
            yield from (math.floor(bound), math.ceil(bound))
    else:
        yield from map(int, category_keys(attribute, kind))  # type: ignore[arg-type]
        yield from map(int, keys(attribute.missing_values, kind))  # type: ignore[arg-type]


def _place(name: str, type_: pl.DataType, values: pl.Series) -> pl.Expr:
    """Place of the row's value among consecutive ones."""
    value = column(name)
    if type_ == pl.Boolean:
        return value.cast(pl.Int32)
    low, high = int(values[0]), int(values[-1])
    if (low, high) != _range(type_):
        value = value.clip(low, high)
    return (value.cast(pl.Int32) if type_ in NARROW else value) - low


def _range(type_: pl.DataType) -> tuple[int, int]:
    """Smallest and largest value of a type of whole numbers."""
    limits = np.iinfo(_numpy_type(type_))
    return int(limits.min), int(limits.max)


def _numpy_type(type_: pl.DataType) -> str:
    return str(type_).lower()
