"""Answer queries inside a server that holds the rows: exact counts and sums alone leave it. CONFIDENTIAL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from dpnb_columnar.core.queries.query import AnswerT, Query
from dpnb_columnar.counting.answer_files import COUNT, answer_of, result_of
from dpnb_columnar.counting.countable import OpenedRows
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.column_kinds import Kind, kind_of
from dpnb_columnar.rows.databases import PageRanges, query_columns, read_query, table_sizes
from dpnb_columnar.rows.row_rules import check_columns, matched_columns
from dpnb_columnar.rows.sources import Database
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.row_progress import is_watched

if TYPE_CHECKING:
    from sqlglot import exp

LEAST_PAGES = 1024  # pages of PostgreSQL's that are counted at a time, at least: 8 MiB, about a second
MOST_RANGES = 64  # ranges of pages that a table is divided into
CELLS_OF_A_PAGE = 256
"""Cells that may come back for each page that is read: more, and to hand out counts would take longer than to count."""

MOST_WAITING = 2**20  # counts of ranges that wait to be added up


@dataclass(frozen=True, slots=True)
class DatabaseRows:
    """Rows that a database holds: a table of it, or what a query that was written beforehand asks of one."""

    database: Database
    query: str  # selects the table's rows; or one that ``sql statistics`` printed
    table: str | None = None  # None for a query that was printed
    asked: Query[Any] | None = None  # by a query that was printed; None for what ``OpenedRows.answer`` is asked

    @property
    def repeatable(self) -> bool:
        """Whether the rows can be read again: a query that was printed asks one thing."""
        return self.table is not None

    def check(self, domain: Domain) -> OpenedRows:
        if self.table is None:
            return OpenedRows(self, answer_printed, repeatable=False)
        return OpenedRows(open_table(self.database, self.query, self.table, domain), answer)


@dataclass(frozen=True, slots=True)
class DatabaseTable:
    """A table whose columns fit a domain."""

    database: Database
    table: str  # as the database's dialect writes it
    columns: Mapping[str, str]  # the table's name of each, by its name in the domain
    kinds: Mapping[str, Kind | None]

    def ranges(self, query: Query[Any]) -> PageRanges | None:
        """Divide the table into ranges of pages, to report progress if somebody watches; units may lie in several."""
        if query.domain.unit is not None or not is_watched():
            return None
        from dpnb_columnar.dialects.rendering import lock_statement, pages_query

        pages = table_sizes(self.database, pages_query(self.table)) or [0]
        parts = min(sum(pages) // max(LEAST_PAGES, query.cells // CELLS_OF_A_PAGE), max(pages), MOST_RANGES)
        return PageRanges(lock_statement(self.table), pages, parts) if parts > 1 else None

    def rows(self, ranges: PageRanges | None) -> str | exp.Subquery:
        """Return the table under the domain's names: itself, or a query that renames its columns, of a range or all."""
        from dpnb_columnar.dialects.rendering import renamed_table, rows_in_range

        if ranges is not None:
            return rows_in_range(self.table, self.columns)
        if all(name == own for name, own in self.columns.items()):
            return self.table
        return renamed_table(self.table, self.columns, self.database.dialect)


def open_table(database: Database, query: str, table: str, domain: Domain) -> DatabaseTable:
    """Check that a table has the domain's columns, of types that the domain can be read from. No row is read."""
    name = f"{database}, table {table}"
    columns = query_columns(database, query)
    names = matched_columns(domain.counted_columns, columns, name)
    types = check_columns({column: columns[own] for column, own in names.items()}, domain, name)
    read = {column: names[column] for column in types}
    return DatabaseTable(database, table, read, {column: kind_of(type_) for column, type_ in types.items()})


@confined()
def answer(source: DatabaseTable, query: Query[AnswerT]) -> AnswerT:
    """Answer a query over the rows of a table, inside the database."""
    from dpnb_columnar.dialects.statistics_query import query_sql

    ranges = source.ranges(query)
    text = query_sql(query, source.kinds, source.rows(ranges), source.database.dialect)
    with read_query(source.database, text, ranges=ranges) as result:
        nothing = pl.DataFrame(schema=result.columns)
        if ranges is None:
            return answer_of(pl.concat([nothing, *result.parts]), query, source.database)
        return answer_of(_added_up(nothing, result.parts, query), query, source.database)


@confined()
def answer_printed(rows: DatabaseRows, query: Query[AnswerT]) -> AnswerT:
    """Run a query such as ``sql statistics`` prints, and return what it answers."""
    asked: Query[AnswerT] = rows.asked or query
    with read_query(rows.database, rows.query) as result:
        answered = answer_of(pl.concat([pl.DataFrame(schema=result.columns), *result.parts]), asked, rows.database)
    return answered.only(query.domain)


def _added_up(total: pl.DataFrame, parts: Iterable[pl.DataFrame], query: Query[Any]) -> pl.DataFrame:
    """Add up the counts and sums of several results, by what was counted: no more is held than a few of them."""
    keys, waiting = [name for name in result_of(query).columns if name != COUNT], [total]
    for part in parts:
        waiting.append(part)
        if sum(map(len, waiting[1:])) > max(MOST_WAITING, len(waiting[0])):
            waiting = [pl.concat(waiting).group_by(keys).agg(pl.all().sum())]
    return pl.concat(waiting).group_by(keys).agg(pl.all().sum())
