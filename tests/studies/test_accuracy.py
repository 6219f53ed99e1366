"""Accuracy on real data sets, through the same code that a release runs. Skipped where the data is absent."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from dpnb_columnar.core.budget import Budget, parse_epsilon
from dpnb_columnar.releases.plan import plan
from support.real_data import prepared

from dpnb_columnar.cli.main import exit_code
from dpnb_columnar.counting.find_domain import find_domain
from studies.paper.coded_rows import Fold, accuracies, code_rows, split

SEEDS = range(5)


@pytest.fixture(scope="session")
def adult(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared("adult", tmp_path_factory.mktemp("adult"))


@cache
def folds(file: Path, seed: int) -> list[Fold]:
    domain = find_domain([file]).domain
    return split(code_rows([file], domain), domain, 10, seed).under(domain)


def mean_accuracy(file: Path, mechanism: str, epsilon: str) -> float:
    planned = plan(find_domain([file]).domain, Budget(parse_epsilon(epsilon)), mechanism)
    return float(np.mean([accuracies(folds(file, seed), planned, seed) for seed in SEEDS]))


@pytest.mark.xdist_group("adult")
@pytest.mark.parametrize(
    ("mechanism", "epsilon", "least", "most"),
    [
        ("smooth", "0.1", 0.79, 0.84),
        ("smooth", "1", 0.815, 0.84),
        ("histogram", "0.1", 0.815, 0.84),
        ("none", "1", 0.82, 0.83),
        ("majority", "1", 0.745, 0.755),
    ],
)
def test_adult_cross_validated(adult: Path, mechanism: str, epsilon: str, least: float, most: float) -> None:
    """10 folds, the mean over 5 splits and noise seeds; the majority class holds 0.752 of the complete rows."""
    found = mean_accuracy(adult, mechanism, epsilon)
    print(f"adult, {mechanism}, epsilon {epsilon}: {found:.4f}")
    assert least <= found <= most


@pytest.mark.slow
@pytest.mark.parametrize("name", ["acs2018", "skin", "acs_income_2018"])
def test_train_and_evaluate_beat_the_majority_class(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    data = prepared(name, tmp_path)
    assert exit_code(["train", data.name, "--epsilon", "1"]) == 0
    capsys.readouterr()
    assert exit_code(["evaluate", f"{name}.model.json", data.name, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    print(f"{name}: accuracy {found['accuracy']:.4f}, majority {found['majority']:.4f}, {found['rows']} rows")
    assert found["accuracy"] > found["majority"] + 0.02
