"""Which columns and which rows of an extract are wanted."""

from __future__ import annotations

import difflib
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpnb_columnar.domain.condition import Condition, comparisons, parse_condition
from dpnb_columnar.domain.names import named
from dpnb_columnar.errors import UsageError, shown
from dpnb_columnar.extracts.codebooks.facts import adult_roles

if TYPE_CHECKING:
    import pyarrow as pa

    from dpnb_columnar.rows.column_kinds import Kind

# MERGED FROM dpnb_columnar/extracts/selection.py: Thirteen attributes like those of the Adult data set, by name
# (``facts/adult_like.toml``).


def adult_like(names: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Choose an extract's Adult-like variables, by the lists of the collection that fill most roles.

    Args:
        names: Variables or attributes that there are.

    Returns:
        The names chosen, at most one for each role, in the order of the roles; and the roles for which there is none.
    """
    there = set(names)
    roles = adult_roles()
    by_collection = [
        {role: _first(lists.get(collection, ()), there) for role, lists in roles.items()}
        for collection in dict.fromkeys(collection for lists in roles.values() for collection in lists)
    ]
    chosen = max(by_collection, key=lambda choice: sum(name is not None for name in choice.values()))
    taken = tuple(name for name in chosen.values() if name is not None)
    return taken, tuple(role for role, name in chosen.items() if name is None)


def _first(candidates: Iterable[str], there: set[str]) -> str | None:
    return next((name for name in candidates if name in there), None)


ADULT_LIKE = "adult-like"
"""Stands for the columns that play the parts of the Adult data set's."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What is wanted of an extract.

    Attributes:
        columns: Columns to write, in order.
        condition: Which rows to write; None for all.
        absent_roles: Parts of the Adult data set that no column plays; none where these were not asked for.
    """

    columns: tuple[str, ...]
    condition: Condition | None
    absent_roles: tuple[str, ...] = ()

    @property
    def read(self) -> tuple[str, ...]:
        """Columns to read: those to write and those that the condition looks at."""
        return tuple(dict.fromkeys(self.columns + (self.condition.columns if self.condition else ())))


def select(available: Sequence[str], columns: str | None, where: str | None) -> Selection:
    """Understand what was asked for.

    Args:
        available: Names of the extract's columns.
        columns: Names set apart by commas, ``adult-like`` among them or alone; all if None.
        where: Condition on a row; every row if None.

    Raises:
        UsageError: A column does not exist or is named twice, or the condition cannot be understood.
    """
    roles: tuple[str, ...] = ()
    if columns is None:
        wanted = tuple(available)
    else:
        wanted, roles = _named(columns, available)
    if where is None:
        return Selection(wanted, None, roles)
    try:
        condition = parse_condition(where)
    except ValueError as error:
        raise UsageError(f"--where: {error}") from None
    _check_known("--where", condition.columns, available)
    return Selection(wanted, condition, roles)


def check_condition(condition: Condition, schema: pa.Schema) -> None:
    """Refuse comparisons that no value of a column can be part of.

    Raises:
        UsageError: With every such comparison.
    """
    from dpnb_columnar.rows.column_kinds import NUMERIC_KINDS, value_keys

    problems = []
    for comparison in comparisons(condition.root):
        kind, constant = _kinds(schema)[comparison.column], comparison.constant
        if not (value_keys([constant], kind) if isinstance(constant, str) else kind in NUMERIC_KINDS):
            problems.append(f"{comparison.column} is {kind} and cannot be compared with {shown(constant)}")
    if problems:
        raise UsageError(f"--where: {'; '.join(problems)}; write numbers without quotes, and text with them")


def keep_rows(batches: Iterable[pa.RecordBatch], selection: Selection, schema: pa.Schema) -> Generator[pa.RecordBatch]:
    """Of each batch the columns to write, and the rows for which the condition holds.

    Args:
        batches: With all columns that are read.
        selection: What is wanted.
        schema: Types of the columns that are read.
    """
    if selection.condition is None:
        yield from batches
        return
    import polars as pl

    from dpnb_columnar.rows.row_rules import condition_holds

    test = condition_holds(selection.condition.root, _kinds(schema)).fill_null(False).alias("kept")
    for batch in batches:
        frame = pl.DataFrame(pl.from_arrow(batch.select(list(selection.condition.columns))))
        kept = frame.select(test).to_series().to_arrow()
        yield batch.select(list(selection.columns)).filter(kept)


def _kinds(schema: pa.Schema) -> dict[str, Kind]:
    import polars as pl

    from dpnb_columnar.rows.column_kinds import kind_of

    frame = pl.DataFrame(pl.from_arrow(schema.empty_table()))
    return {name: kind for name, type_ in frame.schema.items() if (kind := kind_of(type_)) is not None}


def _named(columns: str, available: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns that a list of names stands for, and the parts of the Adult data set that none plays."""
    names = [name.strip() for name in columns.split(",")]
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise UsageError(f"--columns: {', '.join(twice)} is named twice")
    _check_known("--columns", [name for name in names if name != ADULT_LIKE], available)
    if ADULT_LIKE not in names:
        return tuple(names), ()
    chosen, roles = adult_like(available)
    if not chosen:
        raise UsageError(f"--columns {ADULT_LIKE}: the extract has none of these; name its columns instead")
    place = names.index(ADULT_LIKE)
    return tuple(dict.fromkeys([*names[:place], *chosen, *names[place + 1 :]])), roles


def _check_known(option: str, names: Sequence[str], available: Sequence[str]) -> None:
    for name in names:
        if name not in available:
            close = difflib.get_close_matches(name, available, n=1)
            hint = f"is it {close[0]}?" if close else f"it has {named(available)}"
            raise UsageError(f"{option}: the extract has no column {name!r}; {hint}")
