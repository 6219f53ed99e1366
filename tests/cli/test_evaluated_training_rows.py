"""``evaluate --ledger`` says when the rows that it scores are those that trained the model."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.people import DECLARATION, people, write_people
from support.running import Run
from support.tables import into_duckdb, into_sqlite

TOLD = "people.parquet: run first counted these rows to train this model, and training rows score too well"


@pytest.fixture
def trained(people_file: Path, ledger: Path, run: Run) -> Path:
    run("train", people_file, "--output", "m.json", "--ledger", ledger, "--run-id", "first")
    write_people(Path("rest.parquet"), people(500, seed=9))
    return Path("m.json")


def test_files_that_the_run_counted_are_named(trained: Path, ledger: Path, people_file: Path, run: Run) -> None:
    Path("link.parquet").symlink_to(people_file)
    for data in ("people.parquet", "link.parquet"):
        ended = run("evaluate", trained, data, "--ledger", ledger)
        assert ended.err.startswith(f"dpnb-columnar: {TOLD}; evaluate rows that it has not seen")
        assert ended.err.count("\n") == 1
    released = run("evaluate", trained, people_file, "--ledger", ledger, "--epsilon", "0.5")
    assert released.err.startswith(f"dpnb-columnar: {TOLD}")
    assert "people.parquet, " not in run("evaluate", trained, people_file).err


def test_other_files_are_not(trained: Path, ledger: Path, run: Run) -> None:
    assert run("evaluate", trained, "rest.parquet", "--ledger", ledger).err == ""


def test_a_copy_is_known_to_a_bound_account(people_file: Path, run: Run) -> None:
    """Its digests are confidential, so only the curator's exact figures come with what they say."""
    init = ("ledger", "init", "bound.ledger", "--dataset", "people", "--epsilon", "3")
    run(*init, "--bind", people_file)
    run("train", people_file, "--output", "m.json", "--ledger", "bound.ledger")
    shutil.copy(people_file, "copy.parquet")
    ended = run("evaluate", "m.json", "copy.parquet", "--ledger", "bound.ledger")
    assert "copy.parquet: the account of people, which paid for this model, is bound to these rows" in ended.err
    assert run("evaluate", "m.json", "copy.parquet", "--ledger", "bound.ledger", "--epsilon", "0.5").err == ""


def test_a_ledger_without_the_model_cannot_tell(trained: Path, ledger: Path, people_file: Path, run: Run) -> None:
    run("train", people_file, "--output", "other.json")
    ended = run("evaluate", "other.json", people_file, "--ledger", ledger)
    assert "no run in it released this model, so it cannot tell" in ended.err
    assert run("evaluate", trained, people_file, "--ledger", "none.ledger", expected=66).out == ""


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_a_table_that_the_run_counted_is_named(dialect: str, folder: Path, ledger: Path, run: Run) -> None:
    Path("datasets.toml").write_text(DECLARATION)
    file, into = Path(f"census.{dialect}"), into_duckdb if dialect == "duckdb" else into_sqlite
    for table, seed in (("person", 1), ("held_out", 2)):
        into(file, people(300, seed=seed), table)
    paid = ("--ledger", ledger, "--run-id", "first")
    run("train", file, "--table", "person", "--dataset", "people", "--output", "m.json", *paid)
    for name in ("person", "main.person", "PERSON"):
        told = run("evaluate", "m.json", file, "--table", name, "--ledger", ledger).err
        assert told.startswith(f"dpnb-columnar: {file}, table {name}: run first counted this table to train this model")
    assert run("evaluate", "m.json", file, "--table", "held_out", "--ledger", ledger).err == ""
    into(other := Path(f"other.{dialect}"), people(300), "person")
    assert run("evaluate", "m.json", other, "--table", "person", "--ledger", ledger).err == ""
    write_people(Path("people.parquet"))
    run("train", "people.parquet", "--output", "alone.json")
    told = run("evaluate", "alone.json", file, "--table", "person", "--ledger", ledger).err
    assert "no run in it released this model, so it cannot tell" in told
