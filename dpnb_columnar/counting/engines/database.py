"""Count inside the database that holds the rows: it runs the statistics query, and counts alone leave it.

CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from dpnb_columnar.counting.countable import OpenedRows
from dpnb_columnar.counting.gradient_files import gradient_sums_of
from dpnb_columnar.counting.gradients import GradientQuery, GradientSums
from dpnb_columnar.counting.query_results import statistics_of
from dpnb_columnar.counting.score_files import score_counts_of
from dpnb_columnar.counting.scores import ScoreCounts, Scores
from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.domain import Domain
from dpnb_columnar.rows.column_checks import check_columns, matched_columns
from dpnb_columnar.rows.column_kinds import Kind, kind_of
from dpnb_columnar.rows.database_address import Database
from dpnb_columnar.rows.database_query import query_columns, read_query, table_size
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.row_progress import Size, unknown

if TYPE_CHECKING:
    from sqlglot import exp


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
        rows: The table, under the domain's names: itself, or a query that renames its columns.
        kinds: The kind of each column.
        size_query: The query for the size of the table.
    """

    database: Database
    rows: str | exp.Subquery
    kinds: Mapping[str, Kind | None]
    size_query: str

    def size(self) -> int | None:
        """Return about how many rows the table has; None if the database does not say."""
        return table_size(self.database, self.size_query)


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
    from dpnb_columnar.dialects.rendering import renamed_table
    from dpnb_columnar.dialects.table_size import size_query

    name = f"{database}, table {table}"
    columns = query_columns(database, query)
    names = matched_columns(domain.counted_columns, columns, name)
    types = check_columns({column: columns[own] for column, own in names.items()}, domain, name)
    read = {column: names[column] for column in types}
    exact = all(column == own for column, own in read.items())
    rows = table if exact else renamed_table(table, read, database.dialect)
    kinds = {column: kind_of(type_) for column, type_ in types.items()}
    return DatabaseTable(database, rows, kinds, size_query(table, database.dialect))


@confined()
def count_table(source: DatabaseTable, domain: Domain) -> Statistics:
    """Count every cell of the domain over the rows of a table, inside the database.

    Raises:
        MissingInputError, TemporaryError: if the database is not there any more.
        DataError: if the query fails.
    """
    from dpnb_columnar.dialects.statistics_query import statistics_query

    query = statistics_query(domain, source.kinds, source.rows, source.database.dialect)
    return count_query(source.database, query, domain, source.size)


@confined()
def score_table(source: DatabaseTable, scores: Scores) -> ScoreCounts:
    """Count bins of scores over the rows of a table, inside the database.

    Raises:
        MissingInputError, TemporaryError, DataError: as ``count_table``.
    """
    from dpnb_columnar.counting.score_counts_query import score_counts_query

    query = score_counts_query(scores, source.kinds, source.rows, source.database.dialect)
    return score_query(source.database, query, scores, source.size)


@confined()
def differentiate_table(source: DatabaseTable, query: GradientQuery) -> GradientSums:
    """Sum up a round's gradient over the rows of a table, inside the database.

    Raises:
        MissingInputError, TemporaryError, DataError: as ``count_table``.
    """
    from dpnb_columnar.counting.gradients_query import gradients_query

    text = gradients_query(query, source.kinds, source.rows, source.database.dialect)
    return differentiate_query(source.database, text, query, source.size)


TABLE = (count_table, score_table, differentiate_table)


def _count_query(rows: DatabaseRows, domain: Domain) -> Statistics:
    return count_query(rows.database, rows.query, rows.counted_in or domain).only(domain)


def _score_query(rows: DatabaseRows, scores: Scores) -> ScoreCounts:
    return score_query(rows.database, rows.query, scores)


def _differentiate_query(rows: DatabaseRows, query: GradientQuery) -> GradientSums:
    return differentiate_query(rows.database, rows.query, query)


@confined()
def differentiate_query(database: Database, text: str, query: GradientQuery, size: Size = unknown) -> GradientSums:
    """Run a query of a round's sums, such as ``sql statistics --given`` prints, and return them.

    Raises:
        MissingInputError, TemporaryError, UnavailableError: as ``read_query``.
        DataError: if the query fails, or its result is not that of such a query for this round.
    """
    return gradient_sums_of(_result(database, text, size), query, database)


@confined()
def score_query(database: Database, query: str, scores: Scores, size: Size = unknown) -> ScoreCounts:
    """Run a query of score counts, such as ``sql statistics --given`` prints, and return its counts.

    Raises:
        MissingInputError, TemporaryError, UnavailableError: as ``read_query``.
        DataError: if the query fails, or its result is not that of such a query for these scores.
    """
    return score_counts_of(_result(database, query, size), scores, database)


@confined()
def count_query(database: Database, query: str, domain: Domain, size: Size = unknown) -> Statistics:
    """Run a statistics query, such as ``sql statistics`` prints, and return its counts as statistics.

    Args:
        database: Database to run the query in.
        query: The query, in the database's dialect.
        domain: The domain that the query counts in.
        size: Returns how many rows it reads, as far as that is public.

    Raises:
        MissingInputError, TemporaryError, UnavailableError: as ``read_query``.
        DataError: if the query fails, or its result is not that of a statistics query in this domain.
    """
    return statistics_of(_result(database, query, size), domain, database)


def _result(database: Database, query: str, size: Size) -> pl.DataFrame:
    with read_query(database, query, size=size) as result:
        return pl.concat([pl.DataFrame(schema=result.columns), *result.parts])
