"""Batches of the rows of a DuckDB file."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
from dpnb_columnar.rows.databases import read_duckdb
from support.tables import into_duckdb

from dpnb_columnar.domain.database_address import Database, Dialect


def test_the_texts_of_a_batch_may_have_more_than_two_gibibytes(tmp_path: Path) -> None:
    """Else one row more could refuse the run: 2^17 texts of 16 KiB are as many."""
    into_duckdb(tmp_path / "rows.duckdb", pl.DataFrame({"sex": ["f"]}))
    database = Database(Dialect.DUCKDB, str(tmp_path / "rows.duckdb"), "rows.duckdb")
    with read_duckdb(database, "SELECT sex FROM person") as batches:
        assert batches.schema.field("sex").type == pa.large_string()
