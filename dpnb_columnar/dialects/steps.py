"""A query that computes in steps and still returns no column but the rows' own and the results.

A step can only use columns of the step before, so what is computed in between becomes columns. Where the rows' columns
are named, the last step names them again. Where all of them are wanted, their names are not known, and databases differ
in how the columns of the steps are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from dpnb_columnar.dialects.nodes import SOURCE, as_column, identifier, own_column, source_column
from dpnb_columnar.domain.database_address import Dialect

ROW = "row"


@dataclass(frozen=True, slots=True)
class Step:
    """Columns computed from those of the step before.

    Attributes:
        name: Name of the step in the query.
        columns: Each under a name that no other step uses.
        joins: What is joined to the step before, one row at most to each of its rows; its columns are named in full.
    """

    name: str
    columns: Sequence[exp.Alias]
    joins: Sequence[exp.Join] = ()


@dataclass(frozen=True, slots=True)
class CommonTableExpression:
    """A query whose result steps may join, written before them.

    Attributes:
        name: Its name in the query.
        query: It.
    """

    name: str
    query: exp.Select


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows a query is about, and the columns of them that it returns.

    Attributes:
        table: The table that holds them.
        first: What the first step selects of them, beside what it computes.
        last: What the last step makes of that.
        hides: Whether the last step selects every column but those of the steps.
    """

    table: exp.Table
    first: Sequence[exp.Expr]
    last: Sequence[exp.Expr]
    hides: bool = False

    def query(
        self, steps: Sequence[Step], results: Sequence[exp.Alias], given: Sequence[CommonTableExpression] = ()
    ) -> exp.Expr:
        """Build the query for the rows' columns and the results, which use the columns of the steps."""
        names = [column.alias for step in steps for column in step.columns]
        last = [exp.Star(except_=list(map(identifier, names)))] if self.hides else self.last
        start = exp.select(*self.first).from_(_as_source(self.table))
        return _over_steps([*last, *results], start, steps, given)


@dataclass(frozen=True, slots=True)
class RowsAndScalars:
    """All columns of the rows, where a database cannot leave one out: each result is a scalar subquery on one row."""

    table: exp.Table

    def query(self, steps: Sequence[Step], results: Sequence[exp.Alias]) -> exp.Expr:
        """Build the query, as ``Rows.query`` does."""
        scalars = [
            as_column(exp.Subquery(this=_over_steps([result.this], exp.Select(), steps)), result.alias)
            for result in results
        ]
        return exp.select(_all_of_source(), *scalars).from_(_as_source(self.table))


def rows_of_table(dialect: Dialect, table: exp.Table, keys: Sequence[str]) -> Rows | RowsAndScalars:
    """Choose how a query returns the rows of a table."""
    if keys:
        kept = [f"kept_{place}" for place in range(len(keys))]
        first = [as_column(source_column(key), name) for key, name in zip(keys, kept, strict=True)]
        return Rows(table, first, [as_column(own_column(name), key) for key, name in zip(keys, kept, strict=True)])
    match dialect:
        case Dialect.SQLITE:
            return RowsAndScalars(table)
        case Dialect.POSTGRES:  # a row is a value there, which can be taken along and apart
            # Alone, the table's name would be a column of that name if there is one; as an argument it is the row.
            whole = as_column(exp.Coalesce(this=_all_of_source(), expressions=[]), ROW)
            return Rows(table, [whole], [exp.Dot(this=exp.Paren(this=own_column(ROW)), expression=exp.Star())])
        case _:
            return Rows(table, [_all_of_source()], [], hides=True)


def _over_steps(
    columns: Sequence[exp.Expr], start: exp.Select, steps: Sequence[Step], given: Sequence[CommonTableExpression] = ()
) -> exp.Select:
    """Select columns of the last step; the first step adds its own to ``start``, each other one to the step before."""
    query = exp.select(*columns).from_(table_reference(steps[-1].name))
    for each in given:
        query = query.with_(identifier(each.name), as_=each.query, copy=False)
    before = start
    for number, step in enumerate(steps):
        if step.joins:
            name = steps[number - 1].name
            before = exp.select(_all_of(name)).from_(table_reference(name))
            before.set("joins", list(step.joins))
        query = query.with_(identifier(step.name), as_=before.select(*step.columns), copy=False)
        before = exp.select(exp.Star()).from_(table_reference(step.name))
    return query


def table_reference(name: str) -> exp.Table:
    """Name a step, or what is given, as a table."""
    return exp.Table(this=identifier(name))


def _as_source(table: exp.Table) -> exp.Expr:
    return exp.alias_(table, identifier(SOURCE), table=True)


def _all_of_source() -> exp.Column:
    return _all_of(SOURCE)


def _all_of(name: str) -> exp.Column:
    return exp.Column(this=exp.Star(), table=identifier(name))
