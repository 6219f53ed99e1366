"""How a query computes in steps and still returns no column but the rows' own and the results.

A step can only use columns of the step before, so what is computed on the way becomes columns. Where the rows' columns
are named, the last step names them again. Where all of them are wanted, nobody knows their names, and databases differ
in how the columns on the way are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from dpnb_columnar.dialects.names import Dialect
from dpnb_columnar.dialects.trees import SOURCE, identifier, named, own_column, source_column

ROW = "row"
OUTERMOST = "scored"


@dataclass(frozen=True, slots=True)
class Step:
    """Columns computed from those of the step before.

    Attributes:
        name: What the step is called in the query.
        columns: Each under a name that no other step uses.
    """

    name: str
    columns: Sequence[exp.Alias]


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows a query is about, and the columns of them that it returns.

    Attributes:
        table: Where they are.
        first: What the first step takes of them, beside what it computes.
        last: What the last step makes of that.
        hides: Whether ``last`` leaves out the columns on the way, once told their names.
    """

    table: exp.Table
    first: Sequence[exp.Expr]
    last: Sequence[exp.Expr]
    hides: bool = False

    def query(self, steps: Sequence[Step], results: Sequence[exp.Alias]) -> exp.Expr:
        """Select the rows' columns and the results, which use the columns of the steps."""
        names = [column.alias for step in steps for column in step.columns]
        last = [exp.Star(except_=list(map(identifier, names)))] if self.hides else self.last
        start = exp.select(*self.first).from_(_aliased(self.table))
        return _over_steps([*last, *results], start, steps)


@dataclass(frozen=True, slots=True)
class RowsOfScalars:
    """All columns of rows where no column can be left out of them: each result is a query of its own about one row."""

    table: exp.Table

    def query(self, steps: Sequence[Step], results: Sequence[exp.Alias]) -> exp.Expr:
        """As ``Rows.query``."""
        scalars = [
            named(exp.Subquery(this=_over_steps([result.this], exp.Select(), steps)), result.alias)
            for result in results
        ]
        return exp.select(_all_of_source(), *scalars).from_(_aliased(self.table))


def rows_of(dialect: Dialect, table: exp.Table, keys: Sequence[str]) -> Rows | RowsOfScalars:
    """The rows of a table with these columns, or with all where none is named."""
    if keys:
        kept = [f"kept_{place}" for place in range(len(keys))]
        first = [named(source_column(key), name) for key, name in zip(keys, kept, strict=True)]
        return Rows(table, first, [named(own_column(name), key) for key, name in zip(keys, kept, strict=True)])
    match dialect:
        case Dialect.SQLITE:
            return RowsOfScalars(table)
        case Dialect.POSTGRES:  # a row is a value there, which can be taken along and apart
            # Alone, the table's name would be a column of that name if there is one; as an argument it is the row.
            whole = named(exp.Coalesce(this=_all_of_source(), expressions=[]), ROW)
            return Rows(table, [whole], [exp.Dot(this=exp.Paren(this=own_column(ROW)), expression=exp.Star())])
        case _:
            return Rows(table, [_all_of_source()], [], hides=True)


def _over_steps(columns: Sequence[exp.Expr], start: exp.Select, steps: Sequence[Step]) -> exp.Select:
    """Select columns of the last step; the first adds its own to ``start``, each other one to the step before."""
    query = exp.select(*columns).from_(_table(steps[-1].name))
    before = start
    for step in steps:
        query = query.with_(identifier(step.name), as_=before.select(*step.columns), copy=False)
        before = exp.select(exp.Star()).from_(_table(step.name))
    return query


def _table(name: str) -> exp.Table:
    return exp.Table(this=identifier(name))


def _aliased(table: exp.Table) -> exp.Expr:
    return exp.alias_(table, identifier(SOURCE), table=True)


def _all_of_source() -> exp.Column:
    return exp.Column(this=exp.Star(), table=identifier(SOURCE))
