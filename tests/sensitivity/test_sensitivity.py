"""Sensitivity against brute force that enumerates neighbours and knows none of the formulas."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.exact_sensitivity import exact_variance_bound, runs_of
from support.tiers import Tenth

from dpnb_columnar.mechanisms.global_moments import CONSTANT_MOMENTS
from dpnb_columnar.mechanisms.smooth_moments import MOMENTS
from dpnb_columnar.sensitivity import (
    RunLengthColumn,
    RunLengthColumns,
    end_to_end,
    mean_smooth_sensitivity,
    public_size,
    search_beta,
    upper_bound,
    variance_smooth_bound,
)
from dpnb_columnar.sensitivity.columns import LARGEST_CODE, LARGEST_SIZE
from dpnb_columnar.sensitivity.moments import (
    deviation_sensitivity,
    rounded_deviations,
    squared_cells,
    squared_codes,
    squares_shift,
)
from dpnb_columnar.sensitivity.search import LARGEST_BETA, SMALLEST_BETA

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


def test_nearly_constant_columns_are_as_smooth_as_any() -> None:
    """A search that stops short of the stationary point of its last piece jumps by 38 beta between these neighbours."""
    one, two = (RunLengthColumn(np.array([50, 51]), np.array([920 - few, few])) for few in (1, 2))
    here, there = (variance_smooth_bound(column, 227, 100, 0.003) for column in (one, two))
    assert math.log(here) == pytest.approx(float(exact_variance_bound(one, 227, 100, Fraction(0.003)).high), abs=1e-9)
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


# Constant sensitivities against every pair of neighbours of small domains, and squares against Python's integers.
DOMAINS = [(1, 3), (2, 4), (3, 3), (4, 3), (5, 3), (6, 2), (7, 1)]
"""Sizes and largest codes, small enough for all columns and all neighbours."""

DIGITS = Context(prec=60)


def alone(counts: dict[int, int], cells: int) -> RunLengthColumns:
    return end_to_end([runs_of(counts)], [cells])


def all_of(values: list[Values], cells: int) -> RunLengthColumns:
    return end_to_end(list(map(run_length, values)), [cells] * len(values))


def pairs(size: int, cells: int) -> list[tuple[Values, Values]]:
    """Every column, with every column that has another value in one place."""
    columns = itertools.combinations_with_replacement(range(cells + 1), size)
    return [
        (values, tuple(sorted((*values[:place], code, *values[place + 1 :]))))
        for values in columns
        for place in range(size)
        for code in range(cells + 1)
    ]


def mean(values: Values) -> Fraction:
    return Fraction(sum(values), len(values))


def variance(values: Values) -> Fraction:
    """From all pairs of values, with no mean in between: Var x = sum over i < j of (x_i - x_j)^2 / N^2."""
    return Fraction(sum((one - two) ** 2 for one, two in itertools.combinations(values, 2)), len(values) ** 2)


def deviation(values: Values) -> Fraction:
    """To sixty digits."""
    found = variance(values)
    return Fraction(DIGITS.sqrt(DIGITS.divide(Decimal(found.numerator), Decimal(found.denominator))))


@pytest.mark.parametrize(("size", "cells"), DOMAINS)
@pytest.mark.parametrize(("query", "statistic"), [("mean", mean), ("variance", variance)])
def test_constant_sensitivities_are_what_neighbours_differ_by_at_most(
    query: str, statistic: Callable[[Values], Fraction], size: int, cells: int
) -> None:
    moment = CONSTANT_MOMENTS[query]
    found = max(abs(statistic(one) - statistic(two)) for one, two in pairs(size, cells))
    assert moment.sensitivity(size, cells) == found
    columns = [one for one, _ in pairs(size, cells)]
    assert moment.statistics(all_of(columns, cells)) == list(map(statistic, columns))


@pytest.mark.parametrize(("size", "cells"), DOMAINS)
def test_a_deviations_sensitivity_covers_its_rounding_and_hardly_more(size: int, cells: int) -> None:
    moment, unit = CONSTANT_MOMENTS["deviation"], Fraction(1, 2**64)
    columns = [values for pair in pairs(size, cells) for values in pair]
    released = dict(zip(columns, moment.statistics(all_of(columns, cells)), strict=True))
    for values, rounded in released.items():
        assert (rounded / unit).denominator == 1
        assert -Fraction(1, 10**50) <= deviation(values) - rounded < unit
    exact = {values: deviation(values) for values in released}
    moved, worst = (max(abs(of[one] - of[two]) for one, two in pairs(size, cells)) for of in (released, exact))
    assert moved <= moment.sensitivity(size, cells) <= worst + 2 * unit
    # Two roundings may differ by a unit more than what they round, whatever the columns are: catches a sensitivity
    # without that unit, or one whose own root is rounded down. (Roots of sixty digits are as good as exact here.)
    assert moment.sensitivity(size, cells) >= worst + unit - Fraction(1, 10**50)


@pytest.mark.slow
@settings(max_examples=200)
@given(
    st.sampled_from([8, 9, 1000, 10**10, LARGEST_SIZE]), st.sampled_from([1, 2, 1000, 2**20, LARGEST_CODE]), st.data()
)
def test_no_deviation_moves_by_more_than_its_sensitivity(size: int, cells: int, data: st.DataObject) -> None:
    """From samples with values at up to three codes, one value is moved to any code."""
    codes = sorted(data.draw(st.sets(st.integers(0, cells) | st.sampled_from([0, cells]), min_size=1, max_size=3)))
    ranks, breaks = st.integers(1, size - 1), len(codes) - 1
    inner = sorted(data.draw(st.lists(ranks, min_size=breaks, max_size=breaks, unique=True)))
    counts = dict(zip(codes, np.diff([0, *inner, size]).tolist(), strict=True))
    moved = dict(counts)
    moved[data.draw(st.sampled_from(codes))] -= 1
    target = data.draw(st.integers(0, cells) | st.sampled_from([0, cells]))
    moved[target] = moved.get(target, 0) + 1
    [before], [after] = (rounded_deviations(alone(each, cells)) for each in (counts, moved))
    change = abs(before - after)
    sensitivity = deviation_sensitivity(size, cells)
    assert change <= sensitivity
    exact = Fraction(DIGITS.sqrt(Decimal(size - 1))) * cells / size
    assert sensitivity - exact <= Fraction(1, 2**63) + Fraction(1, 10**40)


def test_sensitivities_are_vaidyas_for_one_row_more() -> None:
    """(U-L)/(n+1) and sqrt(n) (U-L)/(n+1), for n = 99 and bounds 40 apart."""
    assert CONSTANT_MOMENTS["mean"].sensitivity(100, 40) == Fraction(40, 100)
    assert float(CONSTANT_MOMENTS["deviation"].sensitivity(100, 40)) == pytest.approx(math.sqrt(99) * 40 / 100)


# --- squares -------------------------------------------------------------------------------------------------------


def rounded(code: int, shift: int) -> int:
    """The square in units of 2**shift, half a unit up."""
    return math.floor(Fraction(code * code, 2**shift) + Fraction(1, 2)) if shift else code * code


EDGES = [1, 2, 300, 2**16 - 1, 2**16, 2**16 + 1, 92681, 92682, 2**20, 2**31, 2**32 - 1, 2**32]


@pytest.mark.parametrize("cells", EDGES)
def test_the_unit_of_squares_is_the_smallest_that_fits(cells: int) -> None:
    shift = squares_shift(cells)
    assert squared_cells(cells) == rounded(cells, shift) <= LARGEST_CODE
    assert shift == 0 or rounded(cells, shift - 1) > LARGEST_CODE


@pytest.mark.parametrize("beta", [0.05, 0.3, 1.0])
@pytest.mark.parametrize(("size", "cells", "trim"), [(5, 3, 0), (5, 3, 1), (6, 2, 2), (7, 2, 1)])
def test_smooth_sensitivity_of_the_mean_of_squares_equals_the_definition(
    size: int, cells: int, trim: int, beta: float, tenth: Tenth
) -> None:
    """Largest local sensitivity of any column, discounted by the places in which it differs."""
    moment = MOMENTS["mean of squares"]
    local = local_sensitivities(size, cells, trim, window_of_squares)
    for values in tenth(local):
        true = true_smooth_sensitivity(values, local, beta)
        asked, cut = moment.columns_of(all_of([values], cells)), np.array([trim])
        assert moment.statistics(asked, cut) == [window_of_squares(values, trim)]
        assert moment.search(asked, cut, np.array([beta])) == pytest.approx([true], rel=1e-9), values


def window_of_squares(values: Values, trim: int) -> Fraction:
    window = values[trim : len(values) - trim]
    return Fraction(sum(value**2 for value in window), len(window))


@given(st.dictionaries(st.integers(0, 9), st.integers(1, 9), min_size=1, max_size=4), st.integers(1, 40))
def test_padding_squares_is_squaring_a_padded_column(counts: dict[int, int], size: int) -> None:
    cells = 9
    one = public_size(squared_codes(alone(counts, cells))[0], size, 81)
    two = squared_codes(end_to_end([public_size(runs_of(counts), size, cells)], [cells]))[0]
    assert (one.codes.tolist(), one.counts.tolist()) == (two.codes.tolist(), two.counts.tolist())
