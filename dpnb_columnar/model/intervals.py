"""Confidence intervals of figures over rows, in closed form, at the level of 95 %, and exact bounds at any level.

The rows count as independent draws from the population that the model will be used on. CONFIDENTIAL, like the figures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

from dpnb_columnar.model.query_noise import LEVEL as LEVEL
from dpnb_columnar.model.query_noise import Interval as Interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

QUANTILE = NormalDist().inv_cdf((1 + LEVEL) / 2)
"""Deviations on either side of a normal variable's mean that hold ``LEVEL`` of its probability."""


def interval_text(interval: Interval | None) -> str:
    """Write both ends to four digits, in brackets; nothing where there is no interval."""
    return "" if interval is None else f"({interval[0]:.4f} to {interval[1]:.4f})"


def wilson_interval(successes: int, trials: int) -> Interval:
    """Compute the score interval of a probability (Wilson 1927, Journal of the American Statistical Association 22)."""
    share, square = successes / trials, QUANTILE**2 / trials
    middle = (share + square / 2) / (1 + square)
    half = math.sqrt(square * (share * (1 - share) + square / 4)) / (1 + square)
    # At 0 and 1 the ends are exact; rounding must not put the share itself outside.
    return min(max(middle - half, 0.0), share), max(min(middle + half, 1.0), share)


def lower_bound(hits: ArrayLike, trials: int, error: float) -> NDArray[np.float64]:
    """Bound probabilities from below, for every number of trials (Clopper and Pearson 1934, Biometrika 26).

    Args:
        hits: How often each event happened.
        error: Probability that a bound is above the true probability.

    Returns:
        The shape of ``hits``.
    """
    import numpy as np
    from scipy.special import betaincinv

    hits = np.asarray(hits, dtype=np.float64)
    return np.where(hits > 0, betaincinv(np.maximum(hits, 1), trials - hits + 1, error), 0.0)


def upper_bound(hits: ArrayLike, trials: int, error: float) -> NDArray[np.float64]:
    """Bound probabilities from above, as ``lower_bound`` does from below."""
    import numpy as np

    return 1 - lower_bound(trials - np.asarray(hits, dtype=np.float64), trials, error)


def mean_of_probabilities(counts: Sequence[tuple[int, int]]) -> Interval:
    """Compute an interval of the mean of probabilities that are estimated from disjoint rows.

    The distances of Wilson's ends from the estimates are added as deviations are (Zou and Donner 2008, Statistics in
    Medicine 27, "MOVER").
    """
    shares = [successes / trials for successes, trials in counts]
    ends = [wilson_interval(*each) for each in counts]
    mean = sum(shares) / len(shares)
    below = math.hypot(*(share - lower for share, (lower, _) in zip(shares, ends, strict=True)))
    above = math.hypot(*(upper - share for share, (_, upper) in zip(shares, ends, strict=True)))
    return max(mean - below / len(shares), 0.0), min(mean + above / len(shares), 1.0)


def paired_difference(won: int, lost: int, rows: int) -> Interval:
    """Compute an interval of the difference of two accuracies on the same rows.

    The normal interval after half a row is added to each of the four cells right or wrong, right or wrong (Agresti and
    Min 2005, Statistics in Medicine 24).
    """
    total, difference, discordant = rows + 2, won - lost, won + lost + 1
    half = QUANTILE * math.sqrt(discordant - difference**2 / total)
    return max((difference - half) / total, -1.0), min((difference + half) / total, 1.0)


def difference(one: tuple[int, int], other: tuple[int, int]) -> Interval:
    """Compute an interval of the difference of two probabilities that are estimated from disjoint rows.

    The distances of Wilson's ends from the estimates are added as deviations are (Newcombe 1998, Statistics in Medicine
    17, method 10).
    """
    first, second = one[0] / one[1], other[0] / other[1]
    ends, others = wilson_interval(*one), wilson_interval(*other)
    below, above = math.hypot(first - ends[0], others[1] - second), math.hypot(ends[1] - first, second - others[0])
    return max(first - second - below, -1.0), min(first - second + above, 1.0)


def mean(total: float, squares: float, rows: int) -> Interval | None:
    """Compute the normal interval of the mean of a number that is not negative; None for fewer than two rows."""
    if rows < 2:
        return None
    variance = max(squares - total**2 / rows, 0.0) / (rows - 1)
    half = QUANTILE * math.sqrt(variance / rows)
    return max(total / rows - half, 0.0), total / rows + half
