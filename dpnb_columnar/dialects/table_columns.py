"""What the columns of a table hold and are called, by a database's catalogue or a file like the table: no row is read.

Names of a domain are matched but for upper and lower case: PostgreSQL folds names without quotes to lower case,
Snowflake to upper case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpnb_columnar.dialects.rendering import select_columns, table_or_default
from dpnb_columnar.domain.database_address import Database, Dialect, Spelling, parse_database
from dpnb_columnar.errors import UsageError, option

if TYPE_CHECKING:
    import polars as pl

SPELLED: Mapping[Spelling, Callable[[str], str]] = {
    Spelling.LOWER: str.lower,
    Spelling.UPPER: str.upper,
    Spelling.DECLARED: str,
}


@dataclass(frozen=True, slots=True)
class TableColumns:
    """Columns of a table under the names that a domain, or who typed them, has for them.

    Attributes:
        source: What tells of them, for messages.
        names: The table's name of each column.
        types: Type of each column.
    """

    source: str
    names: Mapping[str, str]
    types: Mapping[str, pl.DataType]


def columns_like(
    like: str, table: str | None, default: str, wanted: Iterable[str], names: Spelling | None
) -> TableColumns:
    """Read the columns of a database's table, or of a Parquet file with columns of its types. No row is read."""
    from dpnb_columnar.rows.column_checks import matched_columns
    from dpnb_columnar.rows.database_query import query_columns
    from dpnb_columnar.rows.parquet import read_schema

    database = parse_database(like)
    types: Mapping[str, pl.DataType]
    if database is None:
        source, types = like, read_schema(Path(like))
    elif names is not None:
        raise UsageError(f"{option('names')}: {database} tells how the columns of its table are spelled; leave it out")
    else:
        called = table or table_or_default(None, default, database.dialect).sql(dialect=database.dialect.value)
        source = f"{database}, table {called}"
        types = query_columns(database, select_columns(called, None, database.dialect), table=called)
    own = matched_columns(wanted, types, source)
    spelled = own if names is None else {name: SPELLED[names](name) for name in own}
    return TableColumns(source, spelled, {name: types[column] for name, column in own.items()})


def dialect_like(dialect: Dialect | None, like: str | None) -> Dialect:
    """Return the dialect of a query: that which is named, or that of the database whose table it is to read."""
    database: Database | None = None if like is None else parse_database(like)
    if database is None:
        if dialect is None:
            raise UsageError(
                f"which database is to run the query? Name it with {option('dialect', 'duckdb')}, or give its address "
                f"with {option('like')}; known: {', '.join(Dialect)}"
            )
        return dialect
    if dialect not in (None, database.dialect):
        raise UsageError(f"{option('dialect', str(dialect))}: {database} reads {database.dialect.value}; leave it out")
    return database.dialect
