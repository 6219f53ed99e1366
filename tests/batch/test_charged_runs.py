"""Ledgers that pay for runs: charged once however often one is begun again, and always the same model."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from support.people import people, write_people
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar import training
from dpnb_columnar.core.budget import Approximate, Neighbours
from dpnb_columnar.counting.countable import file_parts
from dpnb_columnar.counting.find_domain import find_domain
from dpnb_columnar.errors import UsageError
from dpnb_columnar.ledger import Ledger

LEDGER = Path("people.ledger")
TARGET = Path("people.model.json")
ID = "nightly-2026-11-21"


@pytest.fixture
def ledger(people_file: Path) -> Path:
    """A ledger that admits epsilon 1 for the people."""
    with Ledger.create(LEDGER) as opened:
        opened.open_account("people", Approximate(Fraction(1), Fraction(0)), Neighbours.ADD_REMOVE)
    return LEDGER


def spent() -> tuple[str, int]:
    """Epsilon spent, and the number of releases."""
    with Ledger(LEDGER) as opened:
        return str(opened.account("people").spent.epsilon), len(list(opened.releases()))


def test_a_release_is_charged_and_its_model_noted(ledger: Path, people_file: Path, run: Run) -> None:
    charged = ("--mechanism", "smooth", "--epsilon", "0.3", "--ledger", ledger, "--run-id", ID)
    ended = run("train", people_file, *charged)
    assert f"run {ID}, charged to people in people.ledger" in ended.out
    assert spent() == ("3/10", 1)
    with Ledger(LEDGER) as opened:
        [(entry, model)] = opened.releases()
        assert (entry.run, entry.mechanism, entry.noise) == (ID, "smooth", "polyplace")
        kept = opened.run(ID)
        assert kept is not None
        assert kept.document == TARGET.read_text()
        assert model == kept.digest


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_the_same_run_again_gives_the_same_model_and_is_not_charged(
    suffix: str, ledger: Path, people_file: Path, run: Run
) -> None:
    target = Path(f"model{suffix}")
    command = ("train", people_file, "--epsilon", "0.3", "--ledger", ledger, "--run-id", ID, "--output", target)
    run(*command)
    first = target.read_bytes()
    assert "nothing is spent again" in run(*command).out
    target.unlink()
    assert "nothing is spent again" in run(*command).out
    assert target.read_bytes() == first
    target.write_bytes(b"something else")
    assert "is not what run" in run(*command, expected=73).err
    run(*command, "--overwrite")
    assert target.read_bytes() == first
    assert spent() == ("3/10", 1)


def test_runs_without_an_id_are_charged_each(ledger: Path, people_file: Path, run: Run) -> None:
    models = set()
    for _ in range(3):
        run("train", people_file, "--epsilon", "0.3", "--ledger", ledger, "--overwrite")
        models.add(TARGET.read_text())
    assert len(models) == 3
    assert spent() == ("9/10", 3)


def test_a_run_id_belongs_to_one_release(ledger: Path, people_file: Path, run: Run) -> None:
    run("train", people_file, "--epsilon", "0.3", "--ledger", ledger, "--run-id", ID)
    TARGET.unlink()
    write_people(Path("others.parquet"))
    for other in ((people_file, "--epsilon", "0.4"), ("others.parquet", "--epsilon", "0.3")):
        told = run("train", *other, "--ledger", ledger, "--run-id", ID, "--account", "people", expected=64).err
        assert ID in told
    assert spent() == ("3/10", 1)
    assert not TARGET.exists()


def test_a_run_that_would_pass_the_limit_opens_no_row(
    ledger: Path, people_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("train", people_file, "--epsilon", "0.7", "--ledger", ledger)

    def never(*_: object) -> None:
        raise AssertionError("rows were counted")

    monkeypatch.setattr("dpnb_columnar.counting.local.answer", never)
    command = ("train", people_file, "--epsilon", "0.31", "--ledger", ledger, "--output", "more.json")
    for more in ((), ("--dry-run",)):
        told = run(*command, *more, expected=77).err
        assert all(amount in told for amount in ("0.31", "limit epsilon 1", "0.7", "0.3"))
    assert spent() == ("7/10", 1)
    assert not Path("more.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "drawn_again"),
    [("dpnb_columnar.training._reported", True), ("dpnb_columnar.cli.file_output.save_model", False)],
)
@pytest.mark.parametrize("failure", [KeyboardInterrupt, SystemExit(143), OSError("secret 42")], ids=repr)
def test_a_run_that_was_cut_short_is_finished_without_a_second_charge(
    place: str,
    drawn_again: bool,
    failure: BaseException,
    ledger: Path,
    people_file: Path,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = ("train", people_file, "--epsilon", "0.6", "--ledger", ledger, "--run-id", ID)

    def fail(*_: object, **__: object) -> None:
        raise failure

    with monkeypatch.context() as patched:
        patched.setattr(place, fail)
        code = {KeyboardInterrupt: 130}.get(failure, 143 if isinstance(failure, SystemExit) else 70)  # type: ignore[call-overload]
        run(*command, expected=code)
    assert not TARGET.exists()
    assert spent() == ("3/5", 1)
    with Ledger(LEDGER) as opened:
        begun = opened.run(ID)
        assert begun is not None
        assert (begun.document is None) is drawn_again
    run(*command)
    assert spent() == ("3/5", 1)
    if begun.document is not None:
        assert TARGET.read_text() == begun.document


def test_statistics_are_charged_like_the_rows_they_count(ledger: Path, people_file: Path, run: Run) -> None:
    run("aggregate", people_file)
    command = ("release", "people.statistics.parquet", "--output", TARGET, "--epsilon", "0.6", "--ledger", ledger)
    run(*command, "--run-id", ID)
    run(*command, "--run-id", ID)
    run(*command, "--overwrite", expected=77)
    assert spent() == ("3/5", 1)


def test_an_account_bound_to_files_pays_for_no_others(people_file: Path, run: Run) -> None:
    with Ledger.create(LEDGER) as opened:
        limit = Approximate(Fraction(1), Fraction(0))
        opened.open_account("people", limit, Neighbours.ADD_REMOVE, file_parts([people_file]))
    write_people(Path("others.parquet"), people(500, seed=3))
    told = run("train", "others.parquet", "--account", "people", "--ledger", LEDGER, expected=65).err
    assert "bound to other files" in told
    assert spent() == ("0", 0)
    run("train", people_file, "--ledger", LEDGER)


def test_a_released_model_does_not_tell_who_paid(ledger: Path, people_file: Path, run: Run) -> None:
    run("train", people_file, "--ledger", ledger, "--run-id", ID)
    assert ID not in TARGET.read_text()
    assert str(LEDGER) not in TARGET.read_text()


def test_events_name_the_run_and_what_it_is_charged_to(ledger: Path, people_file: Path, run: Run) -> None:
    ended = run("train", people_file, "--ledger", ledger, "--run-id", ID, "--log-format", "json")
    events = [json.loads(line) for line in ended.out.splitlines()]
    [charged] = [event for event in events if event["event"] == "charge"]
    assert (charged["run"], charged["dataset"], charged["ledger"]) == (ID, "people", str(LEDGER))
    assert events[-1] == {**events[-1], "event": "finished", "exit_code": 0, "run": ID, "verb": "train"}


def test_attempts_of_one_run_draw_one_after_the_other(
    ledger: Path, people_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attempt that begins while another draws waits for it, and takes what that one has released."""
    draws, reported = 0, training._reported
    attempts: list[threading.Thread] = []
    found: list[object] = []

    def attempt() -> None:
        found.append(dpnb.train(people_file, epsilon="0.6", ledger=ledger, run_id=ID))

    def slowly(*arguments: Any) -> Any:
        nonlocal draws
        draws += 1
        attempts.append(threading.Thread(target=attempt))
        attempts[-1].start()
        time.sleep(1)
        return reported(*arguments)

    monkeypatch.setattr("dpnb_columnar.training._reported", slowly)
    first = dpnb.train(people_file, epsilon="0.6", ledger=ledger, run_id=ID)
    for thread in attempts:
        thread.join()
    assert (draws, found) == (1, [first])
    assert spent() == ("3/5", 1)
    assert not list(Path().glob(".people.ledger*"))


@pytest.mark.parametrize("again", [False, True], ids=["first", "again"])
@pytest.mark.parametrize("lost", ["people.json", "job.toml", "copy.parquet"])
def test_neither_ledger_nor_settings_nor_data_are_replaced(
    lost: str, again: bool, ledger: Path, people_file: Path, run: Run
) -> None:
    ledger.rename("people.json")
    Path("job.toml").write_text('[train]\nepsilon = "0.3"\n')
    people_file.rename("copy.parquet")
    before = Path(lost).read_bytes()
    command = ("train", "copy.parquet", "--config", "job.toml", "--ledger", "people.json", "--run-id", ID)
    if again:
        run(*command)
        before = Path(lost).read_bytes()
    Path("link.parquet").symlink_to(lost)
    for more in ((), ("--dry-run",)):
        told = run(*command, "--output", "link.parquet", "--overwrite", *more, expected=73).err
        assert "is an input as well, and would be lost" in told
    assert Path(lost).read_bytes() == before


def test_a_dry_run_of_a_finished_run_tells_what_is_there(ledger: Path, people_file: Path, run: Run) -> None:
    command = ("train", people_file, "--ledger", ledger, "--run-id", ID)
    run(*command)
    assert "is what this run released before" in run(*command, "--dry-run").out
    TARGET.write_text("something else")
    assert "is not what run" in run(*command, "--dry-run", expected=73).err
    TARGET.unlink()
    assert "would be what this run released before" in run(*command, "--dry-run").out


def test_the_lock_of_a_killed_attempt_goes_with_the_next(ledger: Path, people_file: Path, run: Run) -> None:
    command = ("train", people_file, "--ledger", ledger, "--run-id", ID)
    run(*command)
    left = Path(f".people.ledger.{hashlib.sha256(ID.encode()).hexdigest()[:16]}.lock")
    left.touch()
    run(*command)
    assert not left.exists()


def test_a_dry_run_logs_no_charge(ledger: Path, people_file: Path, run: Run) -> None:
    command = ("train", people_file, "--ledger", ledger, "--log-format", "json")
    assert '"event": "charge"' not in run(*command, "--dry-run").out
    assert '"event": "charge"' in run(*command).out


def test_release_is_charged_each_time(ledger: Path, people_file: Path) -> None:
    statistics = dpnb.aggregate(people_file)
    assert dpnb.release(statistics, epsilon="0.3", ledger=ledger) != dpnb.release(
        statistics, epsilon="0.3", ledger=str(ledger), account="people"
    )
    assert spent() == ("3/5", 2)


def test_frames_are_charged_but_have_no_run_id(ledger: Path, people_file: Path) -> None:
    frame, domain = pl.read_parquet(people_file), find_domain([people_file]).domain
    dpnb.train(frame, epsilon="0.3", domain=domain, ledger=ledger, account="people")
    assert spent() == ("3/10", 1)
    with pytest.raises(UsageError, match="no name"):
        dpnb.train(frame, epsilon="0.3", domain=domain, ledger=ledger, run_id="nightly")


def test_databases_of_one_name_in_two_folders_are_two(
    ledger: Path, people_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (Path(), Path("other")):
        folder.mkdir(exist_ok=True)
        with duckdb.connect(folder / "people.duckdb") as connection:
            connection.sql(f"CREATE TABLE person AS FROM '{people_file}'")
    options = ("--table", "person", "--epsilon", "0.3", "--ledger", ledger.absolute(), "--run-id", ID)
    domain = people_file.absolute()
    run("release", "people.duckdb", *options, "--domain", domain, "--output", "first.json")
    monkeypatch.chdir("other")
    told = run("release", "people.duckdb", *options, "--domain", domain, "--output", "m.json", expected=64).err
    assert ID in told
