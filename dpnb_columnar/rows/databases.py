"""Run one query in a database, which is only read, as a stream of frames; a view in a file is an untrusted program."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from sys import getsizeof
from typing import TYPE_CHECKING, Any

from dpnb_columnar.domain.names import is_printable, listed
from dpnb_columnar.errors import (
    DataError,
    Error,
    MissingInputError,
    ResourceError,
    TemporaryError,
    UnavailableError,
    command,
    excerpt,
    option,
)
from dpnb_columnar.rows.row_rules import text_of
from dpnb_columnar.rows.sources import Database, Dialect
from dpnb_columnar.runtime.resources import machine_memory
from dpnb_columnar.runtime.row_progress import Size, begin_work, is_watched, poll_progress
from dpnb_columnar.runtime.unfinished import is_file

if TYPE_CHECKING:
    import duckdb
    import polars as pl
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
"""Meaning of PostgreSQL's error codes; the server's text may quote values. An option, a command are filled in."""

NO_ENTRY = ("28", "3D")
"""Beginnings of the error codes of a connection that is refused for good: user or password, no such database."""

PASSING = ("08", "40", "53", "57P", "58")
"""Beginnings of the error codes of what passes by itself: a lost connection, restart, shortage, another transaction."""

REFUSED_FOR_GOOD = ("authentic", "password", "does not exist", "translate host name", "pg_hba", "definition of service")
"""Parts of the texts of connections that are refused for good; without a code, nothing else tells them apart."""

BEYOND_ALL_PAGES = 2**32 - 1  # no table has a page of this number


@dataclass(frozen=True, slots=True)
class PageRanges:
    """Ranges of the pages of a table, of which a query reads one after the other: in every partition the same ones."""

    lock: str  # statement that keeps the table as it is
    pages: Sequence[int]  # of every partition; public
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
    """Run a query; see ``read_query``. Rows arrive in batches of about 16 MiB, as the driver reads."""
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
        if any(part in str(error) for part in REFUSED_FOR_GOOD):  # there is no code
            raise _login_error(database) from None
        raise TemporaryError(
            f"{database}: no connection; check the address, and that the server runs, is reachable and takes more "
            "connections; then try again"
        ) from None
    try:
        with connection, connection.cursor() as cursor:
            results = _results(cursor, query, ranges)
            first = next(results)
            batches = _postgres_batches(database, chain([first], results), connection)
            yield pa.RecordBatchReader.from_batches(first.schema, batches)
    except DriverError as error:
        raise _postgres_error(database, error) from None


def _results(cursor: Any, query: str, ranges: PageRanges | None) -> Iterator[pa.RecordBatchReader]:
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


def _postgres_batches(
    database: Database, results: Iterator[pa.RecordBatchReader], connection: Any
) -> Iterator[pa.RecordBatch]:
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


def _login_error(database: Database) -> MissingInputError:
    return MissingInputError(
        f"{database}: no connection; check address, database, user and password (PGPASSWORD or ~/.pgpass)"
    )


def _postgres_error(database: Database, error: Any) -> Error:
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


SQLITE_BATCH_ROWS = 16_384  # rows of a record batch; they are Python objects first
BATCH_BYTES = 2**26  # bytes of these objects, from which on a batch ends earlier: a view may make values of any size
PART_OF_MEMORY = 16
"""The largest values of a row that are read whole have this part of the memory together: each is copied a few times."""

MANY_COLUMNS = 256  # as many columns are read whole where no number is given
SMALLEST_LIMIT, LARGEST_LIMIT = 2**20, 10**9
"""Bytes that a value may have on any machine, and the most that SQLite itself stores."""

BUSY = frozenset({"SQLITE_BUSY", "SQLITE_LOCKED"})
NO_ROOM = frozenset({"SQLITE_NOMEM", "SQLITE_FULL"})
"""Names of SQLite's errors that say nothing about the rows; an extended code begins with one of them."""


@contextmanager
def read_sqlite(
    database: Database, query: str, table: str | None = None, whole: int | None = None
) -> Iterator[pa.RecordBatchReader]:
    """Run a query; columns are texts unless SQLite itself guarantees whole numbers, so that no row decides a type."""
    import pyarrow as pa

    path = Path(database.address)
    if not is_file(path):
        raise MissingInputError(f"{path}: no such SQLite file; check the path")
    try:
        with closing(_connect(path, longest_value(whole))) as connection:
            integers = _whole_numbers(connection, table)
            cursor = connection.execute(query)
            if cursor.description is None:
                raise DataError(f"{path}: the query is not one SELECT, and nothing else is run; give one SELECT")
            names = [column[0] for column in cursor.description]
            schema = pa.schema([(name, pa.int64() if name in integers else pa.large_string()) for name in names])
            yield pa.RecordBatchReader.from_batches(schema, _sqlite_batches(cursor, schema))
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise _sqlite_error(error, path) from None


def _connect(path: Path, longest: int) -> sqlite3.Connection:
    """Open a file for reading. A view in it is a program by the file's author: it may call no function with effects."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.text_factory = _decode
    return connection


def longest_value(whole: int | None) -> int:
    """Return how many bytes a value may have, by the memory of the machine as far as it is known."""
    if not (memory := machine_memory()):
        return LARGEST_LIMIT
    columns = MANY_COLUMNS if whole is None else max(whole, 1)
    return max(SMALLEST_LIMIT, min(memory // PART_OF_MEMORY // columns, LARGEST_LIMIT))


def _decode(text: bytes) -> str | None:
    """Decode a text; one that is not UTF-8 is missing, as in a Parquet file."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return None


def _whole_numbers(connection: sqlite3.Connection, table: str | None) -> frozenset[str]:
    """List the columns that hold whole numbers alone: the key that is the row number, and integers of STRICT tables."""
    if table is None:
        return frozenset()
    listed = connection.execute("SELECT type, wr, strict FROM pragma_table_list(?)", (table,)).fetchall()
    if len(listed) != 1 or listed[0][0] != "table":
        return frozenset()
    _, without_row_number, strict = listed[0]
    columns = connection.execute("SELECT name, type, pk FROM pragma_table_info(?)", (table,)).fetchall()
    keys = [name for name, type_, pk in columns if pk and type_.upper() == "INTEGER"]
    numbered = keys if len([pk for *_, pk in columns if pk]) == 1 and not without_row_number else []
    return frozenset(
        [*numbered, *(name for name, type_, _ in columns if strict and type_.upper() in ("INT", "INTEGER"))]
    )


def _sqlite_batches(cursor: sqlite3.Cursor, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    while rows := _rows_of_batch(cursor):
        columns = zip(schema, zip(*rows, strict=True), strict=True)
        arrays = [
            pa.array(values if field.type == pa.int64() else [*map(text_of, values)], field.type)
            for field, values in columns
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _rows_of_batch(cursor: sqlite3.Cursor) -> list[tuple[Any, ...]]:
    rows, size = [], 0
    for row in cursor:
        rows.append(row)
        size += sum(map(getsizeof, row))
        if len(rows) == SQLITE_BATCH_ROWS or size >= BATCH_BYTES:
            break
    return rows


def _sqlite_error(error: sqlite3.Error | UnicodeDecodeError, path: Path) -> Error:
    """Explain a failure by SQLite's name for it; its text may quote values."""
    name = getattr(error, "sqlite_errorname", "SQLITE_MISUSE")
    if isinstance(error, UnicodeDecodeError):  # of a schema: Python decodes the names in it itself
        return DataError(f"{path}: names of its tables or columns are not UTF-8; make it again, or rename them")
    if name == "SQLITE_TOOBIG":
        return DataError(
            f"{path}: a value is longer than is read with the memory of this machine; read it on one with more, or "
            "leave its column out of the table or view"
        )
    if any(name.startswith(each) for each in BUSY):
        return TemporaryError(f"{path}: in use by a process that writes to it; try again")
    if any(name.startswith(each) for each in NO_ROOM):
        return ResourceError(f"{path}: memory does not suffice to read it; close other programs or raise the limit")
    if name == "SQLITE_ERROR":
        return DataError(
            f"{path}: no such table or column, or the query is not valid there; check {option('table')} or "
            f"{option('query')}"
        )
    if name.startswith("SQLITE_CANTOPEN") or name == "SQLITE_PERM":
        return MissingInputError(f"{path}: cannot be opened; check the path and its permissions")
    return DataError(f"{path}: not a SQLite file, or damaged ({name}); copy it again, or run sqlite3's integrity_check")


BATCH_ROWS, BATCH_VALUES = 2**17, 2**20
"""Most rows of a record batch, and most values: 400 texts took 2.3 GiB, 2^17 rows at a time, where now 0.5 suffice."""

LONGEST_PROBLEM = 300  # characters of DuckDB's error text that a message repeats
KIND = re.compile(r"^(?:\w+ Error: )+")  # how the text of an error begins
ABSENT = re.compile(r"(?:Table|View) with name (.+) does not exist")

CONFINED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "temp_directory": "",  # rows are never spilled to where others can read
    "arrow_large_buffer_size": True,  # else the texts of a batch have at most 2 GiB, and a query with more fails
    "max_memory": "25%",  # of the machine, or of its cgroup, where DuckDB takes 80 %: a view may want all there is
}
"""Settings for a DuckDB file: a view in it reads the file's own tables, no other file, server or variable of Python."""

WATCHED = """
SET enable_progress_bar = true;
SET enable_progress_bar_print = false;
SET progress_bar_time = 0;
"""
"""DuckDB measures how much it has read, and prints nothing."""

OUT_OF_MEMORY = "Out of Memory Error"  # how the text of such an error begins where Arrow has taken it over


@contextmanager
def read_duckdb(database: Database, query: str) -> Iterator[pa.RecordBatchReader]:
    """Run a query; see ``read_query``."""
    import duckdb
    import pyarrow as pa

    path = Path(database.address)
    if not is_file(path):
        raise MissingInputError(f"{path}: no such DuckDB file; check the path")
    try:
        connection = duckdb.connect(path, read_only=True, config=CONFINED)
    except duckdb.OutOfMemoryException:
        raise out_of_memory(path) from None
    except duckdb.Error:
        raise MissingInputError(
            f"{path}: cannot be opened: not a DuckDB file of a version this program reads, or in use by a process that "
            "writes to it"
        ) from None
    with connection:
        try:
            statements = duckdb.extract_statements(query)
            if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
                raise DataError(
                    f"{path}: the query is not one SELECT, and nothing else is run; give a file with one SELECT"
                )
            connection.execute("SET enable_progress_bar = false")
            relation = connection.sql(query)
            reader = relation.to_arrow_reader(min(BATCH_ROWS, max(BATCH_VALUES // len(relation.columns), 1)))
            yield pa.RecordBatchReader.from_batches(reader.schema, _duckdb_batches(reader, path))
        except (duckdb.CatalogException, duckdb.BinderException, duckdb.ParserException) as error:
            # The first line of these errors quotes names alone; the excerpt of the query that follows is left out. Only
            # the name of an ENUM type contains values.
            if "ENUM(" in str(error):
                raise DataError(f"{path}: the query does not fit the type of an ENUM column; cast it to text") from None
            raise DataError(
                f"{path}: {_problem(str(error).splitlines()[0])}; check {option('table')} or the query"
            ) from None
        except duckdb.PermissionException:
            raise DataError(
                f"{path}: the query reads files or servers outside of the database, which is refused; copy those rows "
                "into a table, or give the files themselves"
            ) from None
        except duckdb.Error as error:
            raise _duckdb_error(error, path) from None


def _problem(first: str) -> str:
    """Say what DuckDB says in the first line of an error on names or syntax: without its kind, and of names alone."""
    said = KIND.sub("", first).rstrip("!")
    if absent := ABSENT.match(said):
        return f"has no table or view {excerpt(absent[1])}"
    shown = f"{said:.{LONGEST_PROBLEM}}" if is_printable(said) else excerpt(said)
    return f"the query does not fit the database: {shown}"


@contextmanager
def reported_query(connection: duckdb.DuckDBPyConnection, size: Size) -> Iterator[None]:
    """Report how many of some rows the query within this block has read, as DuckDB estimates it."""
    if not is_watched():
        yield
        return
    rows = size()
    total, unit = (100, "") if rows is None else (rows, "rows")
    advance = begin_work(total, unit)
    connection.execute(WATCHED)
    with poll_progress(advance, lambda: connection.query_progress() / 100 * total):  # below 0 before it begins
        yield


def _duckdb_batches(reader: pa.RecordBatchReader, path: Path) -> Iterator[pa.RecordBatch]:
    import duckdb
    import pyarrow as pa

    try:
        yield from reader
    except (duckdb.Error, pa.ArrowException, OSError) as error:  # its text may quote values
        raise _duckdb_error(error, path) from None


def _duckdb_error(error: Exception, path: Path) -> Error:
    import duckdb

    if isinstance(error, duckdb.OutOfMemoryException | MemoryError) or str(error).startswith(OUT_OF_MEMORY):
        return out_of_memory(path)
    return DataError(
        f"{path}: the query fails before its end ({type(error).__name__}); run it in DuckDB to see why (a cast that a "
        "value does not fit, a damaged file)"
    )


def out_of_memory(source: object) -> ResourceError:
    """Return the error to raise where DuckDB has no memory left; rows are never spilled to disk."""
    return ResourceError(
        f"{source}: memory does not suffice to read it; close other programs or raise the limit (ulimit -v, cgroup)"
    )


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The result of a query; the parts of its rows can be read once. Confidential."""

    columns: dict[str, pl.DataType]
    parts: Iterator[pl.DataFrame]


@contextmanager
def read_query(
    database: Database,
    query: str,
    *,
    table: str | None = None,
    ranges: PageRanges | None = None,
    whole: int | None = None,
) -> Iterator[QueryResult]:
    """Run a query that returns rows, by ranges of PostgreSQL's pages if there are some, to report progress."""
    reader: AbstractContextManager[pa.RecordBatchReader]
    if database.dialect is Dialect.DUCKDB:
        reader = read_duckdb(database, query)
    elif database.dialect is Dialect.SQLITE:
        reader = read_sqlite(database, query, table, whole)
    else:
        reader = read_postgres(database, query, ranges)
    with reader as batches:
        if twice := [name for name, times in Counter(batches.schema.names).items() if times > 1]:
            raise DataError(f"{database}: the query gives more than one column named {listed(twice)}; name them apart")
        readable = [field.name for field in batches.schema if is_readable(field.type)]
        yield QueryResult(polars_types(batches.schema), (_frame(batch.select(readable)) for batch in batches))


def query_columns(database: Database, query: str, *, table: str | None = None) -> dict[str, pl.DataType]:
    """Return the name and type of each column of a query's result; no row is read."""
    if database.dialect is Dialect.DUCKDB:  # it computes no row before one is fetched
        with read_query(database, query) as result:
            return result.columns
    # The line breaks end a comment on the query's last line.
    with read_query(database, f"SELECT * FROM (\n{query}\n) AS source LIMIT 0", table=table) as result:
        return result.columns


def table_sizes(database: Database, query: str) -> list[int]:
    """Return the numbers that a query of ``dialects.rendering`` gives; none if it does not know one, or fails."""
    try:
        with read_query(database, query) as result:
            # SQLite's numbers are texts.
            sizes = [-1 if value is None else int(value) for part in result.parts for (value,) in part.iter_rows()]
    except Error:  # whoever reads the rows tells what is wrong
        return []
    return sizes if min(sizes, default=0) >= 0 else []


@dataclass(frozen=True, slots=True)
class SelectedRows:
    """Rows that a query selects. Confidential."""

    database: Database
    query: str
    table: str | None  # if it selects all of one
    columns: Mapping[str, tuple[str, pl.DataType]]  # the query's name and the type, by the name given here
    whole: frozenset[str]  # those of the query's names whose texts are read whole, of any length
    select: Callable[[Sequence[str]], str] | None = None  # None for a query, whose rows come in its order
    size_query: str | None = None  # None where none says it

    def size(self) -> int | None:
        """Return about how many rows the table has, as known without reading them; None if it is not known."""
        return None if self.size_query is None else sum(table_sizes(self.database, self.size_query)) or None

    def scan(self, wanted: Collection[str] | None) -> pl.LazyFrame:
        """Return the rows as a lazy frame, which runs the query each time, without unreadable columns not wanted."""
        from dpnb_columnar.rows.input_files import lazy_rows, readable_types

        types = {name: type_ for name, (_, type_) in self.columns.items()}
        remedy = "cast it in a view, or leave it out"
        return lazy_rows(self.parts, readable_types(types, wanted, str(self.database), remedy))

    def parts(self, names: Collection[str]) -> Iterator[pl.DataFrame]:
        sources = {name: self.columns[name][0] for name in names}
        query = self.query if self.select is None else self.select([*sources.values()])
        whole = len(self.whole.intersection(sources.values()))
        with read_query(self.database, query, table=self.table, whole=whole) as result:
            for part in result.parts:
                yield part.select(part[source].alias(name) for name, source in sources.items())


def polars_types(schema: pa.Schema) -> dict[str, pl.DataType]:
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


def _frame(part: pa.RecordBatch | pa.Table) -> pl.DataFrame:
    """Convert a part: PostgreSQL's ``numeric``, unknown to Arrow, to the nearest float, ``char(n)`` unpadded."""
    import polars as pl
    import pyarrow as pa

    numeric = [field.name for field in part.schema if getattr(field.type, "type_name", None) == "numeric"]
    filled = [field.name for field in part.schema if (field.metadata or {}).get(b"POSTGRESQL:type") == b"bpchar"]
    columns = [
        column.cast(column.type.storage_type) if isinstance(column.type, pa.BaseExtensionType) else column
        for column in part.columns
    ]
    frame = pl.DataFrame(pa.table(columns, names=part.schema.names))
    return frame.with_columns(
        *(pl.col(name).cast(pl.Float64) for name in numeric),
        *(pl.col(name).str.strip_chars_end(" ") for name in filled),
    )
