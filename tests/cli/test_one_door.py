"""Every verb that reads rows takes files and databases alike, and gives the same for the same rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from support.people import DECLARATION, people, write_people
from support.running import Run
from support.servers import PostgresServer
from support.tables import into_duckdb, into_postgres, into_sqlite

UPPER = people(400, seed=3).rename(str.upper).with_row_index("SERIAL").with_columns(HOUSE=pl.int_range(400) * 7 % 90)
DECLARED = DECLARATION.replace("income", "INCOME").replace("age =", "AGE =").replace("hours", "HOURS")
DECLARED = DECLARED.replace("sex =", "SEX =")

Where = tuple[str, ...]


@pytest.fixture
def lower() -> pl.DataFrame:
    """The rows as PostgreSQL holds them by habit: under names in lower case."""
    return UPPER.rename(str.lower).with_columns(pl.col("serial").cast(pl.Int64))


@pytest.fixture(
    params=["duckdb", "sqlite", pytest.param("postgres", marks=[pytest.mark.xdist_group("postgres"), pytest.mark.slow])]
)
def where(request: pytest.FixtureRequest, folder: Path, lower: pl.DataFrame) -> Iterator[Where]:
    """A database's address with its table, which holds the rows of ``rows.parquet``; a catalogue declares them."""
    Path("datasets.toml").write_text(DECLARED)
    write_people(Path("rows.parquet"), UPPER, None)
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        into_postgres(server, "person", lower)
        yield server.uri, "--table", "person"
        return
    file = Path(f"rows.{request.param}")
    into: Callable[..., None] = into_duckdb if request.param == "duckdb" else into_sqlite
    into(file, lower, "person")
    yield str(file), "--table", "person"


NAMED = ("--dataset", "people")


def test_train_and_aggregate(where: Where, run: Run) -> None:
    for verb, output, options in [("train", "m.json", ("--seed", 1)), ("aggregate", "s.parquet", ())]:
        made: list[Any] = []
        for data in (("rows.parquet",), where):
            run(verb, *data, *NAMED, *options, "--output", output, "--overwrite")
            made.append(Path(output).read_bytes() if verb == "train" else pl.read_parquet(output))
        if verb == "train":
            assert made[0] == made[1]
        else:
            assert_frame_equal(made[0].select(pl.exclude("part")), made[1].select(pl.exclude("part")))


def test_check_and_evaluate(where: Where, run: Run) -> None:
    run("train", "rows.parquet", *NAMED, "--seed", 1, "--output", "m.json")
    reports = [json.loads(run("check", *data, *NAMED, "--json").out) for data in (("rows.parquet",), where)]
    for report in reports:
        report.pop("row_groups")
    assert reports[0] == reports[1]
    assert "400 rows, 400 count" in run("check", *where, *NAMED).out
    figures = [
        # Sums of floats depend on the order of the rows, which a table has none of, in their last digits.
        json.loads(run("evaluate", "m.json", *data, "--json").out, parse_float=lambda text: round(float(text), 9))
        for data in (("rows.parquet",), where)
    ]
    assert figures[0] == figures[1]


def test_predict(where: Where, run: Run) -> None:
    run("train", "rows.parquet", *NAMED, "--seed", 1, "--output", "m.json")
    scored = []
    for data in (("rows.parquet",), where):
        run("predict", "m.json", *data, "--key", "SERIAL", "--output", "scored.parquet", "--overwrite")
        scored.append(pl.read_parquet("scored.parquet").with_columns(pl.col("SERIAL").cast(pl.Int64)).sort("SERIAL"))
    assert_frame_equal(scored[0], scored[1], check_exact=True)


def test_suggest_domain(where: Where, run: Run) -> None:
    run("suggest-domain", "rows.parquet", "--output", "file.toml")
    ended = run("suggest-domain", *where, "--output", "table.toml")
    assert "--table person" in ended.out
    attributes = []
    for file in ("file.toml", "table.toml"):
        text = Path(file).read_text()
        attributes.append([line.lower() for line in text.splitlines() if " = {" in line])
    assert attributes[0] == attributes[1] != []


@pytest.mark.parametrize("by", [(), ("--by", "SERIAL")])
def test_split(by: tuple[str, ...], where: Where, run: Run) -> None:
    sides = []
    for data in (("rows.parquet",), where):
        run(
            "split", *data, *by, "--seed", 4, "--train-output", "a.parquet", "--test-output", "b.parquet", "--overwrite"
        )
        sides.append(pl.read_parquet("b.parquet").rename(str.lower)["serial"].cast(pl.Int64).sort())
    assert sides[0].equals(sides[1])
    assert 0 < len(sides[0]) < 400


def test_a_faulty_sqlite_file_is_told_without_values(model_file: Path, run: Run) -> None:
    into_sqlite(Path("rows.sqlite"), people(3000))
    content = bytearray(Path("rows.sqlite").read_bytes())
    content[4096 : len(content) // 2] = b"\xff" * (len(content) // 2 - 4096)
    Path("rows.sqlite").write_bytes(content)
    options = ("--table", "person", "--output", "scored.parquet")
    assert "rows.sqlite" in run("predict", model_file, "rows.sqlite", *options, expected=65).err
    Path("rows.sqlite").write_text("no database")
    assert "not a SQLite file" in run("predict", model_file, "rows.sqlite", *options, expected=65).err
    assert not Path("scored.parquet").exists()


@pytest.mark.xdist_group("postgres")
def test_a_connection_that_is_lost_ends_with_75(model_file: Path, run: Run, postgres: PostgresServer) -> None:
    """It passes by itself, before rows are read as after; a cast that a value does not fit does not."""
    ends = "CASE WHEN i = {} THEN pg_terminate_backend(pg_backend_pid())::int ELSE 1 / (i - {}) END AS hours"
    for lost, failed, expected in [(1, 0, 75), (1_500_000, 0, 75), (0, 1_500_000, 65)]:
        columns = f"i AS age, {ends.format(lost, failed)}, 'f' AS sex"
        Path("some.sql").write_text(f"SELECT {columns} FROM generate_series(1, 2000000) AS i")
        options = ("--query", "some.sql", "--output", "scored.parquet")
        told = run("predict", model_file, postgres.uri, *options, expected=expected).err
        assert ("connection is lost" in told) == (expected == 75)
        assert not Path("scored.parquet").exists()
