"""Public tuning: every choice here is a function of released sizes, shares and the domain, never of the rows."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

from dpnb_columnar.budget import Concentrated, Loss
from dpnb_columnar.noise import NoiseFamily

SMALLEST_SAMPLE = 8
"""Smallest public sample size: enough for a window of at least 4 values."""

AFFORDABLE_TRIM = 0.02
"""Part of the sample that may be cut from each end to put the declared bounds out of reach."""

LARGEST_TRIM = 0.1
"""No more than this part of the sample is ever cut from each end."""

FEWEST_BINS = 4
MOST_BINS = 64
"""Bins of a histogram, and those of an adaptive one that are of equal width."""

POOLED_ROWS = 10
"""A released variance counts for as many rows as were released, and the classes' average for this many / epsilon."""

PRIOR_COUNT = Fraction(1, 2)
"""Added to each cell of a table, in units of 1/epsilon: half of the scale of its noise."""


def trim(size: int, noise: NoiseFamily, smallest: int | None = None) -> int:
    """Values to cut from each end of a sample of public size.

    The smooth sensitivity weighs what happens k substitutions away by exp(-beta k), and the declared bounds come into
    reach once k exceeds the trim. At k = log(size)/beta they weigh 1/size, as much as one value of the sample; cutting
    that many is affordable where it is a small part of the sample. Where it is not, a tenth of it, and at least a few
    multiples of 1/epsilon, so that the pads and drops of the public-size sample fall into the trimmed part.

    Classes that are compared with each other are cut alike, all of them so far or none: what is cut off only one of
    them would look like a difference between them.

    Args:
        size: Public size of the sample.
        noise: The noise of the moment.
        smallest: Public size of the smallest sample it is compared with; None for this one.
    """
    beta, least = float(noise.beta), size if smallest is None else smallest
    far = math.log(size) / beta
    if math.log(least) / beta <= AFFORDABLE_TRIM * least:
        return math.ceil(far)
    return math.floor(min(LARGEST_TRIM * size, max(3 / rate(noise.loss), 0.1 * far)))


def rate(loss: Loss) -> float:
    """The epsilon of a loss; for concentrated losses that of the pure one which costs as much, sqrt(2 rho)."""
    return math.sqrt(2 * loss.rho) if isinstance(loss, Concentrated) else float(loss.epsilon)


def trimmed_normal_variance(part: float) -> float:
    """Variance of a standard normal distribution cut at its t- and (1-t)-quantiles: 1 - 2 z phi(z)/(1 - 2t)."""
    if part <= 0:
        return 1.0
    z = NormalDist().inv_cdf(1 - part)
    return 1 - 2 * z * NormalDist().pdf(z) / (1 - 2 * part)


def pooled_rows(loss: Loss) -> float:
    """Rows that the classes' average variance counts for beside a released variance of this loss."""
    return POOLED_ROWS / rate(loss)


def histogram_bins(rows: int, epsilon: Fraction) -> int:
    """Number of bins for counts with noise of scale 1/epsilon.

    Of b bins, one of average size holds rows/b rows; at b = sqrt(rows * epsilon) that is b times the noise.

    Args:
        rows: Released number of rows of all classes together.
        epsilon: What the counts may cost for one row.
    """
    return min(max(math.isqrt(math.floor(max(rows, 0) * epsilon)), FEWEST_BINS), MOST_BINS)


def prior_count(epsilon: Fraction) -> Fraction:
    """What to add to a count with noise of scale 1/epsilon before it becomes a probability, per class on average.

    Added in proportion to the classes' sizes, it draws the likelihood ratio of a cell towards 1 as far as its counts
    are noise, and leaves large counts as they are.
    """
    return 1 + PRIOR_COUNT / epsilon
