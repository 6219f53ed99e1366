"""``dpnb-columnar audit``: what it prints and writes, and how it ends."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from dpnb_columnar.extensions.audit import attacks as running
from dpnb_columnar.extensions.audit import outcomes
from dpnb_columnar.extensions.audit.attacks import Effort
from dpnb_columnar.extensions.audit.universe import HOURS, YEARS
from support.planting import plant
from support.running import Run

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


@pytest.mark.slow
def test_overwrite_replaces_the_output(folder: Path, run: Run, reduced: None) -> None:
    Path("audit.json").write_text("mine")
    run(*ARGUMENTS, "--output", "audit.json", "--overwrite")
    assert json.loads(Path("audit.json").read_text())["holds"] is True
