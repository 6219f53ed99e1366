"""``dpnb-columnar export``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.running import Run

FIRST = {"r": "# Scores rows", "stata": "* Scores rows", "sas": "* Scores rows", "spss": "* Scores rows"}


@pytest.fixture
def released(people_file: Path, run: Run) -> Path:
    """A model with a guarantee."""
    run("train", people_file, "--mechanism", "histogram", "--output", "released.json")
    return Path("released.json")


@pytest.mark.parametrize("language", FIRST)
def test_a_script_states_the_guarantee_and_the_source_and_names_its_table(
    language: str, released: Path, run: Run
) -> None:
    ended = run("export", released, "--to", language, "--output", "scores.x")
    assert ended.out == "wrote scores.x and scores.x.terms.csv\n"
    written = Path("scores.x").read_text()
    assert written.startswith(FIRST[language])
    assert "-differentially private for one row" in written
    assert "Source: model " in written
    assert "scores.x.terms.csv" in written
    table = Path("scores.x.terms.csv").read_text()
    assert all(f'"{name}","other"' in table for name in ("age", "hours", "sex"))


def test_without_onnx_the_remedy_is_the_extra(model_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    ended = run("export", model_file, "--to", "onnx", "--output", "scores.onnx", expected=69)
    assert ended.err == (
        "dpnb-columnar: export to ONNX needs onnx; install it with: pip install 'dpnb-columnar[onnx]'\n"
    )
    assert not Path("scores.onnx").exists()
