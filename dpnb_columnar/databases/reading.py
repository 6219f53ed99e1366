"""Reads the result of one query from a database as a stream of frames. Nothing is ever written there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpnb_columnar.databases.address import Database
from dpnb_columnar.dialects.names import Dialect
from dpnb_columnar.errors import DataError, MissingInputError, UnavailableError

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

BATCH_ROWS = 131_072
"""Rows of a record batch from DuckDB; PostgreSQL's driver has its own size, of about 16 MiB."""

PROBLEMS = {
    "42P01": "it has no such table, or the query names none; check --table and the search path",
    "42703": "a column of the query does not exist there; check the names, or those of the domain",
    "42501": "permission denied; grant SELECT on the table to this user",
    "42601": "the query is not valid there; make it with dpnb-columnar sql --dialect postgres",
    "42883": "a column has a type that the query does not fit; cast it in a view",
    "25006": "the query would write; only queries that read are run",
    "57014": "the query was cancelled there, as by a time limit",
}
"""What PostgreSQL's error codes mean, in words that quote no value: the server's own text may."""

CONNECTION_CLASSES = ("08", "28", "3D", "53", "57P")
"""Beginnings of the error codes for no connection, no admission, no such database, no room for one more, shutdown."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a query returns.

    Attributes:
        columns: Its columns and their types.
        parts: Its rows, in order, part by part; can be read once.
    """

    columns: dict[str, pl.DataType]
    parts: Iterator[pl.DataFrame]


@contextmanager
def read_query(database: Database, query: str) -> Iterator[Result]:
    """Run a query that returns rows.

    Args:
        database: Where to run it, read-only.
        query: One SELECT in the database's dialect.

    Raises:
        MissingInputError: There is no such file, or the server does not let us in.
        DataError: The query cannot be run there. The text quotes no value.
        UnavailableError: The driver is not installed.
    """
    reader = _duckdb if database.dialect is Dialect.DUCKDB else _postgres
    with reader(database, query) as batches:
        yield Result(dict(_frame(batches.schema.empty_table()).schema), _parts(database, batches))


def columns_of(database: Database, query: str) -> dict[str, pl.DataType]:
    """The columns that a query returns, and their types; no row is read.

    Raises: as ``read_query``.
    """
    with read_query(database, f"SELECT * FROM ({query}) AS source LIMIT 0") as result:
        return result.columns


def _parts(database: Database, batches: pa.RecordBatchReader) -> Iterator[pl.DataFrame]:
    import pyarrow as pa

    while True:
        try:
            batch = batches.read_next_batch()
        except StopIteration:
            return
        except (pa.ArrowException, OSError):  # its text may quote values
            raise DataError(
                f"{database}: the query fails before its end; run it there to see why (a cast that a value does not "
                "fit, a lost connection)"
            ) from None
        yield _frame(batch)


def _frame(part: pa.RecordBatch | pa.Table) -> pl.DataFrame:
    """A part of a result; numbers of PostgreSQL's ``numeric``, unknown to Arrow, become the nearest 64-bit floats."""
    import polars as pl
    import pyarrow as pa

    numeric = [field.name for field in part.schema if getattr(field.type, "type_name", None) == "numeric"]
    columns = [
        column.cast(column.type.storage_type) if isinstance(column.type, pa.BaseExtensionType) else column
        for column in part.columns
    ]
    frame = pl.DataFrame(pa.table(columns, names=part.schema.names))
    return frame.with_columns(pl.col(name).cast(pl.Float64) for name in numeric)


@contextmanager
def _duckdb(database: Database, query: str) -> Iterator[pa.RecordBatchReader]:
    import duckdb

    path = Path(database.address)
    if not path.is_file():
        raise MissingInputError(f"{path}: no such DuckDB file; check the path")
    try:
        connection = duckdb.connect(path, read_only=True, config={"autoinstall_known_extensions": False})
    except duckdb.Error:
        raise MissingInputError(
            f"{path}: cannot be opened: not a DuckDB file of a version this program reads, or in use by a process that "
            "writes to it"
        ) from None
    with connection:
        try:
            connection.execute("SET enable_progress_bar = false")
            yield connection.sql(query).to_arrow_reader(BATCH_ROWS)
        except (duckdb.CatalogException, duckdb.BinderException, duckdb.ParserException) as error:
            # These speak of names alone; the excerpt of the query, which follows, is left out.
            raise DataError(f"{path}: {str(error).splitlines()[0]}; check --table or the query") from None
        except duckdb.Error as error:
            raise DataError(
                f"{path}: the query cannot be run to its end ({type(error).__name__}); run it in DuckDB to see why"
            ) from None


@contextmanager
def _postgres(database: Database, query: str) -> Iterator[pa.RecordBatchReader]:
    try:
        from adbc_driver_manager import Error
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise UnavailableError(
            "reading from PostgreSQL needs its driver; install it with: pip install 'dpnb-columnar[postgresql]'"
        ) from None
    try:
        with dbapi.connect(database.address) as connection, connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
            cursor.execute(query)
            yield cursor.fetch_record_batch()
    except Error as error:
        raise _refusal(database, error) from None


def _refusal(database: Database, error: Any) -> DataError | MissingInputError:
    """What a failure of PostgreSQL means, without the server's text."""
    code = error.sqlstate or ""
    if not code or code.startswith(CONNECTION_CLASSES):
        return MissingInputError(
            f"{database}: no connection (SQLSTATE {code or 'none'}); check address, user and password (PGPASSWORD or "
            "~/.pgpass), and that the server runs"
        )
    problem = PROBLEMS.get(code, f"the query fails there (SQLSTATE {code}); run it with psql to see why")
    return DataError(f"{database}: {problem}")
