"""Columns that are searched together get the bits that each gets alone, and what a batch is made of is checked."""

from __future__ import annotations

import numpy as np
import pytest
from dpnb_columnar.core.sensitivity import (
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
from dpnb_columnar.core.sensitivity import columns as columns_module
from dpnb_columnar.core.sensitivity.columns import LARGEST_SIZE
from dpnb_columnar.core.sensitivity.moments import rounded_deviations, squared_codes
from hypothesis import given, settings
from hypothesis import strategies as st

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
        ([1, 4], [1, 1], [0, 2], [3], "rise from 0"),
        ([1, -1], [1, 1], [0, 1, 2], [3, 3], "rise from 0"),
        ([1, 2], [1, 0], [0, 1, 2], [3, 3], "positive"),
        ([1, 2], [1, LARGEST_SIZE], [0, 2], [3], "positive"),
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
