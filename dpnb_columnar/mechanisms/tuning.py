"""Tuning of the mechanisms. Every choice is a function of released sizes, shares and the domain, never of the rows."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

from dpnb_columnar.budget import Concentrated, PrivacyCost
from dpnb_columnar.noise import NoiseFamily

SMALLEST_SAMPLE = 8
"""Smallest public sample size: enough for a window of at least 4 values."""

AFFORDABLE_TRIM = 0.02
"""Part of the sample that may be cut from each end to put the declared bounds out of reach."""

LARGEST_TRIM = 0.1
"""No more than this part of the sample is ever cut from each end."""

FEWEST_BINS = 4
MOST_BINS = 64
"""Bounds on the number of bins of a histogram, and of the equal bins of an adaptive one."""

POOLED_ROWS = 30
"""A released variance counts for as many rows as were released, and the classes' average for this many / epsilon."""

PRIOR_COUNT = Fraction(1, 2)
"""Added to each cell of a table, in units of 1/epsilon: half of the scale of its noise."""


def trim(size: int, noise: NoiseFamily, smallest: int | None = None) -> int:
    """Choose how many values to cut from each end of a sample of public size.

    Args:
        size: Public size of the sample.
        noise: The noise of the moment.
        smallest: Public size of the smallest sample that this one is compared with; None for this one.
    """
    beta, least = float(noise.beta), size if smallest is None else smallest
    # The smooth sensitivity weighs what happens k substitutions away by exp(-beta k), and the declared bounds come into
    # reach once k exceeds the trim. At k = log(size)/beta they weigh 1/size, as much as one value of the sample.
    far = math.log(size) / beta
    # To cut that many is affordable where it is a small part of the sample. The smallest sample decides for all that
    # are compared: what is cut from one class and not from another would look like a difference between them.
    if math.log(least) / beta <= AFFORDABLE_TRIM * least:
        return math.ceil(far)
    # Elsewhere a tenth of it is cut, and at least a few multiples of 1/epsilon, so that the pads and drops of the
    # public-size sample fall into the trimmed part.
    return math.floor(min(LARGEST_TRIM * size, max(3 / rate(noise.cost), 0.1 * far)))


def rate(loss: PrivacyCost) -> float:
    """Return the epsilon of a loss; of a concentrated one the epsilon of the pure loss of the same rho, sqrt(2 rho)."""
    return math.sqrt(2 * loss.rho) if isinstance(loss, Concentrated) else float(loss.epsilon)


def trimmed_normal_variance(part: float) -> float:
    """Compute the variance of a standard normal distribution cut at its t- and (1-t)-quantiles.

    It is 1 - 2 z phi(z)/(1 - 2t), where z is the (1-t)-quantile and phi the density.

    Args:
        part: t, below 1/2; nothing is cut at 0 and below.
    """
    if part <= 0:
        return 1.0
    z = NormalDist().inv_cdf(1 - part)
    return 1 - 2 * z * NormalDist().pdf(z) / (1 - 2 * part)


def pooled_rows(loss: PrivacyCost) -> float:
    """Choose how many rows the classes' average variance counts for beside a released variance of this loss."""
    return POOLED_ROWS / rate(loss)


def histogram_bins(rows: int, epsilon: Fraction) -> int:
    """Choose the number of bins for counts with noise of scale 1/epsilon.

    Of b bins, one of average size holds rows/b rows; at b = sqrt(rows * epsilon) that is b times the noise's scale.

    Args:
        rows: Released number of rows of all classes together.
        epsilon: Privacy loss of the counts for one row.
    """
    return min(max(math.isqrt(math.floor(max(rows, 0) * epsilon)), FEWEST_BINS), MOST_BINS)


def prior_count(epsilon: Fraction) -> Fraction:
    """Choose what to add, per class on average, to a count with noise of scale 1/epsilon to make it a probability.

    Added in proportion to the classes' sizes, it draws the likelihood ratio of a cell towards 1 as far as its counts
    are noise, and leaves large counts as they are.
    """
    return 1 + PRIOR_COUNT / epsilon
