"""The domain that an estimator's parameters declare. No row is read here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpnb_columnar.domain import Domain, Label, read_domain
from dpnb_columnar.domain.editing import with_unit
from dpnb_columnar.rows.untyped_values import text_of

NAME = "SmoothNaiveBayes"
"""Name of the domain, and of the place where it is declared."""


def declared_domain(names: Sequence[str], bounds: Any, categories: Any, classes: Sequence[object]) -> Domain:
    """Make the domain of some columns.

    Args:
        names: Names of all columns, in order.
        bounds: (lower, upper) or (lower, upper, step) of all columns that are not categorical, or a mapping of column
            names or positions to such.
        categories: Mapping of column names or positions to lists of values; or None.
        classes: The labels.

    Raises:
        ValueError: if a column is declared twice or not at all, or a declaration names no column.
        dpnb_columnar.errors.DomainError: if bounds, categories or classes are faulty.
    """
    values = _by_name(categories or {}, names, "categories")
    numeric = [name for name in names if name not in values]
    if isinstance(bounds, Mapping):
        ranges = _by_name(bounds, names, "bounds")
    else:
        ranges = {} if bounds is None else dict.fromkeys(numeric, bounds)
    _check_each_once(names, ranges, values)
    attributes = {name: _categorical(values[name]) if name in values else _numeric(ranges[name]) for name in names}
    label = {"column": free_name(names), "classes": [text_of(label) for label in classes]}
    return read_domain(NAME, {"label": label, "attributes": attributes}, NAME)


def labelled_by_y(domain: Domain) -> Domain:
    """Return the domain with its label read from one column, that of y.

    Raises:
        ValueError: if the domain declares a weight.
    """
    if domain.weight is not None:
        raise ValueError(
            f"domain: declares the weight {domain.weight.column}, and fit takes none, since a sample_weight of 2 would "
            "mean a row that is there twice; train a frame with the weight's column by dpnb_columnar.train"
        )
    if domain.label.condition is None:
        return domain
    taken = [*(each.name for each in domain.attributes), *(() if domain.unit is None else domain.unit.columns)]
    return replace(domain, label=Label(domain.classes, free_name(taken)))


def by_groups(domain: Domain, rows: int | None, *, given: bool) -> Domain:
    """Return the domain counted by groups, one column beside y; as it is where there are none.

    Args:
        domain: The domain, labelled by y.
        rows: The most rows of a group that count; None for what the domain declares, else 1.
        given: Whether the group of each row is given.

    Raises:
        ValueError: if rows are to be counted by groups, and they are not given.
        dpnb_columnar.errors.DomainError: if the number of rows is out of range.
    """
    if not given:
        if rows is not None or domain.unit is not None:
            raise ValueError("groups: missing; give fit the group of each row, or leave unit_rows and the unit out")
        return domain
    most = domain.unit.rows if rows is None and domain.unit is not None else rows
    columns = None if domain.unit is None or len(domain.unit.columns) > 1 else domain.unit.columns
    return with_unit(domain, columns or [free_name(domain.columns, "group")], most)


def free_name(names: Sequence[str], name: str = "y") -> str:
    """Choose a name for the column of labels, or another, that no other column has, in upper or lower case."""
    taken = {name.lower() for name in names}
    while name in taken:
        name += "_"
    return name


def _by_name(declared: Any, names: Sequence[str], parameter: str) -> dict[str, Any]:
    """Map column names to declarations, where columns may be named by position as well."""
    if not isinstance(declared, Mapping):
        raise ValueError(f"{parameter}: expected a mapping of columns, found {type(declared).__name__}")
    by_name: dict[str, Any] = {}
    for column, body in declared.items():
        position = isinstance(column, int | np.integer) and 0 <= column < len(names)
        name = names[column] if position else column
        if name not in names:
            raise ValueError(f"{parameter}: there is no column {column!r}; the columns are {', '.join(names)}")
        if name in by_name:
            raise ValueError(f"{parameter}: column {name!r} is declared twice, by name and by position")
        by_name[name] = body
    return by_name


def _check_each_once(names: Sequence[str], ranges: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    if twice := [name for name in ranges if name in values]:
        raise ValueError(f"{_listed(twice)}: declared in bounds and in categories; leave one of them out")
    if lacking := [name for name in names if name not in ranges and name not in values]:
        raise ValueError(
            f"{_listed(lacking)}: not declared. Give bounds=(lower, upper) for all numeric columns, "
            f"bounds={{{lacking[0]!r}: (lower, upper)}} or categories={{{lacking[0]!r}: [...]}}. They are public facts "
            "(of a codebook), never taken from X"
        )


def _numeric(body: Any) -> dict[str, Any]:
    if not isinstance(body, Sequence | np.ndarray) or isinstance(body, str) or len(body) not in (2, 3):
        raise ValueError(f"bounds: expected (lower, upper) or (lower, upper, step), found {body!r:.80}")
    return dict(zip(("lower", "upper", "step"), map(_written, body), strict=False))


def _written(number: object) -> object:
    """Return the number that was typed: of a float its shortest text, so that 0.1 is one tenth."""
    if isinstance(number, float | np.floating):
        return str(number)
    return int(number) if isinstance(number, np.integer) else number


def _categorical(body: Any) -> dict[str, Any]:
    listed = isinstance(body, Sequence | range | np.ndarray) and not isinstance(body, str)
    return {"values": [text_of(value) for value in body] if listed else body}


def _listed(names: Sequence[str]) -> str:
    return f"column{'s' * (len(names) > 1)} {', '.join(map(repr, names))}"
