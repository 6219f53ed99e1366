"""Single faults that a search for smooth sensitivity could have, each caught on domains small enough to list."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from support.exact_sensitivity import runs_of

from dpnb_columnar.sensitivity import (
    RunLengthColumn,
    mean_smooth_sensitivity,
    search_beta,
    upper_bound,
    variance_smooth_bound,
)
from dpnb_columnar.sensitivity.search import LARGEST_BETA, SMALLEST_BETA

Values = tuple[int, ...]
CASES = [(4, 3, 1), (5, 2, 0)]
"""Size, largest code and trim of columns, so few that every column and every neighbour can be listed."""


def columns(size: int, cells: int) -> list[Values]:
    return list(itertools.combinations_with_replacement(range(cells + 1), size))


def steps_apart(one: Values, two: Values, cells: int) -> int:
    """How many values have to be replaced to make one column of another."""
    return sum(max(one.count(code) - two.count(code), 0) for code in range(cells + 1))


def moments(size: int, cells: int, trim: int, power: int) -> dict[Values, Fraction]:
    """Mean (power 1) or variance (power 2) of every column's window."""
    found = {}
    for values in columns(size, cells):
        window = [Fraction(value) for value in values[trim : size - trim]]
        centre = sum(window) / len(window)
        found[values] = centre if power == 1 else sum((value - centre) ** 2 for value in window) / len(window)
    return found


def local_sensitivity(moment: dict[Values, Fraction], cells: int) -> dict[Values, Fraction]:
    """The most that one replaced value changes a moment by."""
    return {
        one: max(abs(moment[one] - moment[two]) for two in moment if steps_apart(one, two, cells) <= 1)
        for one in moment
    }


@pytest.mark.parametrize(("size", "cells", "trim"), CASES)
@pytest.mark.parametrize("beta", [0.2, 0.9])
def test_a_mean_has_its_smooth_sensitivity_by_definition(size: int, cells: int, trim: int, beta: float) -> None:
    """Catches: a sensitivity halved or doubled, a search at twice or half of beta, a window that is one too wide."""
    local = local_sensitivity(moments(size, cells, trim, 1), cells)
    for one in local:
        wanted = max(float(local[two]) * math.exp(-beta * steps_apart(one, two, cells)) for two in local)
        assert mean_smooth_sensitivity(column(one), trim, cells, beta) == pytest.approx(wanted, rel=1e-8), one


@pytest.mark.parametrize(("size", "cells", "trim"), CASES)
@pytest.mark.parametrize("beta", [0.2, 0.9])
def test_a_variances_bound_covers_neighbours_and_is_smooth(size: int, cells: int, trim: int, beta: float) -> None:
    """Catches: a bound halved, a search at twice beta; at half of beta the bound would be too loose."""
    local = local_sensitivity(moments(size, cells, trim, 2), cells)
    bound = {values: variance_smooth_bound(column(values), trim, cells, beta) for values in local}
    steepest = 0.0
    for one, two in itertools.permutations(local, 2):
        if steps_apart(one, two, cells) == 1:
            steepest = max(steepest, math.log(bound[one] / bound[two]))
    assert all(bound[one] >= float(local[one]) * (1 - 1e-9) for one in local)
    assert 0.7 * beta < steepest <= beta + 1e-9


def column(values: Values) -> RunLengthColumn:
    return runs_of({code: values.count(code) for code in values})


@pytest.mark.parametrize("sensitivity", [1.0, 1 / 3, 2.0**-600, 1e-9, math.nextafter(1, 2), 3e200])
def test_what_is_raised_covers_the_error_of_a_search(sensitivity: float) -> None:
    """Catches: ``upper_bound`` left out, or raising by less than the 2**-32 that a search may be too low by."""
    highest = Fraction(sensitivity) / (1 - Fraction(1, 2**32))
    assert highest <= upper_bound(sensitivity) <= Fraction(sensitivity) * (1 + Fraction(1, 2**30))


@pytest.mark.parametrize(
    "beta", [SMALLEST_BETA, Fraction(1, 3), Fraction(7, 5), Fraction(10**5) + Fraction(1, 7), LARGEST_BETA]
)
def test_a_search_leaves_room_for_its_error(beta: Fraction) -> None:
    """Catches: a search at the noise's own beta. Between neighbours two errors of 2**-32 add to what it searches at."""
    assert beta - Fraction(1, 2**29) < Fraction(search_beta(beta)) <= beta - Fraction(2, 2**32)


@pytest.mark.parametrize("power", [1, 2])
def test_a_column_of_a_million_values_is_searched_as_far_as_a_small_one(power: int) -> None:
    """Catches: a search that stops short. The only other values are k ranks from the window, and decide the result."""
    size, trim, cells, beta, far = 10**6 + 1, 1000, 10**6, 1e-3, 700
    searched = mean_smooth_sensitivity if power == 1 else variance_smooth_bound
    counts = {0: size - trim + far, cells: trim - far}
    found = searched(runs_of(counts), trim, cells, beta)
    window = size - 2 * trim
    change = cells / window if power == 1 else cells**2 * (window - 1) / window**2
    assert found == pytest.approx(change * math.exp(-beta * far), rel=1e-3)
    assert np.isfinite(found)
