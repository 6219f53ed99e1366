"""Refusals: an exit code that a scheduler can act on, and one text that names the file, the column and the remedy."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from support.people import TYPES, people, write_people
from support.refusal_cases import DATA, DECLARATIONS, FILE, OPTIONS, REFUSALS, write_twice
from support.running import Run


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSALS)
def test_train_refuses(name: str, folder: Path, run: Run) -> None:
    refusal = REFUSALS[name]
    refusal.prepare()
    before = contents(folder)
    ended = run("train", *refusal.data, *refusal.arguments, expected=refusal.code)
    for text in refusal.told:
        assert text in ended.err
    assert contents(folder) == before


TAKEN_ALIKE = {
    "plan": [name for name in DATA | DECLARATIONS if name != "damaged rows"],  # it opens no row
    "aggregate": [name for name in DATA | DECLARATIONS if "epsilon" not in name],
    "check": [name for name in DATA | DECLARATIONS if "epsilon" not in name],
}


@pytest.mark.slow
@pytest.mark.parametrize(("verb", "name"), [(verb, name) for verb, names in TAKEN_ALIKE.items() for name in names])
def test_other_verbs_that_take_data_refuse_it_alike(verb: str, name: str, folder: Path, run: Run) -> None:
    refusal = REFUSALS[name]
    refusal.prepare()
    ended = run(verb, *refusal.data, expected=refusal.code)
    for text in refusal.told:
        assert text in ended.err


@pytest.mark.parametrize("name", OPTIONS)
def test_plan_refuses_the_same_options(name: str, people_file: Path, run: Run) -> None:
    refusal = REFUSALS[name]
    told = "No such option" if name == "suffix" else refusal.told[0]
    assert told in run("plan", people_file, *refusal.arguments, expected=64).err


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in OPTIONS if not name.startswith("data set")])
def test_release_refuses_the_same_options(name: str, people_file: Path, run: Run) -> None:
    run("aggregate", people_file)
    output = () if name == "suffix" else ("--output", "people.json")
    refusal = REFUSALS[name]
    ended = run("release", "people.statistics.parquet", *output, *refusal.arguments, expected=64)
    assert refusal.told[0] in ended.err


@pytest.mark.slow
def test_every_message_is_one_for_people(folder: Path, run: Run) -> None:
    """No class names, no reprs of ours, no Rust: the first line says whose message it is."""
    for name, refusal in REFUSALS.items():
        for path in folder.iterdir():
            path.rmdir() if path.is_dir() else path.unlink()
        refusal.prepare()
        text = run("train", *refusal.data, *refusal.arguments, expected=refusal.code).err
        assert text.startswith(("dpnb-columnar: ", "Usage: dpnb-columnar train")), name
        assert not re.search(r"Error\(|Fraction|Decimal\(|PosixPath|os error|panicked|0x[0-9a-f]{6}", text), name


# What train must not tell: it depends on rows. check tells the curator.

UNSUITABLE = {
    "attribute without a value": ({"hours": pl.lit(None, pl.Int64)}, ("'hours'", "no value in any row", "fill it")),
    "category without a value": ({"sex": pl.lit(None, pl.String)}, ("'sex'", "no value in any row", "fill it")),
    "label without a value": ({"income": pl.lit(None, pl.String)}, ("income", "no value in any row", "fill it")),
    "class not declared": (
        {"income": pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("middling")).otherwise("income")},
        ("income", "not declared classes", "add them to classes"),
    ),
    "class without rows": ({"income": pl.lit("low")}, ("no row in class high", "take it out of the domain")),
    "no category declared": (
        {"sex": pl.lit("x")},
        ("'sex'", "no declared category in any row", "take it out of attributes"),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", UNSUITABLE)
def test_check_refuses_what_train_must_not_tell(name: str, folder: Path, run: Run) -> None:
    columns, told = UNSUITABLE[name]
    write_people(FILE)
    usual = [run("train", FILE), run("plan", FILE)]
    Path("people.model.json").unlink()
    write_people(FILE, people(1000).with_columns(**columns))
    assert [run("train", FILE), run("plan", FILE)] == usual
    ended = run("check", FILE, expected=65)
    assert "people.parquet" in ended.err
    for text in told:
        assert text in ended.out
    assert "middling" not in ended.err


def test_no_rows_at_all_are_refused_by_check_alone(folder: Path, run: Run) -> None:
    write_people(FILE, pl.DataFrame(schema=TYPES))
    run("train", FILE)
    assert "no row counts" in run("check", FILE, expected=65).out


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() if path.is_file() else b"" for path in folder.iterdir()}


@pytest.mark.parametrize(
    "command",
    [
        ("predict", "people.model.json", FILE, "--output", "scored.parquet"),
        ("evaluate", "people.model.json", FILE),
        ("sql", "people.model.json", "--dialect", "duckdb", "--like", FILE),
        ("suggest-domain", FILE),
    ],
    ids=lambda command: command[0],
)
def test_columns_of_one_name_are_told_by_every_verb(command: tuple[object, ...], model_file: Path, run: Run) -> None:
    write_twice(FILE)
    ended = run(*command, expected=65)
    assert "people.parquet: has more than one column named 'age'; rename or drop" in ended.err
