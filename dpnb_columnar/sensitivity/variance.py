"""A smooth upper bound on the sensitivity of the trimmed variance, in O(K log K) from run lengths."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.sensitivity.column import LIMB_BITS, Integers, RunLengthColumn, limbs
from dpnb_columnar.sensitivity.search import DEEPEST, farthest, shortened

Floats = NDArray[np.float64]


def variance_smooth_bound(column: RunLengthColumn, trim: int, cells: int, beta: float) -> float:
    """A beta-smooth upper bound on the local sensitivity of the trimmed variance, under substitution of one value.

    With the notation of ``mean_smooth_sensitivity``: if one element p of the window becomes q and M is the mean of
    the other w - 1, the variance moves by (w-1)/w^2 * ((q-M)^2 - (p-M)^2). At distance k, p and q lie between A_k =
    x_{m-k} and B_k = x_{N-m+1+k}, and M between the mean M_k^- of x_{m+1-k}..x_{N-m-1-k} and the mean M_k^+ of
    x_{m+2+k}..x_{N-m+k}; so it moves by at most (w-1)/w^2 * max((B_k - M_k^-)^2, (M_k^+ - A_k)^2). Each of the four
    is an extreme over the ball of radius k, hence the bound at k for a neighbour is at most the bound at k+1 here,
    and the maximum over k of exp(-beta k) times the bound is beta-smooth. It never exceeds (w-1)/w^2 * cells^2.

    Args:
        column: N values, codes in ``0..cells``. Confidential.
        trim: m >= 0 with N - 2m >= 2. Public.
        cells: Largest code, 1 to 2**32. Public.
        beta: From ``searched_beta``. Public.

    Returns:
        S in squared codes, within a factor (1 +- 2**-32) of the bound above, never below
        exp(-512) * cells^2 * (w-1)/w^2. Confidential.
    """
    window = column.size - 2 * trim
    # Since M_0^+ >= M_0^-, one of the two deviations at k = 0 is at least half of B_0 - A_0; scores are of its square.
    near = farthest(column, (trim, column.size - trim + 1), 0.5, cells, beta / 2)
    column = shortened(column, trim, cells, near)
    reflected = RunLengthColumn(cells - column.codes[::-1], column.counts[::-1])
    floor = 2 * math.log((window - 1) * cells) - DEEPEST
    best = max(floor, *(_largest_deviation(side, trim, cells, beta, floor) for side in (column, reflected)))
    return math.exp(best - 2 * math.log(window) - math.log(window - 1))


def _largest_deviation(column: RunLengthColumn, trim: int, cells: int, beta: float, floor: float) -> float:
    """Maximum over k >= 0 of 2 log(D_k) - beta k, D_k = (w-1) (B_k - M_k^-), an integer.

    D_k = (w-1) x_{N-m+1+k} - (x_{m+1-k} + ... + x_{N-m-1-k}). Between the k at which an end of the sum or B_k passes
    from one run to the next, D_k is linear in k, and 2 log(D_k) - beta k concave: its maximum over the integers of such
    a piece is at an end or beside the stationary point D_k / slope = 2 / beta. Pieces are looked at up to the k from
    which on even the widest deviation there is, (w-1) * cells, cannot beat what was found.
    """
    ranks = _Ranks(column, cells)
    size, window = column.size, column.size - 2 * trim
    last = size - trim - 1  # from here on the sum is empty and D constant

    def deviation(distance: Integers) -> Integers:
        total = ranks.sum_to(last - distance) - ranks.sum_to(trim - distance)
        return ranks.value(size - trim + 1 + distance) * (window - 1) - total

    def score(distance: Integers) -> float:
        with np.errstate(divide="ignore"):
            return float(np.max(2 * np.log(_rounded(deviation(distance))) - beta * distance))

    best = max(floor, score(np.array([0, trim, last], dtype=np.int64)))
    widest = 2 * math.log((window - 1) * cells)
    deepest = min(math.ceil((widest - best) / beta), last)
    ends = ranks.ends
    breaks = np.concatenate([[0, trim, last], last - ends, trim - ends, ends + trim - size])
    start = np.unique(breaks[(breaks >= 0) & (breaks <= deepest)])
    end = np.append(start[1:] - 1, deepest)
    first = deviation(start)
    rise = _rounded(deviation(end) - first)
    with np.errstate(divide="ignore", invalid="ignore"):
        stationary = 2 / beta - _rounded(first) * (end - start) / rise
    stationary = np.where(rise > 0, np.clip(stationary, 0, end - start), 0)
    inner = start + stationary.astype(np.int64)
    return max(best, score(np.concatenate([start, end, inner, np.minimum(inner + 1, end)])))


class _Ranks:
    """Values and sums of a run-length column by rank, counted from 1, with the domain's bounds beyond the ends.

    Both are wide integers, up to 2**77: shape (2, n), int64, ``high`` and ``low`` of ``high * 2**16 + low``. Neither
    part wraps around. A limb is at most 2**16, a column has at most 2**45 values, and every number made of them here is
    a code, a sum of codes, a code times at most w - 1, or the difference of two of these: at most 2**61 in each part.
    """

    def __init__(self, column: RunLengthColumn, cells: int) -> None:
        codes = np.stack(limbs(column.codes))
        self.ends = column.ends
        self._starts = np.concatenate([[0], self.ends])
        self._codes = np.concatenate([codes, [[cells >> LIMB_BITS], [cells & (2**LIMB_BITS - 1)]]], axis=1)
        self._sums = np.concatenate([[[0], [0]], np.cumsum(codes * column.counts, axis=1)], axis=1)

    def value(self, rank: Integers) -> Integers:
        """x_rank for rank >= 1; ``cells`` beyond the last."""
        return self._codes[:, np.searchsorted(self.ends, rank)]

    def sum_to(self, rank: Integers) -> Integers:
        """x_1 + ... + x_rank, for any rank up to the last; values before the first are zero."""
        rank = np.maximum(rank, 0)
        run = np.searchsorted(self.ends, rank)
        sums: Integers = self._sums[:, run] + (rank - self._starts[run]) * self._codes[:, run]
        return sums


def _rounded(wide: Integers) -> Floats:
    """Wide integers that are not negative as floats: after the carry neither part is, so nothing cancels.

    Args:
        wide: Shape (2, n), as in ``_Ranks``.
    """
    high, low = wide
    floats: Floats = (high + (low >> LIMB_BITS)).astype(np.float64) * 2.0**LIMB_BITS + (low & (2**LIMB_BITS - 1))
    return floats
