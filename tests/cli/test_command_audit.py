"""``dpnb-columnar audit``, of the program and of a model: what it prints, writes and refuses, and how it ends."""

from __future__ import annotations

import json
import stat
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from support.attacked import wide_document, wide_rows
from support.people import write_people
from support.planting import plant
from support.running import Run

from dpnb_columnar.extensions.attack import model_attack as attack_files
from dpnb_columnar.extensions.audit import attacks as running
from dpnb_columnar.extensions.audit import outcomes
from dpnb_columnar.extensions.audit.attacks import Effort
from dpnb_columnar.extensions.audit.universe import HOURS, YEARS
from dpnb_columnar.model.model_files import read_model

REDUCED = Effort(rows=1, duplicates=(12,), scenarios=1, domains=(YEARS,), scouted=30, pairs=1, releases=60, processes=1)
ARGUMENTS = ("audit", "--quick", "--mechanism", "majority")


@pytest.fixture
def reduced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "QUICK", REDUCED)
    monkeypatch.setattr(running, "FULL", replace(REDUCED, domains=(YEARS, HOURS)))


@pytest.mark.slow
def test_quick_audit_side_by_side(folder: Path, run: Run) -> None:
    ended = run(*ARGUMENTS)
    lines = ended.out.splitlines()
    assert lines[0].split()[:4] == ["mechanism", "noise", "neighbours", "weights"]
    assert [line.split()[:2] for line in lines[2:4]] == [["majority", "add-remove"], ["majority", "replace-one"]]
    assert lines[-1] == "every check holds (confidence 99.9%)"
    assert not list(folder.iterdir())


@pytest.mark.slow
def test_json_says_what_was_measured(folder: Path, run: Run, reduced: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcomes, "UNIT_ROWS", {("histogram", None, "none"): (2,)})
    monkeypatch.setattr(outcomes, "WEIGHTED", {("histogram", None, "none"): (None,)})
    monkeypatch.setattr(outcomes, "WEIGHTS", {})
    run("audit", "--mechanism", "majority", "--mechanism", "histogram", "--output", "audit.json")
    document = json.loads(Path("audit.json").read_text())
    assert (document["format"], document["version"], document["holds"]) == ("dpnb_columnar audit", 1, True)
    assert document["confidence"] == 0.999
    assert set(document["software"]) == {"dpnb-columnar", "numpy", "python-flint"}
    assert document["findings"] == []
    fields = ("mechanism", "attribute_weights", "neighbours")
    of_rows = [each for each in document["configurations"] if each["unit_rows"] is None and not each["weighted"]]
    relations = ("add-remove", "replace-one")
    assert [found["neighbours"] for found in document["configurations"] if found["weighted"]] == [*relations]
    names = [tuple(found[field] for field in fields) for found in of_rows]
    audited = (("majority", "none"), ("histogram", "none"))
    assert names == [(*pair, relation) for pair in audited for relation in relations]
    of_units = [found for found in document["configurations"] if found["unit_rows"] is not None]
    assert [(*(each[field] for field in fields), each["unit_rows"]) for each in of_units] == [
        ("histogram", "none", relation, 2) for relation in relations
    ]
    assert {found["classes"] for found in document["configurations"]} == {2}
    for found in document["configurations"]:
        assert (found["epsilon"], found["delta"], found["noise"]) == ("4", "0", None)
        assert 0 < found["exhaustive_loss"] <= 4.0001
        assert 0 <= found["number_bound"] <= 4
        assert 0 <= found["model_bound"] <= 4
        assert found["bit_patterns"] is (None if found["unit_rows"] or found["weighted"] else True)
        assert found["pairs"] > (20 if found["weighted"] else 100)
        assert found["releases"] == 2 * REDUCED.releases
        assert found["findings"] == []


@pytest.mark.slow
def test_broken_checks_are_named_and_end_with_1(
    folder: Path, run: Run, reduced: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, "mechanisms/release-repeatable")
    ended = run(*ARGUMENTS, "--output", "audit.json", expected=1)
    broken = [line for line in ended.out.splitlines() if line.startswith("BROKEN ")]
    assert [line.partition(": ")[0] for line in broken] == ["BROKEN repeated noise"] * 2
    assert "majority, add-remove" in broken[0]
    assert "every check holds" not in ended.out
    assert ended.out.count(" differ ") == 2
    document = json.loads(Path("audit.json").read_text())
    assert document["holds"] is False
    assert [found["bit_patterns"] for found in document["configurations"]] == [False, False]
    assert document["configurations"][0]["findings"][0]["check"] == "repeated noise"


@pytest.mark.slow
def test_faults_before_the_release_are_broken_too(
    folder: Path, run: Run, reduced: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, "counting/nan-refused")
    ended = run(*ARGUMENTS, expected=1)
    assert "BROKEN aggregation: rows: " in ended.out


def test_an_existing_output_is_refused_before_any_work(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "audit", lambda *_: pytest.fail("work was done"))
    Path("audit.json").write_text("mine")
    assert "--overwrite" in run(*ARGUMENTS, "--output", "audit.json", expected=73).err
    assert "create" in run(*ARGUMENTS, "--output", "there/audit.json", expected=73).err
    assert Path("audit.json").read_text() == "mine"


ROWS = ("--members", "members.parquet", "--others", "others.parquet")
ATTACK = ("audit", "--model", "people.model.json", *ROWS)


@pytest.fixture
def attacked(folder: Path, run: Run) -> None:
    """A private model, its members and as many others."""
    for name, seed in (("members", 1), ("others", 2)):
        write_people(Path(f"{name}.parquet"), wide_rows(120, 6, 12, seed), wide_document(6, 12))
    release = ("--epsilon", 1, "--seed", 3, "--mechanism", "histogram")
    run("train", "members.parquet", *release, "--output", "people.model.json")


def test_figures_stand_beside_the_bounds(attacked: None, run: Run) -> None:
    ended = run(*ATTACK)
    document = json.loads(run(*ATTACK, "--json").out)
    lines = ended.out.splitlines()
    assert lines[1].split() == [
        "members",
        f"{document['members']},",
        *f"of which {document['chosen_on'][0]} chose".split(),
        "scores",
        "and",
        "thresholds",
    ]
    low, high = document["advantage_interval"]
    assert f"advantage          {document['advantage']:.4f} ({low:.4f} to {high:.4f}); bound 0.4622" in lines
    best = next(score for score in document["scores"] if score["chosen"])
    low, high = best["interval"]
    assert f"AUC                {best['auc']:.4f} ({low:.4f} to {high:.4f}); bound 0.7311" in lines
    assert f"epsilon at least   {document['contradicted']:.4f}; claimed 1 (confidence 99.0%)" in lines
    assert any(line.startswith("Nothing exceeds the bound of the guarantee beyond sampling error") for line in lines)
    assert len([line for line in lines if line.startswith("  a")]) == 7  # with the header
    assert any("each came to be a member by itself" in line for line in lines)


def test_the_document_holds_the_report(attacked: None, run: Run) -> None:
    ended = run(*ATTACK, "--output", "attack.json", "--sensitive", "a1,a4")
    document = json.loads(Path("attack.json").read_text())
    assert (document["format"], document["version"]) == ("dpnb_columnar attack on a model", 1)
    assert (document["holds"], document["exceeded"]) == (True, [])
    assert [each["attribute"] for each in document["guessed"]] == ["a1", "a4"]
    assert {each["aim"] for each in document["flagged"]} == {None, 0.1, 0.01, 0.001}
    assert document["implied"]["advantage"] == pytest.approx(0.46212, abs=1e-5)
    assert len(document["model"]) == 64
    assert "wrote attack.json" in ended.out
    assert stat.S_IMODE(Path("attack.json").stat().st_mode) == 0o600
    assert json.loads(run(*ATTACK, "--sensitive", "a1,a4", "--json").out) == document


def test_the_page_is_for_its_owner_alone(attacked: None, run: Run) -> None:
    run(*ATTACK, "--html", "attack.html")
    assert stat.S_IMODE(Path("attack.html").stat().st_mode) == 0o600
    page = Path("attack.html").read_text()
    root = ElementTree.fromstring(page.partition("\n")[2])
    text = " ".join("".join(root.itertext()).split())
    assert "CONFIDENTIAL." in text
    assert "Nothing exceeds the bound of the guarantee beyond sampling error" in text
    assert [heading.text for heading in root.iter("h2")] == [
        "What was attacked",
        "Membership",
        "Attributes",
        "How to read it",
    ]
    assert [element.text for element in root.iter("summary")] == ["Numbers"]
    assert "bound of the guarantee" in text
    links = {element.get("href", "")[1:] for element in root.iter("a")}
    assert links <= {element.get("id") for element in root.iter("section")}


def test_what_exceeds_the_bound_ends_with_1(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that was released with a thousandth of the noise, under a guarantee of epsilon 1."""
    for name, seed in (("members", 1), ("others", 2)):
        write_people(Path(f"{name}.parquet"), wide_rows(300, 6, 200, seed), wide_document(6, 200))
    run("train", "members.parquet", "--epsilon", 1000, "--mechanism", "histogram", "--output", "people.model.json")

    def loaded(path: Path) -> object:
        model = read_model(path)
        return replace(model, guarantee=replace(model.guarantee, epsilon=Fraction(1)))

    monkeypatch.setattr(attack_files, "read_model", loaded)
    ended = run(*ATTACK, "--html", "attack.html", expected=1)
    assert "EXCEEDED: the attack does better than the guarantee allows." in ended.out
    assert " rows flagged by " in ended.out
    assert json.loads(run(*ATTACK, "--json", expected=1).out)["holds"] is False
    assert "EXCEEDED" in Path("attack.html").read_text()


def test_a_model_without_a_guarantee_has_no_bound(attacked: None, run: Run) -> None:
    run("train", "members.parquet", "--mechanism", "none", "--output", "people.model.json", "--overwrite")
    ended = run(*ATTACK)
    assert "bound" not in ended.out.partition("The model has no guarantee, so there is no bound.")[2]
    assert json.loads(run(*ATTACK, "--json").out)["holds"] is None


def test_rows_of_both_are_told_without_their_number(attacked: None, run: Run) -> None:
    others = pl.concat([pl.read_parquet("others.parquet"), pl.read_parquet("members.parquet").head(3)])
    write_people(Path("others.parquet"), others, wide_document(6, 12))
    ended = run(*ATTACK, expected=65)
    assert "CONFIDENTIAL: others.parquet: rows equal rows of members.parquet (in every column)" in ended.err
