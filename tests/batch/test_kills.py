"""Whole runs that are killed, race for one budget, or end within a library: nothing charged twice or left."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from support.patience import patience
from support.people import DECLARATION, people, write_people
from support.running import Run
from support.writing_verbs import child

from benchmarks import killed_verbs, kills, races
from dpnb_columnar.ledger import Ledger

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows knows no such signals"),
]


@pytest.mark.parametrize(("number", "count"), [("SIGKILL", 12), ("SIGTERM", 4)])
def test_killed_runs_are_charged_once_and_leave_nothing_half_done(number: str, count: int, tmp_path: Path) -> None:
    figures = kills.kill_runs(tmp_path, count, signal.Signals[number], seed=None)
    assert figures.kills.total() == count
    assert figures.faults == [], figures.report()
    assert set(figures.ended) <= {0, 77}


def test_killed_verbs_end_well_when_they_are_begun_again(tmp_path: Path) -> None:
    verbs = {name: killed_verbs.WRITES[name] for name in ("split", "ledger init")}
    figures = killed_verbs.kill_verbs(tmp_path, 4, None, verbs)
    assert figures.kills.total() >= 4
    assert figures.faults == [], figures.report()
    assert figures.ended.keys() == {0}


@pytest.mark.parametrize("kind", ["for_budget", "of_one_run", "for_output"])
def test_of_ten_runs_those_succeed_that_may(kind: str, tmp_path: Path) -> None:
    races.simulate_census(tmp_path / races.DATA, rows=races.ROWS, seed=1940)
    ended, well = getattr(races, kind)(tmp_path, 10)
    assert well, ended


COMMAND = [sys.executable, "-m", "dpnb_columnar", "train"]
PAID = ["--epsilon", "0.5", "--ledger", "people.ledger", "--run-id", "night", "--output", "model.json"]


def runs_charged(ledger: Path) -> list[str]:
    with Ledger(ledger) as opened:
        opened.verify()
        return [spend.run for spend, _ in opened.releases()]


def with_a_page_of_less_than_no_values(file: Path) -> None:
    """Change the number of values in the first page's header from 3,000 to -1, in as many bytes."""
    content = file.read_bytes()
    start = pq.read_metadata(io.BytesIO(content)).row_group(0).column(0).data_page_offset
    place = content.index(b"\xf0\x2e", start, start + 40)  # 3,000 as a zigzag varint
    file.write_bytes(content[:place] + b"\x81\x00" + content[place + 2 :])


def test_a_page_header_that_makes_polars_abort_costs_nothing(folder: Path, run: Run) -> None:
    """Polars reserves memory for as many values as the header says, and ends the process where that is absurd."""
    run("ledger", "init", "people.ledger", "--dataset", "people", "--epsilon", "1")
    file = write_people(folder / "people.parquet", people(3000))
    sound = file.read_bytes()
    with_a_page_of_less_than_no_values(file)
    ended = subprocess.run([*COMMAND, str(file), *PAID], cwd=folder, capture_output=True, check=False)
    assert ended.returncode in (-signal.SIGABRT, 65)
    assert not (folder / "model.json").exists()
    assert runs_charged(folder / "people.ledger") == []
    file.write_bytes(sound)
    run("train", file, *PAID)
    assert runs_charged(folder / "people.ledger") == ["night"]
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_view_that_never_ends_is_ended_by_a_signal(
    number: signal.Signals, folder: Path, run: Run, ending: Callable[[Any], Any]
) -> None:
    """As ``timeout`` and schedulers do."""
    run("ledger", "init", "people.ledger", "--dataset", "people", "--epsilon", "1")
    (folder / "datasets.toml").write_text(DECLARATION)
    with duckdb.connect(folder / "rows.duckdb") as connection:
        connection.register("given", people(10))
        connection.execute("CREATE TABLE person AS SELECT * FROM given")
        connection.execute("CREATE VIEW endless AS SELECT person.* FROM person, range(1000000000000)")
    arguments = ["rows.duckdb", "--table", "endless", "--dataset", "people", *PAID]
    with (folder / "told").open("w") as told:
        process = ending(subprocess.Popen([*COMMAND, *arguments], cwd=folder, stdout=told, stderr=told))
        while "epsilon 0.5" not in (folder / "told").read_text() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(number)
        assert process.wait() == 128 + number
    assert not (folder / "model.json").exists()
    assert runs_charged(folder / "people.ledger") == []
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


def test_a_variable_that_makes_polars_panic_ends_no_run(model_file: Path) -> None:
    arguments = ("predict", str(model_file), "people.parquet", "--output", "scored.parquet")
    with child("-m", "dpnb_columnar", *arguments, POLARS_PANIC_ON_ERR="1") as process:
        out, err = process.communicate(timeout=patience(60))
    assert (process.returncode, err) == (0, ""), out
