"""Column types as the domain sees them, and the keys by which declared values are found in a column of each kind.

Both engines and the public side build on this page, so a row means the same everywhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date
from enum import StrEnum

import polars as pl

from dpnb_columnar.domain import Attribute, Categorical, Domain, Label, Numeric
from dpnb_columnar.domain.condition import comparisons
from dpnb_columnar.domain.validation import MOST_FAULTS, named
from dpnb_columnar.errors import DataError, shown

Key = int | bool | str | date

LARGEST_KEY = 2**53 - 1
"""Whole numbers beyond this match no category: a float column could not tell them apart."""

UNMATCHED_KEY = 2**53
"""Key of a number that can match no category."""

WIDEST_DECIMAL = 38
"""Digits of the widest decimal that the engines read exactly."""


class Kind(StrEnum):
    """What a Parquet column holds."""

    INTEGER = "integer"
    UNSIGNED = "unsigned 64-bit integer"
    FLOAT = "floating point"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    TEXT = "text"
    DATE = "date"


NUMBERS = frozenset({Kind.INTEGER, Kind.UNSIGNED, Kind.FLOAT, Kind.DECIMAL, Kind.BOOLEAN})


def kind_of(dtype: pl.DataType) -> Kind | None:
    """The kind of a Polars type; None for types that neither a number nor a category can be read from."""
    if dtype == pl.UInt64:
        return Kind.UNSIGNED
    if dtype.is_integer() and dtype not in (pl.Int128, pl.UInt128):
        return Kind.INTEGER
    if dtype.is_float():
        return Kind.FLOAT
    if isinstance(dtype, pl.Decimal):
        return Kind.DECIMAL if dtype.precision <= WIDEST_DECIMAL else None
    if dtype == pl.Boolean:
        return Kind.BOOLEAN
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return Kind.TEXT
    return Kind.DATE if dtype == pl.Date else None


def kinds_of(types: Mapping[str, pl.DataType]) -> dict[str, Kind]:
    """The kind of each column, those left out that are of none."""
    return {column: kind for column, type_ in types.items() if (kind := kind_of(type_))}


def common_type(one: pl.DataType, other: pl.DataType) -> pl.DataType:
    """The type that holds what two columns of one kind hold: no wider than needed, and the same for all texts."""
    kind = kind_of(one)
    if kind is Kind.TEXT:
        return pl.String()
    if one == other:
        return one
    return {Kind.INTEGER: pl.Int64(), Kind.FLOAT: pl.Float64()}.get(kind, one) if kind else one


def keys(values: Sequence[str], kind: Kind) -> dict[Key, int]:
    """Map the key under which each declared value appears in a column of this kind to the value's position.

    Whole numbers match by value, booleans as ``true`` and ``false``, dates as ``2018-12-31``, everything else by its
    text (decimals with all their decimal places). Declared values that no column of this kind can hold are left out.
    """
    return _keyed({value: position for position, value in enumerate(values)}, kind)


def category_keys(attribute: Categorical, kind: Kind) -> dict[Key, int]:
    """Map the key of each value that may occur in a column of this kind to its category's code, as ``keys`` does."""
    return _keyed(attribute.members, kind)


def _keyed(codes: Mapping[str, int], kind: Kind) -> dict[Key, int]:
    return {key: code for value, code in codes.items() if (key := _key(value, kind)) is not None}


def _key(value: str, kind: Kind) -> Key | None:
    if kind in (Kind.INTEGER, Kind.UNSIGNED, Kind.FLOAT):
        whole = re.fullmatch(r"0|-?[1-9]\d{0,15}", value, re.ASCII)
        return int(value) if whole and abs(int(value)) <= LARGEST_KEY else None
    if kind is Kind.BOOLEAN:
        return {"true": True, "false": False}.get(value)
    return _date(value) if kind is Kind.DATE else value


def _date(value: str) -> date | None:
    """The date, if it is written as ``2018-12-31``: one date, one text."""
    try:
        found = date.fromisoformat(value)
    except ValueError:
        return None
    return found if found.isoformat() == value else None


def check_kinds(domain: Domain, types: Mapping[str, pl.DataType], name: str) -> None:
    """Refuse columns whose type the domain cannot be read from. Looks at types alone, at no row.

    Raises:
        DataError: With every column that does not fit, and what to do about each.
    """
    kinds = {column: kind_of(type_) for column, type_ in types.items()}
    found = {column: f"column {shown(column)} has type {type_name(type_)}" for column, type_ in types.items()}
    problems = []
    for column, kind in kinds.items():
        if kind is None:
            empty = " (it holds no value at all)" if types[column] == pl.Null else ""
            problems.append(f"{found[column]}{empty}: cast it to a number, a boolean, a date or text")
    for attribute in domain.attributes:
        kind = kinds[attribute.name]
        if kind is None:
            continue
        if isinstance(attribute, Numeric) and kind not in NUMBERS:
            problems.append(f"{found[attribute.name]}, but is declared numeric: cast it, or declare it with values")
        if isinstance(attribute, Categorical) and not category_keys(attribute, kind):
            problems.append(
                f"{found[attribute.name]}, in which no declared value can occur: cast it, or correct values"
            )
    problems += _label_problems(domain.label, kinds, found)
    if problems:
        if (more := len(problems) - MOST_FAULTS) > 0:
            problems[MOST_FAULTS:] = [f"and {more} more"]
        raise DataError("\n  ".join([f"{name}: does not fit the domain {domain.name!r}", *problems]))


def type_name(type_: pl.DataType) -> str:
    """The type as messages name it: by its kind alone, since an Enum, nested or not, lists values of the data."""
    return str(type_) if isinstance(type_, pl.Decimal) else type(type_).__name__


def _label_problems(label: Label, kinds: Mapping[str, Kind | None], found: Mapping[str, str]) -> list[str]:
    if label.condition is None:
        column = label.columns[0]
        kind = kinds[column]
        if kind is None or category_keys(label.categories, kind):
            return []
        return [f"label {found[column]}, in which no declared class can occur: cast it, or correct classes"]
    problems = []
    for comparison in comparisons(label.condition.root):
        kind, constant = kinds[comparison.column], comparison.constant
        if kind is None or (keys([constant], kind) if isinstance(constant, str) else kind in NUMBERS):
            continue
        reason = f"cannot be compared with {'text' if isinstance(constant, str) else 'number'} {named([str(constant)])}"
        problems.append(f"label condition: {found[comparison.column]} and {reason}: cast it, or correct the condition")
    return problems


# MERGED FROM dpnb_columnar/rows/columns.py: Which whole numbers the rules of an attribute tell apart: what is done
# with each may be found once, not per row.

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
