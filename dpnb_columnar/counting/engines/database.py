"""CONFIDENTIAL. Cell counts by the database that holds the rows: it runs the statistics query, and counts leave it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from dpnb_columnar.counting.query_results import statistics_of
from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.validation import listed, named
from dpnb_columnar.errors import DataError, MissingInputError, UsageError
from dpnb_columnar.rows.columns import check_kinds, kind_of
from dpnb_columnar.rows.databases import Database, columns_of, read_query


def count_table(database: Database, table: str, domain: Domain) -> Statistics:
    """Count every cell of the domain over the rows of a table, inside the database.

    Args:
        database: Where the table is.
        table: Its name, as the database's dialect writes it.
        domain: The domain to count in.

    Raises:
        UsageError: The name is no table's.
        MissingInputError, DataError, UnavailableError: The database cannot be read, lacks the table or a column, or
            has a column of a type that the domain cannot be read from.
    """
    from dpnb_columnar.dialects.statistics import statistics_query
    from dpnb_columnar.dialects.write import selected

    columns = columns_of(database, selected(table, None, database.dialect))
    missing = [name for name in domain.columns if name not in columns]
    if missing:
        raise DataError(
            f"{database}: table {table} has no column {listed(missing)}; its columns are "
            f"{named([*columns])}; make a view with the names of the domain, or correct the domain"
        )
    types = {name: columns[name] for name in domain.columns}
    check_kinds(domain, types, f"{database}, table {table}")
    kinds = {name: kind_of(type_) for name, type_ in types.items()}
    return count_query(database, statistics_query(domain, kinds, table, database.dialect), domain)


def count_query(database: Database, query: str, domain: Domain) -> Statistics:
    """Statistics from the result of a query, such as the one that ``sql statistics`` prints.

    Raises:
        MissingInputError, DataError, UnavailableError: The query cannot be run, or returns something else.
    """
    with read_query(database, query) as result:
        cells = pl.concat([pl.DataFrame(schema=result.columns), *result.parts])
    return statistics_of(cells, domain, database)


# MERGED FROM dpnb_columnar/counting/engines/database.py: Which rows of a database are meant: those of a table, or
# those that a query in a file returns.

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
    from dpnb_columnar.dialects.write import selected

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
