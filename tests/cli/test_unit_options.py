"""``--unit`` and ``--unit-rows``, and the weight of a unit: a guarantee for whole units."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.people import people, people_domain
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.counting.answer_files import save_answer
from dpnb_columnar.domain import Domain, Unit
from dpnb_columnar.domain.declaration import domain_metadata, read_domain
from dpnb_columnar.domain.declared_domain import document_of
from dpnb_columnar.domain.editing import with_unit
from dpnb_columnar.errors import DomainError, UsageError

SERIALS = people(200).with_row_index("SERIAL")


def write(folder: Path, name: str = "people.parquet", **facts: Any) -> str:
    """A file of people with a column SERIAL, and the domain that it carries."""
    path = folder / name
    SERIALS.write_parquet(path, metadata=domain_metadata(replace(people_domain(), **facts)))
    return str(path)


@pytest.mark.parametrize(
    ("declared", "unit", "rows", "chosen"),
    [
        ({}, None, None, None),
        ({}, "SERIAL", None, Unit(("SERIAL",), 1)),
        ({}, "YEAR, SERIAL", 3, Unit(("YEAR", "SERIAL"), 3)),
        ({}, ["a,b"], 2, Unit(("a,b",), 2)),
        ({"available_unit": ("SERIAL",)}, None, None, None),
        ({"available_unit": ("SERIAL",)}, None, 2, Unit(("SERIAL",), 2)),
        ({"unit": Unit(("SERIAL",), 4)}, None, None, Unit(("SERIAL",), 4)),
        ({"unit": Unit(("SERIAL",), 4)}, None, 2, Unit(("SERIAL",), 2)),
        ({"unit": Unit(("SERIAL",), 4)}, "SERIAL", None, Unit(("SERIAL",), 4)),
        ({"unit": Unit(("SERIAL",), 4), "available_unit": ("FAMILY",)}, "FAMILY", None, Unit(("FAMILY",), 1)),
    ],
)
def test_the_unit_chosen_goes_before_the_one_declared(
    declared: dict[str, Any], unit: Any, rows: int | None, chosen: Unit | None
) -> None:
    assert with_unit(replace(people_domain(), **declared), unit, rows).unit == chosen


@pytest.mark.parametrize(
    ("unit", "rows", "error", "words"),
    [
        (None, 1, UsageError, "unit rows 1: rows of which unit"),
        ("age", 1, DomainError, "the column 'age' is an attribute"),
        ("income", 1, DomainError, "the column 'income' is an attribute or the label's"),
        ("SERIAL", 0, DomainError, "a whole number from 1 to 1000"),
        ("", 1, UsageError, "name 1 to 8 columns"),
    ],
)
def test_a_unit_that_cannot_be_chosen_is_refused(unit: str | None, rows: int | None, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        with_unit(people_domain(), unit, rows)


def test_a_cap_of_a_unit_is_refused_with_what_to_write_in_its_place() -> None:
    document = document_of(with_unit(people_domain(), "SERIAL", 1))
    document["unit"]["cap"] = 4
    with pytest.raises(DomainError) as refused:
        read_domain("people", document, "made up")
    assert str(refused.value) == (
        "made up: people.unit.cap: a unit has no cap; write the number of its rows as a weight: "
        "ingest with persons_cap=8"
    )


@pytest.mark.slow
def test_the_weight_of_a_unit_is_in_the_prior_the_scores_and_every_page(folder: Path, run: Run) -> None:
    """Ninety rows in thirty units: the noisy sums are of ninety rows, or of sixty at most two each."""
    homes = people(90).with_columns(SERIAL=pl.int_range(90) // 3, persons=3)
    homes.write_parquet("people.parquet", metadata=domain_metadata(people_domain()))
    typed = ("--unit", "SERIAL", "--weight", "persons", "--weight-cap")
    for cap, rows in ((4, 90), (2, 60)):
        counted = dpnb.aggregate("people.parquet", unit="SERIAL", weight="persons", weight_cap=cap)
        assert counted.class_counts.sum() == 30
        assert counted.weight_sums.sum() == rows
    run("train", "people.parquet", *typed, "4", "--epsilon", "5", "--output", "model.json")
    persons = "one row of each unit of SERIAL, by weight: of all persons, if persons counts those of the unit"
    assert f"The prior and released scores are of {persons}." in " ".join(run("show", "model.json").out.split())
    scored = run(
        "evaluate", "model.json", "people.parquet", "--epsilon", "1000", "--seed", "1", "--output", "s.json"
    ).out
    words = " ".join(scored.split())
    assert f"They are for the population that the rows were drawn from, of which they are {persons}." in words
    assert "; persons, at most 4 each, 0 for a row without one)" in words
    scores = dpnb.load_scores("s.json")
    assert scores.figures.rows == pytest.approx(90, abs=3)
    assert scores.guarantee.composition[0].composition == "one row changes one of these counts by at most 4"
    assert "rows by persons" in repr(scores)
    # Exact figures are of all rows, of which each would count for its whole household.
    assert "weight" not in run("evaluate", "model.json", "people.parquet").out


def test_plan_divides_every_share_by_the_rows_of_a_unit(tmp_path: Path, run: Run) -> None:
    file = write(tmp_path)
    planned = run("plan", file, "--unit", "SERIAL", "--unit-rows", "4", "--no-advice").out
    assert "for one whole unit (SERIAL, of which at most 4 rows count)" in planned
    document = json.loads(run("plan", file, "--unit", "SERIAL", "--unit-rows", "4", "--no-advice", "--json").out)
    assert document["unit"] == {"columns": ["SERIAL"], "rows": 4}


def test_plan_shows_the_guarantee_for_a_row_beside_that_for_a_unit(tmp_path: Path, run: Run) -> None:
    """A unit of five rows has five times the epsilon of a row; where one of its rows counts it has that of one."""
    options = ("--mechanism", "smooth", "--epsilon", "0.5", "--no-advice")
    planned = run("plan", write(tmp_path, available_unit=("SERIAL",)), *options).out
    lines = [line.split() for line in planned.splitlines() if line.startswith("  one ")]
    assert lines == [
        ["one", "row", "(planned)", "all", "0.5", "1", "2.5", "35.9"],
        ["one", "unit,", "1", "row", "at", "most", "1", "of", "each", "unit", "0.5", "0.5", "0.5", "35.9"],
        ["one", "unit,", "2", "rows", "at", "most", "2", "of", "each", "unit", "0.5", "0.5", "0.5", "71.9"],
    ]
    chosen = run("plan", write(tmp_path, available_unit=("SERIAL",)), "--unit-rows", "3", "--no-advice").out
    assert "one unit, 3 rows (planned)" in chosen
    assert "guarantees for whole units" not in run("plan", write(tmp_path), "--no-advice").out


OF_ONE = "one row of each unit of SERIAL: in a larger one, such as a household of several persons, each counts for less"


@pytest.mark.slow
def test_everything_released_under_a_unit_says_of_which_rows_it_is(folder: Path, run: Run) -> None:
    """Persons of large households count for less in the prior, weighted or not, and in scores."""
    file, unit = write(folder), ("--unit", "SERIAL", "--unit-rows", "1")
    run("train", file, *unit, "--epsilon", "5", "--output", "of-units.json")
    run("train", file, "--epsilon", "5", "--output", "of-rows.json")
    for model, said in (("of-units", True), ("of-rows", False)):
        chosen = unit if said else ()
        run("show", f"{model}.json", "--html", f"{model}.html")
        scores = run("evaluate", f"{model}.json", file, "--epsilon", "5", "--output", f"{model}.scores.json")
        run("show", f"{model}.scores.json", "--html", f"{model}.scores.html")
        texts = [
            run("plan", file, *chosen, "--no-advice").out,
            run("show", f"{model}.json").out,
            run("show", f"{model}.json", "--card").out,
            Path(f"{model}.html").read_text(),
            Path(f"{model}.scores.html").read_text(),
            scores.out,
        ]
        assert [OF_ONE in " ".join(text.split()) for text in texts] == [said] * len(texts)


def test_plan_offers_the_unit_of_persons_in_linked_samples(tmp_path: Path, run: Run) -> None:
    file = write(tmp_path, available_person=Unit(("SERIAL",), 8))
    words = "up to 8 rows in these linked samples, and is covered as a whole only under --unit SERIAL --unit-rows 8"
    assert words in run("plan", file, "--no-advice").out
    assert words in run("domain", "show", file).out
    assert words not in run("plan", file, "--unit", "SERIAL", "--unit-rows", "8", "--no-advice").out
    assert words not in run("plan", write(tmp_path), "--no-advice").out


def parts_of_units(folder: Path) -> tuple[Domain, list[str]]:
    """Statistics files of two parts, as an engine that knows units makes them."""
    domain = with_unit(people_domain(), "SERIAL", 1)
    files = [str(folder / f"{name}.statistics.parquet") for name in "ab"]
    for file, rows in zip(files, (SERIALS[:100], SERIALS[100:]), strict=True):
        save_answer(replace(dpnb.aggregate(rows, domain=people_domain()), domain=domain), Path(file))
    return domain, files


def test_parts_are_added_up_only_where_they_are_declared_to_hold_whole_units(tmp_path: Path, run: Run) -> None:
    _, files = parts_of_units(tmp_path)
    output = ("--output", str(tmp_path / "model.json"))
    refused = run("release", *files, *output, expected=65).err
    assert "declare that with --whole-units" in refused
    run("release", files[0], "--output", str(tmp_path / "part.json"))  # one part needs no declaration
    run("release", *files, *output, "--whole-units")
    assert "one whole unit (SERIAL" in run("show", str(tmp_path / "model.json")).out


def test_train_releases_a_model_for_whole_units_from_few_rows_of_each(tmp_path: Path, run: Run) -> None:
    """From the declared unit to the release sheet; of two hundred rows in a hundred units a hundred count."""
    file, model = tmp_path / "people.parquet", tmp_path / "model.json"
    halves = people(200).with_columns(SERIAL=pl.int_range(200) // 2)
    halves.write_parquet(file, metadata=domain_metadata(replace(people_domain(), available_unit=("SERIAL",))))
    assert int(dpnb.aggregate(file, unit_rows=1).class_counts.sum()) == 100
    run("train", file, "--unit-rows", "1", "--epsilon", "2", "--output", model)
    shown = run("show", model).out
    assert (
        "2-differentially private for one whole unit (SERIAL, of which at most 1 row counts) added or removed" in shown
    )
    run("show", model, "--html", tmp_path / "sheet.html")
    sheet = (tmp_path / "sheet.html").read_text()
    assert "one unit of SERIAL, whatever its rows" in sheet
    assert "about a unit, such as a household, or anybody in it" in sheet
    assert "A household of five rows" not in sheet


def test_a_ledger_charges_units_to_an_account_of_this_unit_alone(tmp_path: Path, run: Run) -> None:
    file, ledger = write(tmp_path), tmp_path / "census.ledger"
    run("ledger", "init", ledger, "--dataset", "people", "--epsilon", "3", "--unit", "SERIAL")
    paid = ("--ledger", ledger, "--output", tmp_path / "model.json", "--overwrite")
    assert "this release is stated for one row" in run("train", file, *paid, expected=78).err
    run("train", file, "--unit", "SERIAL", *paid)
    run("train", file, "--unit", "SERIAL", "--unit-rows", "2", *paid)  # the same unit, whatever number of rows counts
    assert 'add-remove of ["SERIAL"]' in run("ledger", "show", ledger).out
