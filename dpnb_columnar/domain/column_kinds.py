"""Classify column types by what the domain can read from them, and map declared values to the keys of each kind.

Every engine and the public side share this module, so that a row means the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from enum import StrEnum

import polars as pl

from dpnb_columnar.domain import Categorical
from dpnb_columnar.domain.names import LARGEST_MATCHED, TRUTHS, declared_number

Key = int | float | bool | str | date
LARGEST_KEY = LARGEST_MATCHED  # whole numbers beyond this match no category: a float column could not tell them apart
UNMATCHED_KEY = LARGEST_KEY + 1  # key of a number that can match no category
WIDEST_DECIMAL = 38  # digits of the widest decimal that the engines read exactly


class Kind(StrEnum):
    """Kind of values in a column, whatever the width of its type."""

    INTEGER = "integer"
    UNSIGNED = "unsigned 64-bit integer"
    FLOAT = "floating point"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    TEXT = "text"
    DATE = "date"


NUMERIC_KINDS = frozenset({Kind.INTEGER, Kind.UNSIGNED, Kind.FLOAT, Kind.DECIMAL, Kind.BOOLEAN, Kind.TEXT})
"""Kinds that a numeric attribute can be read from; of texts, those that spell a number (``domain.names``)."""


def kind_of(dtype: pl.DataType) -> Kind | None:
    """Classify a Polars type."""
    if dtype == pl.UInt64:
        return Kind.UNSIGNED
    if dtype.is_integer() and dtype not in (pl.Int128, pl.UInt128):
        return Kind.INTEGER
    if dtype.is_float():
        return Kind.FLOAT
    if isinstance(dtype, pl.Decimal):
        return None if is_too_wide(dtype) else Kind.DECIMAL
    if dtype == pl.Boolean:
        return Kind.BOOLEAN
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return Kind.TEXT
    return Kind.DATE if dtype == pl.Date else None


def is_too_wide(type_: pl.DataType) -> bool:
    """Test whether a type is that of decimals which Polars finds in a file and can make no column of."""
    return isinstance(type_, pl.Decimal) and type_.precision > WIDEST_DECIMAL


def kinds_of(types: Mapping[str, pl.DataType]) -> dict[str, Kind]:
    """Classify columns by name; columns of no kind are left out."""
    return {column: kind for column, type_ in types.items() if (kind := kind_of(type_))}


def common_type(one: pl.DataType, other: pl.DataType) -> pl.DataType:
    """Return a type that holds the values of two columns of one kind: that of both if they agree, else the widest."""
    if one == other:
        return one
    kind = kind_of(one)
    return {Kind.INTEGER: pl.Int64(), Kind.FLOAT: pl.Float64(), Kind.TEXT: pl.String()}.get(kind, one) if kind else one


def type_name(type_: pl.DataType) -> str:
    """Name a type in a message without its parameters: an Enum, nested or not, lists values of the data."""
    return str(type_) if isinstance(type_, pl.Decimal) else type(type_).__name__


def value_keys(values: Sequence[str], kind: Kind) -> dict[Key, int]:
    """Map the key of each declared value in a column of this kind, which may not hold all, to the value's position.

    A number (``declared_number``) matches by value, in a text column by ``number_keys``; a truth value matches booleans
    and each same one of ``TRUTHS``; ``2018-12-31`` matches a date. Others match by their text.
    """
    return _keys({value: position for position, value in enumerate(values)}, kind)


def category_keys(attribute: Categorical, kind: Kind) -> dict[Key, int]:
    """Map the key of each value that may occur in a column of this kind to its category's code, as ``value_keys``."""
    return _keys(attribute.members, kind)


def category_texts(attribute: Categorical) -> Iterator[tuple[str, float | None, int]]:
    """Yield each text of ``category_keys``, the number that it matches by or None, and its category's code."""
    yield from ((value, declared_number(value), code) for value, code in _texts(attribute.members).items())


def number_keys(codes: Mapping[str, int]) -> dict[float, int]:
    """Map those declared values that are numbers to their codes: a text column may spell them in other ways."""
    return {number: code for value, code in codes.items() if (number := declared_number(value)) is not None}


def _keys(codes: Mapping[str, int], kind: Kind) -> dict[Key, int]:
    if kind is Kind.TEXT:
        return dict(_texts(codes).items())
    return {key: code for value, code in codes.items() if (key := _key(value, kind)) is not None}


def _texts(codes: Mapping[str, int]) -> dict[str, int]:
    texts = dict(codes)
    for value, code in codes.items():
        for word, truth in TRUTHS.items():
            if TRUTHS.get(value) is truth:
                texts.setdefault(word, code)
    return texts


def _key(value: str, kind: Kind) -> Key | None:
    number = declared_number(value)
    match kind:
        case Kind.INTEGER | Kind.UNSIGNED:
            return int(number) if number is not None and number.is_integer() else None
        case Kind.FLOAT | Kind.DECIMAL:
            return number
        case Kind.BOOLEAN:
            return TRUTHS.get(value)
        case Kind.DATE:
            return _date(value)
    return None


def _date(value: str) -> date | None:
    """Parse a date written as ``2018-12-31``, and in no other form: one date has one text."""
    try:
        parsed = date.fromisoformat(value)
    except ValueError:
        return None
    return parsed if parsed.isoformat() == value else None
