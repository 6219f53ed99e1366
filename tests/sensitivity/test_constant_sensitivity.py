"""Constant sensitivities against every pair of neighbours of small domains, and squares against Python's integers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from dpnb_columnar.core.mechanisms.baselines import CONSTANT_MOMENTS
from dpnb_columnar.core.mechanisms.smooth import MOMENTS
from dpnb_columnar.core.sensitivity import RunLengthColumn, RunLengthColumns, end_to_end, public_size
from dpnb_columnar.core.sensitivity.columns import LARGEST_CODE, LARGEST_SIZE
from dpnb_columnar.core.sensitivity.moments import (
    deviation_sensitivity,
    rounded_deviations,
    squared_cells,
    squared_codes,
    squares_shift,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from support.exact_sensitivity import runs_of
from support.tiers import Tenth

Values = tuple[int, ...]
DOMAINS = [(1, 3), (2, 4), (3, 3), (4, 3), (5, 3), (6, 2), (7, 1)]
"""Sizes and largest codes, small enough for all columns and all neighbours."""

DIGITS = Context(prec=60)


def column(values: Values) -> RunLengthColumn:
    return runs_of({code: values.count(code) for code in values})


def alone(counts: dict[int, int], cells: int) -> RunLengthColumns:
    return end_to_end([runs_of(counts)], [cells])


def all_of(values: list[Values], cells: int) -> RunLengthColumns:
    return end_to_end(list(map(column, values)), [cells] * len(values))


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
    st.sampled_from([8, 9, 1000, 10**10, LARGEST_SIZE]),
    st.sampled_from([1, 2, 1000, 2**20, LARGEST_CODE]),
    st.data(),
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


@pytest.mark.slow
@settings(max_examples=200)
@given(st.sampled_from(EDGES), st.data())
def test_squares_are_exact_and_keep_every_row_and_their_order(cells: int, data: st.DataObject) -> None:
    code = st.integers(0, cells) | st.sampled_from([0, 1, cells - 1, cells])
    counts = data.draw(st.dictionaries(code, st.integers(1, 2**40), min_size=1, max_size=12))
    found, shift = squared_codes(alone(counts, cells))[0], squares_shift(cells)
    expected: dict[int, int] = {}
    for value, number in counts.items():
        expected[rounded(value, shift)] = expected.get(rounded(value, shift), 0) + number
    assert dict(zip(found.codes.tolist(), found.counts.tolist(), strict=True)) == expected


@pytest.mark.parametrize("beta", [0.05, 0.3, 1.0])
@pytest.mark.parametrize(("size", "cells", "trim"), [(5, 3, 0), (5, 3, 1), (6, 2, 2), (7, 2, 1)])
def test_smooth_sensitivity_of_the_mean_of_squares_equals_the_definition(
    size: int, cells: int, trim: int, beta: float, tenth: Tenth
) -> None:
    """Largest local sensitivity of any column, discounted by the places in which it differs."""
    moment = MOMENTS["mean of squares"]
    local: dict[Values, Fraction] = {}
    for one, two in pairs(size, cells):
        change = abs(window_of_squares(one, trim) - window_of_squares(two, trim))
        local[one] = max(local.get(one, Fraction(0)), change)
    for values in tenth(local):
        true = max(float(local[other]) * math.exp(-beta * apart(values, other)) for other in local)
        asked, cut = moment.columns_of(all_of([values], cells)), np.array([trim])
        assert moment.statistics(asked, cut) == [window_of_squares(values, trim)]
        assert moment.search(asked, cut, np.array([beta])) == pytest.approx([true], rel=1e-9), values


def window_of_squares(values: Values, trim: int) -> Fraction:
    window = values[trim : len(values) - trim]
    return Fraction(sum(value**2 for value in window), len(window))


def apart(one: Values, two: Values) -> int:
    return sum(max(one.count(code) - two.count(code), 0) for code in set(one))


@given(st.dictionaries(st.integers(0, 9), st.integers(1, 9), min_size=1, max_size=4), st.integers(1, 40))
def test_padding_squares_is_squaring_a_padded_column(counts: dict[int, int], size: int) -> None:
    cells = 9
    one = public_size(squared_codes(alone(counts, cells))[0], size, 81)
    two = squared_codes(end_to_end([public_size(runs_of(counts), size, cells)], [cells]))[0]
    assert (one.codes.tolist(), one.counts.tolist()) == (two.codes.tolist(), two.counts.tolist())
