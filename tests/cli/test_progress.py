"""How far a verb has come is told from public sizes: a bar on a terminal, events in a log, nothing in a pipe."""

from __future__ import annotations

import os
import pty
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, nullcontext, suppress
from dataclasses import replace
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.patience import patience
from support.people import DECLARATION, PEOPLE, people, people_domain, write_people
from support.running import Run
from support.servers import PostgresServer
from support.tables import into_duckdb, into_postgres, into_sqlite
from support.watching import Watching, progress_of

import dpnb_columnar as dpnb
from dpnb_columnar.advice import rehearsal
from dpnb_columnar.cli import console
from dpnb_columnar.core.noise import sampler
from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.counting import local
from dpnb_columnar.counting.inputs import DatabaseInput
from dpnb_columnar.extensions.audit import attacks
from dpnb_columnar.extensions.audit.outcomes import configurations
from dpnb_columnar.rows import databases
from dpnb_columnar.rows.parquet import open_parquet
from dpnb_columnar.rows.sources import parse_database
from dpnb_columnar.runtime.row_progress import RowsOnce, watch_progress

FILE = Path("people.parquet")
ROWS = 3000


@pytest.fixture
def model(folder: Path, run: Run) -> Path:
    write_people(FILE, people(ROWS))
    run("train", FILE, "--output", "model.json")
    return Path("model.json")


@pytest.mark.parametrize("verb", ["train", "predict"])
def test_a_short_run_logs_no_progress(verb: str, model: Path, run: Run) -> None:
    given = (model, FILE) if verb == "predict" else (FILE,)
    assert not progress_of(run(verb, *given, "--output", "out.parquet", "--log-format", "json").out)


@pytest.mark.parametrize("verb", ["train", "predict"])
def test_a_long_run_logs_shares_of_what_is_public(
    verb: str, model: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "SECONDS_BETWEEN_EVENTS", -1.0)
    files = [write_people(Path(f"people-{part}.parquet"), people(100, seed=part)) for part in range(4)]
    given = (model, *files) if verb == "predict" else files
    told = progress_of(run(verb, *given, "--output", "out.parquet", "--log-format", "json").out)
    shares = [event["share"] for event in told]
    assert shares == sorted(shares)
    assert set(shares) <= {0.25, 0.5, 0.75}
    assert shares
    known = {"event", "seconds_left", "share", "stage", "text", "time", "verb"}
    assert all(event.keys() == known for event in told)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_rows_are_counted_as_they_are_read_whatever_they_hold(
    engine: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that an attribute or the label drops are reported with the rest: their number is confidential."""
    if engine == "duckdb":
        monkeypatch.setattr(local, "SMALL", 0)
    document = {**PEOPLE, "attributes": {**PEOPLE["attributes"], "sex": {"values": ["f", "m"], "missing": "row"}}}
    domain = people_domain(document)
    frame = people(ROWS).with_columns(
        sex=pl.when(pl.int_range(pl.len()) % 3 == 0).then(pl.col("sex")),
        income=pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.col("income")),
    )
    write_people(FILE, frame, document)
    watching = Watching()
    source = open_parquet([FILE], domain)
    with watch_progress(watching):
        counted = local.answer(source, CellQuery(domain))
    assert local.answer(source, CellQuery(domain)) == counted
    assert watching.totals == [ROWS] * (2 if engine == "duckdb" else 1)
    assert sum(watching.done) >= ROWS  # DuckDB's part depends on when it is asked
    assert sum(watching.done) <= watching.total


def test_a_text_that_is_not_utf8_leaves_the_same_shares(folder: Path) -> None:
    """The rows are read again then, and no share tells that one of them has such a text."""
    rows = people(ROWS).to_arrow()
    texts = pa.array([b"\xff", *([b"m"] * (ROWS - 1))], pa.binary())
    place = rows.schema.get_field_index("sex")
    rows = rows.set_column(place, "sex", pa.Array.from_buffers(pa.string(), ROWS, texts.buffers()))
    pq.write_table(rows, FILE, row_group_size=500)
    watching = Watching()
    with watch_progress(watching):
        counted = local.answer(open_parquet([FILE], people_domain()), CellQuery(people_domain()))
    assert counted.lacking()["sex"] == 1
    assert watching.totals == [ROWS]
    assert sum(watching.done) == ROWS


def _read_to_its_end(terminal: int) -> Iterator[bytes]:
    """Read what a program writes to a terminal; Linux refuses to read on once nobody writes to it."""
    with suppress(OSError):
        while part := os.read(terminal, 2**16):
            yield part


@pytest.mark.slow
def test_a_terminal_shows_a_bar_and_a_pipe_nothing(model: Path) -> None:
    command = [sys.executable, "-m", "dpnb_columnar", "predict", str(model), str(FILE), "--output", "scored.parquet"]
    controller, terminal = pty.openpty()
    with subprocess.Popen(command, stderr=terminal, stdout=subprocess.DEVNULL) as scoring:
        os.close(terminal)
        shown = b"".join(_read_to_its_end(controller))
    os.close(controller)
    assert scoring.returncode == 0
    assert b"scoring" in shown
    assert b"100%" in shown
    piped = subprocess.run([*command, "--overwrite"], capture_output=True, check=True, timeout=patience(120))
    assert piped.stderr == b""


@pytest.mark.parametrize("is_ordered", [True, False])
def test_rows_of_units_are_told_once_however_often_they_are_read(
    is_ordered: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One bar that never begins again, whether or not rows stand in the order of their units."""
    monkeypatch.setattr(local, "SHARE_ROWS", ROWS // 3)
    monkeypatch.setattr(local, "PART_ROWS", ROWS // 10)
    if is_ordered:  # whoever watches does not make rows come in another order, and be read again
        monkeypatch.delattr(RowsOnce, "rest")
    document = {**PEOPLE, "unit": {"column": "u", "rows": 1}}
    place = pl.int_range(pl.len())
    frame = people(ROWS).with_columns(u=place if is_ordered else (place + ROWS // 2) % ROWS)
    domain, watching = people_domain(document), Watching()
    source = open_parquet([write_people(FILE, frame, document)], domain)
    with watch_progress(watching):
        assert local.answer(source, CellQuery(domain)).class_counts.sum() == ROWS
    assert watching.totals == [ROWS]
    assert min(watching.done) > 0
    assert sum(watching.done) == pytest.approx(ROWS)


def test_values_are_told_as_they_are_drawn(model: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their number is public, and the values are those that nobody watches."""
    run("aggregate", FILE, "--output", "statistics.parquet")
    smooth = ("--mechanism", "smooth", "--seed", 1, "--output")
    release = ("release", "statistics.parquet", *smooth)
    run(*release, "silent.json")
    monkeypatch.setattr(console, "SECONDS_BETWEEN_EVENTS", -1.0)
    monkeypatch.setattr(sampler, "REPORTED", 1)
    told = progress_of(run(*release, "told.json", "--log-format", "json").out)
    assert Path("told.json").read_bytes() == Path("silent.json").read_bytes()
    values = 2 + 4 * 2 + 4  # of the classes, of two moments of two attributes in each, of a table
    assert [event["share"] for event in told] == [round(drawn / values, 3) for drawn in range(1, values)]
    assert {event["stage"] for event in told} == {"releasing"}
    trained = progress_of(run("train", FILE, *smooth, "t.json", "--log-format", "json").out)
    assert [event["share"] for event in trained if event["stage"] == "releasing"] == [each["share"] for each in told]


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
    for rows in ("SQLITE_BATCH_ROWS", "BATCH_ROWS"):
        monkeypatch.setattr(databases, rows, 2048)
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
    rehearsal.advise.cache_clear()
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
    ("speed", "text"), [(None, ""), (0.025, "1.5 rows/min"), (1.25, "1.2 rows/s"), (1_234_567.0, "1,234,567 rows/s")]
)
def test_a_rate_has_the_digits_that_people_read(speed: float | None, text: str) -> None:
    assert console._rate(speed, "rows") == text
    assert console._rate(speed, "") == ""
