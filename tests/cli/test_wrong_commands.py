"""Wrong commands: each ends with the exit code of docs/batch.md, in one line, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import polars as pl
import pytest
from support.refusal_cases import write_wrong_files
from support.running import Run

from dpnb_columnar.cli.main import help_lines
from dpnb_columnar.errors import DomainError, Fault

LIST = Path(__file__).parents[1] / "support" / "wrong_commands.txt"

JSON, PARQUET = "--output y.json", "--output y.parquet"
STANDING = {
    "MODEL": {"predict": "people.model.json", "evaluate": "people.model.json", "": ""},
    "DATA": {"release": "people.statistics.parquet", "show": "", "": "people.parquet"},
    "LEDGER": {"train": "--ledger people.ledger", "": ""},
    "OUT": {"train": JSON, "release": JSON, "aggregate": PARQUET, "predict": PARQUET, "": ""},
}
"""What these words of the list stand for, by verb."""

NOT_OURS = re.compile(
    r"Usage:|Traceback|internal error|[A-Z]\w+ Error:|Input should be|Value error|codec can't|\x1b"
    r"|Error\(|Fraction|Decimal\(|PosixPath|os error|panicked|0x[0-9a-f]{6}"
)
"""Words of Typer, pydantic, DuckDB, Polars and Python, and what a terminal obeys."""


@dataclass(frozen=True)
class Wrong:
    """A wrong command, its exit code, and what its line holds, in this order, and does not hold."""

    code: int
    words: list[str]
    told: list[str]
    untold: list[str]


def standing(word: str, verb: str) -> list[str]:
    """The words that one stands for."""
    return STANDING[word].get(verb, STANDING[word][""]).split()


def wrong_commands() -> Iterator[Wrong]:
    """Each command of the list, for each of its verbs."""
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        typed, _, text = line.partition(" ==> ")
        told, *untold = text.split(" =! ")
        code, verbs, *words = shlex.split(typed)
        for verb in verbs.split("|"):
            given = [[word] if word not in STANDING else standing(word, verb) for word in words]
            yield Wrong(int(code), [verb, *chain(*given)], told.split(" ... "), untold)


COMMANDS: dict[str, list[Wrong]] = defaultdict(list)
for wrong in wrong_commands():
    COMMANDS[wrong.words[0] if wrong.words[0] in help_lines() else "no verb"].append(wrong)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Files of every kind that may be named by mistake, in the working directory."""
    folder = tmp_path_factory.mktemp("wrong")
    with contextlib.chdir(folder):
        write_wrong_files()
        yield folder
    shutil.rmtree(folder)


def contents(folder: Path) -> dict[Path, tuple[int, int]]:
    """Size and time of every file."""
    found = {path: path.lstat() for path in folder.rglob("*")}
    return {path: (status.st_size, status.st_mtime_ns) for path, status in found.items()}


@pytest.mark.slow
@pytest.mark.xdist_group("wrong commands")
@pytest.mark.parametrize("verb", COMMANDS)
def test_a_wrong_command_says_in_one_line_what_is_wrong(verb: str, files: Path, run: Run) -> None:
    """And writes nothing: no output, no charge to a ledger."""
    before = contents(files)
    for wrong in COMMANDS[verb]:
        stored = any(word.startswith("s3://") for word in wrong.words)
        ended = run(*wrong.words, expected=69 if stored and find_spec("obstore") is None else wrong.code)
        line, *faults = ended.err.splitlines()
        assert line.startswith("dpnb-columnar: "), (wrong, line)
        assert all(fault.startswith("  ") for fault in faults), (wrong, faults)  # of one declaration or file
        assert not NOT_OURS.search(ended.err), (wrong, line)
        assert re.search(".*".join(map(re.escape, wrong.told)), ended.err, re.DOTALL), (wrong, ended.err)
        assert not [text for text in wrong.untold if text in ended.err], (wrong, line)
        assert ended.out == "" or "cannot be read to the end" in line, wrong
        assert contents(files) == before, wrong


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


def test_columns_are_named_one_by_one_or_with_commas(people_file: Path, run: Run) -> None:
    run("train", people_file)
    for number, keys in enumerate((["--key", "age,sex"], ["--key", "age", "--key", "sex"], ["--key", "age, sex"])):
        run("predict", "people.model.json", people_file, *keys, "--output", f"{number}.parquet")
        assert pl.read_parquet_schema(f"{number}.parquet").names()[:2] == ["age", "sex"]
    queries = {run("sql", "people.model.json", "--dialect", "PostgreSQL", "--key", keys).out for keys in ("age,sex",)}
    assert queries == {run("sql", "people.model.json", "--dialect", "postgres", "--key", "age", "--key", "sex").out}


def test_a_unit_of_several_columns_is_one_whatever_way_it_is_named(people_file: Path, run: Run) -> None:
    run("split", people_file, "--by", "age,hours", "--train-output", "a.parquet", "--test-output", "b.parquet")
    outputs = ("--train-output", "c.parquet", "--test-output", "d.parquet")
    run("split", people_file, "--by", "age", "--by", "hours", *outputs)
    assert pl.read_parquet("a.parquet").equals(pl.read_parquet("c.parquet"))


def test_a_package_that_is_missing_is_unavailable(people_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("train", people_file)
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    told = run("show", "people.model.json", "--html", "x.html", expected=69).err
    remedy = "install it with: pip install --upgrade dpnb-columnar"
    assert told == f"dpnb-columnar: the package jinja2 is not installed; {remedy}\n"
