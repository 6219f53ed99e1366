"""``--log-format json``: one event a line, with the fields that docs/batch.md lists, and none that depends on a row."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.codebook_cases import variable
from support.extracts import PEOPLE, SEX, TOWNSPEOPLE, write_extract
from support.odd_rows import ROWS
from support.patience import patience
from support.people import people, write_people
from support.running import Ended, Run

from dpnb_columnar.cli import console
from dpnb_columnar.core.budget import Approximate, Neighbours
from dpnb_columnar.extracts.codebooks.codebook import Measure
from dpnb_columnar.ledger import Ledger
from dpnb_columnar.releases import plan as release_plan
from dpnb_columnar.releases.plan import MechanismChoice

Event = dict[str, Any]

DOCUMENT = Path(__file__).parents[2] / "docs" / "batch.md"
JSON = ("--log-format", "json")
PAID = ("--epsilon", "0.3", "--ledger", "people.ledger", "--run-id", "tonight")
SCORES = (*PAID[2:-1], "scores")
COMMON = {"time", "event", "verb", "text"}


def table() -> dict[str, set[str]]:
    """The fields of every event, as docs/batch.md has them."""
    rows = DOCUMENT.read_text().split("| event | when | fields |\n|---|---|---|\n")[1].split("\n\n")[0].splitlines()
    listed = {}
    for names, _, fields in (row.strip().strip("|").split("|") for row in rows):
        listed |= {name: set(re.findall(r"`([a-z_0-9]+)`", fields)) for name in re.findall(r"`([a-z ]+)`", names)}
    return listed


def events_of(ended: Ended, code: int = 0) -> list[Event]:
    """The events of a run; each is a line of its own, and all that there is."""
    assert ended.err == ""
    events: list[Event] = [json.loads(line) for line in ended.out.splitlines()]
    assert all(isinstance(event, dict) and set(event) >= COMMON for event in events)
    assert events[0]["event"] == "started"
    assert [event["exit_code"] for event in events if event["event"] == "finished"] == [code]
    assert events[-1]["event"] == "finished"
    return events


def without_time(events: list[Event]) -> list[Event]:
    return [{name: value for name, value in event.items() if name != "time"} for event in events]


def open_ledger() -> None:
    Path("people.ledger").unlink(missing_ok=True)
    with Ledger.create(Path("people.ledger")) as ledger:
        ledger.open_account("people", Approximate(Fraction(1, 2), Fraction(0)), Neighbours.ADD_REMOVE)


def test_events_and_their_fields_are_those_of_the_table(
    people_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "SECONDS_BETWEEN_EVENTS", -1.0)
    open_ledger()
    rents = variable("RENTS", start=5, width=9, measure=Measure.CONTINUOUS)  # too wide for any use
    write_extract(Path("town.dat"), replace(TOWNSPEOPLE, variables=(SEX, rents)), ["    1000000800"])
    train = ("train", people_file, *PAID)
    write_people(Path("sample.parquet"), people(900, seed=9))
    public = ("--attribute-weights", "sample.parquet", "--output", "public.json")
    commands: list[tuple[int, tuple[object, ...]]] = [
        (0, ("ingest", "town.dat", "--output", "town.parquet")),
        (0, ("aggregate", people_file)),
        (0, (*train, "--dry-run")),
        (0, train),
        (0, train),
        (77, (*train[:-1], "another", "--overwrite")),
        (0, ("release", "people.statistics.parquet", "--seed", 1, "--output", "seeded.json")),
        (0, ("train", people_file, *public)),
        (0, ("predict", "people.model.json", people_file, "sample.parquet", "--output", "scored.parquet")),
        (0, ("evaluate", "people.model.json", people_file, "--epsilon", "0.1", *SCORES, "--output", "scores.json")),
    ]
    seen: dict[str, set[str]] = defaultdict(set)
    moments = MechanismChoice("smooth", "bins would bear rents as wide as these")
    for code, command in commands:
        with monkeypatch.context() as patch:
            if command[0] == "ingest":
                patch.setattr(release_plan, "resolved_mechanism", lambda *_: moments)
            events = events_of(run(*command, *JSON, expected=code), code)
        assert {event["verb"] for event in events} == {command[0]}
        for event in events:
            seen[event["event"]] |= set(event) - COMMON - {"run"}
    assert seen == table()


def test_every_event_after_the_charge_is_known_names_the_run(people_file: Path, run: Run) -> None:
    open_ledger()
    _, *others = events_of(run("train", people_file, *PAID, *JSON))
    assert {event["run"] for event in others} == {"tonight"}


def test_times_are_utc_and_never_go_back(people_file: Path, run: Run) -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)  # events tell milliseconds
    events = events_of(run("train", people_file, *JSON))
    times = [datetime.fromisoformat(event["time"]) for event in events]
    assert times == sorted(times)
    assert all(time.utcoffset() == timedelta(0) and before <= time <= datetime.now(UTC) for time in times)


@pytest.mark.parametrize(
    ("code", "error", "command"),
    [
        (64, "UsageError", ("train", "people.parquet", "--epsilon", "-1")),
        (65, "DataError", ("release", "people.parquet", "--output", "m.json")),
        (66, "MissingInputError", ("aggregate", "absent.parquet")),
        (70, "InternalError", ("train", "people.parquet", "--output", "broken.json")),
        (73, "OutputError", ("train", "people.parquet", "--output", "absent/m.json")),
        (77, "BudgetError", ("train", "people.parquet", "--ledger", "people.ledger")),
        (78, "ConfigurationError", ("train", "people.parquet", "--ledger", "people.ledger", "--account", "others")),
    ],
    ids=str,
)
def test_a_failure_is_an_event_with_its_exit_code(
    code: int, error: str, command: tuple[object, ...], people_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_ledger()

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a row says 42")

    if code == 70:
        monkeypatch.setattr("dpnb_columnar.cli.file_output.save_model", broken)
    *_, failed, _ = events_of(run(*command, *JSON, expected=code), code)
    assert (failed["event"], failed["exit_code"], failed["error"]) == ("failed", code, error)
    assert "42" not in failed["text"]


def test_what_is_wrong_with_the_command_line_is_told_on_standard_error(people_file: Path, run: Run) -> None:
    """There is no log yet; standard output holds events or nothing."""
    for arguments, code in ((("--bogus",), 64), (("--config", "absent.toml"), 66), ((people_file, people_file), 0)):
        ended = run("train", *arguments, *JSON, expected=code)
        assert all(json.loads(line)["event"] for line in ended.out.splitlines())
        assert bool(ended.err) is (code != 0)


def verbs() -> dict[str, Callable[[Run], Ended]]:
    """What a night runs, over ``people.parquet``."""
    return {
        "train": lambda run: run("train", "people.parquet", *PAID, *JSON, "--overwrite"),
        "aggregate": lambda run: run("aggregate", "people.parquet", *JSON, "--overwrite"),
        "release": lambda run: run(
            *("release", "people.statistics.parquet", "--output", "m.json", "--overwrite", *JSON, *PAID)
        ),
        "predict": lambda run: run(
            *("predict", "reference.json", "people.parquet", "--output", "scored.parquet", "--overwrite", *JSON)
        ),
    }


@pytest.mark.slow
@pytest.mark.parametrize("verb", verbs())
def test_no_event_depends_on_a_row(verb: str, folder: Path, run: Run) -> None:
    write_people(Path("reference.parquet"))
    run("train", "reference.parquet", "--seed", 1, "--output", "reference.json")
    logs = []
    for frame in ROWS.values():
        write_people(Path("people.parquet"), frame)
        run("aggregate", "people.parquet", "--overwrite")
        open_ledger()
        logs.append(without_time(events_of(verbs()[verb](run))))
    assert all(log == logs[0] for log in logs)


def test_no_event_depends_on_a_line_of_an_extract(folder: Path, run: Run) -> None:
    logs = []
    for lines in (PEOPLE, PEOPLE[:1], PEOPLE * 100, ("2020" + " " * 15,), (" " * 19,)):
        write_extract(Path("town.dat"), TOWNSPEOPLE, lines)
        ended = run("ingest", "town.dat", "--output", "town.parquet", "--overwrite", *JSON)
        logs.append(without_time(events_of(ended)))
    assert all(log == logs[0] for log in logs)


WAITING = """
import sys, time
import dpnb_columnar.counting.local
from dpnb_columnar.cli.main import run
dpnb_columnar.counting.local.answer = lambda *_: time.sleep(60)
run(sys.argv[1:])
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no signals to end by")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_is_the_exit_code_of_the_last_event(number: signal.Signals, code: int, people_file: Path) -> None:
    command = [sys.executable, "-c", WAITING, "train", str(people_file), *JSON]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = ""
        while '"stage begun"' not in said:
            said += process.stdout.readline()
        process.send_signal(number)
        out, err = process.communicate(timeout=patience(60))
    assert process.returncode == code
    assert [event["event"] for event in events_of(Ended(code, said + out, err), code)][-2:] == [
        "stage begun",
        "finished",
    ]


def test_composition_and_what_remains_are_fields(people_file: Path, run: Run) -> None:
    open_ledger()
    events = {event["event"]: event for event in events_of(run("train", people_file, *PAID, *JSON))}
    budget, charge = events["budget"], events["charge"]
    spent = sum(Fraction(share["epsilon"]) for share in budget["composition"])
    assert spent == Fraction(budget["epsilon"])
    assert len(budget["composition"]) == budget["queries"]
    assert Fraction(charge["remaining"]["epsilon"]) == Fraction(1, 2) - spent
    with Ledger(Path("people.ledger")) as ledger:
        assert ledger.account("people").remaining.epsilon == Fraction(1, 2) - spent
