"""Figures by weight are those of rows that stand there as often as they weigh."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from support.people import PEOPLE, people, write_people
from support.running import Run

CAP, STEP = 6, Fraction(1, 2)


@pytest.fixture
def weighted_model(folder: Path, run: Run) -> Path:
    document = {**PEOPLE, "weight": {"column": "w", "cap": 400}}
    rows = people(300).with_columns(w=pl.int_range(300) * 3)
    run("train", write_people("people.parquet", rows, document), "--mechanism", "histogram", "--output", "m.json")
    return Path("m.json")


def test_both_figures_are_told(weighted_model: Path, run: Run) -> None:
    out = run("evaluate", weighted_model, "people.parquet", "--html", "page.html").out
    assert "figure             by rows  by weight" in out
    assert "true \\ predicted, weighted" in out
    assert json.loads(run("evaluate", weighted_model, "people.parquet", "--json").out)["weighted"]["weight"] > 300
    assert "Every row counts with its w, at most 400" in Path("page.html").read_text()


def test_rows_without_the_weight_are_evaluated_unweighted(weighted_model: Path, run: Run) -> None:
    pl.read_parquet("people.parquet").drop("w").write_parquet("bare.parquet")
    out = run("evaluate", weighted_model, "bare.parquet", "--html", "page.html").out
    assert "not weighted: the rows have no numbers above 0 in a column 'w'" in out
    assert "Not weighted" in Path("page.html").read_text()
    assert "missing column 'age'" in run("evaluate", weighted_model, write_bare(), expected=65).err


def write_bare() -> Path:
    path = Path("ageless.parquet")
    pl.read_parquet("people.parquet").drop("age").write_parquet(path)
    return path


def test_released_scores_say_that_they_are_of_rows(weighted_model: Path, run: Run) -> None:
    ended = run("evaluate", weighted_model, "people.parquet", "--epsilon", "1")
    assert "released scores are of rows: the weight w does not enter them" in ended.out
