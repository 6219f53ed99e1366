"""Run a query in a PostgreSQL server, in a transaction that reads only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from dpnb_columnar.domain.database_address import Database
from dpnb_columnar.errors import DataError, Error, MissingInputError, TemporaryError, UnavailableError, command, option
from dpnb_columnar.runtime.row_progress import begin_work

if TYPE_CHECKING:
    import pyarrow as pa

PROBLEMS = {
    "42P01": "it has no such table, or the query names none; check {table} and the search path",
    "42703": "a column of the query does not exist there; check the names, or those of the domain",
    "42501": "permission denied; grant SELECT on the table to this user",
    "42601": "the query is not valid there; make it with {sql}",
    "42883": "a column has a type that the query does not fit; cast it in a view",
    "25006": "the query would write; only queries that read are run",
    "57014": "the query was cancelled there, as by a time limit",
}
"""Meaning of PostgreSQL's error codes, in words that quote no value: the server's own text may quote some. ``{table}``
and ``{sql}`` stand for an option and a command."""

NO_ENTRY = ("28", "3D")
"""Beginnings of the error codes of a connection that is refused for good: user or password, no such database."""

PASSING = ("08", "40", "53", "57P", "58")
"""Beginnings of the error codes of what passes by itself: the connection is lost, the server restarts, or lacks memory,
room on its disk or connections; or another transaction stood in the way."""

REFUSED_FOR_GOOD = ("authentic", "password", "does not exist", "translate host name", "pg_hba", "definition of service")
"""Parts of the texts of connections that are refused for good; without a code, nothing else tells them apart."""

BEYOND_ALL_PAGES = 2**32 - 1
"""No table has a page of this number."""


@dataclass(frozen=True, slots=True)
class PageRanges:
    """Ranges of the pages of a table, of which a query reads one after the other: in every partition the same ones.

    Attributes:
        lock: Statement that keeps the table as it is.
        pages: Number of the pages of every partition. Public.
        parts: Number of ranges.
    """

    lock: str
    pages: Sequence[int]
    parts: int

    @property
    def starts(self) -> list[int]:
        """The first page of each range, and the end of the last."""
        return [max(self.pages) * part // self.parts for part in range(self.parts + 1)]

    def below(self, page: int) -> int:
        """Return the number of pages below this one, of all partitions together."""
        return sum(min(page, pages) for pages in self.pages)


@contextmanager
def read_postgres(database: Database, query: str, ranges: PageRanges | None = None) -> Iterator[pa.RecordBatchReader]:
    """Run a query; see ``database_query.read_query``. Rows arrive in batches of about 16 MiB, as the driver reads."""
    import pyarrow as pa

    try:
        from adbc_driver_manager import Error as DriverError
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise UnavailableError(
            "reading from PostgreSQL needs its driver; install it with: pip install 'dpnb-columnar[postgresql]'"
        ) from None
    try:
        connection = dbapi.connect(database.address)
    except DriverError as error:
        raise _connection_error(database, error) from None
    try:
        with connection, connection.cursor() as cursor:
            results = _results(cursor, query, ranges)
            first = next(results)
            batches = _batches(database, chain([first], results), connection)
            yield pa.RecordBatchReader.from_batches(first.schema, batches)
    except DriverError as error:
        raise _query_error(database, error) from None


def _results(cursor: Any, query: str, ranges: PageRanges | None) -> Iterator[pa.RecordBatchReader]:
    """Run a query once, or once for each range of pages, all of them in one snapshot of the table."""
    if ranges is None:
        cursor.execute("SET TRANSACTION READ ONLY")
        cursor.execute(query)
        yield cursor.fetch_record_batch()
        return
    advance = begin_work(sum(ranges.pages), "pages")
    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    cursor.execute(ranges.lock)
    cursor.execute("SET LOCAL jit = off")  # a range is too short to compile the query for, again each time
    for start, end in pairwise(ranges.starts):
        # Pages that came since they were counted are read with the last range.
        beyond = BEYOND_ALL_PAGES if end == max(ranges.pages) else end
        cursor.execute(f"SET LOCAL dpnb.first_page = '({start},0)'")
        cursor.execute(f"SET LOCAL dpnb.end_page = '({beyond},0)'")
        cursor.execute(query)
        yield cursor.fetch_record_batch()
        if advance is not None:
            advance(ranges.below(end) - ranges.below(start))


def _batches(database: Database, results: Iterator[pa.RecordBatchReader], connection: Any) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    try:
        for result in results:
            yield from result
    except (pa.ArrowException, OSError):  # its text may quote values, and no code comes with it
        if _is_lost(connection):
            raise _lost_connection_error(database) from None
        raise DataError(
            f"{database}: the query fails before its end; run it there to see why (a cast that a value does not fit, a "
            "time limit)"
        ) from None


def _is_lost(connection: Any) -> bool:
    """Test whether a connection is lost: the server does not even end the transaction."""
    from adbc_driver_manager import Error as DriverError

    try:
        connection.rollback()
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            cursor.fetchone()
    except (DriverError, OSError):
        return True
    return False


def _connection_error(database: Database, error: Any) -> Error:
    """Explain why there is no connection, without the server's text.

    The driver has no code of such an error. Its text tells of address, user and server, and of no row.
    """
    if any(part in str(error) for part in REFUSED_FOR_GOOD):
        return _login_error(database)
    return TemporaryError(
        f"{database}: no connection; check the address, and that the server runs, is reachable and takes more "
        "connections; then try again"
    )


def _login_error(database: Database) -> MissingInputError:
    return MissingInputError(
        f"{database}: no connection; check address, database, user and password (PGPASSWORD or ~/.pgpass)"
    )


def _query_error(database: Database, error: Any) -> Error:
    """Explain a failure of PostgreSQL by its error code, without the server's text."""
    code = error.sqlstate or ""
    if code.startswith(NO_ENTRY):
        return _login_error(database)
    if not code or code.startswith(PASSING):
        return _lost_connection_error(database)
    problem = PROBLEMS.get(code, f"the query fails there (SQLSTATE {code}); run it with psql to see why")
    problem = problem.format(table=option("table"), sql=command("sql", dialect="postgres"))
    return DataError(f"{database}: {problem}")


def _lost_connection_error(database: Database) -> TemporaryError:
    return TemporaryError(
        f"{database}: the connection is lost, or the server is short of memory, disk or connections; see its log, and "
        "try again"
    )
