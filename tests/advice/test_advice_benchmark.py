"""``python -m benchmarks.advice``: what is said about made-up results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from dpnb_columnar.study.data_sets import ADULT, MUSHROOM, SEEDS

advice = pytest.importorskip("benchmarks.advice", reason="benchmarks are in a checkout alone")

Cells = list[dict[str, object]]

ACCURACIES = {"smooth": 0.80, "histogram": 0.84, "adaptive-histogram": 0.836}


def cells(dataset: str, epsilon: float | None, accuracies: Mapping[str, float], **other: object) -> Cells:
    """Two folds each, around the accuracy."""
    return [
        {"study": "evaluation", "delta": "0", "dataset": dataset, "epsilon": epsilon, "mechanism": name}
        | {"fold": fold, "accuracy": accuracy + (fold - 0.5) / 100}
        | other
        for name, accuracy in accuracies.items()
        for fold in (0, 1)
    ]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    rows = [
        *cells("seeds", 1.0, ACCURACIES),
        *cells("seeds", None, {"none": 0.99}),
        *cells("seeds", 1.0, {"smooth": 0.99}, delta="1/n"),
        *cells("seeds", 1.0, {"smooth": 0.99}, study="bounds"),
        *cells("elsewhere", 1.0, ACCURACIES),
    ]
    pl.DataFrame(rows).write_parquet(tmp_path / "results.parquet")
    return tmp_path / "results.parquet"


def test_cells_that_count_are_averaged(results: Path) -> None:
    found = {(name, mechanism): accuracy for name, _, mechanism, accuracy in advice.measured(results).iter_rows()}
    assert found == pytest.approx(
        {(name, mechanism): accuracy for name in ("seeds", "elsewhere") for mechanism, accuracy in ACCURACIES.items()}
    )


@pytest.mark.slow
def test_advice_is_compared_for_known_data_sets(results: Path) -> None:
    (found,) = advice.compare(advice.measured(results), {each.name: each for each in (ADULT, MUSHROOM, SEEDS)})
    assert (found.dataset, found.epsilon, found.winner) == ("seeds", 1.0, "histogram")
    assert found.accuracies == pytest.approx(ACCURACIES)


def test_totals_tell_regret() -> None:
    comparisons = [
        advice.Comparison("one", 0.1, "smooth", ACCURACIES),
        advice.Comparison("two", 1.0, "histogram", ACCURACIES),
        advice.Comparison("three", 1.0, "paper", ACCURACIES),
    ]
    lines = advice.report(comparisons)
    assert lines[1].split() == ["one", "0.1", "smooth", "histogram", "0.0400"]
    assert lines[2].split() == ["two", "1", "histogram", "histogram", "0.0000"]
    assert lines[3].endswith("not measured")
    assert "advice" in lines[5]
    assert "1 of 2; regret 0.0200 on average, 0.0400 at most" in lines[5]
    assert "0 of 3; regret 0.0400" in lines[6]
    assert "3 of 3; regret 0.0000" in lines[7]
    assert "3 of 3; regret 0.0040" in lines[8]
