"""Confidence bounds of the audit, against independent computations and by their own promise."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from dpnb_columnar.extensions.audit.distinguishers import (
    Sample,
    band,
    best_of_models,
    best_of_numbers,
    epsilon_bound,
    lower_bound,
    upper_bound,
)
from scipy import stats

TRIALS = 300


@pytest.mark.parametrize("error", [1e-2, 1e-5])
def test_bounds_are_those_of_clopper_and_pearson(error: float) -> None:
    hits = np.arange(TRIALS + 1)
    low, high = lower_bound(hits, TRIALS, error), upper_bound(hits, TRIALS, error)
    for count in (0, 1, 7, 150, 299, 300):
        exact = stats.binomtest(count, TRIALS).proportion_ci(1 - 2 * error, method="exact")
        assert (low[count], high[count]) == pytest.approx((exact.low, exact.high), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(("hits", "trials"), [(1, 10), (30, 100), (997, 1000)])
def test_the_lower_bound_is_where_so_many_hits_become_unlikely(hits: int, trials: int) -> None:
    low = float(lower_bound(hits, trials, 1e-6))
    with mpmath.workdps(40):
        tail = mpmath.fsum(
            mpmath.binomial(trials, count) * mpmath.mpf(low) ** count * (1 - mpmath.mpf(low)) ** (trials - count)
            for count in range(hits, trials + 1)
        )
    assert float(tail) == pytest.approx(1e-6, rel=1e-6)


def test_the_bound_on_epsilon_is_rarely_above_the_truth() -> None:
    """Randomised response with epsilon log 3 and delta 0.1 on top, and an error of 10 %."""
    generator = np.random.default_rng(8)
    runs, trials, delta = 4000, 200, 0.1
    hits, other = generator.binomial(trials, 0.75 + delta, runs), generator.binomial(trials, 0.25, runs)
    bounds = epsilon_bound(hits, other, (trials, trials), delta, 0.1)
    assert (bounds > math.log(3)).mean() <= 0.1
    assert bounds.mean() > 0.6 * math.log(3)


def test_no_hit_shows_nothing_and_no_miss_shows_something() -> None:
    assert epsilon_bound(0, 50, (100, 100), 0.0, 0.01) == -math.inf
    assert epsilon_bound(5, 0, (100, 100), 0.5, 0.01) == -math.inf
    assert epsilon_bound(100, 0, (100, 100), 0.0, 0.01) > 2.5


def test_the_band_holds_for_uniform_numbers() -> None:
    generator = np.random.default_rng(3)
    values = np.sort(generator.random((2000, 100)), axis=1)
    steps = np.arange(101) / 100
    distance = np.maximum(np.abs(values - steps[1:]).max(axis=1), np.abs(values - steps[:-1]).max(axis=1))
    assert (distance > band(100, 0.05)).mean() <= 0.05


def sample(values: np.ndarray, shapes: list[str] | None = None) -> Sample:
    values = values.reshape(len(values), -1)
    names = [f"number {place}" for place in range(values.shape[1])]
    return Sample(shapes or ["all"] * len(values), values, np.ones(values.shape[1], dtype=bool), names)


def test_the_event_chosen_is_about_the_number_that_differs() -> None:
    generator = np.random.default_rng(1)
    one, two = generator.normal(size=(400, 3)), generator.normal(size=(400, 3))
    two[:, 1] += 2
    event = best_of_numbers(sample(one), sample(two), 0.0, 0.01)
    assert event.name.startswith("number 1 ")
    assert event.bound(sample(one), sample(two), 0.0, 0.01) > 1


def test_a_value_that_only_one_database_leads_to_is_an_event() -> None:
    generator = np.random.default_rng(1)
    one, two = generator.integers(-9, 9, 600).astype(float), generator.integers(-9, 9, 600).astype(float)
    two[::3] = 4.0
    event = best_of_numbers(sample(one), sample(two), 0.0, 0.01)
    assert event.name == "number 0 == 4"
    assert event.swapped


def test_the_shape_of_a_model_and_an_exception_are_events() -> None:
    values = np.zeros(100)
    one, two = sample(values, ["all"] * 100), sample(np.full(100, np.nan), ["ValueError"] * 100)
    assert best_of_numbers(one, two, 0.0, 0.01).name.startswith("shape")
    assert best_of_numbers(one, two, 0.0, 0.01).bound(one, two, 0.0, 0.01) > 2


def test_the_likelihood_ratio_gathers_what_single_numbers_tell() -> None:
    generator = np.random.default_rng(2)
    parts = [generator.normal(size=(4000, 6)) + shift for shift in (0.0, 0.7)]
    one, two = (sample(part) for part in parts)
    halves = list(zip(*(whole.split(2000) for whole in (one, two)), strict=True))
    bounds = [
        choose(*halves[0], 0.0, 1e-4).bound(*halves[1], 0.0, 1e-4) for choose in (best_of_numbers, best_of_models)
    ]
    assert bounds[1] > 1.5 * bounds[0] > 0.5
