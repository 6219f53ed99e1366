"""Column types as the domain sees them, and how declared values become keys that a column of each kind can be matched with.

Both engines and the public side build on this page, so a row means the same everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

import polars as pl

from dpnb_columnar.domain import Categorical, Domain, Numeric
from dpnb_columnar.domain.condition import comparisons
from dpnb_columnar.errors import DataError

Key = int | bool | str

LARGEST_KEY = 2**53 - 1
"""Whole numbers beyond this match no category: a float column could not tell them apart."""

UNMATCHED_KEY = 2**53
"""Key of a number that can match no category."""


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
    if dtype.is_decimal():
        return Kind.DECIMAL
    if dtype == pl.Boolean:
        return Kind.BOOLEAN
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return Kind.TEXT
    return Kind.DATE if dtype == pl.Date else None


def keys(values: Sequence[str], kind: Kind) -> dict[Key, int]:
    """Map the key under which each declared value appears in a column of this kind to the value's position.

    Whole numbers match by value, booleans as ``true`` and ``false``, everything else by its text (dates as
    ``2018-12-31``, decimals with all their decimal places). Declared values that no column of this kind can hold
    are left out.
    """
    found: dict[Key, int] = {}
    for position, value in enumerate(values):
        key = _key(value, kind)
        if key is not None:
            found[key] = position
    return found


def _key(value: str, kind: Kind) -> Key | None:
    if kind in (Kind.INTEGER, Kind.UNSIGNED, Kind.FLOAT):
        whole = re.fullmatch(r"0|-?[1-9]\d{0,15}", value, re.ASCII)
        return int(value) if whole and abs(int(value)) <= LARGEST_KEY else None
    if kind is Kind.BOOLEAN:
        return {"true": True, "false": False}.get(value)
    return value


def check_kinds(domain: Domain, schema: dict[str, Kind | None], types: dict[str, str], file: Path) -> None:
    """Refuse columns whose type the domain cannot be read from. Looks at types alone, at no row.

    Raises:
        DataError: With every column that does not fit, and what to do about each.
    """
    problems = []
    for column in domain.columns:
        kind, found = schema[column], f"column {column!r} has type {types[column]}"
        if kind is None:
            remedy = "it holds no value at all" if types[column] == "Null" else "cast it to a number, a boolean or text"
            problems.append(f"{found}: {remedy}")
    for attribute in domain.attributes:
        kind, found = schema[attribute.name], f"column {attribute.name!r} has type {types[attribute.name]}"
        if kind is None:
            continue
        if isinstance(attribute, Numeric) and kind not in NUMBERS:
            problems.append(f"{found}, but is declared numeric: cast it, or declare it with values")
        if isinstance(attribute, Categorical) and not keys(attribute.values, kind):
            problems.append(f"{found}, and none of its declared values can occur in it: cast it to text, or correct values")
    problems += _label_problems(domain, schema, types)
    if problems:
        raise DataError("\n  ".join([f"{file}: does not fit the domain {domain.name!r}", *problems]))


def _label_problems(domain: Domain, schema: dict[str, Kind | None], types: dict[str, str]) -> list[str]:
    problems = []
    label = domain.label
    if label.condition is None:
        kind = schema[label.columns[0]]
        if kind is not None and not keys(label.classes, kind):
            problems.append(
                f"label column {label.columns[0]!r} has type {types[label.columns[0]]}, and none of the declared classes "
                "can occur in it: cast it to text, or correct classes"
            )
        return problems
    for comparison in comparisons(label.condition.root):
        kind = schema[comparison.column]
        if kind is None:
            continue
        textual = isinstance(comparison.constant, str)
        if (textual and not keys([str(comparison.constant)], kind)) or (not textual and kind not in NUMBERS):
            problems.append(
                f"label condition: column {comparison.column!r} has type {types[comparison.column]} and cannot be compared "
                f"with {comparison.constant!s}"
            )
    return problems
