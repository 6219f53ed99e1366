"""Check the columns of a table against a domain, by their names and types alone: no row is read."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from dpnb_columnar.domain import Categorical, Domain, Label, Numeric
from dpnb_columnar.domain.attributes import RANGE
from dpnb_columnar.domain.column_kinds import NUMERIC_KINDS, Kind, kind_of, type_name, value_keys
from dpnb_columnar.domain.condition import comparisons
from dpnb_columnar.domain.field_reader import MOST_FAULTS
from dpnb_columnar.domain.names import MOST_NAMED, listed, named
from dpnb_columnar.errors import DataError, excerpt

DEEPEST = 24
"""Levels of lists and structs in a column. Polars fails on some fifty, and on a thousand it ends the process."""


def check_nesting(schema: Mapping[str, pl.DataType], name: str) -> None:
    """Refuse columns of lists or structs so deep that an engine fails on them, whether or not they are counted."""
    if deep := [column for column, type_ in schema.items() if _is_deep(type_)]:
        raise nested_too_deep(listed(deep), name)


def _is_deep(type_: pl.DataType) -> bool:
    level: list[Any] = [type_]
    for _ in range(DEEPEST + 1):
        structs = [field.dtype for outer in level if isinstance(outer, pl.Struct) for field in outer.fields]
        level = structs + [outer.inner for outer in level if isinstance(outer, pl.List | pl.Array)]
    return bool(level)


def nested_too_deep(columns: str, name: str) -> DataError:
    """Return the error to raise for columns of too many levels."""
    return DataError(f"{name}: {columns}: lists or structs of more than {DEEPEST} levels; drop or unnest them")


def check_columns(schema: Mapping[str, pl.DataType], domain: Domain, name: str) -> dict[str, pl.DataType]:
    """Check that a table has the domain's columns, each once and of a type that the domain can be read from."""
    missing = [column for column in domain.counted_columns if column not in schema]
    if missing:
        near = {column: difflib.get_close_matches(column, list(schema), n=1) for column in missing[:MOST_NAMED]}
        hints = [
            excerpt(column) + (f" (is it {excerpt(close[0])}?)" if close else "") for column, close in near.items()
        ]
        more = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
        raise DataError(
            f"{name}: missing column {', '.join(hints)}{more}; its columns are {named([*schema])}; "
            "add or rename columns, or correct the domain"
        )
    lower_case = Counter(column.lower() for column in schema)
    for column in domain.counted_columns:
        if lower_case[column.lower()] > 1:  # DuckDB would read either for the other
            alike = listed([other for other in schema if other.lower() == column.lower()])
            raise DataError(f"{name}: columns {alike} differ in upper and lower case only; rename or drop all but one")
    types = {column: schema[column] for column in domain.counted_columns}
    check_kinds(domain, types, name)
    return types


def matched_columns(wanted: Iterable[str], columns: Iterable[str], name: str) -> dict[str, str]:
    """Find a database's columns by names of a domain, else by the only one but for its case: PostgreSQL has serial."""
    alike: dict[str, list[str]] = {}
    for column in columns:
        alike.setdefault(column.lower(), []).append(column)
    renamed: dict[str, str] = {}
    for column in wanted:
        candidates = alike.get(column.lower(), [])
        if len(candidates) > 1 and column not in candidates:
            raise DataError(
                f"{name}: columns {listed(candidates)} are alike but for upper and lower case, and none is "
                f"{excerpt(column)}; make a view with one of them"
            )
        if len(candidates) == 1:
            renamed.setdefault(candidates[0], column)
    return {renamed.get(column, column): column for column in columns}


def check_kinds(domain: Domain, types: Mapping[str, pl.DataType], name: str) -> None:
    """Check that every column is of a kind that its attribute, or the label, can be read from."""
    kinds = {column: kind_of(type_) for column, type_ in types.items()}
    described = {column: f"column {excerpt(column)} has type {type_name(type_)}" for column, type_ in types.items()}
    problems = []
    for column, kind in kinds.items():
        if kind is None:
            empty = " (it holds no value at all)" if types[column] == pl.Null else ""
            problems.append(f"{described[column]}{empty}: cast it to a number, a boolean, a date or text")
    for attribute in domain.attributes:
        kind = kinds[attribute.name]
        if kind is None:
            continue
        if isinstance(attribute, Numeric) and kind not in NUMERIC_KINDS:
            problems.append(f"{described[attribute.name]}, but is declared numeric: cast it, or declare it with values")
        if isinstance(attribute, Categorical) and (impossible := impossible_values(attribute, kind)):
            problems.append(
                f"{described[attribute.name]}, which cannot hold the declared {named(impossible)}: cast it to text, or "
                "take the values out of its declaration"
            )
    if domain.weight is not None:
        kind, column = kinds[domain.weight.column], domain.weight.column
        if kind is not None and kind not in NUMERIC_KINDS:
            problems.append(f"{described[column]}, but is the weight of rows: cast it to a number")
    for column in () if domain.unit is None else domain.unit.columns:
        if kinds[column] is Kind.FLOAT:
            problems.append(f"{described[column]}, but names a unit: cast it to whole numbers or text")
    problems += _label_problems(domain.label, kinds, described)
    if problems:
        if (more := len(problems) - MOST_FAULTS) > 0:
            problems[MOST_FAULTS:] = [f"and {more} more"]
        raise DataError("\n  ".join([f"{name}: does not fit the domain {domain.name!r}", *problems]))


def impossible_values(attribute: Categorical, kind: Kind) -> list[str]:
    """List the declared values that no column of this kind can hold; a range of a group stands for its numbers."""
    values = [value for value in attribute.members if RANGE.fullmatch(value) is None]
    positions = set(value_keys(values, kind).values())
    return [value for position, value in enumerate(values) if position not in positions]


def check_alike(
    types: Mapping[str, pl.DataType], name: str, others: Mapping[str, pl.DataType], other_name: str
) -> None:
    """Check that two tables hold each column in one kind."""
    for column, type_ in types.items():
        if _form(others[column]) != _form(type_):
            raise DataError(
                f"{other_name}: column {column!r} is {_form(others[column])} here and {_form(type_)} in {name}; "
                "cast it to one type in all files"
            )


def _form(type_: pl.DataType) -> str:
    """Describe what files must agree on: the kind, and of decimals the scale as well, which shows in their text."""
    kind = kind_of(type_)
    return type_name(type_) if kind is Kind.DECIMAL else str(kind)


def _label_problems(label: Label, kinds: Mapping[str, Kind | None], described: Mapping[str, str]) -> list[str]:
    if label.condition is None:
        column = label.columns[0]
        kind = kinds[column]
        if kind is None or not (impossible := impossible_values(label.categories, kind)):
            return []
        return [
            f"label {described[column]}, which cannot hold the declared {named(impossible)}: cast it to text, or "
            "correct classes"
        ]
    problems = []
    for comparison in comparisons(label.condition.root):
        kind, constant = kinds[comparison.column], comparison.constant
        if kind is None or (value_keys([constant], kind) if isinstance(constant, str) else kind in NUMERIC_KINDS):
            continue
        reason = f"cannot be compared with {'text' if isinstance(constant, str) else 'number'} {named([str(constant)])}"
        problems.append(
            f"label condition: {described[comparison.column]} and {reason}: cast it, or correct the condition"
        )
    return problems
