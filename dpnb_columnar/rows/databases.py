"""Reads the result of one query from a database as a stream of frames. Nothing is ever written there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from dpnb_columnar.domain.validation import is_printable, listed
from dpnb_columnar.errors import DataError, MissingInputError, UnavailableError, UsageError, shown

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

# MERGED FROM dpnb_columnar/rows/databases.py: The databases that queries are written for.


class Dialect(StrEnum):
    """A database's SQL, by the name sqlglot knows it under."""

    DUCKDB = "duckdb"
    POSTGRES = "postgres"
    SPARK = "spark"
    BIGQUERY = "bigquery"
    SNOWFLAKE = "snowflake"
    SQLITE = "sqlite"


def dialect_named(name: str) -> Dialect:
    """The dialect of this name.

    Raises:
        UsageError: There is none; the message lists the names there are.
    """
    try:
        return Dialect(name)
    except ValueError:
        raise UsageError(f"no dialect {name!r:.80}; known: {', '.join(Dialect)}") from None


# MERGED FROM dpnb_columnar/rows/databases.py: Where a database is: a DuckDB file or a PostgreSQL server, as typed on
# the command line.

DUCKDB_PREFIX = "duckdb:"
DUCKDB_SUFFIXES = (".duckdb", ".ddb")
POSTGRES_SCHEMES = ("postgresql://", "postgres://")


@dataclass(frozen=True, slots=True)
class Database:
    """A database to read from.

    Attributes:
        dialect: Its SQL: DuckDB's or PostgreSQL's.
        address: Path of a DuckDB file, or the connection URI of a PostgreSQL server, which holds no password.
    """

    dialect: Dialect
    address: str

    def __str__(self) -> str:
        return self.address


def database_at(text: str) -> Database | None:
    """The database that an argument names, or None where it names none (a file, a folder, a pattern).

    A PostgreSQL URI may leave anything out that libpq's environment variables, password file or service file supply.

    Raises:
        UsageError: The address holds a password, which every user of the machine could read in the list of processes.
    """
    if text.startswith(DUCKDB_PREFIX):
        return Database(Dialect.DUCKDB, text.removeprefix(DUCKDB_PREFIX))
    if text.lower().endswith(DUCKDB_SUFFIXES):
        return Database(Dialect.DUCKDB, text)
    if not text.startswith(POSTGRES_SCHEMES):
        return None
    if _password(text):
        raise UsageError(
            "a password in a database address can be read by every user of the machine; leave it out and set "
            "PGPASSWORD, or use ~/.pgpass or a service file"
        )
    return Database(Dialect.POSTGRES, text)


def _password(uri: str) -> bool:
    """Whether a connection URI holds a password (or cannot be taken apart, when it might)."""
    try:
        parts = urlsplit(uri)
        names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
        return parts.password is not None or any(map(_is_secret, names))
    except ValueError:
        return True


def _is_secret(name: str) -> bool:
    """Whether a parameter of libpq is one, such as ``sslpassword``, ``oauth_client_secret`` or ``scram_client_key``."""
    return any(word in name.lower() for word in ("password", "secret", "scram"))


BATCH_ROWS = 131_072
"""Rows of a record batch from DuckDB; PostgreSQL's driver has its own size, of about 16 MiB."""

LONGEST_PROBLEM = 300
"""Characters of what DuckDB says of a query."""

CONFINED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "temp_directory": "",  # rows are never spilled to where others can read
}
"""How a DuckDB file is opened. A view in it is a program of whoever made the file: it may read the file's own tables,
but no other file, no server, and no variable of this process."""

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
        yield Result(_types(batches.schema), _parts(database, batches))


def columns_of(database: Database, query: str) -> dict[str, pl.DataType]:
    """The columns that a query returns, and their types; no row is read.

    Raises: as ``read_query``.
    """
    with read_query(database, f"SELECT * FROM ({query}) AS source LIMIT 0") as result:
        return result.columns


def _types(schema: pa.Schema) -> dict[str, pl.DataType]:
    """The types of columns; Unknown for one that Polars does not take."""
    import polars as pl
    import pyarrow as pa

    readable = pa.schema([field for field in schema if is_readable(field.type)])
    found = _frame(readable.empty_table()).schema
    return {name: found.get(name, pl.Unknown()) for name in schema.names}


def is_readable(type_: pa.DataType) -> bool:
    """Whether Polars takes columns of an Arrow type: numbers, texts, times, and lists and records of these."""
    import pyarrow as pa

    if isinstance(type_, pa.BaseExtensionType):
        return is_readable(type_.storage_type)
    if pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_struct(type_):
        return all(is_readable(type_.field(place).type) for place in range(type_.num_fields))
    return not pa.types.is_nested(type_) and not pa.types.is_interval(type_) and not pa.types.is_decimal256(type_)


def _parts(database: Database, batches: pa.RecordBatchReader) -> Iterator[pl.DataFrame]:
    import pyarrow as pa

    if odd := [field.name for field in batches.schema if not is_readable(field.type)]:
        raise DataError(
            f"{database}: column {listed(odd)} is of a type that cannot be read; cast it in a view, or leave it out"
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
            # These speak of names alone; the excerpt of the query, which follows, is left out. Only the name of an ENUM
            # is made of values.
            if "ENUM(" in str(error):
                raise DataError(f"{path}: the query does not fit the type of an ENUM column; cast it to text") from None
            first = str(error).splitlines()[0]
            told = f"{first:.{LONGEST_PROBLEM}}" if is_printable(first) else shown(first)
            raise DataError(f"{path}: {told}; check --table or the query") from None
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
    """What a failure of PostgreSQL means, without the server's text."""
    code = error.sqlstate or ""
    if not code or code.startswith(CONNECTION_CLASSES):
        return MissingInputError(
            f"{database}: no connection (SQLSTATE {code or 'none'}); check address, user and password (PGPASSWORD or "
            "~/.pgpass), and that the server runs"
        )
    problem = PROBLEMS.get(code, f"the query fails there (SQLSTATE {code}); run it with psql to see why")
    return DataError(f"{database}: {problem}")
