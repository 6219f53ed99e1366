"""Which rows of a database are meant: those of a table, or those that a query in a file returns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from dpnb_columnar.databases.address import Database
from dpnb_columnar.errors import DataError, MissingInputError, UsageError

NOTHING = re.compile(r"--[^\n]*|/\*.*?\*/|[;\s]", re.DOTALL)
"""Comments, blanks and semicolons."""

LARGEST_QUERY = 16 * 2**20
"""Bytes of a query in a file."""


def query_for(database: Database, table: str | None, query: Path | None, columns: Sequence[str] | None = None) -> str:
    """The query that selects the rows.

    Args:
        database: Where they are.
        table: Table or view, as its dialect writes its name.
        query: File with one SELECT, which is run as it is.
        columns: Columns of the table to select; None for all. A query is not changed.

    Raises:
        UsageError: Not exactly one of table and query is given, or the name is no table's.
        MissingInputError, DataError: The query's file cannot be read.
    """
    from dpnb_columnar.dialects.tables import selected

    if (table is None) == (query is None):
        raise UsageError(f"{database}: say which rows: --table NAME, or --query FILE.sql")
    if table is not None:
        return selected(table, columns, database.dialect)
    assert query is not None
    return _read(query)


def _read(file: Path) -> str:
    try:
        if file.stat().st_size > LARGEST_QUERY:
            raise DataError(f"{file}: more than {LARGEST_QUERY} bytes; give a file with one SELECT")
        query = file.read_text(encoding="utf-8").strip().rstrip(";")
    except UnicodeDecodeError:
        raise DataError(f"{file}: not a text in UTF-8; give a file with one SELECT") from None
    except OSError as error:
        raise MissingInputError(f"{file}: cannot be read: {error.strerror}; give a file with one SELECT") from None
    if not NOTHING.sub("", query):
        raise DataError(f"{file}: holds no query; give a file with one SELECT")
    return query
