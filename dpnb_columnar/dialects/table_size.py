"""Ask a database for the size of a table, and read PostgreSQL's by ranges of pages: for shares of progress alone."""

from __future__ import annotations

from collections.abc import Mapping

import sqlglot
from sqlglot import exp

from dpnb_columnar.dialects.nodes import text
from dpnb_columnar.dialects.rendering import parse_table, renamed_table, render
from dpnb_columnar.rows.sources import Dialect
from dpnb_columnar.runtime.resources import sections

COUNTED = "counted"
"""Stands for the table in a query."""


def size_query(table: str, dialect: Dialect) -> str:
    """Write the query for about how many rows a table has: DuckDB's, SQLite's or PostgreSQL's.

    Of a view it gives nothing, since a view's rows would have to be computed.
    """
    return _about(table, dialect.value, dialect)


def pages_query(table: str) -> str:
    """Write the query for the pages of each partition of a table of PostgreSQL's; null if ranges cannot be read."""
    return _about(table, "pages", Dialect.POSTGRES)


def lock_statement(table: str) -> str:
    """Write the statement that keeps a table of PostgreSQL's as it is while its ranges are read."""
    name = parse_table(table, Dialect.POSTGRES).sql(dialect=Dialect.POSTGRES.value)
    return sections("table_size")["lock"].replace(COUNTED, name)


def rows_in_range(table: str, names: Mapping[str, str]) -> exp.Subquery:
    """Build the query for some columns of the rows in a range of pages, which ``rows.databases`` sets."""
    rows = renamed_table(table, names, Dialect.POSTGRES)
    rows.this.where(sections("table_size")["in_range"], dialect=Dialect.POSTGRES.value, copy=False)
    return rows


def _about(table: str, name: str, dialect: Dialect) -> str:
    """Fill a table's name into a query of ``sql/table_size.sql``."""
    parsed = parse_table(table, dialect)
    query = exp.replace_placeholders(
        sqlglot.parse_one(sections("table_size")[name], dialect=dialect.value),
        name=text(parsed.name),
        db=text(parsed.db) if parsed.db else exp.null(),
        catalog=text(parsed.catalog) if parsed.catalog else exp.null(),
        table=text(parsed.sql(dialect=dialect.value)),
    )
    for counted in query.find_all(exp.Table):
        if counted.name == COUNTED:
            counted.replace(parsed)
    return render(query, dialect, pretty=False)
