"""``dpnb-columnar sql --like``: a query by the catalogue of the database that is to run it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from dpnb_columnar.rows.databases import read_query
from support.people import people, people_domain, write_people
from support.running import Run
from support.servers import PostgresServer
from support.tables import into_duckdb, into_postgres, into_sqlite

import dpnb_columnar as dpnb
from dpnb_columnar.domain.database_address import parse_database
from dpnb_columnar.errors import UsageError

UPPER = {"age": "AGE", "hours": "HOURS", "sex": "SEX", "income": "INCOME"}

DECLARED = """
[census]
files = ["census*.parquet"]

[census.label]
column = "INCOME"
classes = ["low", "high"]

[census.attributes]
AGE = { lower = 0, upper = 100, step = 1 }
HOURS = { lower = 0, upper = 98, step = 1 }
SEX = { values = ["f", "m"] }
"""


def run_query(address: str, query: str) -> pl.DataFrame:
    """What the database gives for a query that was printed."""
    database = parse_database(address)
    assert database is not None
    with read_query(database, query.rstrip().removesuffix(";")) as result:
        return pl.concat([pl.DataFrame(schema=result.columns), *result.parts])


@pytest.fixture
def rows() -> pl.DataFrame:
    return people(300).with_columns(serial=pl.int_range(300))


@pytest.fixture(
    params=["duckdb", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)],
)
def address(request: pytest.FixtureRequest, folder: Path, rows: pl.DataFrame) -> str:
    """A database with a table ``person`` whose columns are in lower case, of a model whose names are in upper case."""
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        into_postgres(server, "person", rows)
        return server.uri
    into: Callable[..., None] = into_duckdb if request.param == "duckdb" else into_sqlite
    into(Path(f"census.{request.param}"), rows)
    return f"census.{request.param}"


@pytest.fixture
def model(folder: Path, rows: pl.DataFrame, run: Run) -> Path:
    Path("datasets.toml").write_text(DECLARED)
    rows.rename(UPPER).drop("serial").write_parquet("census.parquet")
    run("train", "census.parquet", "--dataset", "datasets.toml:census", "--epsilon", 1, "--seed", 3,
        "--output", "model.json")  # fmt: skip
    return Path("model.json")


def test_a_query_by_the_catalogue_scores_as_predict_does(
    address: str, model: Path, rows: pl.DataFrame, run: Run
) -> None:
    done = run("sql", model, "--like", address, "--table", "person", "--key", "SERIAL")
    assert not done.err
    scored = run_query(address, done.out).sort(pl.col("SERIAL").cast(pl.Int64))
    expected = dpnb.load_model(model).predict(rows.rename(UPPER))
    assert scored.columns == ["SERIAL", *expected.columns]
    assert scored["predicted"].equals(expected["predicted"])
    assert (scored["probability_high"].cast(pl.Float64) - expected["probability_high"]).abs().max() < 1e-12  # type: ignore[operator]
    assert dpnb.load_model(model).to_sql(table="person", keys=["SERIAL"], like=address) == done.out.removesuffix(";\n")


def test_the_names_of_a_table_may_be_typed(address: str, model: Path, rows: pl.DataFrame, run: Run) -> None:
    dialect = {"c": "duckdb", "p": "postgres"}[address[0]] if "sqlite" not in address else "sqlite"
    options = ("--dialect", dialect, "--table", "person", "--names", "lower")
    done = run("sql", model, *options)
    assert "types of columns are not known" in done.err
    assert "takes DuckDB 2.6 times as long; --like DATABASE tells them" in done.err
    scored = run_query(address, done.out)
    assert scored.columns[:5] == [*rows.columns]
    expected = dpnb.load_model(model).predict(rows.rename(UPPER))
    assert scored["predicted"].sort().equals(expected["predicted"].sort())


def test_counting_by_the_catalogue(address: str, model: Path, rows: pl.DataFrame, run: Run) -> None:
    domain = ("--dataset", "datasets.toml:census")
    expected = dpnb.aggregate("census.parquet", dataset="datasets.toml:census")
    done = run("sql", "statistics", *domain, "--like", address, "--table", "person")
    assert not done.err
    for number, query in enumerate((done.out, run("sql", "statistics", *domain, "--dialect", dialect_of(address),
                                                  "--names", "lower", "--table", "person").out)):  # fmt: skip
        counts = run_query(address, query)
        counts.write_csv(f"{number}.csv")
        run("release", f"{number}.csv", *domain, "--epsilon", 1, "--seed", 3, "--output", f"{number}.json")
        assert dpnb.load_model(f"{number}.json").classes == dpnb.load_model(model).classes
        assert counts.height == run_query(address, done.out).height
    assert expected.class_counts.sum() == 300


def dialect_of(address: str) -> str:
    return "postgres" if address.startswith("postgres") else address.rpartition(".")[2]


def test_python_refuses_what_says_twice(folder: Path) -> None:
    model = dpnb.train(people(50), epsilon=1, domain=people_domain())
    with pytest.raises(UsageError, match="kinds and like both say"):
        model.to_sql("duckdb", kinds={}, like="people.parquet")
    with pytest.raises(UsageError, match="names: no spelling 'title'; known: lower, upper, declared"):
        model.to_sql("duckdb", names="title")
    with pytest.raises(UsageError, match="which database is to run the query"):
        model.to_sql()
    write_people(folder / "people.parquet", people(50).rename(str.upper), document=None)
    assert '"source"."AGE"' in model.to_sql("duckdb", like=folder / "people.parquet")
    assert '"source"."AGE"' in model.to_sql("duckdb", names="upper", keys=["age"])
