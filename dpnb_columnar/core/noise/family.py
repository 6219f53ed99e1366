"""The interface of noise families, and families of the form Z = c X: X of a standard shape, c the calibrated scale.

Between them stand the searches that families are calibrated by: scales that are certainly large enough, in ball
arithmetic, and inverses of survival functions.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from dpnb_columnar.core.budget.costs import PrivacyCost

Floats = NDArray[np.float64]


class NoiseFamily(Protocol):
    """The distribution of Z in a release of f + S * Z, symmetrical about 0.

    Claim of every family: for all shifts |t| <= min(1, r) and scale ratios exp(-beta) <= r <= exp(beta), the privacy
    loss between Z and t + r Z, either way round, is at most ``cost``. The caller must ensure that S is at least the
    local sensitivity and beta-smooth (docs/privacy.md, section 5); then one release of f + S * Z costs ``cost``.

    Attributes:
        name: The family's name on the command line and in the model.
        cost: Privacy cost of one release.
        beta: Smoothness the family allows for; 0 where S has to be a constant.
        uniforms: How many uniform numbers ``magnitude`` is made of: 1 where the distribution function has an inverse
            that can be evaluated as a ball, 2 for a product of two independent variables.
    """

    @property
    def name(self) -> str: ...

    @property
    def cost(self) -> PrivacyCost: ...

    @property
    def beta(self) -> Fraction: ...

    @property
    def uniforms(self) -> int: ...

    def magnitude(self, *uniforms: arb) -> arb | None:
        """Map independent uniform numbers in (0, 1) to |Z|, as a ball; None while their balls are too wide.

        Of one uniform number it is the inverse of ``survival``.
        """

    def survival(self, magnitude: Floats) -> Floats:
        """Compute the probability that |Z| exceeds each magnitude (>= 0)."""

    def quantile(self, probability: float) -> float:
        """Compute the magnitude that |Z| exceeds with this probability: the inverse of ``survival``."""

    def log_density(self, z: Floats) -> Floats:
        """Compute the logarithm of the density at each z."""


# Scales that are certainly large enough: calibration in ball arithmetic. A scale is either a closed expression,
# evaluated as a ball of which the upper end is taken, or the smallest number of which a privacy condition is certain,
# found by bisection and taken from the certain side. Either way no rounding error can make the noise smaller than
# proven. The exact scale is exceeded by a relative 2^-100 in the one case, 2^-30 in the other.

PRECISION = 160
TOLERANCE = Fraction(1, 2**30)


def rational(number: Fraction) -> fmpq:
    """Convert a fraction to Arb's rational type."""
    return fmpq(number.numerator, number.denominator)


def upper(expression: Callable[[], arb]) -> Fraction:
    """Compute the upper end of an expression's ball."""
    with ctx.workprec(PRECISION):
        mantissa, exponent = (int(part) for part in expression().upper().man_exp())
    return mantissa * Fraction(2) ** exponent


def smallest(certain: Callable[[Fraction], bool], least: Fraction) -> Fraction:
    """Find the smallest number >= ``least`` of which ``certain`` is true, to a relative ``TOLERANCE``, from above.

    ``certain`` stays true as the number grows, is true of some number, and says True only where no rounding error, at
    the precision of calibration, could make it false.
    """
    with ctx.workprec(PRECISION):
        high = least
        while not certain(high):
            high *= 2
        if high == least:
            return least
        low = high / 2
        while high - low > low * TOLERANCE:
            middle = (low + high) / 2
            low, high = (low, middle) if certain(middle) else (middle, high)
        return high


def supremum(admissible: Callable[[Fraction], bool], limit: Fraction) -> float:
    """Find the largest number below ``limit`` that is admissible, for messages; all smaller ones are admissible too."""
    low, high = Fraction(0), limit
    with ctx.workprec(PRECISION):
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if admissible(middle) else (low, middle)
    return float(low)


# Inverses of survival functions: in floating point, and as balls that certainly hold the inverse.

# The squares of magnitudes up to here are numbers.
LARGEST = 1e150


def quantile(survival: Callable[[Floats], Floats], probability: float) -> float:
    """Find the magnitude exceeded with this probability, by bisection of its logarithm; infinite above 1e150."""
    if not 0 < probability < 1:
        raise ValueError(f"a quantile needs 0 < probability < 1, found {probability:.6g}")

    def exceeds(magnitude: float) -> bool:
        return bool(survival(np.array([magnitude]))[0] > probability)

    low = high = 1.0
    factor = 2.0  # the steps grow, so that even the tails of few degrees of freedom are reached soon
    while exceeds(high):
        if high == LARGEST:
            return math.inf
        low, high, factor = high, min(high * factor, LARGEST), factor**1.5
    factor = 2.0
    while not exceeds(low):
        low, high, factor = max(low / factor, 1 / LARGEST), low, factor**1.5
    while high - low > 1e-14 * high:
        middle = math.sqrt(low) * math.sqrt(high)
        if not low < middle < high:
            break
        low, high = (middle, high) if exceeds(middle) else (low, middle)
    return high


def enclose_inverse(
    survival: Callable[[arb], arb], density: Callable[[arb], arb], target: arb, guess: arb, accuracy: arb
) -> arb | None:
    """Find a ball that certainly holds the inverse of ``survival`` for every number in the ball ``target``.

    Interval Newton method: let X be a ball and m its midpoint. If m + (survival(m) - target)/density(X) lies within X,
    it holds the inverse of every number in the target, by the mean value theorem. The ball is the smallest that the
    precision allows, or about the target's own width; None if the guess was not good enough, or the target is too wide.
    """
    ball, inverse = arb(guess.mid(), (accuracy + 2 * target.rad() / density(guess.mid())).upper()), None
    while True:
        slope = density(ball)
        closer = ball.mid() + (survival(ball.mid()) - target) / slope
        if not ball.contains_interior(closer):
            return inverse
        if closer.rad() < 2 * target.rad() / slope:
            return closer
        ball = inverse = closer


class Standard(Protocol):
    """The distribution of X, symmetrical about 0; methods as in ``NoiseFamily``."""

    @property
    def uniforms(self) -> int:
        return 1

    def magnitude(self, *uniforms: arb) -> arb | None: ...

    def survival(self, magnitude: Floats) -> Floats: ...

    def log_density(self, z: Floats) -> Floats: ...


class Scaled(ABC):
    """Mixin that implements ``NoiseFamily`` for a standard shape times a scale, which a family names."""

    __slots__ = ()

    @property
    @abstractmethod
    def standard(self) -> Standard:
        """The shape X."""

    @property
    @abstractmethod
    def scale(self) -> Fraction:
        """The scale c, never below the one that is proven."""

    @property
    def uniforms(self) -> int:
        return self.standard.uniforms

    def magnitude(self, *uniforms: arb) -> arb | None:
        standard = self.standard.magnitude(*uniforms)
        return None if standard is None else rational(self.scale) * standard

    def survival(self, magnitude: Floats) -> Floats:
        return self.standard.survival(magnitude / float(self.scale))

    def log_density(self, z: Floats) -> Floats:
        scale = float(self.scale)
        return self.standard.log_density(z / scale) - math.log(scale)

    def quantile(self, probability: float) -> float:
        return float(self.scale) * quantile(self.standard.survival, probability)
