"""Count inside the database that holds the rows: it runs the statistics query, and counts alone leave it.

CONFIDENTIAL.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from dpnb_columnar.counting.countable import OpenedRows
from dpnb_columnar.counting.gradients import GradientQuery, GradientSums
from dpnb_columnar.counting.query_results import statistics_of
from dpnb_columnar.counting.score_files import score_counts_of
from dpnb_columnar.counting.scores import ScoreCounts, Scores
from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.names import listed, named
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.column_checks import check_kinds
from dpnb_columnar.rows.column_kinds import Kind, kind_of
from dpnb_columnar.rows.database_address import Database
from dpnb_columnar.rows.database_query import query_columns, read_query
from dpnb_columnar.runtime.confinement import confined


@dataclass(frozen=True, slots=True)
class DatabaseRows:
    """Rows that a database counts.

    Attributes:
        database: Where they are.
        query: A statistics query, or the query that selects the table's rows.
        table: Table whose rows are counted; None for a statistics query.
        counted_in: Domain of a statistics query; None for the one to count in. Attributes may be left out of it.
        given: Whether the query counts the scores that a model gives.
    """

    database: Database
    query: str
    table: str | None = None
    counted_in: Domain | None = None
    given: bool = False

    @property
    def can_score(self) -> bool:
        """Whether the database can count scores: in a table, or by a query made for it."""
        return self.table is not None or self.given

    def check(self, domain: Domain) -> OpenedRows:
        """Leave every check to the count: before, the database is asked nothing."""
        differentiate = _differentiate if self.table is not None else None
        return OpenedRows(self, domain, _count, _count_scores if self.can_score else None, differentiate)


def _count(rows: DatabaseRows, domain: Domain) -> Statistics:
    if rows.table is None:
        return count_query(rows.database, rows.query, rows.counted_in or domain).only(domain)
    return count_table(rows.database, rows.table, domain)


def _count_scores(rows: DatabaseRows, scores: Scores) -> ScoreCounts:
    if rows.table is None:
        return score_query(rows.database, rows.query, scores)
    return score_table(rows.database, rows.table, scores)


def _differentiate(rows: DatabaseRows, query: GradientQuery) -> GradientSums:
    assert rows.table is not None
    return differentiate_table(rows.database, rows.table, query)


@confined()
def differentiate_table(database: Database, table: str, query: GradientQuery) -> GradientSums:
    """Sum up a round's gradient over the rows of a table, inside the database.

    Raises:
        UsageError, MissingInputError, DataError, UnavailableError: as ``count_table``.
    """
    from dpnb_columnar.counting.gradients_query import gradients_query, sums_of

    kinds = _kinds(database, table, query.domain)
    result = _result(database, gradients_query(query, kinds, table, database.dialect))
    return sums_of(result.row(0, named=True), query)


@confined()
def score_table(database: Database, table: str, scores: Scores) -> ScoreCounts:
    """Count bins of scores over the rows of a table, inside the database.

    Raises:
        UsageError, MissingInputError, DataError, UnavailableError: as ``count_table``.
    """
    from dpnb_columnar.counting.score_counts_query import score_counts_query

    kinds = _kinds(database, table, scores.domain)
    return score_query(database, score_counts_query(scores, kinds, table, database.dialect), scores)


@confined()
def score_query(database: Database, query: str, scores: Scores) -> ScoreCounts:
    """Run a query of score counts, such as ``sql statistics --given`` prints, and return its counts.

    Raises:
        MissingInputError, UnavailableError: as ``count_table``.
        DataError: if the query fails, or its result is not that of such a query for these scores.
    """
    return score_counts_of(_result(database, query), scores, database)


@confined()
def count_table(database: Database, table: str, domain: Domain) -> Statistics:
    """Count every cell of the domain over the rows of a table, inside the database.

    Args:
        database: Database of the table.
        table: Name of the table, as the database's dialect writes it.
        domain: The domain to count in.

    Raises:
        UsageError: if the name is not the name of a table.
        MissingInputError: if the database cannot be opened.
        DataError: if the table or a column is missing, a column's type does not fit, or the query fails.
        UnavailableError: if the database's driver is not installed.
    """
    from dpnb_columnar.dialects.statistics_query import statistics_query

    kinds = _kinds(database, table, domain)
    return count_query(database, statistics_query(domain, kinds, table, database.dialect), domain)


@confined()
def count_query(database: Database, query: str, domain: Domain) -> Statistics:
    """Run a statistics query, such as ``sql statistics`` prints, and return its counts as statistics.

    Args:
        database: Database to run the query in.
        query: The query, in the database's dialect.
        domain: The domain that the query counts in.

    Raises:
        MissingInputError, UnavailableError: as ``count_table``.
        DataError: if the query fails, or its result is not that of a statistics query in this domain.
    """
    return statistics_of(_result(database, query), domain, database)


def _kinds(database: Database, table: str, domain: Domain) -> dict[str, Kind | None]:
    """Return the kinds of the columns of a table, checked against a domain; no row is read."""
    from dpnb_columnar.dialects.rendering import select_columns

    columns = query_columns(database, select_columns(table, None, database.dialect))
    missing = [name for name in domain.counted_columns if name not in columns]
    if missing:
        raise DataError(
            f"{database}: table {table} has no column {listed(missing)}; its columns are "
            f"{named([*columns])}; make a view with the names of the domain, or correct the domain"
        )
    types = {name: columns[name] for name in domain.counted_columns}
    check_kinds(domain, types, f"{database}, table {table}")
    return {name: kind_of(type_) for name, type_ in types.items()}


def _result(database: Database, query: str) -> pl.DataFrame:
    with read_query(database, query) as result:
        return pl.concat([pl.DataFrame(schema=result.columns), *result.parts])
