"""No name that is printed puts a line in another order, forges one, or commands the terminal."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import polars as pl
import pytest
from support.running import Run

from dpnb_columnar.errors import printable, printable_line

CONTROLS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Every control of Unicode's bidirectional algorithm."""

NUMBER, CATEGORY, LABEL = (f"{name}{CONTROLS}" for name in ("age", "job", "works"))
CLASSES, VALUES = [f"no{CONTROLS}", "yes"], [f"a{CONTROLS}", "b"]

DOMAIN = {
    "label": {"column": LABEL, "classes": CLASSES},
    "attributes": {NUMBER: {"lower": 0, "upper": 9}, CATEGORY: {"values": VALUES, "missing": "category"}},
    "value_labels": {LABEL: {"yes": f"is at work{CONTROLS}"}, CATEGORY: {"b": f"baker{CONTROLS}"}},
}


def quoted(text: str) -> str:
    """A text as TOML's basic strings hold it."""
    return json.dumps(text, ensure_ascii=False)


@pytest.fixture
def town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file whose name holds the controls, a line break and an escape, in a folder with its domain."""
    monkeypatch.chdir(tmp_path)
    rows = {
        NUMBER: [number % 12 for number in range(1000)],
        CATEGORY: [[*VALUES, "c\u202e"][number % 3] for number in range(1000)],
        LABEL: [[*CLASSES, "else\u202e"][number % 17 // 8] for number in range(1000)],
        "odd\n\x1b[2J\u202e": [1] * 1000,
    }
    name = f"town{CONTROLS}\n\x1b[2J.parquet"
    pl.DataFrame(rows).write_parquet(name)
    declared = f"[town]\nlabel = {{ column = {quoted(LABEL)}, classes = [{', '.join(map(quoted, CLASSES))}] }}\n"
    declared += f"[town.attributes]\n{quoted(NUMBER)} = {{ lower = 0, upper = 9, step = 1 }}\n"
    declared += f'{quoted(CATEGORY)} = {{ values = [{", ".join(map(quoted, VALUES))}], missing = "category" }}\n'
    for column, labels in DOMAIN["value_labels"].items():
        ((value, label),) = labels.items()
        declared += f"[town.value_labels.{quoted(column)}]\n{value} = {quoted(label)}\n"
    Path("datasets.toml").write_text(declared, encoding="utf-8")
    return name


def assert_clean(text: str) -> None:
    """Nothing but line breaks is escaped by what escapes names."""
    assert printable(text) == text
    assert not any(control in text for control in [*CONTROLS, "\x1b", "\r", "\u2028"])


@pytest.mark.slow
def test_every_verb_escapes_what_it_prints(town: str, run: Run) -> None:
    written = "model\u202e.json"
    domain, release = ("--dataset", "town"), ("--epsilon", "5", "--seed", "1")
    commands: list[tuple[int, tuple[str, ...]]] = [
        (0, ("domain", "show", "--dataset", "town")),
        (0, ("domain", "show", "--dataset", "town", "--all")),
        (0, ("plan", town, *domain)),
        (0, ("plan", town, *domain, "--rows", "1000", "--epsilon", "1")),
        (65, ("check", town, *domain)),
        (0, ("train", town, *domain, *release, "--output", written)),
        (0, ("aggregate", town, *domain, "--output", "counts\u202e.parquet")),
        (0, ("show", written)),
        (0, ("show", written, "--all")),
        (0, ("evaluate", written, town)),
        (0, ("evaluate", written, town, "--all")),
        (0, ("evaluate", written, town, "--epsilon", "1", "--seed", "2", "--output", "of.scores.json")),
        (0, ("show", "of.scores.json")),
        (0, ("predict", written, town, "--key", "odd\n\x1b[2J\u202e", "--output", "scored\u202e.parquet")),
        (64, ("sql", written, "--dialect", "duckdb")),
        (0, ("sql", written, "--dialect", "duckdb", "--output", "query\u202e.sql")),
        (0, ("suggest-domain", town)),
        (64, ("plan", town, *domain, "--label", f"{NUMBER}x > 2")),
        (64, ("train", town, *domain, "--epsilon", f"1{CONTROLS}\x1b", "--output", "other.json")),
        (65, ("predict", written, town, "--key", "none\u202e\x1b", "--output", "other.parquet")),
    ]
    printed = []
    for code, arguments in commands:
        told = run(*arguments, expected=code)
        assert_clean(told.out + told.err)
        printed.append(told.out)
    shown = "".join(printed)
    for name in (NUMBER, CATEGORY, VALUES[0], CLASSES[0]):
        assert printable(name) in shown
    assert "\nis at" not in shown


def test_documents_mean_the_same_when_they_are_escaped(town: str, run: Run) -> None:
    shown = run("domain", "show", "--dataset", "town", "--json").out
    assert_clean(shown)
    assert json.loads(shown)["label"]["classes"] == CLASSES
    entry = run("domain", "show", "--dataset", "town", "--toml").out
    assert_clean(entry)
    assert list(tomllib.loads(entry)["town"]["attributes"]) == [NUMBER, CATEGORY]


@pytest.mark.parametrize("control", ["\x1b", "\n", "\x9b", "\u2028"])
def test_a_declaration_with_a_name_that_forges_lines_is_refused_without_printing_it(
    town: str, run: Run, control: str
) -> None:
    text = Path("datasets.toml").read_text(encoding="utf-8").replace('yes = "is', f'yes = "\\u{ord(control):04x}is')
    Path("datasets.toml").write_text(text, encoding="utf-8")
    told = run("domain", "show", "--dataset", "town", expected=78)
    assert_clean(told.out + told.err)
    assert "value_labels" in told.err


def test_a_line_is_one_line() -> None:
    assert printable_line("a\nb\r\x7f\x9b\ud800\u2029") == "a\\nb\\u000d\\u007f\\u009b\\ud800\\u2029"
    assert printable("a\nb\tc \xa0é\u05d0\u200d") == "a\nb\tc \xa0é\u05d0\u200d"
