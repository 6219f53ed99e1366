"""``python -m benchmarks.advice``: what is said about made-up results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from dpnb_columnar.domain.catalogue import entry_named

from benchmarks import advice
from dpnb_columnar.domain.declaration import domain_metadata
from studies.paper.data_sets import ADULT, MUSHROOM, SEEDS

Cells = list[dict[str, object]]

ACCURACIES = {"smooth none": 0.80, "histogram none": 0.84, "histogram auto": 0.838, "adaptive-histogram none": 0.836}


def cells(dataset: str, epsilon: float | None, accuracies: Mapping[str, float], **other: object) -> Cells:
    """Two folds each, around the accuracy."""
    return [
        {"study": "evaluation", "delta": "0", "dataset": dataset, "epsilon": epsilon}
        | dict(zip(("mechanism", "attribute_weights"), name.split(), strict=True))
        | {"fold": fold, "accuracy": accuracy + (fold - 0.5) / 100}
        | other
        for name, accuracy in accuracies.items()
        for fold in (0, 1)
    ]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    rows = [
        *cells("seeds", 1.0, ACCURACIES),
        *cells("seeds", None, {"none none": 0.99}),
        *cells("seeds", 1.0, {"smooth none": 0.99}, delta="1/n"),
        *cells("seeds", 1.0, {"smooth none": 0.99}, study="bounds"),
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
    (found,) = advice.compare(
        advice.measured(results),
        {each.name: (each.origin.domain(each.name), each.rows) for each in (ADULT, MUSHROOM, SEEDS)},
    )
    assert (found.dataset, found.epsilon, found.winner) == ("seeds", 1.0, "histogram none")
    assert found.accuracies == pytest.approx(ACCURACIES)


def test_totals_tell_regret() -> None:
    comparisons = [
        advice.Comparison("one", 0.1, "smooth calibrated", ACCURACIES),
        advice.Comparison("two", 1.0, "histogram none", ACCURACIES),
        advice.Comparison("three", 1.0, "paper none", ACCURACIES),
    ]
    lines = advice.report(comparisons)
    assert lines[1].split() == ["one", "0.1", "smooth", "calibrated", "histogram", "none", "0.0400"]
    assert lines[2].split() == ["two", "1", "histogram", "none", "histogram", "none", "0.0000"]
    assert lines[3].endswith("not measured")
    totals = {line.split("within")[0].strip(): line for line in lines[5:]}
    assert "1 of 2; regret 0.0200 on average, 0.0400 at most" in totals["advice"]
    assert "0 of 3; regret 0.0400" in totals["always smooth calibrated"]  # measured without weights alone
    assert "3 of 3; regret 0.0000" in totals["always histogram none"]
    assert "3 of 3; regret 0.0020" in totals["always histogram calibrated"]  # auto stands in
    assert "3 of 3; regret 0.0040" in totals["always adaptive-histogram none"]


@pytest.mark.slow
def test_a_data_set_is_measured(tmp_path: Path) -> None:
    entry = entry_named("seeds")
    columns = {each.name: np.linspace(float(each.lower), float(each.upper), 120) for each in entry.domain.numeric}
    frame = pl.DataFrame({**columns, entry.domain.label.column: list(entry.domain.classes) * 40})
    frame.write_parquet(tmp_path / "seeds.parquet", metadata=domain_metadata(entry.domain))
    (found,) = advice.measure(tmp_path / "seeds.parquet", ["1"], None)
    assert (found.dataset, found.epsilon) == ("seeds", 1.0)
    assert {"smooth none", "histogram none", "majority none"} <= set(found.accuracies)
    assert found.advised.split()[0] in {"smooth", "histogram", "adaptive-histogram", "majority"}
