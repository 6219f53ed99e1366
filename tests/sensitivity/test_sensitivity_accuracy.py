"""What reaches the noise, against exact integers and balls at every extreme: never below the bound, and beta-smooth."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from flint import ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from support.exact_sensitivity import (
    PRECISION,
    Enclosure,
    ball,
    exact_mean_sensitivity,
    exact_variance_bound,
    runs_of,
    substituted,
)

from dpnb_columnar.sensitivity import (
    RunLengthColumn,
    RunLengthColumns,
    mean_smooth_sensitivity,
    public_size,
    search_beta,
    smooth_bounds,
    trimmed_mean,
    trimmed_variance,
    upper_bound,
    variance_smooth_bound,
)
from dpnb_columnar.sensitivity.columns import LARGEST_SIZE, Integers
from dpnb_columnar.sensitivity.search import LARGEST_BETA, SMALLEST_BETA, prune_values

ROWS = 10**10
CELLS = [1, 2, 3, 100, 2**16, 2**20, 2**32 - 1, 2**32]
COUNTS = [1, 1, 1, 2, 3, 7, 100, 10**4, 10**6, ROWS, 2**40, 2**42]
BETAS = [
    *(SMALLEST_BETA, Fraction(1, 2**20), Fraction(1, 10**5), Fraction(1, 1000), Fraction(1, 50), Fraction(3, 10)),
    *(Fraction(1), Fraction(7), Fraction(100), Fraction(500), LARGEST_BETA),
]


@dataclass(frozen=True)
class Moment:
    """A statistic, the search for its sensitivity, and the same by brute force in exact arithmetic."""

    statistic: Callable[[RunLengthColumn, int], Fraction]
    search: Callable[[RunLengthColumn, int, int, float], float]
    exact: Callable[[RunLengthColumn, int, int, Fraction], Enclosure]

    def sensitivity(self, column: RunLengthColumn, trim: int, cells: int, beta: Fraction) -> Fraction:
        """What the noise is scaled with."""
        return upper_bound(self.search(column, trim, cells, search_beta(beta)))


MEAN = Moment(trimmed_mean, mean_smooth_sensitivity, exact_mean_sensitivity)
VARIANCE = Moment(trimmed_variance, variance_smooth_bound, exact_variance_bound)
both_moments = pytest.mark.parametrize("moment", [MEAN, VARIANCE], ids=["mean", "variance"])


def check_enclosed(moment: Moment, column: RunLengthColumn, trim: int, cells: int, beta: Fraction) -> None:
    """exact <= raised <= exact * (1 + 2**-30), at the beta that is searched."""
    found = moment.sensitivity(column, trim, cells, beta)
    exact = moment.exact(column, trim, cells, Fraction(search_beta(beta)))
    with ctx.workprec(PRECISION):
        logarithm = ball(found).log()
        assert logarithm >= exact.high
        assert logarithm <= exact.low + ball(1 + Fraction(1, 2**30)).log()


def check_admissible(
    moment: Moment, columns: tuple[RunLengthColumn, RunLengthColumn], trim: int, cells: int, beta: Fraction
) -> None:
    """What the noise relies on: |f - f'| <= min(S, S') and |log(S/S')| <= beta, both without rounding."""
    here, there = (moment.sensitivity(column, trim, cells, beta) for column in columns)
    one, two = (moment.statistic(column, trim) for column in columns)
    assert abs(one - two) <= min(here, there)
    with ctx.workprec(PRECISION):
        assert abs(ball(here / there).log()) <= ball(beta)


# --- columns of few runs, counts and codes at their extremes -------------------------------------------------------


@st.composite
def extreme_columns(draw: st.DrawFn) -> tuple[RunLengthColumn, int, int]:
    """A column of up to 2**45 values, a trim and the largest code of its grid."""
    cells = draw(st.sampled_from(CELLS))
    ends = st.sampled_from([0, 1, 2, cells // 2, cells // 2 + 1, cells - 2, cells - 1, cells])
    code = (ends | st.integers(0, cells)).filter(lambda value: 0 <= value <= cells)
    counts = draw(st.dictionaries(code, st.sampled_from(COUNTS), min_size=1, max_size=6))
    first, size = min(counts), sum(counts.values())
    if size < 2 or draw(st.integers(0, 7)) == 0:
        missing = draw(st.sampled_from([2, 8, ROWS, LARGEST_SIZE])) - size
        counts[first] += max(missing, 0)
        size = sum(counts.values())
    most = (size - 2) // 2
    cut = draw(st.sampled_from([0, 1, 2, size // 4, most]) | st.integers(0, most))
    return runs_of(counts), min(cut, most), cells


@pytest.mark.slow
@both_moments
@settings(max_examples=150, deadline=None)
@given(case=extreme_columns(), beta=st.sampled_from(BETAS))
def test_raised_values_are_never_below_the_exact_bound_and_hardly_above(
    moment: Moment, case: tuple[RunLengthColumn, int, int], beta: Fraction
) -> None:
    check_enclosed(moment, *case, beta)


@pytest.mark.slow
@both_moments
@settings(max_examples=250, deadline=None)
@given(case=extreme_columns(), beta=st.sampled_from(BETAS), data=st.data())
def test_raised_values_are_smooth_and_bound_the_move_at_every_extreme(
    moment: Moment, case: tuple[RunLengthColumn, int, int], beta: Fraction, data: st.DataObject
) -> None:
    column, trim, cells = case
    codes = [int(code) for code in column.codes]
    new = st.sampled_from([0, 1, cells // 2, cells - 1, cells, *codes]) | st.integers(0, cells)
    other = substituted(column, data.draw(st.sampled_from(codes)), data.draw(new))
    check_admissible(moment, (column, other), trim, cells, beta)


@st.composite
def columns_about_to_be_far(draw: st.DrawFn) -> tuple[RunLengthColumn, int, int, Fraction]:
    """Runs and a trim of about 1/beta values each, where the best distance lies between the ends of pieces."""
    beta = draw(st.sampled_from([Fraction(3, 2**22), Fraction(3, 1600), Fraction(3, 80), Fraction(3, 7)]))
    length = st.floats(0.1, 8).map(lambda times: math.ceil(times / beta))
    cells = draw(st.sampled_from(CELLS))
    code = st.sampled_from([0, cells // 2, cells]) | st.integers(0, cells) | st.integers(cells - cells // 9, cells)
    column = runs_of(draw(st.dictionaries(code, length, min_size=1, max_size=5)))
    most = (column.size - 2) // 2
    return column, min(draw(st.just(0) | length), max(most, 0)), cells, beta


@pytest.mark.slow
@both_moments
@settings(max_examples=150, deadline=None)
@given(case=columns_about_to_be_far())
def test_no_distance_is_missed_between_the_runs(
    moment: Moment, case: tuple[RunLengthColumn, int, int, Fraction]
) -> None:
    column, trim, cells, beta = case
    if column.size >= 2:
        check_enclosed(moment, column, trim, cells, beta)


# --- classes of every size, in samples of every public size --------------------------------------------------------

CLASSES = {
    "empty": {},
    "one value": {3: 1},
    "one value at a bound": {0: 1},
    "two values": {0: 1, 5: 1},
    "all equal": {3: ROWS},
    "all at the lower bound": {0: ROWS},
    "all at the upper bound": {-1: ROWS},
    "half at each bound": {0: ROWS // 2, -1: ROWS // 2},
    "all but one at a bound": {0: ROWS - 1, 7: 1},
    "as many as there may be": {0: 1, 5: LARGEST_SIZE - 2, -1: 1},
}
"""Counts by code; a negative code counts from the end of the grid."""

SIZES = [8, 9, 10**4, ROWS, LARGEST_SIZE]


@pytest.mark.enumeration
@pytest.mark.slow
@both_moments
@pytest.mark.parametrize("cells", [1, 2**20, 2**32])
@pytest.mark.parametrize("counts", list(CLASSES.values()), ids=list(CLASSES))
def test_every_class_in_every_public_size(moment: Moment, counts: dict[int, int], cells: int) -> None:
    """One row more: the exact bound, smoothness and the bound on the move, through the sample of public size."""
    rows: dict[int, int] = {}
    for code, count in counts.items():
        place = min(code, cells) if code >= 0 else cells
        rows[place] = rows.get(place, 0) + count
    fewer = runs_of(rows)
    for size in SIZES:
        for added in {0, min(4, cells), cells}:
            if fewer.size == LARGEST_SIZE:
                neighbour = substituted(fewer, int(fewer.codes[len(fewer.codes) // 2]), added)
            else:
                neighbour = runs_of(rows | {added: rows.get(added, 0) + 1})
            samples = public_size(fewer, size, cells), public_size(neighbour, size, cells)
            assert [sample.size for sample in samples] == [size, size]
            for trim in (0, size // 4):
                for beta in (SMALLEST_BETA, Fraction(1, 1000), Fraction(100)):
                    check_admissible(moment, samples, trim, cells, beta)
        for trim in (0, size // 4):
            for beta in (Fraction(1, 1000), Fraction(100)):
                check_enclosed(moment, samples[1], trim, cells, beta)


# --- many runs -----------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.data(), st.sampled_from([Fraction(1, 10**5), Fraction(1, 100), Fraction(1)]), st.integers(0, 8))
def test_near_ties_among_many_candidates_lose_nothing(data: st.DataObject, beta: Fraction, jitter: int) -> None:
    """Distances from the middle that grow like exp(beta k) make every candidate of the mean's search a near tie."""
    cells = 2**32
    steps = data.draw(st.lists(st.integers(1, max(1, math.ceil(1 / beta))), min_size=10, max_size=60))
    tails = [math.floor(1000 * math.exp(min(float(beta) * k, 14))) for k in np.cumsum(steps)]
    lower = {cells // 2 - far - data.draw(st.integers(0, jitter)): step for far, step in zip(tails, steps, strict=True)}
    upper = {cells // 2 + far + data.draw(st.integers(0, jitter)): step for far, step in zip(tails, steps, strict=True)}
    column = runs_of({**lower, cells // 2: 5, **upper})
    trim = min(sum(lower.values()), sum(upper.values()))
    check_enclosed(MEAN, column, trim, cells, beta)
    check_enclosed(VARIANCE, column, trim, cells, beta)


@pytest.mark.slow
@both_moments
@pytest.mark.parametrize("beta", [SMALLEST_BETA, Fraction(1, 10**4), Fraction(1)])
def test_a_grid_of_a_million_cells_all_taken(moment: Moment, beta: Fraction) -> None:
    cells = 2**20
    column = RunLengthColumn(np.arange(cells + 1), np.full(cells + 1, 2**24))
    trim = column.size // 4
    found = moment.sensitivity(column, trim, cells, beta)
    assert 0 < found <= Fraction(cells ** (1 if moment is MEAN else 2), column.size - 2 * trim)
    other = substituted(column, 0, cells)
    check_admissible(moment, (column, other), trim, cells, beta)


# A search that leaves out what it cannot meet finds what it finds in the whole column, to the last bit.

Search = Callable[[RunLengthColumn, int, int, float], float]

searches = pytest.mark.parametrize("search", [mean_smooth_sensitivity, variance_smooth_bound], ids=["mean", "variance"])


def in_the_whole_column(search: Search, column: RunLengthColumn, trim: int, cells: int, beta: float) -> float:
    """What the search finds where nothing is left out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(smooth_bounds, "prune_values", lambda column, *_: column)
        return search(column, trim, cells, beta)


@st.composite
def cases(draw: st.DrawFn) -> tuple[RunLengthColumn, int, int]:
    """A column of up to some hundred runs, a trim, and the largest code of the grid."""
    seed = draw(st.integers(0, 2**32 - 1))
    generator = np.random.default_rng(seed)
    cells = draw(st.sampled_from([1, 2, 30, 300, 2**16, 2**32]))
    runs = draw(st.integers(1, min(cells + 1, 200)))
    shape = draw(st.sampled_from(["even", "middle", "one side", "a few far away"]))
    places = {
        "even": generator.random(runs),
        "middle": 0.5 + 0.01 * generator.standard_normal(runs),
        "one side": generator.random(runs) ** 8,
        "a few far away": np.where(np.arange(runs) < 3, generator.random(runs), 0.9 + 0.001 * generator.random(runs)),
    }[shape]
    codes = np.unique(np.clip(places * cells, 0, cells).astype(np.int64))
    largest = draw(st.sampled_from([1, 3, 50, 10**4]))
    counts = generator.integers(1, largest, len(codes), endpoint=True)
    if counts.sum() < 2:
        counts[0] += 1
    column = RunLengthColumn(codes, counts)
    most = (column.size - 2) // 2
    part = draw(st.sampled_from([0, 1, 20, most // 50, most // 5, most]))
    return column, min(part, most), cells


@pytest.mark.slow
@searches
@given(case=cases(), beta=st.sampled_from([1e-6, 1e-3, 0.02, 0.2, 1.0, 30.0, 1e5]))
@settings(max_examples=400, deadline=None)
def test_nothing_that_is_left_out_is_missed(
    search: Search, case: tuple[RunLengthColumn, int, int], beta: float
) -> None:
    column, trim, cells = case
    assert search(column, trim, cells, beta) == in_the_whole_column(search, column, trim, cells, beta)


@searches
@pytest.mark.parametrize("beta", [1e-3, 0.05, 0.3])
def test_what_wins_from_afar_is_kept(search: Search, beta: float) -> None:
    """Nothing is wide at first; far away, where the widest there is would just win, something half as wide does."""
    cells, zeros, power = 2**16, 100_000, 1 if search is mean_smooth_sensitivity else 2
    far = math.floor(0.95 * power * math.log(cells // 2) / beta)
    column = RunLengthColumn(np.array([0, 1, cells // 2]), np.array([zeros, far, zeros // 2]))
    trim = far + zeros // 2
    found = search(column, trim, cells, beta)
    assert found == in_the_whole_column(search, column, trim, cells, beta)
    window = column.size - 2 * trim
    widest = math.exp(power * math.log(cells // 2) - beta * far)
    assert found == pytest.approx(widest / window, rel=1e-3)


@searches
def test_a_search_looks_at_few_of_many_codes(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred thousand rows, each code of a wide grid among them, and a hundred times as many: no more to look at."""
    looked_at = []

    def remembered(columns: RunLengthColumns, trim: Integers, reach: Integers) -> RunLengthColumns:
        found = prune_values(columns, trim, reach)
        looked_at.append(len(found.codes))
        return found

    monkeypatch.setattr(smooth_bounds, "prune_values", remembered)
    codes = np.arange(2**16)
    for times in (2, 200):
        search(RunLengthColumn(codes, np.full(len(codes), times)), 100, 2**16 - 1, 0.1)
    assert looked_at[1] <= looked_at[0] < 200
