"""Figures of noisy counts with confidence intervals that hold both the noise and the sampling of rows. Public.

Every figure is a number a for which a sum T(a) of noisy counts, each weighted by how far its rows are above or below a,
has the mean 0: of accuracy, (1 - a) times the rows that are predicted correctly, less a times the others. The interval
holds the a for which

    T(a)^2 <= q^2 (V(a) + K^2 N(a)),

q the normal quantile, V the variance of T that the sampling of rows causes, N that of the noise. That is Wilson's
interval where there is no noise, and Fieller's (1954) where the number of rows is as uncertain as the figure. Both
sides are squares in a, so the ends are roots; where no a can be excluded on a side, the interval goes to the end of
[0, 1]. Noise of few counts has longer tails than the normal distribution: K is what the 95 % quantile of one Laplace
variable exceeds the normal one by, in standard deviations, and is more than sums need.
tests/model/test_score_figures.py measures the coverage.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from dpnb_columnar.model.intervals import LEVEL, QUANTILE, Interval

TAILS = (math.log(1 / (1 - LEVEL)) / math.sqrt(2) / QUANTILE) ** 2
"""K^2."""

UNLIMITED = (-math.inf, math.inf)
"""Limits of a figure that is not cut off."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its confidence interval. Public.

    Attributes:
        value: The figure; None where the noise leaves nothing to divide by.
        interval: Its ends; those of all possible values where the counts say nothing.
    """

    value: float | None
    interval: Interval

    def __str__(self) -> str:
        value = "none" if self.value is None else f"{self.value:.4f}"
        return f"{value} ({self.interval[0]:.4f} to {self.interval[1]:.4f})"


def count_variance(epsilon: float) -> float:
    """Compute the variance of Laplace noise of scale 1/epsilon that is rounded to whole numbers.

    Its size is k > 0 with probability (1 - r) r^(k - 1/2), for r = exp(-epsilon), so the variance is
    sqrt(r) (1 + r)/(1 - r)^2.

    Args:
        epsilon: Privacy loss of one row.
    """
    ratio, rest = math.exp(-epsilon), -math.expm1(-epsilon)
    return math.sqrt(ratio) * (1 + ratio) / rest**2


def exact_sum_interval(count: int, cells: int, variance: float) -> Interval:
    """Compute the ends between which the exact sum of noisy counts lies.

    Args:
        count: Sum of noisy counts.
        cells: How many counts it is the sum of.
        variance: Of the noise in a count.
    """
    half = QUANTILE * math.sqrt(TAILS * cells * variance)
    return max(count - half, 0.0), max(count + half, 0.0)


def proportion(
    hits: int,
    misses: int,
    cells: tuple[int, int],
    variance: float,
    limits: Interval = (0.0, 1.0),
    quantile: float = QUANTILE,
) -> Estimate:
    """Estimate the part of rows that are hits.

    T(a) = (1 - a) hits - a misses; V(a) = a (1 - a) rows, as in Wilson's interval.

    Args:
        hits: Sum of noisy counts.
        misses: Sum of noisy counts of the other rows.
        cells: How many counts each is the sum of.
        variance: Of the noise in a count.
        limits: Between which figure and interval are cut off; ``UNLIMITED`` for parts of a mean.
        quantile: That of the normal distribution; larger where the proportion was chosen among several.
    """
    rows, (own, other) = hits + misses, cells
    noise = TAILS * variance
    zero = hits**2 - quantile**2 * noise * own
    one = -2 * hits * rows - quantile**2 * (rows - 2 * noise * own)
    two = rows**2 - quantile**2 * (-rows + noise * (own + other))
    estimate = _estimate(hits, rows, (zero, one, two), limits)
    if limits != UNLIMITED:
        return estimate
    # Beyond 0 and 1 V is 0, not below it.
    noisy = _estimate(hits, rows, (zero, one + quantile**2 * rows, two - quantile**2 * rows), limits)
    lower = noisy.interval[0] if estimate.interval[0] < 0 else estimate.interval[0]
    upper = noisy.interval[1] if estimate.interval[1] > 1 else estimate.interval[1]
    return Estimate(estimate.value, (lower, upper))


def difference(
    won: int, lost: int, others: int, cells: tuple[int, int, int], variance: float, quantile: float = QUANTILE
) -> Estimate:
    """Estimate how much more rows one prediction has right than another one, as a part of all rows.

    T(a) = won - lost - a rows. V is the number of rows that one of both has right, and one more (``intervals``), at
    most: they are fewer than there are rows, whose part is left out of the variance.

    Args:
        won: Noisy number of rows that the first alone has right.
        lost: Noisy number of rows that the second alone has right.
        others: Noisy number of all other rows.
        cells: How many counts each is the sum of.
        variance: Of the noise in a count.
        quantile: As of ``proportion``.
    """
    rows, gained, noise = won + lost + others, won - lost, TAILS * variance
    zero = gained**2 - quantile**2 * (max(won + lost + 1, 1) + noise * (cells[0] + cells[1]))
    one = -2 * gained * rows + quantile**2 * 2 * noise * (cells[0] - cells[1])
    two = rows**2 - quantile**2 * noise * sum(cells)
    return _estimate(gained, rows, (zero, one, two), (-1.0, 1.0))


def largest_quantile(sizes: Sequence[int], cells: int, variance: float) -> float:
    """Return the normal quantile for figures of the largest class, which was chosen by its noisy size.

    Among k classes that may be the largest, the one that is overestimated most is chosen: so each of k intervals has
    the level 1 - (1 - LEVEL)/k. Of two classes one proportion is one less the other, and both intervals hold the truth
    or neither does.

    Args:
        sizes: Noisy number of rows of each class.
        cells: How many counts each is the sum of.
        variance: Of the noise in a count.
    """
    if len(sizes) == 2:
        return QUANTILE
    largest = max(sizes)
    reach = _quantile(len(sizes))
    possible = sum(
        largest - size <= reach * math.sqrt(2 * TAILS * cells * variance + max(largest, 0) + max(size, 0))
        for size in sizes
    )
    return _quantile(possible)


def _quantile(intervals: int) -> float:
    """Return the normal quantile of this many intervals that hold the truth together."""
    return NormalDist().inv_cdf(1 - (1 - LEVEL) / (2 * intervals))


def area(negative: Sequence[int], positive: Sequence[int], variance: float) -> Estimate:
    """Estimate the area under the ROC curve of noisy counts in rising bins; rows of one bin count as tied.

    With N negative and P positive rows, n and p of them in a bin, N' and P' in the bins below and above: T(a) is the
    sum of p A, A = N' + n/2 - a N, and as well the sum of n B, B = P' + p/2 - a P. It is bilinear in the counts, whose
    noise is independent, so its mean is that without noise. V is the sum of p A^2 and of n B^2 (DeLong, DeLong and
    Clarke-Pearson 1988), N(a) the noise's variance times the sum of all A^2 and B^2.

    Args:
        negative: Noisy counts of the one class, by bin.
        positive: Noisy counts of the other.
        variance: Of the noise in a count.
    """
    n, p = np.array(negative, dtype=np.float64), np.array(positive, dtype=np.float64)
    below, above = np.cumsum(n) - n / 2, p.sum() - np.cumsum(p) + p / 2
    pairs, noise = float(n.sum() * p.sum()), TAILS * variance
    ranked = float(p @ below)
    zero, one, two = ranked**2, -2 * ranked * pairs, pairs**2
    for counts, ranks, whole in ((p, below, n.sum()), (n, above, p.sum())):
        weight = counts + noise
        zero -= QUANTILE**2 * float(weight @ ranks**2)
        one += QUANTILE**2 * 2 * float(weight @ ranks * whole)
        two -= QUANTILE**2 * float(weight.sum() * whole**2)
    certain = min(n.sum(), p.sum()) > 0
    return _estimate(ranked, pairs if certain else 0.0, (zero, one, two), (0.0, 1.0))


def mean(parts: Sequence[Estimate]) -> Estimate:
    """Estimate the mean of proportions of disjoint counts, the distances of their ends added as deviations are.

    As ``intervals.mean_of_probabilities`` does. Many figures that are each cut off at 0 would be too large on average,
    so they come unlimited. One of which nothing is known is somewhere from 0 to 1, wherever the others are: its
    distances are added as they are.

    Args:
        parts: The proportions, ``UNLIMITED``.
    """
    values, lower, upper, open_lower, open_upper = [], [], [], 0.0, 0.0
    for part in parts:
        if part.value is None:
            return Estimate(None, (0.0, 1.0))
        if any(map(math.isinf, part.interval)):
            value = min(max(part.value, 0.0), 1.0)
            open_lower, open_upper = open_lower + value, open_upper + 1 - value
        else:
            value = part.value
            lower.append(value - part.interval[0])
            upper.append(part.interval[1] - value)
        values.append(value)
    number, whole = len(values), math.fsum(values)
    ends = (whole - math.hypot(*lower) - open_lower) / number, (whole + math.hypot(*upper) + open_upper) / number
    middle, low, high = (min(max(end, 0.0), 1.0) for end in (whole / number, *ends))
    return Estimate(middle, (low, high))


def _estimate(part: float, whole: float, square: tuple[float, float, float], limits: Interval) -> Estimate:
    """Make an estimate of a ratio, and the interval in which zero + one a + two a^2 <= 0.

    Args:
        part: Numerator.
        whole: Denominator; where it is not above 0, nothing is known.
        square: zero, one and two.
        limits: Least and largest possible value.
    """
    least, largest = limits
    zero, one, two = square
    discriminant = one**2 - 4 * zero * two
    if whole <= 0:
        return Estimate(None, limits)
    value = min(max(part / whole, least), largest)
    if two <= 0 or discriminant < 0:
        return Estimate(value, limits)
    root = math.sqrt(discriminant)
    ends = [min(max((-one + sign * root) / (2 * two), least), largest) for sign in (-1, 1)]
    # Rounding must not put the figure itself outside.
    return Estimate(value, (min(ends[0], value), max(ends[1], value)))
