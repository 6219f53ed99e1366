"""Confidence intervals agree with an independent computation, and hold the truth as often as they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from dpnb_columnar.evaluation.evaluation import area
from dpnb_columnar.model.query_noise import (
    LEVEL,
    QUANTILE,
    Interval,
    difference,
    mean,
    mean_of_probabilities,
    paired_difference,
    wilson_interval,
)


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


@pytest.mark.parametrize(
    ("one", "other", "printed"),
    [
        ((56, 70), (48, 80), (0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.1705, 0.8090)),
        ((5, 56), (0, 29), (-0.0381, 0.1926)),
    ],
)
def test_a_difference_has_the_ends_that_newcombe_prints(
    one: tuple[int, int], other: tuple[int, int], printed: Interval
) -> None:
    """Table II of his paper, method 10. Turned round, the ends change their places."""
    assert difference(one, other) == pytest.approx(printed, abs=5e-5)
    assert difference(other, one) == pytest.approx((-printed[1], -printed[0]), abs=5e-5)


def test_a_mean_of_two_probabilities_by_hand() -> None:
    """Wilson: 9 of 10 from 0.5958 to 0.9821, 3 of 10 from 0.1078 to 0.6032; roots of the sums of squares, halved."""
    below, above = math.sqrt(0.3042**2 + 0.1922**2) / 2, math.sqrt(0.0821**2 + 0.3032**2) / 2
    assert mean_of_probabilities([(9, 10), (3, 10)]) == pytest.approx((0.6 - below, 0.6 + above), abs=1e-4)


def test_a_difference_of_the_same_rows_by_hand() -> None:
    """Agresti and Min: of 102 rows 20 more are won than lost, and 41 differ; sqrt(41 - 20^2 / 102) is 6.08921."""
    half = 1.959964 * 6.08921
    assert paired_difference(30, 10, 100) == pytest.approx(((20 - half) / 102, (20 + half) / 102), abs=1e-6)


@pytest.mark.parametrize(("variance", "half"), [(0.0, 0.0499683), (50.0, 0.0622637)])
def test_an_area_of_two_equal_bins_by_hand(variance: float, half: float) -> None:
    """Of 100 rows in each of four counts, all ranks are 50 from their mean.

    T(a) = 4 N^2 (1/2 - a), and (1/2 - a)^2 = q^2 M / (16 (N^2 - q^2 M)), M = N + v (1 + 0.080787/4)^2, v the noise's
    variance: a quarter of what one Laplace variable's tails exceed the normal ones by.
    """
    found = area([100, 100], [100, 100], variance)
    assert found.value == 0.5
    assert found.interval == pytest.approx((0.5 - half, 0.5 + half), abs=1e-6)


def test_a_mean_of_one_row_has_no_interval() -> None:
    assert mean(3.0, 9.0, 1) is None
    values = np.array([0.5, 1.5, 4.0, 0.0])
    half = QUANTILE * values.std(ddof=1) / math.sqrt(4)
    expected = (max(values.mean() - half, 0), values.mean() + half)
    assert mean(float(values.sum()), float((values**2).sum()), 4) == pytest.approx(expected)
