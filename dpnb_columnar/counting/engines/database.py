"""Count inside the database that holds the rows: it runs the statistics query, and counts alone leave it.

CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from dpnb_columnar.counting.countable import OpenedRows
from dpnb_columnar.counting.scores import GradientQuery, GradientSums, ScoreCounts, Scores
from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.counting.statistics_files import (
    COLUMNS,
    GRADIENT_TEXTS,
    SCORE_COLUMNS,
    gradient_sums_of,
    score_counts_of,
    statistics_of,
)
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.column_kinds import Kind, kind_of
from dpnb_columnar.domain.database_address import Database, Dialect
from dpnb_columnar.rows.column_checks import check_columns, matched_columns
from dpnb_columnar.rows.database_query import query_columns, read_query, table_size, table_sizes
from dpnb_columnar.rows.postgres_query import PageRanges
from dpnb_columnar.rows.row_rules import number_of_codes
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.row_progress import Size, is_watched, unknown

if TYPE_CHECKING:
    from sqlglot import exp

LEAST_PAGES = 1024
"""Pages of PostgreSQL's that are counted at a time, at least: 8 MiB, about a second."""

MOST_RANGES = 64
"""Ranges of pages that a table is divided into."""

CELLS_OF_A_PAGE = 256
"""Cells that may come back for each page that is read: more, and to hand out counts would take longer than to count."""

MOST_WAITING = 2**20
"""Counts of ranges that wait to be added up."""

KEYS = {*COLUMNS, *SCORE_COLUMNS, *GRADIENT_TEXTS} - {"count"}
"""Columns of results that tell what was counted; the others are counts and sums."""


@dataclass(frozen=True, slots=True)
class DatabaseRows:
    """Rows that a database counts.

    Attributes:
        database: Where they are.
        query: A statistics query, or the query that selects the table's rows.
        table: Table whose rows are counted; None for a statistics query.
        counted_in: Domain of a statistics query; None for the one to count in. Attributes may be left out of it.
        given: Whether the query counts what a model waits for: its scores, or the sums of a round.
    """

    database: Database
    query: str
    table: str | None = None
    counted_in: Domain | None = None
    given: bool = False

    @property
    def can_score(self) -> bool:
        """Whether the database can make a further pass: over a table, or by a query made for it."""
        return self.table is not None or self.given

    def check(self, domain: Domain) -> OpenedRows:
        """Check the columns of a table; a query's result is checked once it is there.

        Raises:
            UsageError: if the name is not the name of a table.
            MissingInputError, TemporaryError, UnavailableError: if the database cannot be opened.
            DataError: if the table or a column is missing, or a column's type does not fit.
        """
        if self.table is None and self.given:
            return OpenedRows(self, domain, _count_query, _score_query, _differentiate_query)
        if self.table is None:
            return OpenedRows(self, domain, _count_query)
        return OpenedRows(open_table(self.database, self.query, self.table, domain), domain, *TABLE)


@dataclass(frozen=True, slots=True)
class DatabaseTable:
    """A table whose columns fit a domain.

    Attributes:
        database: The database that holds it.
        table: Its name, as the database's dialect writes it.
        columns: The table's name of each column, by its name in the domain.
        kinds: The kind of each column.
    """

    database: Database
    table: str
    columns: Mapping[str, str]
    kinds: Mapping[str, Kind | None]

    def size(self) -> int | None:
        """Return about how many rows the table has; None if the database does not say."""
        from dpnb_columnar.dialects.table_size import size_query

        return table_size(self.database, size_query(self.table, self.database.dialect))

    def ranges(self, domain: Domain, cells: int) -> PageRanges | None:
        """Divide the table into ranges of pages, whose counts add up to those of the table, where somebody watches.

        A server does not say how far it is within a query, so that its progress is that of one range after the other.
        Rows of one unit may lie in several ranges: units are counted by one query.

        Args:
            domain: The domain to count in.
            cells: Number of the cells that the query counts.

        Returns:
            The ranges; None where one query counts all rows.
        """
        if self.database.dialect is not Dialect.POSTGRES or domain.unit is not None or not is_watched():
            return None
        from dpnb_columnar.dialects.table_size import lock_statement, pages_query

        pages = table_sizes(self.database, pages_query(self.table)) or [0]
        parts = min(sum(pages) // max(LEAST_PAGES, cells // CELLS_OF_A_PAGE), max(pages), MOST_RANGES)
        return PageRanges(lock_statement(self.table), pages, parts) if parts > 1 else None

    def rows(self, ranges: PageRanges | None) -> str | exp.Subquery:
        """Return the table under the domain's names: itself, or a query that renames its columns, of a range or all."""
        from dpnb_columnar.dialects.rendering import renamed_table
        from dpnb_columnar.dialects.table_size import rows_in_range

        if ranges is not None:
            return rows_in_range(self.table, self.columns)
        if all(name == own for name, own in self.columns.items()):
            return self.table
        return renamed_table(self.table, self.columns, self.database.dialect)


def open_table(database: Database, query: str, table: str, domain: Domain) -> DatabaseTable:
    """Check that a table has the domain's columns, of types that the domain can be read from. No row is read.

    Args:
        database: Database of the table.
        query: The query that selects its rows.
        table: Name of the table, as the database's dialect writes it.
        domain: The domain to count in.

    Raises:
        UsageError, MissingInputError, TemporaryError, DataError, UnavailableError: as ``DatabaseRows.check``.
    """
    name = f"{database}, table {table}"
    columns = query_columns(database, query)
    names = matched_columns(domain.counted_columns, columns, name)
    types = check_columns({column: columns[own] for column, own in names.items()}, domain, name)
    read = {column: names[column] for column in types}
    return DatabaseTable(database, table, read, {column: kind_of(type_) for column, type_ in types.items()})


@confined()
def count_table(source: DatabaseTable, domain: Domain) -> Statistics:
    """Count every cell of the domain over the rows of a table, inside the database.

    Raises:
        MissingInputError, TemporaryError: if the database is not there any more.
        DataError: if the query fails.
    """
    from dpnb_columnar.dialects.statistics_query import statistics_query

    ranges = source.ranges(domain, len(domain.classes) * sum(map(number_of_codes, domain.attributes)))
    query = statistics_query(domain, source.kinds, source.rows(ranges), source.database.dialect)
    return count_query(source.database, query, domain, source.size, ranges)


@confined()
def score_table(source: DatabaseTable, scores: Scores) -> ScoreCounts:
    """Count bins of scores over the rows of a table, inside the database.

    Raises:
        MissingInputError, TemporaryError, DataError: as ``count_table``.
    """
    from dpnb_columnar.counting.score_counts_query import score_counts_query

    ranges = source.ranges(scores.domain, len(scores.domain.classes) * scores.bins)
    query = score_counts_query(scores, source.kinds, source.rows(ranges), source.database.dialect)
    return score_query(source.database, query, scores, source.size, ranges)


@confined()
def differentiate_table(source: DatabaseTable, query: GradientQuery) -> GradientSums:
    """Sum up a round's gradient over the rows of a table, inside the database.

    Raises:
        MissingInputError, TemporaryError, DataError: as ``count_table``.
    """
    from dpnb_columnar.counting.score_counts_query import gradients_query

    ranges = source.ranges(query.domain, cells=1)
    text = gradients_query(query, source.kinds, source.rows(ranges), source.database.dialect)
    return differentiate_query(source.database, text, query, source.size, ranges)


TABLE = (count_table, score_table, differentiate_table)


def _count_query(rows: DatabaseRows, domain: Domain) -> Statistics:
    return count_query(rows.database, rows.query, rows.counted_in or domain).only(domain)


def _score_query(rows: DatabaseRows, scores: Scores) -> ScoreCounts:
    return score_query(rows.database, rows.query, scores)


def _differentiate_query(rows: DatabaseRows, query: GradientQuery) -> GradientSums:
    return differentiate_query(rows.database, rows.query, query)


@confined()
def differentiate_query(
    database: Database, text: str, query: GradientQuery, size: Size = unknown, ranges: PageRanges | None = None
) -> GradientSums:
    """Run a query of a round's sums, such as ``sql statistics --given`` prints, and return them.

    Raises:
        MissingInputError, TemporaryError, UnavailableError: as ``read_query``.
        DataError: if the query fails, or its result is not that of such a query for this round.
    """
    return gradient_sums_of(_result(database, text, size, ranges), query, database)


@confined()
def score_query(
    database: Database, query: str, scores: Scores, size: Size = unknown, ranges: PageRanges | None = None
) -> ScoreCounts:
    """Run a query of score counts, such as ``sql statistics --given`` prints, and return its counts.

    Raises:
        MissingInputError, TemporaryError, UnavailableError: as ``read_query``.
        DataError: if the query fails, or its result is not that of such a query for these scores.
    """
    return score_counts_of(_result(database, query, size, ranges), scores, database)


@confined()
def count_query(
    database: Database, query: str, domain: Domain, size: Size = unknown, ranges: PageRanges | None = None
) -> Statistics:
    """Run a statistics query, such as ``sql statistics`` prints, and return its counts as statistics.

    Args:
        database: Database to run the query in.
        query: The query, in the database's dialect.
        domain: The domain that the query counts in.
        size: Returns how many rows it reads, as far as that is public.
        ranges: Ranges of pages that it is run for, one after the other; None to run it once.

    Raises:
        MissingInputError, TemporaryError, UnavailableError: as ``read_query``.
        DataError: if the query fails, or its result is not that of a statistics query in this domain.
    """
    return statistics_of(_result(database, query, size, ranges), domain, database)


def _result(database: Database, query: str, size: Size, ranges: PageRanges | None) -> pl.DataFrame:
    with read_query(database, query, size=size, ranges=ranges) as result:
        nothing = pl.DataFrame(schema=result.columns)
        return pl.concat([nothing, *result.parts]) if ranges is None else _added_up(nothing, result.parts)


def _added_up(total: pl.DataFrame, parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Add up the counts and sums of several results, by what was counted: no more is held than a few of them."""
    keys, waiting = [name for name in total.columns if name in KEYS], [total]
    for part in parts:
        waiting.append(part)
        if sum(map(len, waiting[1:])) > max(MOST_WAITING, len(waiting[0])):
            waiting = [pl.concat(waiting).group_by(keys).agg(pl.all().sum())]
    return pl.concat(waiting).group_by(keys).agg(pl.all().sum())
