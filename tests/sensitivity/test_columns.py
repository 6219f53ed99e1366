"""Columns in run-length form, and their moments, are those of the values that they stand for, exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from dpnb_columnar.core.sensitivity import RunLengthColumn, end_to_end, trimmed_means, trimmed_variances
from dpnb_columnar.core.sensitivity.columns import LARGEST_CODE, RunLengthColumns, weighted_sum
from dpnb_columnar.core.sensitivity.moments import squared_codes, squares_shift

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
