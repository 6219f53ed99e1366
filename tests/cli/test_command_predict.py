"""``dpnb-columnar predict``, of files and of databases: the scores of the same rows."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from support.people import people, write_people
from support.running import Run
from support.servers import PostgresServer
from support.tables import into_duckdb, into_postgres

from dpnb_columnar.api import load_model

SCORED = Path("scored.parquet")
RESULTS = ["predicted", "probability_low", "probability_high", "skipped"]


def test_every_row_is_scored_in_order(model_file: Path, people_file: Path, run: Run) -> None:
    ended = run("predict", model_file, people_file, "--output", SCORED, "--key", "age", "--key", "hours")
    assert ended.out == "wrote scored.parquet; its column skipped counts the attributes that a row's score leaves out\n"
    scored, rows = pl.read_parquet(SCORED), pl.read_parquet(people_file)
    assert scored.columns == ["age", "hours", *RESULTS]
    assert scored.select("age", "hours").equals(rows.select("age", "hours"))
    assert np.allclose(scored["probability_low"] + scored["probability_high"], 1)
    likelier = scored.select(pl.when(pl.col("probability_high") > 0.5).then(pl.lit("high")).otherwise(pl.lit("low")))
    assert scored["predicted"].equals(likelier.to_series().alias("predicted"))
    assert (scored["predicted"] == rows["income"]).sum() > 800


def test_scores_are_those_of_the_model(model_file: Path, people_file: Path, run: Run) -> None:
    run("predict", model_file, people_file, "--output", SCORED)
    expected = load_model(model_file).predict(pl.scan_parquet(people_file)).collect()
    assert pl.read_parquet(SCORED).equals(expected)


def test_label_is_not_needed(model_file: Path, run: Run) -> None:
    write_people(Path("new.parquet"), people(5).drop("income"), document=None)
    run("predict", model_file, "new.parquet", "--output", SCORED)
    assert pl.read_parquet(SCORED).columns == RESULTS


def test_what_is_printed_does_not_depend_on_the_rows(model_file: Path, run: Run) -> None:
    texts = set()
    for rows in (0, 1, 100):
        write_people(Path("new.parquet"), people(rows))
        ended = run("predict", model_file, "new.parquet", "--output", SCORED, "--overwrite")
        texts.add((ended.out, ended.err))
    assert len(texts) == 1


ROWS = pl.concat(
    [
        people(300, seed=5),
        pl.DataFrame(
            {"age": [None, 200, -3], "hours": [40, None, 98], "sex": [None, "x", "m"], "income": ["low", None, "high"]},
            schema=people(1).schema,
        ),
    ]
).with_row_index("id")


@pytest.fixture
def expected(model_file: Path, run: Run) -> pl.DataFrame:
    ROWS.write_parquet("rows.parquet")
    run("predict", model_file, "rows.parquet", "--key", "id", "--output", "expected.parquet")
    return pl.read_parquet("expected.parquet")


def test_table_of_a_duckdb_file(expected: pl.DataFrame, model_file: Path, run: Run) -> None:
    into_duckdb(Path("rows.duckdb"), ROWS)
    options = ("--table", "person", "--key", "id", "--output", "scored.parquet")
    ended = run("predict", model_file, "rows.duckdb", *options)
    assert "wrote scored.parquet" in ended.out
    assert_frame_equal(pl.read_parquet("scored.parquet"), expected, check_exact=True)
    run("predict", model_file, "duckdb:rows.duckdb", *options, "--overwrite")


def test_query_of_a_duckdb_file(expected: pl.DataFrame, model_file: Path, run: Run) -> None:
    into_duckdb(Path("rows.duckdb"), ROWS)
    Path("some.sql").write_text('SELECT id, age, hours, sex FROM "person" WHERE id < 10 ORDER BY id;\n')
    run("predict", model_file, "rows.duckdb", "--query", "some.sql", "--key", "id", "--output", "scored.parquet")
    assert_frame_equal(pl.read_parquet("scored.parquet"), expected.head(10), check_exact=True)


NO_QUERIES = [
    "",
    " \n ;",
    "-- SELECT 1",
    "/* SELECT 1 */",
    "copy (select 42) to 'leak.csv'",
    "SELECT * FROM \"person\"; COPY (SELECT 1) TO 'leak.csv'",
    'SELECT * FROM "person"; SELECT * FROM "person"',
    "SET threads = 1",
    "ATTACH 'other.duckdb'",
]


@pytest.mark.slow
@pytest.mark.parametrize("query", NO_QUERIES)
def test_only_one_select_is_run_in_a_duckdb_file(query: str, model_file: Path, run: Run) -> None:
    into_duckdb(Path("rows.duckdb"), ROWS)
    Path("some.sql").write_text(query)
    before = sorted(Path().iterdir())
    arguments = ("rows.duckdb", "--query", "some.sql")
    ended = run("predict", model_file, *arguments, "--output", "scored.parquet", expected=65)
    assert "give a file with one SELECT" in ended.err
    named = ("--domain", "people.parquet", "--output", "released.json")
    assert "give a file with one SELECT" in run("release", *arguments, *named, expected=65).err
    assert sorted(Path().iterdir()) == before


@pytest.mark.slow
@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("query", NO_QUERIES)
def test_only_one_select_is_run_by_a_postgresql_server(
    query: str, model_file: Path, run: Run, postgres: PostgresServer
) -> None:
    into_postgres(postgres, "person", ROWS)
    Path("some.sql").write_text(query)
    ended = run("predict", model_file, postgres.uri, "--query", "some.sql", "--output", "scored.parquet", expected=65)
    assert "holds no query" in ended.err or "SQLSTATE" in ended.err or "not valid there" in ended.err
    assert not Path("scored.parquet").exists()


@pytest.mark.parametrize("made", ["sex + 1", "abs(sex)", "sex[1].x"])
def test_types_made_of_values_are_not_told(made: str, model_file: Path, run: Run) -> None:
    with duckdb.connect("rows.duckdb") as connection:
        connection.execute("CREATE TYPE sexes AS ENUM ('SECRET-A', 'SECRET\nB', 'SECRET'')C')")
        connection.execute("CREATE TABLE person (age INTEGER, hours INTEGER, sex sexes)")
    Path("some.sql").write_text(f"SELECT {made} FROM person")
    ended = run("predict", model_file, "rows.duckdb", "--query", "some.sql", "--output", "s.parquet", expected=65)
    assert "SECRET" not in ended.err


@pytest.mark.xdist_group("postgres")
def test_query_and_table_of_a_postgresql_server(
    expected: pl.DataFrame, model_file: Path, run: Run, postgres: PostgresServer
) -> None:
    into_postgres(postgres, "person", ROWS)
    Path("some.sql").write_text(
        "SELECT id, age::numeric(12, 1) AS age, hours::float8 AS hours, sex::varchar(1) AS sex FROM person ORDER BY id"
    )
    run("predict", model_file, postgres.uri, "--query", "some.sql", "--key", "id", "--output", "scored.parquet")
    scored = pl.read_parquet("scored.parquet")
    assert_frame_equal(scored.with_columns(pl.col("id").cast(pl.UInt32)), expected, check_exact=True)
    run("predict", model_file, postgres.uri, "--table", "public.person", "--key", "id", "--output", "table.parquet")
    assert_frame_equal(pl.read_parquet("table.parquet").sort("id"), scored, check_exact=True)


@pytest.mark.xdist_group("postgres")
def test_postgresql_failures_name_the_remedy_and_quote_no_value(
    model_file: Path, run: Run, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    into_postgres(postgres, "person", ROWS)
    output = ("--output", "scored.parquet")
    assert "no such table" in run("predict", model_file, postgres.uri, "--table", "nobody", *output, expected=65).err
    assert "column" in run("predict", model_file, postgres.uri, "--table", "pg_type", *output, expected=65).err
    queries = {
        "cast.sql": "SELECT CAST('secret-' || sex AS integer) AS age, hours, sex FROM person",
        "late.sql": "SELECT 1 / (id - 250) AS age, hours, sex FROM person",
        "write.sql": "DELETE FROM person",
        "two.sql": "SELECT 1; SELECT 2",
    }
    for name, query in queries.items():
        Path(name).write_text(query)
        ended = run("predict", model_file, postgres.uri, "--query", name, *output, expected=65)
        assert "secret" not in ended.err
        assert "dpnb-columnar: postgresql://127.0.0.1" in ended.err
        assert postgres.uri not in ended.err  # it names a user
    assert not Path("scored.parquet").exists()
    assert not list(Path().glob(".scored*"))
    monkeypatch.setenv("PGPASSWORD", "wrong")
    assert "PGPASSWORD" in run("predict", model_file, postgres.uri, "--table", "person", *output, expected=66).err
    nowhere = "postgresql://census@127.0.0.1:1/postgres"
    assert "no connection" in run("predict", model_file, nowhere, "--table", "person", *output, expected=75).err
