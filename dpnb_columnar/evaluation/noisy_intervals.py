"""Figures of noisy counts with confidence intervals that hold both the noise and the sampling of rows. Public.

Every figure is a number a for which a sum T(a) of noisy counts, each weighted by how far its rows are above or below a,
has the mean 0: of accuracy, (1 - a) times the rows that are predicted correctly, less a times the others. The interval
holds the a for which

    T(a)^2 <= q^2 (V(a) + K^2 N(a)),

q the normal quantile, V the variance of T that the sampling of rows causes, N that of the noise. That is Wilson's
interval where there is no noise, and Fieller's (1954) where the number of rows is as uncertain as the figure. Both
sides are squares in a, so the ends are roots; where no a can be excluded on a side, the interval goes to the end of
[0, 1]. Noise of few counts has longer tails than the normal distribution: of one Laplace variable K is what its 95 %
quantile exceeds the normal one by, in standard deviations. Of a sum of m equal ones the excess kurtosis is 1/m of that
of one, and so is, to first order (Cornish and Fisher 1938), what the quantile exceeds the normal one by.
tests/evaluation/test_score_figures.py measures the coverage.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from dpnb_columnar.model.intervals import QUANTILE
from dpnb_columnar.model.query_noise import LEVEL, Interval
from dpnb_columnar.model.query_noise import count_variance as count_variance

EXCESS = math.log(1 / (1 - LEVEL)) / math.sqrt(2) / QUANTILE - 1
"""K - 1 of one noisy count."""

TAILS = (1 + EXCESS) ** 2
"""K^2 of one noisy count."""

Quantiles = tuple[float, float]
"""Of the normal distribution, for the lower and for the upper end of an interval."""

BOTH: Quantiles = (QUANTILE, QUANTILE)

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


def tails(cells: Mapping[float, float]) -> float:
    """Compute K^2 of a weighted sum of noisy counts.

    Args:
        cells: By weight, how many counts have it. They are as many equal ones as have the excess kurtosis of the sum,
            (sum of squares)^2 / (sum of fourth powers).
    """
    squares = math.fsum(weight**2 * number for weight, number in cells.items())
    fourths = math.fsum(weight**4 * number for weight, number in cells.items())
    return (1 + EXCESS * (fourths / squares**2 if squares else 1.0)) ** 2


def exact_sum_interval(count: float, cells: int, variance: float) -> Interval:
    """Compute the ends between which the exact sum of noisy counts lies."""
    half = QUANTILE * math.sqrt(tails({1.0: cells}) * cells * variance)
    return max(count - half, 0.0), max(count + half, 0.0)


def proportion(
    hits: float,
    misses: float,
    cells: tuple[int, int],
    variance: float,
    limits: Interval = (0.0, 1.0),
    quantiles: Quantiles = BOTH,
) -> Estimate:
    """Estimate the part of rows that are hits.

    T(a) = (1 - a) hits - a misses; V(a) = a (1 - a) rows, as in Wilson's interval.

    Args:
        limits: Between which figure and interval are cut off; ``UNLIMITED`` for parts of a mean, which are corrected
            for the bias of a ratio.
    """
    rows, (own, other) = hits + misses, cells
    part = min(max(hits / rows, 0.0), 1.0) if rows > 0 else 0.5
    noise = tails(_by_weight([(1 - part, own), (part, other)])) * variance

    def estimate(quantile: float, limits: Interval, *, sampled: bool = True) -> Estimate:
        varied = rows * sampled
        zero = hits**2 - quantile**2 * noise * own
        one = -2 * hits * rows - quantile**2 * (varied - 2 * noise * own)
        two = rows**2 - quantile**2 * (-varied + noise * (own + other))
        return ratio_estimate(hits, rows, (zero, one, two), limits)

    value, *ends = _ends(lambda quantile: estimate(quantile, limits), quantiles)
    if limits == UNLIMITED:
        # Beyond 0 and 1 V is 0, not below it.
        _, lower, upper = _ends(lambda quantile: estimate(quantile, limits, sampled=False), quantiles)
        ends = [lower if ends[0] < 0 else ends[0], upper if ends[1] > 1 else ends[1]]
        if value is not None:
            # A ratio of noisy numbers is too large on average by its divisor's variance, which a mean would add up.
            bias = variance * (value * (own + other) - own) / rows**2
            return Estimate(value - bias, (ends[0] - bias, ends[1] - bias))
    return Estimate(value, (ends[0], ends[1]))


def _by_weight(cells: Sequence[tuple[float, float]]) -> dict[float, float]:
    """Add up how many counts have a weight."""
    numbers: dict[float, float] = {}
    for weight, number in cells:
        numbers[weight] = numbers.get(weight, 0.0) + number
    return numbers


def _ends(estimate: Callable[[float], Estimate], quantiles: Quantiles) -> tuple[float | None, float, float]:
    """Return a figure, and each end of its interval by its own quantile."""
    lower, upper = map(estimate, quantiles)
    return lower.value, lower.interval[0], upper.interval[1]


def difference(
    won: float, lost: float, others: float, cells: tuple[int, int, int], variance: float, quantiles: Quantiles = BOTH
) -> Estimate:
    """Estimate how much more rows one prediction has right than another one, as a part of all rows.

    T(a) = won - lost - a rows. A row adds 1 - a, -1 - a or -a to it, so V(a) is the number of rows that one of both has
    right, and one more (``intervals``), less a^2 rows.
    """
    rows, gained = won + lost + others, won - lost
    part = min(max(gained / rows, -1.0), 1.0) if rows > 0 else 0.0
    noise = tails(_by_weight([*zip((1 - part, 1 + part, abs(part)), cells, strict=True)])) * variance

    def estimate(quantile: float) -> Estimate:
        zero = gained**2 - quantile**2 * (max(won + lost + 1, 1) + noise * (cells[0] + cells[1]))
        one = -2 * gained * rows + quantile**2 * 2 * noise * (cells[0] - cells[1])
        two = rows**2 - quantile**2 * (noise * sum(cells) - max(rows, 0))
        return ratio_estimate(gained, rows, (zero, one, two), (-1.0, 1.0))

    value, lower, upper = _ends(estimate, quantiles)
    return Estimate(value, (lower, upper))


OVERESTIMATED, UNDERESTIMATED = 0.04, 0.03
"""How often an interval of the largest class may be above its part, and below it, where it was chosen among several."""


def largest_quantiles(sizes: Sequence[float], cells: int, variance: float) -> Quantiles:
    """Return the normal quantiles for the part of the largest class, which was chosen by its noisy size.

    Among k classes that may be the largest, the one that is overestimated most is chosen: so the lower end is that of
    k intervals which hold the truth together. It is hardly ever underestimated, so the upper end has a small part of
    the error alone. Of two classes one proportion is one less the other, and both intervals hold the truth or neither
    does.

    Args:
        sizes: Noisy number of rows of each class.
    """
    largest, reach = max(sizes), NormalDist().inv_cdf(1 - (1 - LEVEL) / (2 * len(sizes)))
    noise = 2 * tails({1.0: cells}) * cells * variance
    possible = sum(largest - size <= reach * math.sqrt(noise + max(largest, 0) + max(size, 0)) for size in sizes)
    if len(sizes) == 2 or possible == 1:
        return BOTH
    return NormalDist().inv_cdf(1 - OVERESTIMATED / possible), NormalDist().inv_cdf(1 - UNDERESTIMATED)


def area(negative: Sequence[float], positive: Sequence[float], variance: float) -> Estimate:
    """Estimate the area under the ROC curve of noisy counts in rising bins; rows of one bin count as tied.

    With N negative and P positive rows, n and p of them in a bin, N' and P' in the bins below and above: T(a) is the
    sum of p A, A = N' + n/2 - a N, and as well the sum of n B, B = P' + p/2 - a P. It is bilinear in the counts, whose
    noise is independent, so its mean is that without noise. V is the sum of p A^2 and of n B^2 (DeLong, DeLong and
    Clarke-Pearson 1988), N(a) the noise's variance times the sum of all A^2 and B^2.

    Args:
        positive: Noisy counts of the other.
    """
    n, p = np.array(negative, dtype=np.float64), np.array(positive, dtype=np.float64)
    below, above = np.cumsum(n) - n / 2, p.sum() - np.cumsum(p) + p / 2
    pairs, ranked = float(n.sum() * p.sum()), float(p @ below)
    part = min(max(ranked / pairs, 0.0), 1.0) if pairs > 0 else 0.5
    weights = np.abs(np.concatenate([below - part * n.sum(), above - part * p.sum()]))
    noise = tails(_by_weight([(float(weight), 1.0) for weight in weights])) * variance
    zero, one, two = ranked**2, -2 * ranked * pairs, pairs**2
    for counts, ranks, whole in ((p, below, n.sum()), (n, above, p.sum())):
        weight = counts + noise
        zero -= QUANTILE**2 * float(weight @ ranks**2)
        one += QUANTILE**2 * 2 * float(weight @ ranks * whole)
        two -= QUANTILE**2 * float(weight.sum() * whole**2)
    certain = min(n.sum(), p.sum()) > 0
    return ratio_estimate(ranked, pairs if certain else 0.0, (zero, one, two), (0.0, 1.0))


def mean(parts: Sequence[Estimate]) -> Estimate:
    """Estimate the mean of proportions of disjoint counts, the distances of their ends added as deviations are.

    As ``intervals.mean_of_probabilities`` does. Many figures that are each cut off at 0 would be too large on average,
    so they come unlimited. One of which nothing is known is somewhere from 0 to 1, wherever the others are: its
    distances are added as they are.
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


def ratio_estimate(part: float, whole: float, square: tuple[float, float, float], limits: Interval) -> Estimate:
    """Make an estimate of a ratio, and the interval in which zero + one a + two a^2 <= 0.

    Args:
        whole: Denominator; where it is not above 0, nothing is known.
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
