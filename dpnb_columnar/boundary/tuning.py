"""Public tuning: every choice here is a function of released sizes, shares and the domain, never of the rows."""

from __future__ import annotations

import math
from statistics import NormalDist

from dpnb_columnar.budget import Concentrated, Loss
from dpnb_columnar.noise import NoiseFamily

SMALLEST_SAMPLE = 8
"""Smallest public sample size: enough for a window of at least 4 values."""

AFFORDABLE_TRIM = 0.003
"""Part of the sample that may be cut from each end to put the declared bounds out of reach."""

LARGEST_TRIM = 0.25
"""No more than this part of the sample is ever cut from each end."""


def trim(size: int, noise: NoiseFamily) -> int:
    """Values to cut from each end of a sample of public size.

    The smooth sensitivity weighs what happens k substitutions away by exp(-beta k), and the declared bounds come into
    reach once k exceeds the trim. At k = log(size)/beta they weigh 1/size, as much as one value of the sample; cutting
    that many is affordable where it is a small part of the sample. Where it is not, a tenth of it, and at least a few
    multiples of 1/epsilon, so that the pads and drops of the public-size sample fall into the trimmed part.
    """
    far = math.log(size) / float(noise.beta)
    if far <= AFFORDABLE_TRIM * size:
        return math.ceil(far)
    return math.floor(min(LARGEST_TRIM * size, max(3 / _rate(noise.loss), 0.1 * far)))


def _rate(loss: Loss) -> float:
    """The epsilon of a loss; for concentrated losses that of the pure one which costs as much, sqrt(2 rho)."""
    return math.sqrt(2 * loss.rho) if isinstance(loss, Concentrated) else float(loss.epsilon)


def trimmed_normal_variance(part: float) -> float:
    """Variance of a standard normal distribution cut at its t- and (1-t)-quantiles: 1 - 2 z phi(z)/(1 - 2t)."""
    if part <= 0:
        return 1.0
    z = NormalDist().inv_cdf(1 - part)
    return 1 - 2 * z * NormalDist().pdf(z) / (1 - 2 * part)


def histogram_bins(cells: int) -> int:
    """Number of equal bins over a scale with codes 0..cells."""
    return min(cells + 1, 32)
