"""Whether a ledger was charged for a model: said by ``show --ledger`` and ``ledger verify --model``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.ledger_cases import change, new_ledger
from support.running import Run

from dpnb_columnar.api import load_model
from dpnb_columnar.core.budget import Approximate
from dpnb_columnar.ledger import Ledger
from dpnb_columnar.model.document import document_digest

LEDGER = Path("people.ledger")
PAID = Path("paid.json")
HISTOGRAM = ("--mechanism", "histogram", "--attribute-weights", "none", "--epsilon", "0.5")


@pytest.fixture
def people_ledger(folder: Path, people_file: Path, run: Run) -> Path:
    """A ledger that paid for one model, as the run ``night``."""
    new_ledger(LEDGER, Approximate(2, 0), "people")  # type: ignore[arg-type]
    run("train", people_file, *HISTOGRAM, "--output", PAID, "--ledger", LEDGER, "--run-id", "night")
    return LEDGER


def test_both_say_as_which_run_a_model_was_paid_for(people_ledger: Path, run: Run) -> None:
    verified = run("ledger", "verify", people_ledger, "--model", PAID).out
    line = "people.ledger: paid.json was paid for: run night of data set people (epsilon 0.5, 20"
    assert line in verified
    assert "released it, the same byte for byte\n" in verified
    assert verified.splitlines()[-1].startswith("head ")
    shown = run("show", PAID, "--ledger", people_ledger).out
    assert line in shown
    assert shown.replace(next(each for each in shown.splitlines() if line in each) + "\n", "") == run("show", PAID).out


@pytest.mark.parametrize("name", ["other.parquet", "other.json"])
def test_a_paid_model_in_another_form_is_known_by_its_content(name: str, people_ledger: Path, run: Run) -> None:
    if name.endswith("parquet"):
        load_model(PAID).save(name)
    else:
        Path(name).write_text(json.dumps(json.loads(PAID.read_text())))
    text = run("ledger", "verify", people_ledger, "--model", name).out
    assert f"{name} was paid for: run night" in text
    assert "the same in content, in another form" in text


def test_a_model_that_was_not_paid_for_is_not_in_the_ledger(people_ledger: Path, people_file: Path, run: Run) -> None:
    run("train", people_file, *HISTOGRAM, "--output", "unpaid.json")
    words = "people.ledger: unpaid.json: not in this ledger: no run that it was charged for released this content; give"
    ended = run("ledger", "verify", people_ledger, "--model", "unpaid.json", expected=65)
    assert words in ended.err
    assert not ended.out
    assert words in run("show", "unpaid.json", "--ledger", people_ledger).out


def test_a_model_with_one_number_changed_is_refused_or_unpaid(people_ledger: Path, run: Run) -> None:
    """A released value, changed together with all that follows from it, contradicts nothing: the ledger tells."""
    document = json.loads(PAID.read_text())
    rows = next(body["probability"] for body in document["attributes"].values() if body["kind"] == "table")
    rows.reverse()
    Path("swapped.json").write_text(json.dumps(document))
    refused = run("ledger", "verify", people_ledger, "--model", "swapped.json", expected=65).err
    assert "follows from the measurements" in refused
    document = json.loads(PAID.read_text())
    document["software"]["numpy"] += ".1"
    Path("edited.json").write_text(json.dumps(document))
    assert "not in this ledger" in run("ledger", "verify", people_ledger, "--model", "edited.json", expected=65).err


def test_a_seeded_model_is_never_paid_for(people_ledger: Path, people_file: Path, run: Run) -> None:
    seeded = ("--seed", "1", "--output", "seeded.json")
    refused = run("train", people_file, *HISTOGRAM, *seeded, "--ledger", people_ledger, expected=64).err
    assert "which no budget pays for" in refused
    run("train", people_file, *HISTOGRAM, *seeded)
    words = "seeded.json: not in this ledger: it carries no guarantee"
    assert words in run("ledger", "verify", people_ledger, "--model", "seeded.json", expected=65).err
    document = json.loads(Path("seeded.json").read_text())
    document["guarantee"] |= {"seeded": False, "private": True}  # the draw itself says nothing of a seed
    Path("seeded.json").write_text(json.dumps(document))
    words = "seeded.json: not in this ledger: no run that it was charged for released this content"
    assert words in run("ledger", "verify", people_ledger, "--model", "seeded.json", expected=65).err
    assert words in run("show", "seeded.json", "--ledger", people_ledger).out


def test_released_scores_are_known_as_well(people_ledger: Path, people_file: Path, run: Run) -> None:
    paid = ("--ledger", people_ledger, "--run-id", "scores", "--output", "scores.json")
    run("evaluate", PAID, people_file, "--epsilon", "0.5", *paid)
    line = "scores.json was paid for: run scores of data set people (epsilon 0.5"
    assert line in run("ledger", "verify", people_ledger, "--model", "scores.json").out
    assert line in run("show", "scores.json", "--ledger", people_ledger).out


def test_a_damaged_ledger_is_no_answer(people_ledger: Path, run: Run) -> None:
    change(people_ledger, 2, mechanism="paper")
    for arguments in (("show", PAID, "--ledger", people_ledger), ("ledger", "verify", people_ledger, "--model", PAID)):
        ended = run(*arguments, expected=65)
        assert "entry 2 (spend, run night): its digest does not follow" in ended.err
        assert "paid for" not in ended.out


def test_a_spend_is_found_by_the_digest_of_what_it_released(people_ledger: Path) -> None:
    with Ledger(people_ledger) as ledger:
        spend = ledger.spend_of(document_digest(load_model(PAID)))
        assert spend is not None
        assert (spend.run, spend.number) == ("night", 2)
        assert ledger.spend_of("0" * 64) is None
