"""Cells of a row by looking them up: a column of whole numbers holds few values that the rules tell apart, so each rule
of ``expressions`` is applied once to all of these, not once to each row."""

from __future__ import annotations

import polars as pl

from dpnb_columnar.domain import Attribute, Numeric
from dpnb_columnar.rows.expressions import category_code, column, grid_code
from dpnb_columnar.rows.extents import LIMITS, extent
from dpnb_columnar.rows.kinds import kind_of

MOST_LOOKED_UP = 2**16
"""Values of the largest lookup table: it stays within a processor's cache."""


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
    whole = extent(attribute, type_)
    if whole is None or whole[1] - whole[0] >= MOST_LOOKED_UP:
        return rule.cast(code_type)
    first, last = whole
    # Named last: Polars takes some names for patterns.
    values = pl.Series(range(first, last + 1), dtype=pl.Int64).extend_constant(None, 1).cast(type_)
    codes = values.alias(attribute.name).to_frame().select(rule).to_series().cast(code_type)
    number = column(attribute.name)
    if whole != LIMITS[type_]:
        number = number.clip(first, last)
    place = (number.cast(pl.Int64) - first).cast(pl.UInt32)
    return pl.lit(codes).gather(place if codes[-1] is None else place.fill_null(len(codes) - 1))
