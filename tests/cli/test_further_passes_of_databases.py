"""``release`` of a database whose model has further passes: each is asked in turn, and the model is that of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from support.people import repeated_document, repeated_people, write_people
from support.running import Run
from support.servers import PostgresServer

from dpnb_columnar.api import load_model

REPEATED = repeated_document(6)
THREE = {**REPEATED, "label": {"column": "income", "classes": ["low", "high", "none"]}}


@pytest.fixture
def data(folder: Path) -> Path:
    return write_people(folder / "people.parquet", repeated_people(3000, copies=6), REPEATED)


@pytest.mark.slow
@pytest.mark.parametrize(("weights", "document"), [("learned", REPEATED), ("calibrated", THREE)])
def test_a_database_sums_up_every_round(weights: str, document: dict[str, Any], folder: Path, run: Run) -> None:
    rows = repeated_people(1500, copies=6)
    data = write_people(folder / "people.parquet", rows.with_columns(income=_of_three()), document)
    with duckdb.connect("people.duckdb") as connection:
        connection.execute("CREATE TABLE people AS FROM read_parquet($1)", [str(data)])
    chosen = ("--attribute-weights", weights, "--seed", 3)
    run("train", data, *chosen, "--output", "trained.json")
    run("release", "people.duckdb", "--table", "people", "--domain", data, *chosen, "--output", "asked.json")
    assert Path("asked.json").read_bytes() == Path("trained.json").read_bytes()


def _of_three() -> pl.Expr:
    """The class, or a third one for every fifth row."""
    return pl.when(pl.int_range(pl.len()) % 5 == 0).then(pl.lit("none")).otherwise(pl.col("income"))


@pytest.mark.slow
def test_a_database_is_asked_twice_and_gives_the_bytes_of_train(data: Path, run: Run) -> None:
    with duckdb.connect("people.duckdb") as connection:
        connection.execute("CREATE TABLE people AS FROM read_parquet($1)", [str(data)])
    chosen = ("--attribute-weights", "calibrated", "--seed", 3)
    run("train", data, *chosen, "--output", "trained.json")
    run("release", "people.duckdb", "--table", "people", "--domain", data, *chosen, "--output", "asked.json")
    assert Path("asked.json").read_bytes() == Path("trained.json").read_bytes()
    run("sql", "statistics", data, "--dialect", "duckdb", "--table", "people", "--output", "q.sql")
    run("release", "people.duckdb", "--query", "q.sql", "--domain", data, *chosen, "--output", "counted.json")
    assert load_model(Path("counted.json")).guarantee.reserved


@pytest.mark.xdist_group("postgres")
def test_postgres_gives_the_bytes_of_train(data: Path, run: Run, postgres: PostgresServer) -> None:
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="adbc-driver-postgresql is not installed")
    with dbapi.connect(postgres.uri) as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS second_release")
        cursor.adbc_ingest("second_release", pl.read_parquet(data).to_arrow(), mode="create")
        connection.commit()
    for weights in ("calibrated", "learned"):
        chosen = ("--attribute-weights", weights, "--seed", 3, "--overwrite")
        run("train", data, *chosen, "--output", "trained.json")
        asked = ("release", postgres.uri, "--table", "second_release")
        run(*asked, "--domain", data, *chosen, "--output", "asked.json")
        assert Path("asked.json").read_bytes() == Path("trained.json").read_bytes()
