"""Options of the verbs that read from a database, and the rows that they select in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from dpnb_columnar.errors import DataError, MissingInputError, UsageError
from dpnb_columnar.rows.database_address import Database, parse_database

COMMENTS_AND_BLANKS = re.compile(r"--[^\n]*|/\*.*?\*/|[;\s]", re.DOTALL)
"""Comments, blanks and semicolons."""

MAX_QUERY_BYTES = 16 * 2**20
"""Largest file that is read as a query."""

Table = Annotated[
    str | None,
    typer.Option(help="Table or view of the database.", metavar="NAME", show_default=False),
]
Query = Annotated[
    Path | None,
    typer.Option(help="File with the SELECT to run in the database.", metavar="FILE.sql", show_default=False),
]


def database_in(arguments: Sequence[str], table: str | None, query: Path | None) -> Database | None:
    """Return the database among the arguments of a verb; None if they are all files.

    Args:
        arguments: Arguments as typed.
        table: Value of --table.
        query: Value of --query.

    Raises:
        UsageError: if a database stands beside another argument, if --table or --query is given without one, or if an
            address holds a password.
    """
    databases = [database for argument in arguments if (database := parse_database(argument))]
    if not databases:
        if table is not None or query is not None:
            raise UsageError(
                "--table and --query are for a database: give a DuckDB file (.duckdb) or postgresql://USER@HOST/NAME"
            )
        return None
    if len(arguments) > 1:
        raise UsageError(f"{databases[0]}: a database is read alone; run the command once for each input")
    return databases[0]


def query_for(database: Database, table: str | None, query: Path | None, columns: Sequence[str] | None = None) -> str:
    """Return the query that selects the rows.

    Args:
        database: The database that holds them.
        table: Table or view, as the database's dialect writes its name.
        query: File with one SELECT, which is run as it is.
        columns: Columns of the table to select; None for all. A query is not changed.

    Raises:
        UsageError: if not exactly one of table and query is given, or if the name is not the name of a table.
        MissingInputError: if the query's file cannot be opened.
        DataError: if the query's file holds no query, or more than a query.
    """
    from dpnb_columnar.dialects.rendering import select_columns

    if (table is None) == (query is None):
        raise UsageError(f"{database}: say which rows: --table NAME, or --query FILE.sql")
    if table is not None:
        return select_columns(table, columns, database.dialect)
    assert query is not None
    return _read_query(query)


def _read_query(file: Path) -> str:
    try:
        if file.stat().st_size > MAX_QUERY_BYTES:
            raise DataError(f"{file}: more than {MAX_QUERY_BYTES} bytes; give a file with one SELECT")
        query = file.read_text(encoding="utf-8").strip().rstrip(";")
    except UnicodeDecodeError:
        raise DataError(f"{file}: not a text in UTF-8; give a file with one SELECT") from None
    except OSError as error:
        raise MissingInputError(f"{file}: cannot be read: {error.strerror}; give a file with one SELECT") from None
    if not COMMENTS_AND_BLANKS.sub("", query):
        raise DataError(f"{file}: holds no query; give a file with one SELECT")
    return query
