"""``--label``: what to predict, chosen on the command line."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from support.people import DECLARATION, PEOPLE, people, write_people
from support.running import Run

from dpnb_columnar.api import load_model
from dpnb_columnar.counting.answer_files import load_statistics
from dpnb_columnar.domain import Declaration
from dpnb_columnar.domain.declaration import domain_metadata, read_declaration

FILE = Path("people.parquet")
ATTRIBUTES = {**PEOPLE["attributes"], "income": {"values": ["low", "high"]}}
EXTRACT: Declaration = read_declaration("people", {"attributes": ATTRIBUTES}, "test")


@pytest.fixture
def extract(folder: Path) -> Path:
    """``people.parquet`` with a domain that has no label."""
    people(500).write_parquet(FILE, metadata=domain_metadata(EXTRACT))
    return FILE


def test_the_same_model_as_with_the_label_declared(extract: Path, run: Run) -> None:
    run("train", extract, "--label", "income", "--seed", 1, "--output", "chosen.json")
    write_people(FILE, people(500))
    run("train", FILE, "--seed", 1, "--output", "declared.json")
    assert Path("chosen.json").read_text() == Path("declared.json").read_text()


def test_codes_for_missing_are_in_no_class(folder: Path, run: Run) -> None:
    attributes = {**ATTRIBUTES, "hours": {"lower": 0, "upper": 98, "step": 1, "missing_values": [999]}}
    domain = read_declaration("people", {"attributes": attributes}, "test")
    frame = people(500).with_columns(hours=pl.when(pl.col("age") < 40).then(999).otherwise("hours"))
    frame.write_parquet(FILE, metadata=domain_metadata(domain))
    run("aggregate", FILE, "--label", "hours > 40")
    found = load_statistics(Path("people.statistics.parquet"))
    known = frame.filter(pl.col("hours") != 999)["hours"]
    assert list(found.class_counts) == [(known <= 40).sum(), (known > 40).sum()]
    assert found.domain.classes == ("<=40", ">40")


def test_a_model_of_a_chosen_label_predicts_it(extract: Path, run: Run) -> None:
    run("train", extract, "--label", "hours > 35", "--epsilon", 10)
    assert load_model(Path("people.model.json")).domain.classes == ("<=35", ">35")
    run("predict", "people.model.json", extract, "--output", "scored.parquet")
    assert set(pl.read_parquet("scored.parquet")["predicted"]) <= {"<=35", ">35"}
    run("evaluate", "people.model.json", extract)


def test_entries_may_leave_the_label_out(folder: Path, run: Run) -> None:
    people(100).write_parquet(FILE)
    entry = DECLARATION.replace('[people.label]\ncolumn = "income"\nclasses = ["low", "high"]\n', "")
    Path("datasets.toml").write_text(entry.replace("[people]\n", '[people]\nepsilon = "2"\n'))
    assert "datasets.toml, entry people: declares no label" in run("train", FILE, expected=78).err
    assert "epsilon 2 " in run("train", FILE, "--label", "hours > 40").out
    listed = next(line for line in run("datasets", "list").out.splitlines() if line.startswith("  people "))
    assert listed.split()[1:4] == ["2", "1", "0"]


def test_another_label_than_the_one_declared(people_file: Path, run: Run) -> None:
    run("train", people_file, "--label", "sex")
    model = load_model(Path("people.model.json"))
    assert model.domain.classes == ("f", "m")
    assert [attribute.name for attribute in model.domain] == ["age", "hours", "income"]


@pytest.mark.slow
def test_condition_of_as_many_parts_as_fit_in_its_text(people_file: Path, run: Run) -> None:
    listed = ",".join(map(str, [*range(40), *range(100, 950)]))
    run("aggregate", people_file, "--label", f"age IN ({listed})", "--output", "listed.parquet")
    run("aggregate", people_file, "--label", "age < 40", "--output", "compared.parquet")
    listed_counts, compared = (
        pl.read_parquet(name).drop("attribute") for name in ("listed.parquet", "compared.parquet")
    )
    assert listed_counts.equals(compared)
