"""Databases that run the queries: each takes a table called ``rows`` and returns what a query gives."""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dpnb_columnar.dialects.scoring_query import table_statements, write_table
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.rows.sources import Dialect

Row = Mapping[str, Any]


class Engine(Protocol):
    """A database with one table, by a connection of DuckDB's or SQLite's form unless it says otherwise."""

    dialect: Dialect
    connection: Any

    def load(self, table: pa.Table) -> None:
        """Make this the table ``rows``."""

    def load_terms(self, model: NaiveBayes) -> None:
        """Make the table ``terms`` of a model's terms, by what the program writes."""
        self.execute("DROP TABLE IF EXISTS terms")
        for statement in table_statements(model, "terms", self.dialect):
            self.execute(statement)

    def run(self, query: str) -> list[Row]:
        """What the query gives."""
        found = self.connection.execute(query)
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def execute(self, statement: str) -> None:
        """Run what gives nothing."""
        self.connection.execute(statement)


class DuckDB(Engine):
    """Reads Parquet, whose statistics leave NaN out."""

    dialect = Dialect.DUCKDB

    def __init__(self, folder: Path) -> None:
        self.connection = duckdb.connect()
        self.file = folder / "rows.parquet"
        self.terms = folder / "terms.csv"

    def load(self, table: pa.Table) -> None:
        pq.write_table(table, self.file, row_group_size=3)
        file = str(self.file).replace("'", "''")
        self.connection.execute(f"CREATE OR REPLACE VIEW rows AS SELECT * FROM read_parquet('{file}')")

    def load_terms(self, model: NaiveBayes) -> None:
        write_table(model, self.terms, "terms", self.dialect, overwrite=True)
        file = str(self.terms).replace("'", "''")
        self.connection.execute(f"CREATE OR REPLACE VIEW terms AS SELECT * FROM read_csv('{file}')")


class SQLite(Engine):
    """Knows no NaN, no booleans, decimals or dates: they are stored as whole numbers and text."""

    dialect = Dialect.SQLITE

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:")
        weakref.finalize(self, self.connection.close)  # from Python 3.13 on, one that is left open is warned of

    def load(self, table: pa.Table) -> None:
        columns = ", ".join(f"{_quoted(field.name)} {_sqlite_type(field.type)}" for field in table.schema)
        self.connection.execute("DROP TABLE IF EXISTS rows")
        self.connection.execute(f"CREATE TABLE rows ({columns})")
        marks = ", ".join("?" for _ in table.schema)
        rows = [[_sqlite_value(value) for value in row.values()] for row in table.to_pylist()]
        self.connection.executemany(f"INSERT INTO rows VALUES ({marks})", rows)


class Postgres(Engine):
    """A real server."""

    dialect = Dialect.POSTGRES

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def load(self, table: pa.Table) -> None:
        columns = [_postgres_column(column) for column in table.columns]
        with self.connection.cursor() as cursor:
            cursor.execute("DROP TABLE IF EXISTS rows")
            cursor.adbc_ingest("rows", pa.table(columns, names=table.column_names), mode="create")
            for field, column in zip(table.schema, columns, strict=True):
                if pa.types.is_decimal(column.type):  # the driver makes a column without the number of places
                    places = f"numeric({column.type.precision}, {column.type.scale})"
                    cursor.execute(f"ALTER TABLE rows ALTER COLUMN {_quoted(field.name)} TYPE {places}")

    def run(self, query: str) -> list[Row]:
        with self.connection.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetch_arrow_table().to_pylist()

    def execute(self, statement: str) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(statement)


class Spark(Engine):
    """A local session."""

    dialect = Dialect.SPARK

    def __init__(self, session: Any, folder: Path) -> None:
        self.session = session
        self.folder = folder
        self.tables = 0

    def load(self, table: pa.Table) -> None:
        self.tables += 1
        file = self.folder / f"rows_{self.tables}.parquet"  # Spark remembers what a file of one name held
        pq.write_table(table, file, row_group_size=3)
        self.session.read.parquet(str(file)).createOrReplaceTempView("rows")

    def load_terms(self, model: NaiveBayes) -> None:
        self.tables += 1
        file = self.folder / f"terms_{self.tables}.parquet"
        write_table(model, file, "terms", self.dialect)
        self.session.read.parquet(str(file)).createOrReplaceTempView("terms")

    def run(self, query: str) -> list[Row]:
        frame = self.session.sql(query)
        return [dict(zip(frame.columns, row, strict=True)) for row in frame.collect()]

    def execute(self, statement: str) -> None:
        self.session.sql(statement)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _sqlite_type(type_: pa.DataType) -> str:
    if pa.types.is_floating(type_):
        return "REAL"
    return "INTEGER" if pa.types.is_integer(type_) or pa.types.is_boolean(type_) else "TEXT"


def _sqlite_value(value: Any) -> Any:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, int) and value >= 2**63:  # as SQLite itself does
        return float(value)
    return value.isoformat() if isinstance(value, date) else value


def _postgres_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    type_ = column.type
    if type_ == pa.uint64():
        return pc.cast(column, pa.decimal128(20, 0))
    if pa.types.is_unsigned_integer(type_):
        return pc.cast(column, pa.int64())
    return pc.cast(column, type_.value_type) if pa.types.is_dictionary(type_) else column
