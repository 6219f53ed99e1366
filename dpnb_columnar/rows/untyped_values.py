"""The rule of one untyped value, such as a cell of a list or of a pandas column of type ``object``; and their columns.

It looks at the value alone, so that neither the values nor the types in other rows change how a row counts, and it has
no error. A number matches by its value, whatever type holds it; a boolean is ``true`` or ``false``, as a number 1 or 0.
"""

from __future__ import annotations

import math
import sys
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa

from dpnb_columnar.domain.numbers import LARGEST_MATCHED, number_of_text

WRITTEN = (1e-40, 1e60)
"""Sizes of the numbers that are written out: those in between take at most the characters of a spelled number."""

TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_dictionary)
"""Tests for the Arrow types of pandas that are read as texts, value by value."""

Cell: TypeAlias = bool | int | float | str | None


def cell_of(value: object) -> Cell:
    """Read a value: a boolean, a number (whole ones as integers) or a text; None if it is missing or anything else.

    A date is the text that a declaration has for it, such as ``2018-12-31``. NaN is missing.
    """
    match value:
        case bool() | np.bool_():
            return bool(value)
        case str():
            return _encodable(value)
        case int() | float():
            return finite_or_infinite(value)
        case np.timedelta64() | datetime():  # one is an integer to numpy, the other a date to Python
            return None
        case date():
            return value.isoformat()
        case np.integer() | np.floating() | Decimal() | Fraction():
            return finite_or_infinite(value)
    return None


def text_of(value: object) -> str | None:
    """Write a value as declarations do: 7 for 7.0, ``true`` for True; None if it is missing.

    A number is a text that the row rules read as this number, without an exponent and of few characters; one that is
    not in ``WRITTEN``, and so beyond all bounds or hardly zero, becomes the end of that range.
    """
    cell = cell_of(value)
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell:
        size = min(max(abs(cell), WRITTEN[0]), WRITTEN[1])
        return np.format_float_positional(math.copysign(size, cell), trim="-")
    return None if cell is None else str(cell)


def number_of(value: object) -> float | None:
    """Read a value as a number, of a text the one that it spells; None if it is missing."""
    cell = cell_of(value)
    if isinstance(cell, str):
        return number_of_text(cell)
    return None if cell is None else float(cell)


def series_of(values: Any, name: str, *, numeric: bool = False) -> pl.Series:
    """Return one column: of its own type; of type ``object``, each value read by itself, as a number or as text."""
    values = plain(values)
    if isinstance(values, pl.Series):
        return values.alias(name)
    kind = values.dtype.kind
    if kind != "O":  # in this machine's byte order, and no wider than Polars knows
        return pl.Series(name, values.astype(np.float64 if kind == "f" else values.dtype.newbyteorder("="), copy=False))
    if not numeric:
        return pl.Series(name, map(text_of, values), dtype=pl.String)
    return pl.Series(name, map(number_of, values), dtype=pl.Float64)


def plain(values: Any) -> Any:
    """Return a column as a Polars series or an array, of type ``object`` if its type does not say what it holds."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return pl.Series(values)
    return _of_pandas(values) if is_pandas(values, "Series") else values


def _of_pandas(values: Any) -> Any:
    """Return a pandas column by its type, which is public; texts and categories have none that says what they hold.

    Neither numbers nor categories are read from periods and intervals: they become a column that a domain refuses.
    """
    pandas, type_ = sys.modules["pandas"], values.dtype
    if isinstance(type_, np.dtype | pandas.SparseDtype):
        return values.to_numpy()
    if isinstance(type_, pandas.PeriodDtype | pandas.IntervalDtype):
        return pl.Series([None] * len(values), dtype=pl.Object)
    if isinstance(type_, pandas.ArrowDtype):
        typed = not any(is_text(type_.pyarrow_dtype) for is_text in TEXTS)
    else:
        typed = isinstance(type_, pandas.DatetimeTZDtype) or pandas.api.types.is_any_real_numeric_dtype(type_)
        typed |= isinstance(type_, pandas.BooleanDtype)
    return pl.Series(pa.array(values, from_pandas=True)) if typed else values.to_numpy(dtype=object)


def is_pandas(data: object, name: str) -> bool:
    """Say whether this is a pandas object of this class, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, getattr(pandas, name))


def finite_or_infinite(value: int | float | np.number | Decimal | Fraction) -> int | float | None:
    """Return a number as an integer if it may match a category, else as a float, of any size; None for NaN."""
    try:
        number = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except ValueError:  # a signalling NaN
        return None
    if math.isnan(number):
        return None
    return int(number) if number.is_integer() and abs(number) <= LARGEST_MATCHED else number


def _encodable(text: str) -> str:
    """Return a text with U+FFFD for what UTF-8 does not encode, the halves of surrogate pairs."""
    return str.__str__(text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
