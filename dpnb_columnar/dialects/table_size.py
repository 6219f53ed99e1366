"""Ask a database how many rows a table has: for shares of progress, and for nothing else."""

from __future__ import annotations

import sqlglot
from sqlglot import exp

from dpnb_columnar.dialects.nodes import text
from dpnb_columnar.dialects.rendering import parse_table, render
from dpnb_columnar.rows.database_address import Dialect

COUNTED = "counted"
"""Stands for the table in a query."""

QUERIES = {
    Dialect.DUCKDB: (
        "SELECT estimated_size FROM duckdb_tables() WHERE database_name = coalesce(:catalog, current_database()) "
        "AND schema_name = coalesce(:db, current_schema()) AND lower(table_name) = lower(:name)"
    ),
    Dialect.POSTGRES: "SELECT CAST(reltuples AS BIGINT) FROM pg_catalog.pg_class WHERE oid = to_regclass(:table)",
    Dialect.SQLITE: (
        "SELECT CASE WHEN EXISTS(SELECT 1 FROM pragma_table_list(:name) WHERE type = 'table') "
        "THEN (SELECT COUNT(*) FROM " + COUNTED + ") END"
    ),
}
"""DuckDB and PostgreSQL know about how many rows there are; SQLite counts them, faster than it hands them out."""


def size_query(table: str, dialect: Dialect) -> str:
    """Write the query for about how many rows a table has: DuckDB's, SQLite's or PostgreSQL's.

    Of a view it gives nothing, since a view's rows would have to be computed.

    Args:
        table: Name of the table, as ``parse_table`` reads it.
        dialect: The database.

    Raises:
        UsageError: if the name is not the name of a table.
    """
    parsed = parse_table(table, dialect)
    query = exp.replace_placeholders(
        sqlglot.parse_one(QUERIES[dialect], dialect=dialect.value),
        name=text(parsed.name),
        db=text(parsed.db) if parsed.db else exp.null(),
        catalog=text(parsed.catalog) if parsed.catalog else exp.null(),
        table=text(parsed.sql(dialect=dialect.value)),
    )
    for counted in query.find_all(exp.Table):
        if counted.name == COUNTED:
            counted.replace(parsed)
    return render(query, dialect, pretty=False)
