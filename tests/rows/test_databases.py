"""What is printed and recorded of a database's address, and batches of the rows of a DuckDB file."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tables import into_duckdb

from dpnb_columnar.errors import UsageError
from dpnb_columnar.rows.databases import read_duckdb
from dpnb_columnar.rows.sources import Database, Dialect, parse_database


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("postgresql://curator@db.example:5433/census", "postgresql://db.example:5433/census"),
        ("postgres://db/census", "postgres://db/census"),
        ("postgresql:///census?host=/run/postgresql&port=5433", "postgresql:///census?host=/run/postgresql&port=5433"),
        ("postgresql://db/census?user=curator&sslmode=require", "postgresql://db/census"),
        ("postgresql://?service=census", "postgresql://?service=census"),
        ("postgresql://cur%3Aator@db/census", "postgresql://db/census"),
        ("census.duckdb", "census.duckdb"),
        ("duckdb:census", "census"),
    ],
)
def test_addresses_are_told_without_user_information(typed: str, told: str) -> None:
    database = parse_database(typed)
    assert (str(database), database.name) == (told, told)
    assert database.address == typed.removeprefix("duckdb:")


@given(st.text(), st.text(), st.text())
def test_whatever_stands_between_a_colon_and_an_at_sign_is_refused(user: str, password: str, place: str) -> None:
    with pytest.raises(UsageError, match="PGPASSWORD") as refused:
        parse_database(f"postgresql://{user}:{password}@{place}")
    assert f":{password}@" not in str(refused.value) or not password


def test_the_texts_of_a_batch_may_have_more_than_two_gibibytes(tmp_path: Path) -> None:
    """Else one row more could refuse the run: 2^17 texts of 16 KiB are as many."""
    into_duckdb(tmp_path / "rows.duckdb", pl.DataFrame({"sex": ["f"]}))
    database = Database(Dialect.DUCKDB, str(tmp_path / "rows.duckdb"), "rows.duckdb")
    with read_duckdb(database, "SELECT sex FROM person") as batches:
        assert batches.schema.field("sex").type == pa.large_string()
