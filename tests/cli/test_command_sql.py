"""``dpnb-columnar sql``."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import jinja2
import polars as pl
import pytest
from support.model_cases import declared, model_of, table_of
from support.people import DECLARATION, people, write_people
from support.running import Run

from dpnb_columnar.api import load_model

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


@pytest.mark.usefixtures("invented_models")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_categories_far_apart_take_no_room_between_them(dialect: str, folder: Path, run: Run) -> None:
    values, shares = [1, 2, 10**9, *range(-(10**15), 0, 10**14)], [[c + k for c in range(1, 14)] for k in (1, 5)]
    tables = [table_of("code", *([each / sum(row) for each in row] for row in shares))]
    model_of(declared({"code": {"values": values}}), tables).save("apart.json")
    pl.DataFrame({"code": [*values, 3, None]}).write_parquet("apart.parquet")
    query = run("sql", "apart.json", "--dialect", dialect, "--table", "apart", "--like", "apart.parquet").out
    assert len(query) < 15_000
    if dialect == "duckdb":
        with duckdb.connect() as connection:
            connection.read_parquet("apart.parquet").create_view("apart")
            found = connection.sql(query.rstrip().rstrip(";")).pl()
        expected = load_model(Path("apart.json")).predict(pl.read_parquet("apart.parquet"), ["code"])
        assert found["predicted"].equals(expected["predicted"])
        assert found["skipped"].to_list() == expected["skipped"].to_list() == [0] * 13 + [1, 1]


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


def test_counting_in_the_database_gives_the_model_that_train_gives(people_file: Path, run: Run) -> None:
    query = run("sql", "statistics", people_file, "--dialect", "duckdb", "--table", "person").out
    assert query.startswith("-- Written by dpnb-columnar ")
    assert "CONFIDENTIAL" in query
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE person AS SELECT * FROM 'people.parquet'")
        result = connection.execute(query)
        header = [column[0] for column in result.description or ()]
        with Path("counts.csv").open("w", newline="") as file:
            csv.writer(file).writerows([header, *result.fetchall()])
    Path("datasets.toml").write_text(DECLARATION)
    run("train", people_file, "--seed", 3, "--output", "trained.json")
    run("release", "counts.csv", "--dataset", "people", "--seed", 3, "--output", "released.json")
    trained, released = (json.loads(Path(name).read_text()) for name in ("trained.json", "released.json"))
    assert load_model(Path("trained.json")).classes == load_model(Path("released.json")).classes
    assert trained["attributes"] == released["attributes"]


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
