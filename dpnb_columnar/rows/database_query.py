"""Run one query in a database and read its result as a stream of frames. Nothing is ever written there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpnb_columnar.domain.database_address import Database, Dialect
from dpnb_columnar.domain.names import listed
from dpnb_columnar.errors import DataError, Error

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from dpnb_columnar.rows.postgres_query import PageRanges


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
def read_query(
    database: Database,
    query: str,
    *,
    table: str | None = None,
    ranges: PageRanges | None = None,
    whole: int | None = None,
) -> Iterator[QueryResult]:
    """Run a query that returns rows.

    Args:
        ranges: Ranges of PostgreSQL's pages to run the query for, one after the other, to report progress; the result
            is then that of the first range, that of the second, and so on. None to run it once.

    Raises:
        MissingInputError: if there is no such file, or the server refuses the connection.
        TemporaryError: if no server answers, or the connection is lost.
        DataError: if the query fails; the message quotes no value.
        UnavailableError: if the driver is not installed.
    """
    with _reader(database, query, table, ranges, whole) as batches:
        if twice := [name for name, times in Counter(batches.schema.names).items() if times > 1]:
            raise DataError(f"{database}: the query gives more than one column named {listed(twice)}; name them apart")
        yield QueryResult(polars_types(batches.schema), _parts(batches))


def query_columns(database: Database, query: str, *, table: str | None = None) -> dict[str, pl.DataType]:
    """Return the name and type of each column of a query's result; no row is read."""
    if database.dialect is Dialect.DUCKDB:  # it computes no row before one is fetched
        with read_query(database, query) as result:
            return result.columns
    # The line breaks end a comment on the query's last line.
    with read_query(database, f"SELECT * FROM (\n{query}\n) AS source LIMIT 0", table=table) as result:
        return result.columns


def table_size(database: Database, query: str) -> int | None:
    """Return the number that a query of ``dialects.table_size`` gives; None if it gives none, or fails."""
    return sum(table_sizes(database, query)) or None


def table_sizes(database: Database, query: str) -> list[int]:
    """Return the numbers that a query of ``dialects.table_size`` gives; none if it does not know one, or fails."""
    try:
        with read_query(database, query) as result:
            # SQLite's numbers are texts.
            sizes = [-1 if value is None else int(value) for part in result.parts for (value,) in part.iter_rows()]
    except Error:  # whoever reads the rows tells what is wrong
        return []
    return sizes if min(sizes, default=0) >= 0 else []


@dataclass(frozen=True, slots=True)
class SelectedRows:
    """Rows that a query selects. Confidential.

    Attributes:
        database: The database.
        query: The query.
        table: The table, if it selects all of one.
        columns: The query's name and the type of each column, by the name that it is given here.
        whole: Those of the query's names whose texts are read whole, of any length.
        select: Writes the query for some columns of the table; None for another query, whose rows come in its order.
        size_query: The query for the size of the table; None where none says it.
    """

    database: Database
    query: str
    table: str | None
    columns: Mapping[str, tuple[str, pl.DataType]]
    whole: frozenset[str]
    select: Callable[[Sequence[str]], str] | None = None
    size_query: str | None = None

    def size(self) -> int | None:
        """Return about how many rows the table has, as the database knows it without reading them; None if it does not.

        It is known to whoever may read the table, as the footer of a file is.
        """
        return None if self.size_query is None else table_size(self.database, self.size_query)

    def scan(self, wanted: Collection[str] | None) -> pl.LazyFrame:
        """Return the rows as a lazy frame; the query is run each time that it is computed.

        Args:
            wanted: Columns that must be readable if they are there; None for all. Others that are not are left out.
        """
        import polars as pl

        from dpnb_columnar.rows.lazy_rows import lazy_rows

        types = {name: type_ for name, (_, type_) in self.columns.items()}
        unknown = [name for name, type_ in types.items() if type_ == pl.Unknown()]
        _refuse_unreadable(self.database, [name for name in unknown if wanted is None or name in wanted])
        return lazy_rows(self.parts, {name: types[name] for name in types if name not in unknown})

    def parts(self, names: Collection[str]) -> Iterator[pl.DataFrame]:
        """Read some columns of all rows."""
        sources = {name: self.columns[name][0] for name in names}
        query = self.query if self.select is None else self.select([*sources.values()])
        whole = len(self.whole.intersection(sources.values()))
        with read_query(self.database, query, table=self.table, whole=whole) as result:
            for part in result.parts:
                yield part.select(part[source].alias(name) for name, source in sources.items())


def _reader(
    database: Database, query: str, table: str | None, ranges: PageRanges | None, whole: int | None
) -> AbstractContextManager[pa.RecordBatchReader]:
    """Open a reader of the query's result."""
    if database.dialect is Dialect.DUCKDB:
        from dpnb_columnar.rows.duckdb_query import read_duckdb

        return read_duckdb(database, query)
    if database.dialect is Dialect.SQLITE:
        from dpnb_columnar.rows.sqlite_query import read_sqlite

        return read_sqlite(database, query, table, whole)
    from dpnb_columnar.rows.postgres_query import read_postgres

    return read_postgres(database, query, ranges)


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


def _parts(batches: pa.RecordBatchReader) -> Iterator[pl.DataFrame]:
    readable = [field.name for field in batches.schema if is_readable(field.type)]
    for batch in batches:
        yield _frame(batch.select(readable))


def _refuse_unreadable(database: Database, names: Sequence[str]) -> None:
    """Refuse columns of types that Polars does not read."""
    if names:
        raise DataError(
            f"{database}: column {listed(names)} is of a type that cannot be read; cast it in a view, or leave it out"
        )


def _frame(part: pa.RecordBatch | pa.Table) -> pl.DataFrame:
    """Convert a part of a result to the types of the row rules.

    PostgreSQL's ``numeric``, unknown to Arrow, becomes the nearest 64-bit float; its ``char(n)`` loses the blanks that
    it is filled up with, as it does wherever PostgreSQL makes a text of it.
    """
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
