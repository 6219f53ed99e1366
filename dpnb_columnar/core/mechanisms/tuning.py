"""Tuning of the mechanisms. Every choice is a function of released sizes, shares and the domain, never of the rows.

On the public side, since whoever reads a model makes the choices again that its parameters were computed by.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from dpnb_columnar.core.budget import Approximate, Concentrated, PrivacyCost, Pure, Share
from dpnb_columnar.core.budget.costs import cost_parameters, floor_digits
from dpnb_columnar.core.code_limits import LARGEST_SIZE
from dpnb_columnar.registry import noise_family

if TYPE_CHECKING:
    from dpnb_columnar.core.noise import NoiseFamily

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


POLYPLACE_ALPHA = Fraction(5, 2)
"""epsilon/beta for PolyPlace: tails of power -3.5."""

CAUCHY_RATIO = Fraction(70_710_678, 100_000_000)
"""beta/epsilon for the paper's Cauchy noise: the largest eight-digit ratio below 1/sqrt(2)."""

LARGEST_DEGREES = 100
"""Of freedom, of Student t noise."""


class Smoothness(Protocol):
    """What tuning knows of the noise of a query for smooth sensitivity."""

    @property
    def cost(self) -> PrivacyCost:
        """Privacy cost of one release."""

    @property
    def beta(self) -> Fraction:
        """Smoothness that the noise allows for."""


@dataclass(frozen=True, slots=True)
class NamedSmoothness:
    """The smoothness of a noise family that is calibrated to a cost: all of the noise that post-processing needs."""

    cost: PrivacyCost
    beta: Fraction


@dataclass(frozen=True, slots=True)
class SmoothFamily:
    """A noise family for smooth sensitivity, before calibration.

    Attributes:
        name: Its name on the command line and in the model.
        kind: How its loss is stated.
        beta: From the numbers of a loss to a smoothness: a public function, which is computed again to read a model.
        calibrate: From the numbers of a loss, and a beta, to noise that costs no more.
    """

    name: str
    kind: type[PrivacyCost]
    beta: Callable[..., Fraction]
    calibrate: Callable[..., NoiseFamily]


@lru_cache(maxsize=1024)
def smoothness(name: str, cost: PrivacyCost) -> NamedSmoothness:
    """Choose the beta of a noise family for smooth sensitivity: a public function of a share.

    It trades the reach of the smooth sensitivity (the larger beta, the less it depends on databases that are many rows
    away) against the weight of the noise's tails.
    """
    kind, beta = beta_of(name)
    if not isinstance(cost, kind):
        raise ValueError(f"{name} noise is calibrated to a loss that is {kind.__name__.lower()}")
    return NamedSmoothness(cost, beta(*cost_parameters(cost).values()))


def beta_of(name: str) -> tuple[type[PrivacyCost], Callable[..., Fraction]]:
    """Look up how a family states its loss, and its beta as a function of the loss; ValueError for no family."""
    if name in BETAS:
        return BETAS[name]
    if (degrees := degrees_of(name)) is not None:
        return Pure, lambda epsilon: epsilon / (degrees + 3)  # well inside the admissible range, up to epsilon/nu
    if (family := noise_family(name)) is None:
        raise ValueError(f"no noise family {name!r:.80}")
    return family.kind, family.beta


def degrees_of(name: str) -> int | None:
    """Return the degrees of freedom of a family ``student-NU``; None for another name."""
    found = re.fullmatch(r"student-([1-9]\d{0,2})", name, re.ASCII)
    return int(found[1]) if found and int(found[1]) <= LARGEST_DEGREES else None


def _gaussian_beta(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Choose beta as epsilon/(4 (1 + ln(2/delta))) (Nissim, Raskhodnikova and Smith 2007), at most 1/2."""
    return min(floor_digits(epsilon / (4 * (1 + _logarithm(delta)))), Fraction(1, 2))


def _laplace_beta(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Choose beta as epsilon/(2 ln(2/delta)) (Nissim, Raskhodnikova and Smith 2007), at most 1."""
    return min(floor_digits(epsilon / (2 * _logarithm(delta))), Fraction(1))


def _logarithm(delta: Fraction) -> Fraction:
    """Compute ln(2/delta). Any beta is admissible, so its last digit does not matter."""
    return Fraction(math.log(2) + math.log(delta.denominator) - math.log(delta.numerator))


BETAS: dict[str, tuple[type[PrivacyCost], Callable[..., Fraction]]] = {
    "polyplace": (Pure, lambda epsilon: epsilon / POLYPLACE_ALPHA),
    "cauchy": (Pure, lambda epsilon: epsilon * CAUCHY_RATIO),
    "nissim-cauchy": (Pure, lambda epsilon: epsilon / 6),
    "gaussian": (Approximate, _gaussian_beta),
    "laplace": (Approximate, _laplace_beta),
    "classical-gaussian": (Approximate, _gaussian_beta),
    "classical-laplace": (Approximate, _laplace_beta),
}
"""How a family for smooth sensitivity states its loss, and its beta; not of ``student-NU``, nor of extensions."""


def sample_size(released: int) -> int:
    """Return the public sample size for a released count: the count, within what the searches compute exactly."""
    return min(max(released, SMALLEST_SAMPLE), LARGEST_SIZE)


def positive_sum(counts: Sequence[int]) -> int:
    """Add up the released counts that are positive."""
    return sum(max(count, 0) for count in counts)


def trim(size: int, noise: Smoothness, smallest: int | None = None) -> int:
    """Choose how many values to cut from each end of a sample of public size."""
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
    return math.floor(min(LARGEST_TRIM * size, max(3 / pure_epsilon(noise.cost), 0.1 * far)))


def pure_epsilon(cost: PrivacyCost) -> float:
    """Return the epsilon of a cost; of a concentrated one the epsilon of the pure cost of the same rho, sqrt(2 rho)."""
    return math.sqrt(2 * cost.rho) if isinstance(cost, Concentrated) else float(cost.epsilon)


@lru_cache(maxsize=2**16)
def trimmed_normal_variance(part: float) -> float:
    """Compute the variance of a standard normal distribution cut at its t- and (1-t)-quantiles.

    It is 1 - 2 z phi(z)/(1 - 2t), where z is the (1-t)-quantile and phi the density.
    """
    if part <= 0:
        return 1.0
    from statistics import NormalDist

    z = NormalDist().inv_cdf(1 - part)
    return 1 - 2 * z * NormalDist().pdf(z) / (1 - 2 * part)


def pooled_rows(cost: PrivacyCost) -> float:
    """Choose how many rows the classes' average variance counts for beside a released variance of this cost."""
    return POOLED_ROWS / pure_epsilon(cost)


def share_bins(sizes: Sequence[int], share: Share) -> int:
    """Choose the number of bins for the counts that a share pays for, of samples of these released sizes."""
    return histogram_bins(positive_sum(sizes), Fraction(pure_epsilon(share.row_cost)))


def histogram_bins(rows: int, epsilon: Fraction) -> int:
    """Choose the number of bins for counts with noise of scale 1/epsilon.

    Of b bins, one of average size holds rows/b rows; at b = sqrt(rows * epsilon) that is b times the noise's scale.
    """
    return min(max(math.isqrt(math.floor(max(rows, 0) * epsilon)), FEWEST_BINS), MOST_BINS)


def prior_count(epsilon: Fraction) -> Fraction:
    """Choose what to add, per class on average, to a count with noise of scale 1/epsilon to make it a probability.

    Added in proportion to the classes' sizes, it draws the likelihood ratio of a cell towards 1 as far as its counts
    are noise, and leaves large counts as they are.
    """
    return 1 + PRIOR_COUNT / epsilon


def cell_prior(share: Share) -> Fraction:
    """Choose what to add to each count of a table whose noise a share pays for."""
    return prior_count(Fraction(pure_epsilon(share.row_cost)))
