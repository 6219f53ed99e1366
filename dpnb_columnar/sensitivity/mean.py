"""Exact smooth sensitivity of the trimmed mean in O(K log K), K the number of distinct codes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.sensitivity.column import Integers, RunLengthColumn
from dpnb_columnar.sensitivity.search import DEEPEST, farthest, shortened

Floats = NDArray[np.float64]


def mean_smooth_sensitivity(column: RunLengthColumn, trim: int, cells: int, beta: float) -> float:
    """Smooth sensitivity of the trimmed mean of a column of public size, under substitution of one value.

    With N values x_1 <= ... <= x_N, m = ``trim``, w = N - 2m, x_i = 0 for i < 1 and x_i = ``cells`` for i > N, the
    local sensitivity at distance k is (Bun and Steinke 2019, after Nissim, Raskhodnikova and Smith 2007)

        A^k = max over l = 0..k+1 of (x_{N-m+1+k-l} - x_{m+1-l}) / w,

    and the smooth sensitivity is the maximum over k >= 0 of exp(-beta k) A^k. With j = k - l this is the maximum over
    l >= 0, j >= -1, j + l >= 0 of exp(-beta (j+l)) (b_j - a_l) / w, b_j = x_{N-m+1+j}, a_l = x_{m+1-l}. Within a run of
    equal values only its first index can win. For j >= 0, log(b_j - a_l) - log(b_i - a_l) with b_j > b_i falls as a_l
    falls, so the best j falls as l grows and each half of the rows searches its own part of the columns.

    Args:
        column: N >= 1 values, codes in ``0..cells``. Confidential.
        trim: m >= 0 with N - 2m >= 1. Public.
        cells: Largest code, 1 to 2**32. Public.
        beta: From ``searched_beta``. Public.

    Returns:
        S in codes, within a factor (1 +- 2**-32) of the exact one (see ``accuracy``), never below
        exp(-512) * cells / w. Confidential.
    """
    window = column.size - 2 * trim
    # A candidate at k = 0 is b_0 - a_0.
    near = farthest(column, (trim + 1, column.size - trim + 1), 1, cells, beta)
    column = shortened(column, trim, cells, near)
    left, left_distance = _left_tail(column, trim)
    right, right_distance = _right_tail(column, trim, cells)
    floor = math.log(cells) - DEEPEST
    best = max(
        floor,
        _adjacent(column, trim, left, left_distance, beta),
        _monotone_maximum(left, left_distance, right, right_distance, cells, beta),
    )
    return math.exp(best) / window


def _left_tail(column: RunLengthColumn, trim: int) -> tuple[Floats, Floats]:
    """Distinct a_l, falling, with the first l of each: from x_{m+1} down to the bound, code 0, at l = m + 1."""
    ends = column.ends
    reached = ends - column.counts <= trim
    distance = trim + 1 - np.minimum(ends[reached], trim + 1)
    return _with_bound(column.codes[reached][::-1], distance[::-1], 0, trim + 1)


def _right_tail(column: RunLengthColumn, trim: int, cells: int) -> tuple[Floats, Floats]:
    """Distinct b_j, rising, with the first j of each: from x_{N-m+1} up to the bound, code ``cells``, at j = m."""
    ends = column.ends
    first = column.size - trim + 1
    reached = ends >= first
    distance = np.maximum((ends - column.counts)[reached] + 1, first) - first
    return _with_bound(column.codes[reached], distance, cells, trim)


def _with_bound(codes: Integers, distance: Integers, bound: int, bound_distance: int) -> tuple[Floats, Floats]:
    """Codes and distances as floats, with the domain's bound as the last candidate.

    Exact: codes are at most 2**32, distances at most 2**45, and so are their differences and sums below 2**53.
    """
    return np.append(codes, bound).astype(np.float64), np.append(distance, bound_distance).astype(np.float64)


def _adjacent(column: RunLengthColumn, trim: int, left: Floats, distance: Floats, beta: float) -> float:
    """The part j = -1: log of the maximum over l >= 1 of exp(-beta (l - 1)) (x_{N-m} - a_l)."""
    last = column.codes[np.searchsorted(column.ends, column.size - trim)]
    # A run that starts before l = 1 is still there at l = 1 unless l = 0 was all of it; then the next run starts at 1.
    following = np.append(distance[1:], np.inf)
    alive = following > 1
    return float(np.max(_score(last - left[alive], np.maximum(distance[alive], 1) - 1, beta)))


def _monotone_maximum(
    left: Floats, left_distance: Floats, right: Floats, right_distance: Floats, cells: int, beta: float
) -> float:
    """The part j >= 0: log of the maximum over (l, j) of exp(-beta (l + j)) (b_j - a_l).

    Rows are the candidates of the left tail. Level by level, the middle row of every gap between rows already searched
    is searched between the best columns of its two neighbours, all gaps at once.
    """
    bound = max(
        float(np.max(_score(right - left[0], right_distance, beta))),
        float(np.max(_score(right[0] - left, left_distance, beta))),
        float(_score(right[-1] - left[-1], left_distance[-1] + right_distance[-1], beta)),
    )
    # A row or column that cannot beat this even against the opposite bound of the domain is left out; what remains of
    # a totally monotone matrix is totally monotone.
    rows = _score(cells - left, left_distance, beta) >= bound
    columns = _score(right, right_distance, beta) >= bound
    left, left_distance = left[rows], left_distance[rows]
    right, right_distance = right[columns], right_distance[columns]
    if not len(left) or not len(right):
        return bound
    best = np.zeros(len(left) + 2, dtype=np.int64)
    best[0] = len(right) - 1  # sentinel before row 1; rows beyond the last keep column 0
    stride = 1 << (len(left).bit_length() - 1)
    while stride:
        row = np.arange(stride, len(left) + 1, 2 * stride)
        low, high = best[np.minimum(row + stride, len(left) + 1)], best[row - stride]
        start = np.concatenate([[0], np.cumsum(high - low + 1)])
        column = np.arange(start[-1]) + np.repeat(low - start[:-1], high - low + 1)
        origin = np.repeat(row - 1, high - low + 1)
        score = _score(right[column] - left[origin], left_distance[origin] + right_distance[column], beta)
        top = np.maximum.reduceat(score, start[:-1])
        bound = max(bound, float(np.max(top)))
        winner = np.flatnonzero(score == np.repeat(top, high - low + 1))
        best[row] = column[winner[np.searchsorted(winner, start[:-1])]]
        stride //= 2
    return bound


def _score(difference: Floats, distance: Floats, beta: float) -> Floats:
    """log(difference) - beta * distance, minus infinity where the difference is zero."""
    with np.errstate(divide="ignore"):
        score: Floats = np.log(difference) - beta * distance
    return score
