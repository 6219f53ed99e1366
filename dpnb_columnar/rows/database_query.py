"""Run one query in a database and read its result as a stream of frames. Nothing is ever written there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpnb_columnar.domain.names import is_printable, listed
from dpnb_columnar.errors import DataError, MissingInputError, UnavailableError, excerpt
from dpnb_columnar.rows.database_address import Database, Dialect

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

BATCH_ROWS = 131_072
"""Rows of a record batch from DuckDB; PostgreSQL's driver chooses batches of about 16 MiB."""

LONGEST_PROBLEM = 300
"""Characters of DuckDB's error text that a message repeats."""

CONFINED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "temp_directory": "",  # rows are never spilled to where others can read
}
"""Settings under which a DuckDB file is opened. A view in it is a program by the file's author: it may read the file's
own tables, but no other file, no server, and no variable of this process."""

NO_SELECT = "the query is not one SELECT, and nothing else is run; give a file with one SELECT"

PROBLEMS = {
    "42P01": "it has no such table, or the query names none; check --table and the search path",
    "42703": "a column of the query does not exist there; check the names, or those of the domain",
    "42501": "permission denied; grant SELECT on the table to this user",
    "42601": "the query is not valid there; make it with dpnb-columnar sql --dialect postgres",
    "42883": "a column has a type that the query does not fit; cast it in a view",
    "25006": "the query would write; only queries that read are run",
    "57014": "the query was cancelled there, as by a time limit",
}
"""Meaning of PostgreSQL's error codes, in words that quote no value: the server's own text may quote some."""

CONNECTION_CLASSES = ("08", "28", "3D", "53", "57P")
"""Beginnings of the error codes of a failed connection: none, refused, no such database, too many, server shut down."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The result of a query.

    Attributes:
        columns: Name and type of each column.
        parts: The rows, in order, part by part; the iterator can be read once. Confidential.
    """

    columns: dict[str, pl.DataType]
    parts: Iterator[pl.DataFrame]


@contextmanager
def read_query(database: Database, query: str) -> Iterator[QueryResult]:
    """Run a query that returns rows.

    Args:
        database: Database to run it in; it is opened for reading only.
        query: One SELECT in the database's dialect.

    Raises:
        MissingInputError: if there is no such file, or the server refuses the connection.
        DataError: if the query fails; the message quotes no value.
        UnavailableError: if the driver is not installed.
    """
    reader = _duckdb if database.dialect is Dialect.DUCKDB else _postgres
    with reader(database, query) as batches:
        yield QueryResult(_types(batches.schema), _parts(database, batches))


def query_columns(database: Database, query: str) -> dict[str, pl.DataType]:
    """Return the name and type of each column of a query's result; no row is read.

    Raises:
        MissingInputError, DataError, UnavailableError: as ``read_query``.
    """
    with read_query(database, f"SELECT * FROM ({query}) AS source LIMIT 0") as result:
        return result.columns


def _types(schema: pa.Schema) -> dict[str, pl.DataType]:
    """Return Polars' type of each column; Unknown where Polars has none."""
    import polars as pl
    import pyarrow as pa

    readable = pa.schema([field for field in schema if is_readable(field.type)])
    types = _frame(readable.empty_table()).schema
    return {name: types.get(name, pl.Unknown()) for name in schema.names}


def is_readable(type_: pa.DataType) -> bool:
    """Test whether Polars reads an Arrow type: numbers, texts, times, and lists and records of these."""
    import pyarrow as pa

    if isinstance(type_, pa.BaseExtensionType):
        return is_readable(type_.storage_type)
    if pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_struct(type_):
        return all(is_readable(type_.field(place).type) for place in range(type_.num_fields))
    return not pa.types.is_nested(type_) and not pa.types.is_interval(type_) and not pa.types.is_decimal256(type_)


def _parts(database: Database, batches: pa.RecordBatchReader) -> Iterator[pl.DataFrame]:
    import pyarrow as pa

    if unreadable := [field.name for field in batches.schema if not is_readable(field.type)]:
        raise DataError(
            f"{database}: column {listed(unreadable)} is of a type that cannot be read; cast it in a view, or leave it "
            "out"
        )
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
    """Convert a part of a result; PostgreSQL's ``numeric``, unknown to Arrow, becomes the nearest 64-bit float."""
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
        connection = duckdb.connect(path, read_only=True, config=CONFINED)
    except duckdb.Error:
        raise MissingInputError(
            f"{path}: cannot be opened: not a DuckDB file of a version this program reads, or in use by a process that "
            "writes to it"
        ) from None
    with connection:
        try:
            statements = duckdb.extract_statements(query)
            if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
                raise DataError(f"{path}: {NO_SELECT}")
            connection.execute("SET enable_progress_bar = false")
            yield connection.sql(query).to_arrow_reader(BATCH_ROWS)
        except (duckdb.CatalogException, duckdb.BinderException, duckdb.ParserException) as error:
            # The first line of these errors quotes names alone; the excerpt of the query that follows is left out. Only
            # the name of an ENUM type contains values.
            if "ENUM(" in str(error):
                raise DataError(f"{path}: the query does not fit the type of an ENUM column; cast it to text") from None
            first = str(error).splitlines()[0]
            problem = f"{first:.{LONGEST_PROBLEM}}" if is_printable(first) else excerpt(first)
            raise DataError(f"{path}: {problem}; check --table or the query") from None
        except duckdb.PermissionException:
            raise DataError(
                f"{path}: the query reads files or servers outside of the database, which is refused; copy those rows "
                "into a table, or give the files themselves"
            ) from None
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
    """Explain a failure of PostgreSQL by its error code, without the server's text."""
    code = error.sqlstate or ""
    if not code or code.startswith(CONNECTION_CLASSES):
        return MissingInputError(
            f"{database}: no connection (SQLSTATE {code or 'none'}); check address, user and password (PGPASSWORD or "
            "~/.pgpass), and that the server runs"
        )
    problem = PROBLEMS.get(code, f"the query fails there (SQLSTATE {code}); run it with psql to see why")
    return DataError(f"{database}: {problem}")
