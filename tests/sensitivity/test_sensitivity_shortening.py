"""A search that leaves out what it cannot meet finds what it finds in the whole column, to the last bit."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from dpnb_columnar.core.sensitivity import (
    RunLengthColumn,
    RunLengthColumns,
    mean_smooth_sensitivity,
    smooth_bounds,
    variance_smooth_bound,
)
from dpnb_columnar.core.sensitivity.columns import Integers
from dpnb_columnar.core.sensitivity.search import prune_values
from hypothesis import given, settings
from hypothesis import strategies as st

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
