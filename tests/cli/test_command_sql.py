"""``dpnb-columnar sql``, also by the catalogue of the database that is to run the query."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import jinja2
import polars as pl
import pytest
from support.people import DECLARATION, people, people_domain, write_people
from support.running import Run
from support.servers import PostgresServer
from support.tables import into_duckdb, into_postgres, into_sqlite

import dpnb_columnar as dpnb
from dpnb_columnar.errors import UsageError
from dpnb_columnar.rows.databases import read_query
from dpnb_columnar.rows.sources import parse_database

DIALECTS = ["duckdb", "postgres", "spark", "bigquery", "snowflake", "sqlite"]
RESULTS = ["predicted", "probability_low", "probability_high", "skipped"]


def test_the_query_scores_as_predict_does(model_file: Path, people_file: Path, run: Run) -> None:
    query = run(
        "sql", model_file, "--dialect", "duckdb", "--table", "person", "--key", "age", "--like", people_file
    ).out
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE person AS SELECT * FROM 'people.parquet'")
        found = connection.sql(query.rstrip().rstrip(";")).pl()
    run("predict", model_file, people_file, "--key", "age", "--output", "scored.parquet")
    expected = pl.read_parquet("scored.parquet")
    assert found.columns == ["age", *RESULTS]
    assert found["predicted"].equals(expected["predicted"])
    for name in ("probability_low", "probability_high"):
        assert (found[name] - expected[name]).abs().max() < 1e-12  # type: ignore[operator]


def test_without_keys_every_column_comes_along_in_a_view(model_file: Path, run: Run) -> None:
    ended = run("sql", "score", model_file, "--dialect", "sqlite", "--view", "scored", "--output", "view.sql")
    assert ended.out == "wrote view.sql\n"
    with closing(sqlite3.connect(":memory:")) as connection:
        people(5).write_csv("people.csv")
        connection.execute("CREATE TABLE people (age, hours, sex, income)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", people(5).rows())
        connection.executescript(Path("view.sql").read_text())
        found = connection.execute("SELECT * FROM scored")
        assert [column[0] for column in found.description] == ["age", "hours", "sex", "income", *RESULTS]
        assert len(found.fetchall()) == 5
    connection.close()


def test_a_named_domain_needs_no_data(folder: Path, run: Run) -> None:
    Path("datasets.toml").write_text(DECLARATION)
    ended = run("sql", "statistics", "--dataset", "people", "--dialect", "snowflake", "--output", "counts.sql")
    assert ended.out == "wrote counts.sql\n"
    assert 'FROM "people" AS "source"' in Path("counts.sql").read_text()
    assert Path("counts.sql").read_text().endswith(";\n")


def test_a_label_may_be_chosen(people_file: Path, run: Run) -> None:
    condition = 'CAST("source"."hours" AS DOUBLE) > CAST(\'40.0\' AS DOUBLE)'
    assert condition in run("sql", "statistics", people_file, "--dialect", "duckdb", "--label", "hours > 40").out
    assert condition not in run("sql", "statistics", people_file, "--dialect", "duckdb").out


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_is_written(dialect: str, model_file: Path, people_file: Path, run: Run) -> None:
    assert "predicted" in run("sql", "--dialect", dialect, model_file).out
    united = "POSEXPLODE" if dialect == "spark" else "UNION ALL"
    assert united in run("sql", "statistics", people_file, "--dialect", dialect).out


def test_what_columns_hold_is_read_from_the_file_alike(model_file: Path, people_file: Path, run: Run) -> None:
    assert "IS NULL" in run("sql", model_file, "--dialect", "postgres").out
    assert "'inf'" in run("sql", model_file, "--dialect", "postgres").out
    assert "'inf'" not in run("sql", model_file, "--dialect", "postgres", "--like", people_file).out


def test_help_shows_both_shapes(run: Run) -> None:
    shown = run("sql", "--help").out
    assert "sql MODEL prints a query that scores rows" in shown
    assert "sql statistics" in shown
    assert "sql statistics" in run("sql", expected=64).err
    assert "--view" in run("sql", "model.json", "--help").out
    assert "CONFIDENTIAL" in run("sql", "statistics", "--help").out


@pytest.mark.parametrize("verb", [(), ("statistics",)])
def test_a_template_runs_nothing_that_a_name_holds(verb: tuple[str, ...], folder: Path, run: Run) -> None:
    """As dbt reads it: whatever classes, categories and columns are called, what is rendered is the query."""
    names = ["{{ 7*6 }}", "{% set a = 1 %}", "{# gone #}", "{", "}}", "{{ '{' }}", "{% raw %}", "{% endraw %}"]
    document = {
        "label": {"column": "income", "classes": ["{{ 1/0 }}", "{% endif %}"]},
        "attributes": {"sex": {"values": names}, "{{ age }}": {"lower": 0, "upper": 9}},
    }
    rows = pl.DataFrame({"sex": names, "{{ age }}": range(8), "income": ["{{ 1/0 }}", "{% endif %}"] * 4})
    write_people(Path("odd.parquet"), rows, document)
    run("train", "odd.parquet", "--mechanism", "histogram", "--attribute-weights", "none", "--output", "odd.json")
    source = (*verb, "odd.parquet" if verb else "odd.json", "--dialect", "duckdb")
    plain = run("sql", *source).out
    template = run("sql", *source, "--template", "jinja").out
    assert jinja2.Template(template, keep_trailing_newline=True).render() == plain.replace(";\n", "\n")
    run("sql", *source, "--template", "jinja", "--output", "query.sql")
    assert Path("query.sql").read_text() == template


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".sql"])
def test_a_query_that_joins_a_table_scores_as_predict_does(
    suffix: str, model_file: Path, people_file: Path, run: Run
) -> None:
    table = f"terms{suffix}"
    source = (model_file, "--dialect", "duckdb", "--table", "person", "--key", "age", "--parameters-table", "terms")
    ended = run("sql", *source, "--parameters", table, "--output", "score.sql")
    assert ended.out == f"wrote score.sql\nwrote {table}\n"
    run("predict", model_file, people_file, "--key", "age", "--output", "scored.parquet")
    expected = pl.read_parquet("scored.parquet")
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE person AS SELECT * FROM 'people.parquet'")
        make = Path(table).read_text() if suffix == ".sql" else f"CREATE TABLE terms AS SELECT * FROM '{table}'"
        connection.execute(make)
        query = Path("score.sql").read_text().rstrip().rstrip(";")
        found = connection.sql(query).pl().sort("age")
        assert found.columns == ["age", *RESULTS]
        assert (found["probability_high"] - expected.sort("age")["probability_high"]).abs().max() < 1e-12  # type: ignore[operator]
        connection.execute("DELETE FROM terms WHERE rowid = 0")
        lacking = connection.sql(query).pl()
        assert lacking["predicted"].null_count() == lacking["probability_low"].null_count() == lacking.height


def test_without_a_file_the_table_stands_before_the_query(model_file: Path, people_file: Path, run: Run) -> None:
    script = run("sql", model_file, "--dialect", "sqlite", "--key", "age", "--parameters-table", "terms").out
    table, query = script.rstrip().rsplit(";\n", 1)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE people (age, hours, sex, income)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", people(5).rows())
        connection.executescript(table + ";")
        assert len(connection.execute(query.rstrip(";")).fetchall()) == 5
    connection.close()


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


@pytest.fixture(params=["duckdb", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
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
