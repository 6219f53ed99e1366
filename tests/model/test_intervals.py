"""Confidence intervals agree with an independent computation, and hold the truth as often as they say."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from dpnb_columnar.model.intervals import (
    LEVEL,
    QUANTILE,
    Interval,
    mean,
    mean_of_probabilities,
    paired_difference,
    wilson_interval,
)

TRIALS = 2000


@pytest.mark.parametrize(("successes", "trials"), [(0, 1), (1, 1), (0, 50), (50, 50), (3, 7), (81, 263), (9999, 10000)])
def test_wilson_agrees_with_scipy(successes: int, trials: int) -> None:
    expected = binomtest(successes, trials).proportion_ci(LEVEL, method="wilson")
    assert wilson_interval(successes, trials) == pytest.approx((expected.low, expected.high), abs=1e-12)


@given(st.integers(0, 10**9), st.integers(1, 10**9))
def test_wilson_holds_the_share(successes: int, trials: int) -> None:
    successes = min(successes, trials)
    lower, upper = wilson_interval(successes, trials)
    assert 0 <= lower <= successes / trials <= upper <= 1
    assert lower < upper


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 30)), min_size=1, max_size=5))
def test_the_mean_of_one_probability_has_its_interval(counts: list[tuple[int, int]]) -> None:
    counts = [(min(successes, trials), trials) for successes, trials in counts]
    lower, upper = mean_of_probabilities(counts)
    middle = sum(successes / trials for successes, trials in counts) / len(counts)
    assert 0 <= lower <= middle + 1e-12
    assert middle - 1e-12 <= upper <= 1
    if len(counts) == 1:
        assert (lower, upper) == pytest.approx(wilson_interval(*counts[0]), abs=1e-12)


@given(st.integers(0, 500), st.integers(0, 500), st.integers(0, 500))
def test_a_difference_lies_in_its_interval_and_turns_round(won: int, lost: int, tied: int) -> None:
    rows = won + lost + tied + 1
    lower, upper = paired_difference(won, lost, rows)
    assert -1 <= lower <= (won - lost) / rows <= upper <= 1
    assert paired_difference(lost, won, rows) == pytest.approx((-upper, -lower))


def test_a_mean_of_one_row_has_no_interval() -> None:
    assert mean(3.0, 9.0, 1) is None
    values = np.array([0.5, 1.5, 4.0, 0.0])
    half = QUANTILE * values.std(ddof=1) / math.sqrt(4)
    expected = (max(values.mean() - half, 0), values.mean() + half)
    assert mean(float(values.sum()), float((values**2).sum()), 4) == pytest.approx(expected)


def _shares(random: np.random.Generator) -> Interval:
    return wilson_interval(int(random.binomial(40, 0.9)), 40)


def _balanced(random: np.random.Generator) -> Interval:
    return mean_of_probabilities([(int(random.binomial(300, 0.95)), 300), (int(random.binomial(20, 0.6)), 20)])


def _gain(random: np.random.Generator) -> Interval:
    won, lost, _ = random.multinomial(200, [0.03, 0.09, 0.88])
    return paired_difference(int(won), int(lost), 200)


def _losses(random: np.random.Generator) -> Interval:
    values = random.exponential(0.4, 200)
    found = mean(float(values.sum()), float((values**2).sum()), 200)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("interval", "truth"), [(_shares, 0.9), (_balanced, (0.95 + 0.6) / 2), (_gain, -0.06), (_losses, 0.4)]
)
def test_intervals_hold_the_truth_as_often_as_they_say(
    interval: Callable[[np.random.Generator], Interval], truth: float
) -> None:
    random = np.random.default_rng(2026)
    found = [interval(random) for _ in range(TRIALS)]
    assert abs(sum(lower <= truth <= upper for lower, upper in found) / TRIALS - LEVEL) < 0.025
