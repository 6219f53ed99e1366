"""Smooth sensitivity of trimmed means and variances in O(K log K), K the number of distinct codes.

That of means is exact; that of variances is a smooth upper bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.core.sensitivity.columns import (
    Floats,
    Integers,
    RankSums,
    RunLengthColumn,
    RunLengthColumns,
    end_to_end,
    ranges,
    to_floats,
)
from dpnb_columnar.core.sensitivity.search import DEEPEST, largest_distance, prune_values

# Trimmed means: exact smooth sensitivity.


def mean_smooth_sensitivity(column: RunLengthColumn, trim: int, cells: int, beta: float) -> float:
    """Search one column as ``mean_smooth_sensitivities`` searches many."""
    return mean_smooth_sensitivities(end_to_end([column], [cells]), np.array([trim]), np.array([beta]))[0]


def mean_smooth_sensitivities(columns: RunLengthColumns, trim: Integers, beta: Floats) -> list[float]:
    """Smooth sensitivities of the trimmed means of columns of public size, under substitution of one value.

    With N values x_1 <= ... <= x_N of a column, m = ``trim``, w = N - 2m, x_i = 0 for i < 1 and x_i = ``cells`` for
    i > N, the local sensitivity at distance k is (Bun and Steinke 2019, after Nissim, Raskhodnikova and Smith 2007)

        A^k = max over l = 0..k+1 of (x_{N-m+1+k-l} - x_{m+1-l}) / w,

    and the smooth sensitivity is the maximum over k >= 0 of exp(-beta k) A^k. With j = k - l this is the maximum over
    l >= 0, j >= -1, j + l >= 0 of exp(-beta (j+l)) (b_j - a_l) / w, b_j = x_{N-m+1+j}, a_l = x_{m+1-l}. Within a run of
    equal values only its first index can win. For j >= 0, log(b_j - a_l) - log(b_i - a_l) with b_j > b_i falls as a_l
    falls, so the best j falls as l grows and each half of the rows searches its own part of the matrix's columns.

    Needed: N - 2m >= 1, and beta from ``search_beta``. The results, confidential, are in codes, within a factor
    (1 +- 2**-32) of the exact ones (see ``search``), never below exp(-512) * cells / w.
    """
    size, cells = columns.size, columns.cells
    # A candidate at k = 0 is b_0 - a_0.
    near = largest_distance(columns, (trim + 1, size - trim + 1), 1, beta)
    columns = prune_values(columns, trim, near)
    right = _tails(columns, size - trim + 1)
    mirrored = _tails(columns.reflected(), size - trim)
    left = replace(mirrored, codes=cells[mirrored.owner] - mirrored.codes)
    best = np.array([math.log(last) - DEEPEST for last in cells.tolist()])
    best = np.maximum(best, _adjacent(columns.value(size - trim), left, beta))
    best = np.maximum(best, _monotone_maximum(left, right, cells, beta))
    windows = (size - 2 * trim).tolist()
    return [math.exp(logarithm) / window for logarithm, window in zip(best.tolist(), windows, strict=True)]


@dataclass(frozen=True)
class _Tails:
    """Candidates of every column: its distinct values from a rank on, and behind them a bound of the domain.

    Codes and distances are floats, exactly: codes are at most 2**32, distances at most 2**45, and so are their
    differences and sums below 2**53.

    Attributes:
        codes: Shape (candidates,), all rising within a column, or all falling.
        distance: Shape (candidates,): how far from the rank the first value of this code is.
        owner: Shape (candidates,): the column of each, not falling.
    """

    codes: Floats
    distance: Floats
    owner: Integers
    columns: int

    @cached_property
    def sizes(self) -> Integers:
        """Number of candidates of every column."""
        return np.bincount(self.owner, minlength=self.columns)

    @cached_property
    def starts(self) -> Integers:
        """First candidate of every column."""
        return np.cumsum(self.sizes) - self.sizes

    def only(self, kept: NDArray[np.bool_]) -> _Tails:
        """Leave candidates out."""
        return _Tails(self.codes[kept], self.distance[kept], self.owner[kept], self.columns)


def _tails(columns: RunLengthColumns, rank: Integers) -> _Tails:
    """List the values from a rank on, 1 to a column's size and one beyond; the bound is ``cells``."""
    first = columns.before + rank
    run = np.searchsorted(columns.ends, first)
    sizes = columns.starts[1:] - run + 1
    bound = np.cumsum(sizes) - 1
    owner = np.repeat(np.arange(len(columns)), sizes)
    taken = np.minimum(ranges(run, sizes), len(columns.codes) - 1)
    codes, start = columns.codes[taken], columns.ends[taken] - columns.counts[taken] + 1
    distance = np.maximum(start - first[owner], 0)
    codes[bound], distance[bound] = columns.cells, columns.size - rank + 1
    return _Tails(codes.astype(np.float64), distance.astype(np.float64), owner, len(columns))


def _adjacent(last: Integers, left: _Tails, beta: Floats) -> Floats:
    """Search the part j = -1: log max over l >= 1 of exp(-beta (l - 1)) (x_{N-m} - a_l), x_{N-m} being ``last``."""
    # A run that starts before l = 1 is still there at l = 1 unless l = 0 was all of it; then the next run starts at 1.
    following = np.append(left.distance[1:], np.inf)
    following[left.starts[1:] - 1] = np.inf
    score = _score(last[left.owner] - left.codes, np.maximum(left.distance, 1) - 1, beta[left.owner])
    return np.maximum.reduceat(np.where(following > 1, score, -np.inf), left.starts)


def _monotone_maximum(left: _Tails, right: _Tails, cells: Integers, beta: Floats) -> Floats:
    """Compute the part j >= 0: log of the maximum over (l, j) of exp(-beta (l + j)) (b_j - a_l).

    Rows are the candidates of the left tail. Level by level, the middle row of every gap between rows already searched
    is searched between the best columns of its two neighbours, all gaps of all matrices at once.
    """
    bound = _first_look(left, right, beta)
    # A row or column that cannot beat this even against the opposite bound of the domain is left out; what remains of
    # a totally monotone matrix is totally monotone.
    owner = left.owner
    rows = left.only(_score(cells[owner] - left.codes, left.distance, beta[owner]) >= bound[owner])
    columns = right.only(_score(right.codes, right.distance, beta[right.owner]) >= bound[right.owner])
    height, width = np.where(columns.sizes > 0, rows.sizes, 0), columns.sizes
    # Every matrix has places for its rows, counted from 1, and a sentinel on either side: columns that the best of a
    # row lies between. Before row 1 it is the last column, beyond the last row column 0.
    place = np.cumsum(height + 2) - height - 2
    best = np.zeros(int((height + 2).sum()), dtype=np.int64)
    best[place] = width - 1
    stride = 1 << (int(height.max()).bit_length() - 1) if height.any() else 0
    while stride:
        searched = (height // stride + 1) // 2
        matrix = np.repeat(np.arange(len(height)), searched)
        row = stride * (2 * ranges(np.zeros_like(searched), searched) + 1)
        low = best[place[matrix] + np.minimum(row + stride, height[matrix] + 1)]
        sizes = best[place[matrix] + row - stride] - low + 1
        start = np.cumsum(sizes) - sizes
        candidate = ranges(columns.starts[matrix] + low, sizes)
        origin = np.repeat(rows.starts[matrix] + row - 1, sizes)
        distance = rows.distance[origin] + columns.distance[candidate]
        score = _score(columns.codes[candidate] - rows.codes[origin], distance, beta[columns.owner[candidate]])
        top = np.maximum.reduceat(score, start)
        np.maximum.at(bound, matrix, top)
        winner = np.flatnonzero(score == np.repeat(top, sizes))
        best[place[matrix] + row] = candidate[winner[np.searchsorted(winner, start)]] - columns.starts[matrix]
        stride //= 2
    return bound


def _first_look(left: _Tails, right: _Tails, beta: Floats) -> Floats:
    """Score the nearest value of either tail against all of the other, and both bounds against each other."""
    farthest_left, farthest_right = left.starts + left.sizes - 1, right.starts + right.sizes - 1
    rising = _score(right.codes - left.codes[left.starts][right.owner], right.distance, beta[right.owner])
    falling = _score(right.codes[right.starts][left.owner] - left.codes, left.distance, beta[left.owner])
    bounds = _score(
        right.codes[farthest_right] - left.codes[farthest_left],
        left.distance[farthest_left] + right.distance[farthest_right],
        beta,
    )
    tops = np.maximum.reduceat(rising, right.starts), np.maximum.reduceat(falling, left.starts)
    return np.maximum(np.maximum(*tops), bounds)


def _score(difference: Floats, distance: Floats, beta: Floats) -> Floats:
    """Compute log(difference) - beta * distance, minus infinity where the difference is zero."""
    with np.errstate(divide="ignore"):
        score: Floats = np.log(difference) - beta * distance
    return score


# Trimmed variances: a smooth upper bound.

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

    Needed: N - 2m >= 2, and beta from ``search_beta``. The results, confidential, are in squared codes, within a factor
    (1 +- 2**-32) of the bounds above, never below exp(-512) * cells^2 * (w-1)/w^2.
    """
    # Since M_0^+ >= M_0^-, one of the two deviations at k = 0 is at least half of B_0 - A_0; scores are of its square.
    near = largest_distance(columns, (trim, columns.size - trim + 1), 0.5, beta / 2)
    columns = prune_values(columns, trim, near)
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
        total = sums.prefix_sums(last[column] - distance, column) - sums.prefix_sums(below, column)
        top = sums.split(columns.value(size[column] - below + 1, column))
        wide: Integers = top * (last - trim)[column] - total  # w - 1 = N - 2m - 1
        return wide

    def score(distance: Integers, column: Integers) -> Floats:
        with np.errstate(divide="ignore"):
            scores: Floats = 2 * np.log(to_floats(deviation(distance, column))) - beta[column] * distance
        return scores

    best = widest - DEEPEST
    for distance in (nothing, trim, last):
        best = np.maximum(best, score(distance, every))
    deepest = np.minimum(np.ceil((widest - best) / beta).astype(np.int64), last)

    start, owner = _pieces(columns, trim, deepest)
    first_of_column = np.append(True, owner[1:] != owner[:-1])
    end = np.where(np.append(first_of_column[1:], True), deepest[owner], np.append(start[1:], 0) - 1)
    first = deviation(start, owner)
    rise = to_floats(deviation(end, owner) - first)
    with np.errstate(divide="ignore", invalid="ignore"):
        stationary = 2 / beta[owner] - to_floats(first) * (end - start) / rise
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
