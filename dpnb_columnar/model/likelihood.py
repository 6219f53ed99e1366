"""The truncated normal distribution, in logarithms and stable in the far tails."""

from __future__ import annotations

import math

LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)


def log_normalisation(mean: float, deviation: float, lower: float, upper: float) -> float:
    """The part of the log-density that does not depend on the value.

    The density on ``[lower, upper]`` is phi((x - mean)/deviation) / (deviation * (Phi(b) - Phi(a))) with a = (lower -
    mean)/deviation, b = (upper - mean)/deviation. (Zafarani and Clifton 2021, section 2.1, print a difference of
    densities in the denominator; a density has to be divided by a difference of distribution functions.)

    Args:
        mean: Location, within ``[lower, upper]``, so a <= 0 <= b and no tail beyond both ends is ever subtracted.
        deviation: Scale, positive and at most ``upper - lower``, so b - a >= 1 and the difference is well conditioned.
        lower, upper: Bounds, lower < upper.

    Returns:
        -log(deviation) - log(sqrt(2 pi)) - log(Phi(b) - Phi(a)).
    """
    # Phi(b) - Phi(a) = 1 - Phi(a) - Phi(-b): both tails are at most 1/2 each, without cancellation in either.
    outside = _tail((mean - lower) / deviation) + _tail((upper - mean) / deviation)
    return -math.log(deviation) - LOG_ROOT_TWO_PI - math.log1p(-outside)


def _tail(distance: float) -> float:
    """Probability that a standard normal variable exceeds ``distance``."""
    return math.erfc(distance / math.sqrt(2)) / 2
