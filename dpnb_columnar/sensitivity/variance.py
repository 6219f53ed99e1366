"""A smooth upper bound on the sensitivity of trimmed variances, in O(K log K) from run lengths."""

from __future__ import annotations

import math

import numpy as np

from dpnb_columnar.sensitivity.column import Integers, RunLengthColumn
from dpnb_columnar.sensitivity.columns import Floats, RankSums, RunLengthColumns, end_to_end, rounded
from dpnb_columnar.sensitivity.search import DEEPEST, farthest, shortened

RANK_BITS = 46
"""Bits of a rank, so that a column and a rank within it are one number to sort by."""


def variance_smooth_bound(column: RunLengthColumn, trim: int, cells: int, beta: float) -> float:
    """Search one column as ``variance_smooth_bounds`` searches many."""
    return variance_smooth_bounds(end_to_end([column], [cells]), np.array([trim]), np.array([beta]))[0]


def variance_smooth_bounds(columns: RunLengthColumns, trim: Integers, beta: Floats) -> list[float]:
    """beta-smooth upper bounds on the local sensitivity of trimmed variances, under substitution of one value.

    With the notation of ``mean_smooth_sensitivities``: if one element p of the window becomes q and M is the mean of
    the other w - 1, the variance moves by (w-1)/w^2 * ((q-M)^2 - (p-M)^2). At distance k, p and q lie between A_k =
    x_{m-k} and B_k = x_{N-m+1+k}, and M between the mean M_k^- of x_{m+1-k}..x_{N-m-1-k} and the mean M_k^+ of
    x_{m+2+k}..x_{N-m+k}; so it moves by at most (w-1)/w^2 * max((B_k - M_k^-)^2, (M_k^+ - A_k)^2). Each of the four
    is an extreme over the ball of radius k, hence the bound at k for a neighbour is at most the bound at k+1 here,
    and the maximum over k of exp(-beta k) times the bound is beta-smooth. It never exceeds (w-1)/w^2 * cells^2.

    Args:
        columns: N values each. Confidential.
        trim: Shape (columns,): m >= 0 with N - 2m >= 2. Public.
        beta: Shape (columns,): from ``searched_beta``. Public.

    Returns:
        S of every column in squared codes, within a factor (1 +- 2**-32) of the bound above, never below
        exp(-512) * cells^2 * (w-1)/w^2. Confidential.
    """
    # Since M_0^+ >= M_0^-, one of the two deviations at k = 0 is at least half of B_0 - A_0; scores are of its square.
    near = farthest(columns, (trim, columns.size - trim + 1), 0.5, beta / 2)
    columns = shortened(columns, trim, near)
    windows = (columns.size - 2 * trim).tolist()
    widest = np.array(
        [2 * math.log((window - 1) * last) for window, last in zip(windows, columns.cells.tolist(), strict=True)]
    )
    sides = (columns, columns.reflected())
    best = np.maximum(*(_largest_deviations(side, trim, beta, widest) for side in sides)).tolist()
    return [
        math.exp(score - 2 * math.log(window) - math.log(window - 1))
        for score, window in zip(best, windows, strict=True)
    ]


def _largest_deviations(columns: RunLengthColumns, trim: Integers, beta: Floats, widest: Floats) -> Floats:
    """Maximum over k >= 0 of 2 log(D_k) - beta k, D_k = (w-1) (B_k - M_k^-), an integer; at least widest - DEEPEST.

    D_k = (w-1) x_{N-m+1+k} - (x_{m+1-k} + ... + x_{N-m-1-k}). Between the k at which an end of the sum or B_k passes
    from one run to the next, D_k is linear in k, and 2 log(D_k) - beta k concave: its maximum over the integers of such
    a piece is at an end or beside the stationary point D_k / slope = 2 / beta. Pieces are looked at up to the k from
    which on even the ``widest`` deviation there is, (w-1) * cells, cannot beat what was found.
    """
    size = columns.size
    last = size - trim - 1  # from here on the sum is empty and D constant
    every, nothing = np.arange(len(columns)), np.zeros_like(trim)

    sums = RankSums(columns)

    def deviation(distance: Integers, column: Integers) -> Integers:
        below = trim[column] - distance
        total = sums.to(last[column] - distance, column) - sums.to(below, column)
        top = sums.split(columns.value(size[column] - below + 1, column))
        wide: Integers = top * (last - trim)[column] - total  # w - 1 = N - 2m - 1
        return wide

    def score(distance: Integers, column: Integers) -> Floats:
        with np.errstate(divide="ignore"):
            scores: Floats = 2 * np.log(rounded(deviation(distance, column))) - beta[column] * distance
        return scores

    best = widest - DEEPEST
    for distance in (nothing, trim, last):
        best = np.maximum(best, score(distance, every))
    deepest = np.minimum(np.ceil((widest - best) / beta).astype(np.int64), last)

    start, owner = _pieces(columns, trim, deepest)
    first_of_column = np.append(True, owner[1:] != owner[:-1])
    end = np.where(np.append(first_of_column[1:], True), deepest[owner], np.append(start[1:], 0) - 1)
    first = deviation(start, owner)
    rise = rounded(deviation(end, owner) - first)
    with np.errstate(divide="ignore", invalid="ignore"):
        stationary = 2 / beta[owner] - rounded(first) * (end - start) / rise
    stationary = np.where(rise > 0, np.clip(stationary, 0, end - start), 0)
    inner = start + stationary.astype(np.int64)
    for distance in (start, end, inner, np.minimum(inner + 1, end)):
        scores = np.maximum.reduceat(score(distance, owner), np.flatnonzero(first_of_column))
        best = np.maximum(best, scores)
    return best


def _pieces(columns: RunLengthColumns, trim: Integers, deepest: Integers) -> tuple[Integers, Integers]:
    """List the k from 0 to ``deepest`` at which a piece begins, rising within a column, and their columns."""
    owner, size = columns.owner, columns.size
    every, last = np.arange(len(columns)), size - trim - 1
    ends = columns.ends - columns.before[owner]
    families = [
        *((np.zeros_like(trim), every), (trim, every), (last, every)),
        *((last[owner] - ends, owner), (trim[owner] - ends, owner), (ends + (trim - size)[owner], owner)),
    ]
    keys = []
    for distance, column in families:
        near = (distance >= 0) & (distance <= deepest[column])
        keys.append((column[near] << RANK_BITS) + distance[near])
    key = np.unique(np.concatenate(keys))
    return key & (2**RANK_BITS - 1), key >> RANK_BITS
