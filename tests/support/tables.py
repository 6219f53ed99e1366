"""Rows as tables of databases."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import polars as pl

from support.servers import PostgresServer


def into_duckdb(file: Path, rows: pl.DataFrame, table: str = "person") -> None:
    with duckdb.connect(file) as connection:
        connection.register("given", rows)
        connection.execute(f'CREATE TABLE "{table}" AS SELECT * FROM given')


def into_sqlite(file: Path, rows: pl.DataFrame, table: str = "person") -> None:
    """Write a table into a SQLite file; a column ``serial`` is its key."""
    with closing(sqlite3.connect(file)) as connection:
        names = ", ".join(name if name != "serial" else "serial INTEGER PRIMARY KEY" for name in rows.columns)
        connection.execute(f"CREATE TABLE {table} ({names})")
        marks = ", ".join("?" for _ in rows.columns)
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows.rows())
        connection.commit()


def into_postgres(server: PostgresServer, table: str, rows: pl.DataFrame) -> None:
    """Write a table into a PostgreSQL server, in place of one of its name."""
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(server.uri) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest(table, rows.to_arrow(), mode="replace")
        connection.commit()
