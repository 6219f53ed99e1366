"""Run a query in a SQLite file. Values have types there, columns have none: each value is read by itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from sys import getsizeof
from typing import TYPE_CHECKING, Any

from dpnb_columnar.domain.database_address import Database
from dpnb_columnar.errors import DataError, Error, MissingInputError, ResourceError, TemporaryError, option
from dpnb_columnar.rows.untyped_values import text_of
from dpnb_columnar.runtime.machine_memory import machine_memory
from dpnb_columnar.runtime.paths import is_file

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 16_384
"""Rows of a record batch; they are Python objects first."""

BATCH_BYTES = 2**26
"""Bytes of these objects, from which on a batch ends earlier: a view may make values of any size."""

PART_OF_MEMORY = 16
"""The largest values of a row that are read whole have this part of the memory together: each is copied a few times."""

MANY_COLUMNS = 256
"""As many columns are read whole where no number is given."""

SMALLEST_LIMIT, LARGEST_LIMIT = 2**20, 10**9
"""Bytes that a value may have on any machine, and the most that SQLite itself stores."""

BUSY = frozenset({"SQLITE_BUSY", "SQLITE_LOCKED"})
NO_ROOM = frozenset({"SQLITE_NOMEM", "SQLITE_FULL"})
"""Names of SQLite's errors that say nothing about the rows; an extended code begins with one of them."""


@contextmanager
def read_sqlite(
    database: Database, query: str, table: str | None = None, whole: int | None = None
) -> Iterator[pa.RecordBatchReader]:
    """Run a query; see ``database_query.read_query``.

    Columns are texts, which the row rules read by their value (1, 1.0 and 001 are one number), unless SQLite itself
    guarantees that a column holds whole numbers alone, so that no row decides the type of a column.
    """
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
            yield pa.RecordBatchReader.from_batches(schema, _batches(cursor, schema, path))
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise _query_error(error, path) from None


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


def _batches(cursor: sqlite3.Cursor, schema: pa.Schema, path: Path) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    try:
        while rows := _rows_of_batch(cursor):
            columns = zip(schema, zip(*rows, strict=True), strict=True)
            arrays = [
                pa.array(values if field.type == pa.int64() else [*map(text_of, values)], field.type)
                for field, values in columns
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise _query_error(error, path) from None


def _rows_of_batch(cursor: sqlite3.Cursor) -> list[tuple[Any, ...]]:
    """Fetch the rows of the next batch, of which there are fewer where they are large; none at the end."""
    rows, size = [], 0
    for row in cursor:
        rows.append(row)
        size += sum(map(getsizeof, row))
        if len(rows) == BATCH_ROWS or size >= BATCH_BYTES:
            break
    return rows


def _query_error(error: sqlite3.Error | UnicodeDecodeError, path: Path) -> Error:
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
