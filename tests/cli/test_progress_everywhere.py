"""Databases, rehearsals and audits tell how far they have come as files do: from public sizes."""

from __future__ import annotations

import sqlite3
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path

import duckdb
import polars as pl
import pytest
from dpnb_columnar.extensions.audit import attacks
from dpnb_columnar.extensions.audit.outcomes import configurations
from support.people import DECLARATION, people, people_domain
from support.running import Run
from support.servers import PostgresServer
from support.tables import into_duckdb, into_postgres, into_sqlite
from support.watching import Watching, progress_of

import dpnb_columnar as dpnb
from dpnb_columnar.advice import recommendation
from dpnb_columnar.cli import console
from dpnb_columnar.counting.inputs import DatabaseInput
from dpnb_columnar.domain.database_address import parse_database
from dpnb_columnar.rows import databases as duckdb_query
from dpnb_columnar.rows import databases as sqlite_query
from dpnb_columnar.runtime.row_progress import watch_progress

ROWS = 3000
VIEW = "CREATE VIEW everybody AS SELECT * FROM person"


def stored(dialect: str, rows: pl.DataFrame) -> Path:
    """Put rows into a table, and make a view of it."""
    path = Path(f"people.{dialect}")
    if dialect == "sqlite":
        into_sqlite(path, rows)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(VIEW)
    else:
        into_duckdb(path, rows, "person")
        with duckdb.connect(path) as connection:
            connection.execute(VIEW)
    return path


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_rows_of_a_table_are_told_as_shares_of_it(
    dialect: str, model_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "SECONDS_BETWEEN_EVENTS", -1.0)
    for engine in (sqlite_query, duckdb_query):
        monkeypatch.setattr(engine, "BATCH_ROWS", 2048)
    path = stored(dialect, people(4096))
    given = ("predict", model_file, path, "--output", "out.parquet", "--overwrite", "--log-format", "json", "--table")
    assert [event["share"] for event in progress_of(run(*given, "person").out)] == [0.5]
    assert not progress_of(run(*given, "everybody").out)  # a view's rows would have to be computed


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize("verb", ["aggregate", "check", "evaluate", "split", "suggest-domain"])
def test_every_pass_over_a_table_is_reported(
    verb: str, dialect: str, model_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = Watching()
    monkeypatch.setattr(console, "_watcher", lambda stage: nullcontext(watching))
    path = stored(dialect, people(ROWS).with_columns(sex=pl.lit("x")))
    Path("datasets.toml").write_text(DECLARATION)
    given = (verb, *[model_file] * (verb == "evaluate"), path, "--table", "person")
    run(*given, *["--dataset", "people"] * (verb in ("aggregate", "check")), expected=65 if verb == "check" else 0)
    assert ROWS in watching.totals or 3 * ROWS in watching.totals
    if verb == "suggest-domain":
        assert sum(watching.done) <= watching.total  # a pass that no column needs
    else:
        assert sum(watching.done) == watching.total


def test_a_table_of_units_is_told_as_its_rows_are(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    watching = Watching()
    monkeypatch.setattr(console, "_watcher", lambda stage: nullcontext(watching))
    path = stored("sqlite", people(ROWS).with_row_index("u"))
    Path("datasets.toml").write_text(DECLARATION)
    run("aggregate", path, "--table", "person", "--dataset", "people", "--unit", "u", "--output", "s.parquet")
    assert watching.totals == [ROWS]
    assert sum(watching.done) == pytest.approx(ROWS)


@pytest.mark.slow
@pytest.mark.xdist_group("postgres")
def test_a_server_says_about_how_many_rows_a_table_has(postgres: PostgresServer, folder: Path) -> None:
    from adbc_driver_postgresql import dbapi

    into_postgres(postgres, "sized", people(ROWS))
    database = parse_database(postgres.uri)
    assert database is not None
    (before,) = DatabaseInput(database, "sized").scan()
    assert before.size() is None
    with dbapi.connect(postgres.uri, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("ANALYZE sized")
    (after,) = DatabaseInput(database, "public.sized").scan()
    assert after.size() == ROWS


@pytest.mark.slow
@pytest.mark.parametrize("shares", [None, "15:1"])
def test_plan_reports_its_rehearsals(shares: str | None, folder: Path) -> None:
    watching = Watching()
    recommendation.advise.cache_clear()
    with watch_progress(watching):
        planned = dpnb.plan(domain=people_domain(), epsilon="0.01", rows=500, class_shares=shares)
        assert planned.rehearsal is not None
    assert set(watching.units) == {"releases"}
    assert len(watching.totals) == (2 if planned.rehearsal.worst else 1)
    assert sum(watching.done) == watching.total


def test_an_audit_reports_configurations(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen, watching = configurations(["majority"]), Watching()
    monkeypatch.setattr(attacks, "run_in_processes", lambda attack, tasks, _: ((task, task) for task in tasks))
    with watch_progress(watching):
        attacks.audit(chosen, replace(attacks.QUICK, domains=()))
    assert (watching.totals, watching.units) == ([len(chosen)], ["configurations"])
    assert sum(watching.done) == len(chosen)


@pytest.mark.parametrize(
    ("speed", "text"),
    [(None, ""), (0.025, "1.5 rows/min"), (1.25, "1.2 rows/s"), (1_234_567.0, "1,234,567 rows/s")],
)
def test_a_rate_has_the_digits_that_people_read(speed: float | None, text: str) -> None:
    assert console._rate(speed, "rows") == text
    assert console._rate(speed, "") == ""
