"""The selection of columns and rows of an extract."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpnb_columnar.domain.condition import Condition, comparisons, parse_condition
from dpnb_columnar.domain.names import did_you_mean, named
from dpnb_columnar.errors import UsageError, excerpt
from dpnb_columnar.extracts.codebooks.facts import ADULT_LIKE, adult_like

if TYPE_CHECKING:
    import pyarrow as pa

    from dpnb_columnar.rows.column_kinds import Kind


@dataclass(frozen=True, slots=True)
class Selection:
    """Columns and rows wanted of an extract.

    Attributes:
        columns: Columns to write, in order.
        condition: Condition on the rows to write; None for all.
        absent_roles: Roles of the Adult data set that no column has; empty without ``adult-like``.
    """

    columns: tuple[str, ...]
    condition: Condition | None
    absent_roles: tuple[str, ...] = ()

    @property
    def read(self) -> tuple[str, ...]:
        """Columns to read: those to write and those in the condition."""
        return tuple(dict.fromkeys(self.columns + (self.condition.columns if self.condition else ())))


def select(available: Sequence[str], columns: str | None, where: str | None) -> Selection:
    """Parse the options that select columns and rows.

    Args:
        available: Names of the extract's columns.
        columns: Names separated by commas, ``adult-like`` among them or alone; all if None.
        where: Condition on a row; every row if None.

    Raises:
        UsageError: If a column does not exist or is named twice, or the condition cannot be parsed.
    """
    roles: tuple[str, ...] = ()
    if columns is None:
        wanted = tuple(available)
    else:
        wanted, roles = _parse_columns(columns, available)
    if where is None:
        return Selection(wanted, None, roles)
    try:
        condition = parse_condition(where)
    except ValueError as error:
        raise UsageError(f"--where: {error}") from None
    _check_known("--where", condition.columns, available)
    return Selection(wanted, condition, roles)


def check_condition(condition: Condition, schema: pa.Schema) -> None:
    """Refuse comparisons of a column with a constant that its type cannot hold.

    Args:
        condition: The condition.
        schema: Types of its columns.

    Raises:
        UsageError: If there is such a comparison; the text names all of them.
    """
    from dpnb_columnar.rows.column_kinds import NUMERIC_KINDS, value_keys

    problems = []
    for comparison in comparisons(condition.root):
        kind, constant = _kinds(schema)[comparison.column], comparison.constant
        if not (value_keys([constant], kind) if isinstance(constant, str) else kind in NUMERIC_KINDS):
            problems.append(f"{comparison.column} is {kind} and cannot be compared with {excerpt(constant)}")
    if problems:
        raise UsageError(f"--where: {'; '.join(problems)}; write numbers without quotes, and text with them")


def keep_rows(batches: Iterable[pa.RecordBatch], selection: Selection, schema: pa.Schema) -> Generator[pa.RecordBatch]:
    """Select the columns to write of each batch, and the rows for which the condition holds.

    Args:
        batches: Batches with all columns that are read. Confidential.
        selection: Columns and rows wanted.
        schema: Types of the columns that are read.

    Yields:
        Batches of the columns to write. Confidential.
    """
    if selection.condition is None:
        yield from batches
        return
    import polars as pl

    from dpnb_columnar.rows.row_rules import condition_holds

    test = condition_holds(selection.condition.root, _kinds(schema)).fill_null(False).alias("selected")
    for batch in batches:
        frame = pl.DataFrame(pl.from_arrow(batch.select(list(selection.condition.columns))))
        selected = frame.select(test).to_series().to_arrow()
        yield batch.select(list(selection.columns)).filter(selected)


def _kinds(schema: pa.Schema) -> dict[str, Kind]:
    """Kind of each column, by which conditions compare it."""
    import polars as pl

    from dpnb_columnar.rows.column_kinds import kind_of

    frame = pl.DataFrame(pl.from_arrow(schema.empty_table()))
    return {name: kind for name, type_ in frame.schema.items() if (kind := kind_of(type_)) is not None}


def _parse_columns(columns: str, available: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Parse a list of columns.

    Returns:
        The columns, and the roles of the Adult data set that none of them has.
    """
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
            hint = did_you_mean(name, available, f"it has {named(available)}")
            raise UsageError(f"{option}: the extract has no column {excerpt(name)}; {hint}")
