"""Wrong commands: each ends with the exit code of docs/batch.md, in one line, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import duckdb
import polars as pl
import pytest
from support.running import Run, completed

from dpnb_columnar.cli.program import VERBS
from dpnb_columnar.errors import DomainError, Fault
from dpnb_columnar.simulation import simulate_census

LIST = Path(__file__).parents[1] / "support" / "wrong_commands.txt"
COMMANDS: dict[str, list[tuple[int, list[str]]]] = defaultdict(list)
for line in LIST.read_text(encoding="utf-8").splitlines()[1:]:
    code, *words = shlex.split(line)
    COMMANDS[words[0] if words[0] in VERBS else "no verb"].append((int(code), words))

NOT_OURS = re.compile(r"Usage:|Traceback|internal error|[A-Z]\w+ Error:|Input should be|Value error|codec can't|\x1b")
"""Words of Typer, pydantic, DuckDB and Python, and what a terminal obeys."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Files of every kind that may be named by mistake, in the working directory."""
    folder = tmp_path_factory.mktemp("wrong")
    before = Path.cwd()
    os.chdir(folder)
    simulate_census(Path("census.parquet"), rows=1000, seed=1940)
    for suffix in ("json", "parquet"):
        completed("train", "census.parquet", "--epsilon", 1, "--output", f"census.model.{suffix}")
    completed("aggregate", "census.parquet")
    completed("evaluate", "census.model.json", "census.parquet", "--epsilon", 1, "--output", "census.scores.json")
    completed("ledger", "init", "census.ledger", "--dataset", "census_simulated", "--epsilon", 3)
    for name in ("empty.parquet", "empty.csv", "empty.json"):
        Path(name).touch()
    pl.read_parquet("census.parquet").head(0).write_parquet("norows.parquet")
    pl.DataFrame({}).write_parquet("zero.parquet")
    pl.DataFrame({"a": [1, 2]}).write_parquet("other.parquet")
    Path("weird.parquet").write_bytes(b"PAR1" + bytes(range(100)) + b"PAR1")
    texts = {
        "rows.csv": "age,works\n3,no\n4,yes\n", "bad.toml": "a = [1\n[b\n", "badtypes.toml": 'age = "colour"\n',
        "bad.xml": "<a><b></a>", "bad.json": '{"a": ', "bad.sql": "SELECT FROM WHERE", "two.sql": "SELECT 1; SELECT 2",
        "broken.sql": "SELECT nope FROM person",
    }  # fmt: skip
    for name, text in texts.items():
        Path(name).write_text(text)
    Path("emptyfolder").mkdir()
    Path("afolder").mkdir()
    Path("afolder/x.txt").write_text("x\n")
    with duckdb.connect("census.duckdb") as connection:
        connection.execute("CREATE TABLE person AS FROM 'census.parquet'")
    with closing(sqlite3.connect("other.sqlite")) as connection:
        connection.execute("CREATE TABLE t (a)")
    yield folder
    os.chdir(before)
    shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.xdist_group("wrong commands")
@pytest.mark.parametrize("verb", COMMANDS)
def test_a_wrong_command_says_in_one_line_what_is_wrong(verb: str, files: Path, run: Run) -> None:
    before = sorted(files.iterdir())
    for code, words in COMMANDS[verb]:
        stored = any(word.startswith("s3://") for word in words)
        ended = run(*words, expected=69 if stored and find_spec("obstore") is None else code)
        (line,) = ended.err.splitlines()
        assert line.startswith("dpnb-columnar: "), (words, line)
        assert not NOT_OURS.search(ended.err), (words, line)
        assert ended.out == "", words
        assert sorted(files.iterdir()) == before, words


@pytest.mark.parametrize(("code", "words"), [(0, ["help"]), (0, ["version"]), (0, ["-v"]), (64, [])])
def test_words_for_help_and_version(code: int, words: list[str], run: Run) -> None:
    ended = run(*words, expected=code)
    assert (ended.out + ended.err).startswith(
        "Usage: dpnb-columnar " if words[:1] in ([], ["help"]) else "dpnb-columnar 0"
    )


def test_help_of_a_verb_is_what_the_verb_prints(run: Run) -> None:
    assert run("help", "split").out == run("split", "--help").out
    assert run("help", "ledger", "init").out == run("ledger", "init", "--help").out


def test_what_a_terminal_obeys_is_escaped(folder: Path, run: Run) -> None:
    wrong = "\x1b[2J\nforged"
    for words in (
        [wrong],
        ["train", f"--{wrong}"],
        ["train", wrong],
        ["plan", "x", "--rows", wrong],
        ["ledger", wrong],
    ):
        (line,) = run(*words, expected=66 if words == ["train", wrong] else 64).err.splitlines()
        assert "\x1b" not in line, words


def test_one_fault_stands_in_one_line_and_several_below_a_heading() -> None:
    faults = [Fault("a.b", "is wrong"), Fault("a.c", "is wrong, too")]
    assert str(DomainError("x.toml", faults[:1])) == "x.toml: a.b: is wrong"
    heading, *lines = str(DomainError("x.toml", faults)).splitlines()
    assert (heading, lines) == (
        "x.toml: 2 faults in the domain declaration", ["  a.b: is wrong", "  a.c: is wrong, too"]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "spent"), [(("--epsilon", "1", "--epsilon", "2"), None), (("--epsilon", "1"), "1")]
)
def test_an_option_that_is_given_twice_spends_nothing(
    arguments: tuple[str, ...], spent: str | None, people_file: Path, run: Run
) -> None:
    ended = run("train", people_file, *arguments, expected=0 if spent else 64)
    assert ("--epsilon: is given twice" in ended.err) is (spent is None)
    assert Path("people.model.json").exists() is (spent is not None)


def test_columns_are_named_one_by_one_or_with_commas(people_file: Path, run: Run) -> None:
    run("train", people_file)
    for number, keys in enumerate((["--key", "age,sex"], ["--key", "age", "--key", "sex"], ["--key", "age, sex"])):
        run("predict", "people.model.json", people_file, *keys, "--output", f"{number}.parquet")
        assert pl.read_parquet_schema(f"{number}.parquet").names()[:2] == ["age", "sex"]
    queries = {run("sql", "people.model.json", "--dialect", "PostgreSQL", "--key", keys).out for keys in ("age,sex",)}
    assert queries == {run("sql", "people.model.json", "--dialect", "postgres", "--key", "age", "--key", "sex").out}


def test_a_unit_of_several_columns_is_one_whatever_way_it_is_named(people_file: Path, run: Run) -> None:
    run("split", people_file, "--by", "age,hours", "--train-output", "a.parquet", "--test-output", "b.parquet")
    run(
        "split",
        people_file,
        "--by",
        "age",
        "--by",
        "hours",
        "--train-output",
        "c.parquet",
        "--test-output",
        "d.parquet",
    )
    assert pl.read_parquet("a.parquet").equals(pl.read_parquet("c.parquet"))


@pytest.mark.parametrize(("written", "right"), [("==", "="), ("=>", ">="), ("=<", "<="), ("!==", "<>")])
def test_comparisons_of_other_languages_are_told_how_to_be_written(
    written: str, right: str, people_file: Path, run: Run
) -> None:
    told = run("train", people_file, "--label", f"age {written} 40", expected=64).err
    assert f"write {right} in place of the comparison at character 5" in told


def test_a_package_that_is_missing_is_unavailable(people_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("train", people_file)
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    told = run("show", "people.model.json", "--html", "x.html", expected=69).err
    remedy = "install it with: pip install --upgrade dpnb-columnar"
    assert told == f"dpnb-columnar: the package jinja2 is not installed; {remedy}\n"
