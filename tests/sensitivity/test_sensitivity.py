"""Sensitivity against brute force that enumerates neighbours and knows none of the formulas."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from dpnb_columnar.core.budget import Pure
from dpnb_columnar.core.mechanisms import tuning
from dpnb_columnar.core.mechanisms.smooth_noise import smooth_noise
from dpnb_columnar.core.sensitivity import (
    RunLengthColumn,
    mean_smooth_sensitivity,
    public_size,
    search_beta,
    trimmed_mean,
    trimmed_variance,
    upper_bound,
    variance_smooth_bound,
)
from dpnb_columnar.core.sensitivity.search import LARGEST_BETA, SMALLEST_BETA
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tiers import Tenth

Values = tuple[int, ...]


def run_length(values: Values) -> RunLengthColumn:
    codes, counts = np.unique(np.array(values, dtype=np.int64), return_counts=True)
    return RunLengthColumn(codes, counts.astype(np.int64))


def expanded(column: RunLengthColumn) -> Values:
    return tuple(int(code) for code in np.repeat(column.codes, column.counts))


def columns(size: int, cells: int) -> list[Values]:
    return list(itertools.combinations_with_replacement(range(cells + 1), size))


def substitutions(values: Values, cells: int) -> set[Values]:
    return {
        tuple(sorted((*values[:place], code, *values[place + 1 :])))
        for place in range(len(values))
        for code in range(cells + 1)
    }


def neighbours(values: Values, cells: int) -> set[Values]:
    """Columns with one value more, one less, or one replaced."""
    added = {tuple(sorted((*values, code))) for code in range(cells + 1)}
    removed = {values[:place] + values[place + 1 :] for place in range(len(values))}
    return added | removed | substitutions(values, cells)


def mean_of_window(values: Values, trim: int) -> Fraction:
    window = values[trim : len(values) - trim]
    return Fraction(sum(window), len(window))


def variance_of_window(values: Values, trim: int) -> Fraction:
    window = values[trim : len(values) - trim]
    centre = Fraction(sum(window), len(window))
    return sum(((value - centre) ** 2 for value in window), Fraction(0)) / len(window)


def places_that_differ(first: Values, second: Values) -> int:
    return (Counter(first) - Counter(second)).total()


# --- the sample of public size -----------------------------------------------------------------------------------


@pytest.mark.parametrize("cells", [1, 2, 3])
@pytest.mark.parametrize("size", range(1, 8))
def test_public_size_moves_one_place_for_every_pair_of_neighbours(size: int, cells: int, tenth: Tenth) -> None:
    @cache
    def image(values: Values) -> Values:
        return expanded(public_size(run_length(values), size, cells))

    for values in tenth(values for length in range(6) for values in columns(length, cells)):
        assert len(image(values)) == size
        for other in neighbours(values, cells):
            assert places_that_differ(image(values), image(other)) <= 1, (values, other)


def test_public_size_pads_and_drops_as_declared() -> None:
    assert expanded(public_size(run_length((2, 2, 3)), 6, 9)) == (0, 0, 2, 2, 3, 9)
    assert expanded(public_size(run_length((1, 2, 3, 4, 5, 6)), 3, 9)) == (2, 3, 4)
    assert expanded(public_size(run_length(()), 3, 9)) == (0, 0, 9)
    assert expanded(public_size(run_length((4, 4)), 2, 9)) == (4, 4)


# --- moments -------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 2**32), min_size=3, max_size=40).map(sorted), st.data())
def test_moments_are_exact(values: list[int], data: st.DataObject) -> None:
    trim = data.draw(st.integers(0, (len(values) - 1) // 2))
    column = run_length(tuple(values))
    assert trimmed_mean(column, trim) == mean_of_window(tuple(values), trim)
    assert trimmed_variance(column, trim) == variance_of_window(tuple(values), trim)


# --- smooth sensitivity --------------------------------------------------------------------------------------------


def local_sensitivities(size: int, cells: int, trim: int, statistic: object) -> dict[Values, Fraction]:
    assert callable(statistic)
    value = {values: statistic(values, trim) for values in columns(size, cells)}
    return {
        values: max(abs(value[values] - value[other]) for other in substitutions(values, cells)) for values in value
    }


def true_smooth_sensitivity(values: Values, local: dict[Values, Fraction], beta: float) -> float:
    """The definition: the maximum over all columns of local sensitivity discounted by distance."""
    return max(float(local[y]) * math.exp(-beta * places_that_differ(values, y)) for y in local)


SMALL = [
    *((*case, beta) for case in ((4, 3, 1), (5, 2, 0)) for beta in (0.2, 0.9)),
    *(
        pytest.param(*case, beta, marks=pytest.mark.slow)
        for case in ((5, 4, 0), (5, 4, 1), (6, 3, 1), (6, 3, 2), (7, 3, 1), (7, 3, 2), (4, 5, 1))
        for beta in (0.05, 0.3, 1.0)
    ),
]
"""Size, largest code and trim of columns, so few that every column and every neighbour can be listed; and beta."""


@pytest.mark.parametrize(("size", "cells", "trim", "beta"), [*SMALL, (7, 2, 3, 0.3)])
def test_mean_sensitivity_equals_the_definition(size: int, cells: int, trim: int, beta: float, tenth: Tenth) -> None:
    """Catches: a sensitivity halved or doubled, a search at twice or half of beta, a window that is one too wide."""
    local = local_sensitivities(size, cells, trim, mean_of_window)
    for values in tenth(local):
        found = mean_smooth_sensitivity(run_length(values), trim, cells, beta)
        assert found == pytest.approx(true_smooth_sensitivity(values, local, beta), rel=1e-9), values


@pytest.mark.enumeration
@pytest.mark.parametrize(("size", "cells", "trim", "beta"), SMALL)
def test_variance_bound_is_valid_and_smooth(size: int, cells: int, trim: int, beta: float) -> None:
    """Catches: a bound halved, a search at twice beta; at half of beta the bound would be too loose."""
    local = local_sensitivities(size, cells, trim, variance_of_window)
    bound = {values: variance_smooth_bound(run_length(values), trim, cells, beta) for values in local}
    ratios, steepest = [], 0.0
    for values in local:
        assert bound[values] >= float(local[values]) * (1 - 1e-9), values
        for other in substitutions(values, cells):
            assert bound[values] <= math.exp(beta) * bound[other] * (1 + 1e-9), (values, other)
            steepest = max(steepest, math.log(bound[values] / bound[other]))
        ratios.append(bound[values] / true_smooth_sensitivity(values, local, beta))
    assert max(ratios) < 2.5, "the bound is not needlessly loose"
    assert steepest > 0.6 * beta


@st.composite
def tuned_columns(draw: st.DrawFn) -> tuple[RunLengthColumn, int, int, float]:
    """Few runs, one of them of nearly all values, with the trim and beta of a real release near its noise level."""
    cells = draw(st.sampled_from([1, 4, 100, 2**16]))
    size = draw(st.integers(8, 3000))
    epsilon = Fraction(draw(st.integers(1, 20))) / size
    noise = smooth_noise(draw(st.sampled_from(["polyplace", "cauchy"])), Pure(epsilon))
    codes = sorted(
        draw(st.sets(st.integers(0, cells) | st.sampled_from([0, cells // 2, cells]), min_size=1, max_size=3))
    )
    few = [draw(st.integers(1, 3)) for _ in codes[1:]]
    counts = [*few, size - sum(few)]
    if draw(st.booleans()):
        counts.reverse()
    column = RunLengthColumn(np.array(codes, dtype=np.int64), np.array(counts, dtype=np.int64))
    return column, tuning.trim(size, noise), cells, float(noise.beta)


def every_step_variance_bound(column: RunLengthColumn, trim: int, cells: int, beta: float) -> float:
    """The bound at every k from 0 to N, in plain vectorised sums over the expanded column and its mirror image."""
    values = np.repeat(column.codes, column.counts)
    size, window = len(values), len(values) - 2 * trim
    k = np.arange(size + 1)
    best = 0.0
    for side in (values, cells - values[::-1]):
        padded = np.concatenate(
            [np.zeros(size, dtype=np.int64), side, np.full(2 * size, cells)]
        )  # rank r is at size + r - 1
        sums = np.concatenate([[0], np.cumsum(padded)])
        top = padded[2 * size - trim + k]
        others = sums[np.maximum(2 * size - trim - 1 - k, size)] - sums[np.maximum(size + trim - k, size)]
        deviation = ((window - 1) * top - np.maximum(others, 0)).astype(np.float64)
        best = max(best, float(np.max(np.exp(-beta * k) * deviation**2)))
    return best / window**2 / (window - 1)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(tuned_columns())
def test_the_variance_search_misses_no_step_at_the_tuning_of_a_release(
    case: tuple[RunLengthColumn, int, int, float],
) -> None:
    column, cut, cells, beta = case
    expected = every_step_variance_bound(column, cut, cells, beta)
    assert variance_smooth_bound(column, cut, cells, beta) == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(tuned_columns(), st.data())
def test_both_are_smooth_at_the_tuning_of_a_release(
    case: tuple[RunLengthColumn, int, int, float], data: st.DataObject
) -> None:
    column, cut, cells, beta = case
    values = list(np.repeat(column.codes, column.counts))
    values[data.draw(st.integers(0, len(values) - 1))] = data.draw(st.integers(0, cells) | st.sampled_from([0, cells]))
    other = run_length(tuple(sorted(int(value) for value in values)))
    for search in (mean_smooth_sensitivity, variance_smooth_bound):
        assert abs(math.log(search(column, cut, cells, beta) / search(other, cut, cells, beta))) <= beta + 1e-9


def test_nearly_constant_columns_are_as_smooth_as_any() -> None:
    """A search that stops short of the stationary point of its last piece jumps by 38 beta between these neighbours."""
    one, two = (RunLengthColumn(np.array([50, 51]), np.array([920 - few, few])) for few in (1, 2))
    here, there = (variance_smooth_bound(column, 227, 100, 0.003) for column in (one, two))
    assert here == pytest.approx(every_step_variance_bound(one, 227, 100, 0.003), rel=1e-9)
    assert abs(math.log(here / there)) <= 0.003


@pytest.mark.parametrize("search", [mean_smooth_sensitivity, variance_smooth_bound])
def test_extremes_stay_finite_and_positive(search: object) -> None:
    assert callable(search)
    huge = 10**10
    for column, trim, cells in [
        (RunLengthColumn(np.array([7]), np.array([huge])), huge // 4, 2**20),
        (RunLengthColumn(np.array([0]), np.array([huge])), 0, 2**20),
        (RunLengthColumn(np.array([2**20]), np.array([huge])), huge // 4, 2**20),
        (RunLengthColumn(np.array([0, 2**32]), np.array([huge, huge])), huge // 10, 2**32),
        (RunLengthColumn(np.array([1]), np.array([2])), 0, 2),
        (RunLengthColumn(np.array([0, 1]), np.array([1, 1])), 0, 1),
    ]:
        for beta in (1e-6, 1e-3, 1.0, 100.0):
            found = search(column, trim, cells, beta)
            assert 0 < found < math.inf
            assert found <= float(cells) ** 2


def test_wide_sums_are_exact_where_64_bits_would_overflow() -> None:
    # 2**34 values at code 2**32 add up to 66 bits. A substituted value may fall from there to 0, the widest move.
    count, cells = 2**34, 2**32
    column = RunLengthColumn(np.array([cells]), np.array([count]))
    widest = (count - 1) / count**2 * cells**2
    assert variance_smooth_bound(column, 0, cells, 1e-3) == pytest.approx(widest, rel=1e-9)


def test_searched_beta_leaves_room_for_the_error() -> None:
    """A search may be too low by 2**-32, and between neighbours two such errors add up."""
    for beta in (SMALLEST_BETA, Fraction(1, 3), Fraction(7, 5), Fraction(10**5) + Fraction(1, 7), LARGEST_BETA):
        assert beta - Fraction(1, 2**29) < Fraction(search_beta(beta)) <= beta - Fraction(2, 2**32)
    for found in (1.0, 1 / 3, 2.0**-600, 1e-9, math.nextafter(1, 2), 3e200):
        highest = Fraction(found) / (1 - Fraction(1, 2**32))
        assert highest <= upper_bound(found) <= Fraction(found) * (1 + Fraction(1, 2**30))
    for outside in (SMALLEST_BETA / 2, LARGEST_BETA * 2):
        with pytest.raises(ValueError, match=r"2\*\*-24\.\.2\*\*20"):
            search_beta(outside)


@pytest.mark.parametrize("power", [1, 2])
def test_a_column_of_a_million_values_is_searched_as_far_as_a_small_one(power: int) -> None:
    """Catches: a search that stops short. The only other values are k ranks from the window, and decide the result."""
    size, trim, cells, beta, far = 10**6 + 1, 1000, 10**6, 1e-3, 700
    column = RunLengthColumn(np.array([0, cells]), np.array([size - trim + far, trim - far]))
    found = (mean_smooth_sensitivity if power == 1 else variance_smooth_bound)(column, trim, cells, beta)
    window = size - 2 * trim
    change = cells / window if power == 1 else cells**2 * (window - 1) / window**2
    assert found == pytest.approx(change * math.exp(-beta * far), rel=1e-3)
