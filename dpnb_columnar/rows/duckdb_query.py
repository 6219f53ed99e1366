"""Run a query in a DuckDB file. Its author is not trusted: a view in it is a program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dpnb_columnar.domain.database_address import Database
from dpnb_columnar.domain.names import is_printable
from dpnb_columnar.errors import DataError, Error, MissingInputError, ResourceError, excerpt, option
from dpnb_columnar.runtime.paths import is_file
from dpnb_columnar.runtime.row_progress import Size, begin_work, is_watched, poll_progress

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

BATCH_ROWS, BATCH_VALUES = 2**17, 2**20
"""Most rows of a record batch, and most values: 400 texts took 2.3 GiB, 2^17 rows at a time, where now 0.5 suffice."""

LONGEST_PROBLEM = 300
"""Characters of DuckDB's error text that a message repeats."""

KIND = re.compile(r"^(?:\w+ Error: )+")
"""How the text of an error begins."""

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
"""Settings under which a DuckDB file is opened. A view in it may read the file's own tables, but no other file, no
server, and no variable of this process."""

WATCHED = """
SET enable_progress_bar = true;
SET enable_progress_bar_print = false;
SET progress_bar_time = 0;
"""
"""DuckDB measures how much it has read, and prints nothing."""

OUT_OF_MEMORY = "Out of Memory Error"
"""How the text of such an error begins where Arrow has taken it over."""

NO_SELECT = "the query is not one SELECT, and nothing else is run; give a file with one SELECT"


@contextmanager
def read_duckdb(database: Database, query: str) -> Iterator[pa.RecordBatchReader]:
    """Run a query; see ``database_query.read_query``."""
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
                raise DataError(f"{path}: {NO_SELECT}")
            connection.execute("SET enable_progress_bar = false")
            relation = connection.sql(query)
            reader = relation.to_arrow_reader(min(BATCH_ROWS, max(BATCH_VALUES // len(relation.columns), 1)))
            yield pa.RecordBatchReader.from_batches(reader.schema, _batches(reader, path))
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
            raise _query_error(error, path) from None


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


def _batches(reader: pa.RecordBatchReader, path: Path) -> Iterator[pa.RecordBatch]:
    import duckdb
    import pyarrow as pa

    try:
        yield from reader
    except (duckdb.Error, pa.ArrowException, OSError) as error:  # its text may quote values
        raise _query_error(error, path) from None


def _query_error(error: Exception, path: Path) -> Error:
    """Return the error to raise where a query fails before its end."""
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
