"""The two smooth bounds in exact integers and balls, from their definitions and without the searches' shortcuts."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import accumulate

import numpy as np
from flint import arb, ctx, fmpq, fmpz

from dpnb_columnar.sensitivity import RunLengthColumn

PRECISION = 256
"""Bits of every ball."""

PRUNED = 2.0**-35
"""By how much the branch and bound may miss a maximum, in the logarithm."""


@dataclass(frozen=True)
class Enclosure:
    """The logarithm of a positive number, known to lie in ``[low, high]``."""

    low: arb
    high: arb


def ball(value: Fraction | int) -> arb:
    exact = Fraction(value)
    return arb(fmpq(fmpz(exact.numerator), fmpz(exact.denominator)))


class Ranks:
    """Order statistics and their sums as Python integers, the domain's bounds beyond the ends."""

    def __init__(self, column: RunLengthColumn, cells: int) -> None:
        self.codes, counts = [int(code) for code in column.codes], [int(count) for count in column.counts]
        self.ends = list(accumulate(counts))
        self.sums = [0, *accumulate(code * count for code, count in zip(self.codes, counts, strict=True))]
        self.size, self.cells = self.ends[-1], cells

    def value(self, rank: int) -> int:
        if rank < 1:
            return 0
        return self.cells if rank > self.size else self.codes[bisect_left(self.ends, rank)]

    def total(self, first: int, last: int) -> int:
        """x_first + ... + x_last."""
        return self._up_to(last) - self._up_to(first - 1)

    def _up_to(self, rank: int) -> int:
        if rank < 1:
            return 0
        if rank > self.size:
            return self.sums[-1] + (rank - self.size) * self.cells
        run = bisect_left(self.ends, rank)
        return self.sums[run + 1] - (self.ends[run] - rank) * self.codes[run]


def exact_mean_sensitivity(column: RunLengthColumn, trim: int, cells: int, beta: Fraction) -> Enclosure:
    """max over l >= 0, j >= -1, j + l >= 0 of exp(-beta (j + l)) (x_{N-m+1+j} - x_{m+1-l}) / w, every pair of runs.

    Fewer steps to the same two values are never worse, so l and j are tried where their value changes, and at 0 and 1.
    """
    ranks = Ranks(column, cells)
    size, window = ranks.size, ranks.size - 2 * trim
    left = {0, 1, trim + 1, *(trim + 1 - end for end in ranks.ends if end <= trim)}
    right = {-1, 0, trim, *(end - size + trim for end in ranks.ends if end >= size - trim)}
    widest: dict[int, int] = {}
    for low in left:
        for high in right:
            if low + high >= 0:
                width = ranks.value(size - trim + 1 + high) - ranks.value(trim + 1 - low)
                widest[low + high] = max(widest.get(low + high, 0), width)
    with ctx.workprec(PRECISION):
        found = [(ball(width) / window).log() - ball(beta) * k for k, width in widest.items() if width]
        best = reduce(lambda one, two: two if two > one else one, found)
        return _floored(Enclosure(best, best), Fraction(cells, window))


def exact_variance_bound(column: RunLengthColumn, trim: int, cells: int, beta: Fraction) -> Enclosure:
    """max over k of exp(-beta k) (w-1)/w^2 max((B_k - M_k^-)^2, (M_k^+ - A_k)^2), every k from 0 to N.

    Of the deviations it is used only that they grow with k: between a and b no k does better than the deviation of b at
    the discount of a. What cannot beat the best by more than ``PRUNED`` is left alone, the rest is halved.
    """
    ranks = Ranks(column, cells)
    size, window = ranks.size, ranks.size - 2 * trim

    def above(k: int) -> int:
        others = ranks.total(trim + 1 - k, size - trim - 1 - k)
        return (window - 1) * ranks.value(size - trim + 1 + k) - others

    def below(k: int) -> int:
        others = ranks.total(trim + 2 + k, size - trim + k)
        return others - (window - 1) * ranks.value(trim - k)

    with ctx.workprec(PRECISION):
        best, high = max(
            (_largest(deviation, size, beta) for deviation in (above, below)), key=lambda pair: float(pair[0])
        )
        unit = 2 * ball(window).log() + ball(window - 1).log()
        return _floored(Enclosure(best - unit, high - unit), Fraction((window - 1) * cells**2, window**2))


def _largest(deviation: Callable[[int], int], last: int, beta: Fraction) -> tuple[arb, arb]:
    """2 log D_k - beta k at the best k there is between 0 and ``last``, and an upper bound on all of them."""
    rate, slack = float(beta), PRUNED / 2  # half of it covers the error of floats below 2**11: 2**-42 at the most

    def score(k: int) -> float:
        widths = deviation(k)
        return 2 * math.log(widths) - rate * k if widths else -math.inf

    first = {*range(min(last, 2) + 1), last, *(min(last, 2**power) for power in range(46))}
    best, place = max((score(k), k) for k in first)
    waiting = [(0, last)]
    while waiting:
        low, high = waiting.pop()
        wide = deviation(high)
        if not wide or 2 * math.log(wide) - rate * low <= best + slack:
            continue
        middle = (low + high) // 2
        best, place = max((best, place), *((score(k), k) for k in {low, middle, high}))
        if low < high:
            waiting += [(middle + 1, high), (low, middle)]
    exact = 2 * ball(deviation(place)).log() - ball(beta) * place
    return exact, exact + PRUNED


def _floored(found: Enclosure, sensitivity: Fraction) -> Enclosure:
    """Not below exp(-512) times the global sensitivity, a public constant."""
    floor = ball(sensitivity).log() - 512
    return found if found.low > floor else Enclosure(floor, arb(floor) if floor > found.high else found.high)


def substituted(column: RunLengthColumn, old: int, new: int) -> RunLengthColumn:
    """The column with one value of code ``old`` replaced by one of code ``new``."""
    counts = {int(code): int(count) for code, count in zip(column.codes, column.counts, strict=True)}
    counts[old] -= 1
    counts[new] = counts.get(new, 0) + 1
    return runs_of(counts)


def runs_of(counts: dict[int, int]) -> RunLengthColumn:
    codes = sorted(code for code, count in counts.items() if count)
    return RunLengthColumn(*(np.array(part, dtype=np.int64) for part in (codes, [counts[code] for code in codes])))
