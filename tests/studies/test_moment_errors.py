"""Errors of the moments a model uses, against moments computed from the rows."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from support import mini_plan
from support.mini_plan import fitting, tiny_domain
from support.releases import plan_and_release

from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget
from dpnb_columnar.model.parameters import Normal
from studies.paper.accuracy import exact_moments, moment_errors
from studies.paper.coded_rows import Folds, code_rows, split


@pytest.fixture
def folds(tmp_path: Path) -> Folds:
    file = tmp_path / "tiny.parquet"
    mini_plan.tiny_rows().write_parquet(file)
    return split(code_rows([file], tiny_domain()), tiny_domain(), 2, seed=1)


def test_exact_moments_are_those_of_the_rows(folds: Folds, tmp_path: Path) -> None:
    """By numpy, of the rows themselves; the grid rounds ``wage`` and ``change``, ages are whole."""
    rows = fitting(tmp_path / "tiny.parquet", tiny_domain())
    order = np.random.default_rng(1).permutation(len(rows))
    training = rows[np.sort(order[1::2])]
    found = exact_moments(folds.training(0, tiny_domain()))
    for place, klass in enumerate(("low", "middle", "high")):
        here = training.filter(training["income"] == klass)
        age = here["age"].to_numpy()
        assert found["age"][place] == pytest.approx((age.mean(), age.var()))
        change, wage = here["change"].to_numpy().clip(-50, 50), np.log1p(here["wage"].to_numpy().clip(0))
        assert found["change"][place] == pytest.approx((change.mean(), change.var()), rel=0.05, abs=0.1)
        assert found["wage"][place] == pytest.approx((wage.mean(), wage.var()), rel=0.01)


def test_errors_of_shifted_and_stretched_distributions(folds: Folds) -> None:
    statistics = folds.training(0, tiny_domain())
    exact = exact_moments(statistics)
    plain = plan_and_release(statistics, Budget(Fraction(1)), "none")
    errors = moment_errors(plain, exact)
    assert errors.mean == pytest.approx(0, abs=1e-9)
    assert errors.variance == pytest.approx(0, abs=1e-9)
    shifted = moment_errors(changed(plain, by=2.0, stretch=1.0), exact)
    assert shifted.mean == pytest.approx(2)
    assert shifted.variance == pytest.approx(0, abs=1e-9)
    stretched = moment_errors(changed(plain, by=0.0, stretch=1 / 3), exact)
    assert stretched.mean == pytest.approx(0, abs=1e-9)
    assert stretched.variance == pytest.approx(2 * math.log(3))


def test_classes_without_spread_are_left_out(folds: Folds) -> None:
    statistics = folds.training(0, tiny_domain())
    plain = plan_and_release(statistics, Budget(Fraction(1)), "none")
    exact = {name: (None, *moments[1:]) for name, moments in exact_moments(statistics).items()}
    first = tuple(
        replace(each, mean=(1e9, *each.mean[1:])) if isinstance(each, Normal) else each for each in plain.attributes
    )
    assert moment_errors(replace(plain, attributes=first), exact).mean == pytest.approx(0, abs=1e-9)


def test_flattened_attributes_are_counted_apart(folds: Folds) -> None:
    """Their released means have errors all the same."""
    statistics = folds.training(0, tiny_domain())
    exact = exact_moments(statistics)
    plain = plan_and_release(statistics, Budget(Fraction(1)), "none")
    assert moment_errors(plain, exact).flattened == 0
    age = plain.attributes[0]
    assert isinstance(age, Normal)
    drawn = tuple(mean + 3 * math.sqrt(variance) for mean, variance in filter(None, exact["age"]))
    flat = replace(age, mean=(50.0,) * 3, deviation=(100.0,) * 3, released_mean=drawn)
    errors = moment_errors(replace(plain, attributes=(flat, *plain.attributes[1:])), exact)
    assert errors.flattened == 1
    assert errors.mean == pytest.approx(0, abs=1e-9)
    assert errors.released == pytest.approx({"age": 3, "wage": 0, "change": 0}, abs=1e-9)


def test_models_without_normal_distributions_have_no_errors(folds: Folds) -> None:
    statistics = folds.training(0, tiny_domain())
    found = moment_errors(plan_and_release(statistics, Budget(Fraction(1)), "histogram"), exact_moments(statistics))
    assert (found.mean, found.variance, found.flattened) == (None, None, None)
    assert found.released == {}


def changed(model: Model, by: float, stretch: float) -> Model:
    """The model with every mean moved by so many deviations, and every deviation stretched."""
    attributes = tuple(
        replace(
            each,
            mean=tuple(mean + by * deviation for mean, deviation in zip(each.mean, each.deviation, strict=True)),
            deviation=tuple(deviation * stretch for deviation in each.deviation),
        )
        if isinstance(each, Normal)
        else each
        for each in model.attributes
    )
    return replace(model, attributes=attributes)
