"""Columns in run-length form, and their moments, are those of the values that they stand for, exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpnb_columnar.sensitivity import (
    RunLengthColumn,
    RunLengthColumns,
    chunks,
    end_to_end,
    mean_smooth_sensitivities,
    mean_smooth_sensitivity,
    public_size,
    public_sizes,
    trimmed_mean,
    trimmed_means,
    trimmed_variance,
    trimmed_variances,
    variance_smooth_bound,
    variance_smooth_bounds,
)
from dpnb_columnar.sensitivity import columns as columns_module
from dpnb_columnar.sensitivity.columns import LARGEST_CODE, LARGEST_SIZE, weighted_sum
from dpnb_columnar.sensitivity.moments import rounded_deviations, squared_codes, squares_shift

RUNS = [{0: 1, 3: 2, 9: 1}, {5: 4}, {1: 1, 2: 1, 3: 1, 8: 1, 9: 3}]
"""Counts by code of small columns of codes up to 9."""

HUGE = [{0: 2**30, 12_345: 3, 2**31 + 7: 2**43, LARGEST_CODE: 2**43}, {LARGEST_CODE - 1: 5, LARGEST_CODE: 4}]
"""And of columns whose sums, and those of squares, do not fit into 63 bits."""


def column(runs: dict[int, int]) -> RunLengthColumn:
    return RunLengthColumn(np.array([*runs], dtype=np.int64), np.array([*runs.values()], dtype=np.int64))


def columns(many: list[dict[int, int]], last: int) -> RunLengthColumns:
    return end_to_end([column(runs) for runs in many], [last] * len(many))


def values(runs: dict[int, int]) -> list[int]:
    return [code for code, count in runs.items() for _ in range(count)]


def test_values_by_rank_end_in_the_bounds() -> None:
    """Before the first lies the lower bound, behind the last the upper one, whatever the values are."""
    found = columns(RUNS, 9)
    for place, runs in enumerate(RUNS):
        every = [0, 0, *values(runs), 9, 9]
        ranks = np.arange(-1, len(every) - 1)
        assert found.value(ranks, np.full_like(ranks, place)).tolist() == every


def test_columns_from_above_are_mirrored_values_and_counts() -> None:
    found = columns(RUNS, 9).reflected()
    for place, runs in enumerate(RUNS):
        mirrored = found[place]
        assert dict(zip(mirrored.codes.tolist(), mirrored.counts.tolist(), strict=True)) == {
            9 - code: count for code, count in reversed(runs.items())
        }


@pytest.mark.parametrize("runs", HUGE)
def test_sums_beyond_63_bits_are_exact(runs: dict[int, int]) -> None:
    one = column(runs)
    assert weighted_sum(one.codes, one.counts) == sum(code * count for code, count in runs.items())


@pytest.mark.parametrize("trim", [0, 1, 4])
@pytest.mark.parametrize(("many", "last"), [(RUNS[2:], 9), (HUGE, LARGEST_CODE)])
def test_moments_of_windows_are_those_of_their_values(many: list[dict[int, int]], last: int, trim: int) -> None:
    """Cut at both ends, divided by what is left; the variance by its definition, about the mean."""
    found = columns(many, last)
    trims = np.full(len(many), min(trim, *((sum(runs.values()) - 1) // 2 for runs in many)))
    means, variances = trimmed_means(found, trims), trimmed_variances(found, trims)
    for place, runs in enumerate(many):
        kept = window(runs, int(trims[place]))
        size = sum(kept.values())
        mean = Fraction(sum(code * count for code, count in kept.items()), size)
        assert means[place] == mean
        assert variances[place] == sum(count * (code - mean) ** 2 for code, count in kept.items()) / size


def window(runs: dict[int, int], trim: int) -> dict[int, int]:
    """Cut so many values from each end of a column."""
    for codes in ([*runs], [*reversed(runs)]):
        left = trim
        for code in codes:
            cut = min(left, runs[code])
            runs, left = runs | {code: runs[code] - cut}, left - cut
    return runs


@pytest.mark.parametrize("last", [9, 70_000, 2**20 + 1, LARGEST_CODE - 1, LARGEST_CODE])
def test_squares_are_rounded_to_the_nearest(last: int) -> None:
    """In units of a power of two, half a unit up, and none beyond the largest code."""
    runs = dict.fromkeys(sorted({0, 1, 2, 3, 9, last // 3, last // 2, last - 1, last}), 1)
    unit = 2 ** squares_shift(last)
    found = squared_codes(columns([runs], last))
    expected: dict[int, int] = {}
    for code in runs:
        rounded = (2 * code**2 + unit) // (2 * unit)
        expected[rounded] = expected.get(rounded, 0) + 1
    assert dict(zip(found.codes.tolist(), found.counts.tolist(), strict=True)) == expected
    assert found.cells.tolist() == [max(expected)]
    assert max(expected) <= LARGEST_CODE < 4 * max(expected) or unit == 1


# Columns that are searched together get the bits that each gets alone, and what a batch is made of is checked.

BETAS = [2.0**-25, 1e-3, 0.02, 0.3, 1.0, 100.0, 2.0**20]


@st.composite
def cases(draw: st.DrawFn) -> tuple[RunLengthColumn, int, int, int, float]:
    """A column of none to a hundred runs, its public size, a trim, the largest code of its grid, and a beta."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cells = draw(st.sampled_from([1, 2, 30, 300, 2**16, 2**20, 2**32]))
    runs = draw(st.integers(0, min(cells + 1, draw(st.sampled_from([1, 4, 100])))))
    places = {
        "even": generator.random(runs),
        "middle": 0.5 + 0.01 * generator.standard_normal(runs),
        "bounds and the middle": generator.choice([0, 0.5, 1], runs),
    }[draw(st.sampled_from(["even", "middle", "bounds and the middle"]))]
    codes = np.unique(np.clip(places * cells, 0, cells).astype(np.int64))
    counts = generator.integers(1, draw(st.sampled_from([1, 3, 1000, 2**37])), len(codes), endpoint=True)
    column = RunLengthColumn(codes, counts)
    more = draw(st.sampled_from([0, 1, -1, 7, -7, 1000, -(column.size // 2), LARGEST_SIZE]))
    size = min(max(column.size + more, 8), LARGEST_SIZE)
    most = (size - 2) // 2
    trim = min(draw(st.sampled_from([0, 1, 20, most // 50, most // 5, most])), most)
    return column, size, trim, cells, draw(st.sampled_from(BETAS))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(cases(), min_size=1, max_size=12))
def test_columns_together_get_what_each_gets_alone(drawn: list[tuple[RunLengthColumn, int, int, int, float]]) -> None:
    columns, sizes, trims, cells, betas = map(list, zip(*drawn, strict=True))
    alone = [public_size(column, size, last) for column, size, _, last, _ in drawn]
    together, cut, beta = public_sizes(columns, sizes, cells), np.array(trims), np.array(betas)
    for place, sample in enumerate(alone):
        assert np.array_equal(together[place].codes, sample.codes)
        assert np.array_equal(together[place].counts, sample.counts)
    public = list(zip(alone, trims, cells, betas, strict=True))
    assert mean_smooth_sensitivities(together, cut, beta) == [mean_smooth_sensitivity(*each) for each in public]
    assert variance_smooth_bounds(together, cut, beta) == [variance_smooth_bound(*each) for each in public]
    assert trimmed_means(together, cut) == [trimmed_mean(sample, trim) for sample, trim, *_ in public]
    assert trimmed_variances(together, cut) == [trimmed_variance(sample, trim) for sample, trim, *_ in public]
    single = [end_to_end([sample], [last]) for sample, _, last, _ in public]
    assert rounded_deviations(together) == [deviation for each in single for deviation in rounded_deviations(each)]
    squares = squared_codes(together)
    for place, each in enumerate(map(squared_codes, single)):
        assert np.array_equal(squares[place].codes, each.codes)
        assert np.array_equal(squares[place].counts, each.counts)
        assert squares.cells[place] == each.cells[0]


@pytest.mark.slow
def test_a_column_of_the_most_values_does_not_disturb_its_neighbours() -> None:
    """Sums through all columns wrap around: 60,000 columns of 2**45 values of 2**32 each."""
    one = RunLengthColumn(np.array([5, 2**32]), np.array([1, LARGEST_SIZE - 1]))
    many = end_to_end([one] * 60_000, [2**32] * 60_000)
    cut, beta = np.full(60_000, 3), np.full(60_000, 0.01)
    assert set(variance_smooth_bounds(many, cut, beta)) == {variance_smooth_bound(one, 3, 2**32, 0.01)}
    assert set(mean_smooth_sensitivities(many, cut, beta)) == {mean_smooth_sensitivity(one, 3, 2**32, 0.01)}


@pytest.mark.parametrize(
    ("codes", "counts", "starts", "cells", "message"),
    [
        ([3, 3], [1, 1], [0, 2], [3], "rise from 0"),
        ([1, -1], [1, 1], [0, 1, 2], [3, 3], "rise from 0"),
        ([1, 2], [1, 0], [0, 1, 2], [3, 3], "positive"),
        ([1, 2], [1, 1], [0, 2, 2], [3, 3], "none of them empty"),
        ([1, 2], [1, 1], [0, 2], [2**32 + 1], "none of them empty"),
    ],
)
def test_columns_whose_sums_could_wrap_around_are_refused(
    codes: list[int], counts: list[int], starts: list[int], cells: list[int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        RunLengthColumns(*map(np.array, (codes, counts, starts, cells)))


def test_columns_whose_sizes_wrap_around_are_refused() -> None:
    """2**18 counts of 2**45 each: in 64 bits they add up to less than nothing."""
    codes = np.arange(2**18)
    with pytest.raises(ValueError, match="positive"):
        RunLengthColumns(codes, np.full(len(codes), LARGEST_SIZE), np.array([0, len(codes)]), np.array([2**18]))


def test_columns_of_about_so_many_runs_are_worked_on_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_module, "CHUNK_RUNS", 10)
    columns = [RunLengthColumn(np.arange(runs), np.ones(runs, dtype=np.int64)) for runs in (4, 6, 0, 11, 1, 9, 1)]
    assert list(chunks(columns)) == [slice(0, 3), slice(3, 4), slice(4, 6), slice(6, 7)]
    assert list(chunks([])) == []
