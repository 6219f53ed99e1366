"""The standard normal distribution."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flint import arb

from dpnb_columnar.noise.family import Floats


@dataclass(frozen=True, slots=True)
class StandardNormal:
    """Density exp(-x^2/2) / sqrt(2 pi)."""

    @property
    def uniforms(self) -> int:
        return 1

    def magnitude(self, *uniforms: arb) -> arb | None:
        """Inverse of ``survival``: sqrt(2) erfcinv(u)."""
        (survival,) = uniforms
        return arb(2).sqrt() * survival.erfcinv() if survival > 0 else None

    def survival(self, magnitude: Floats) -> Floats:
        from scipy import special

        probability: Floats = special.erfc(magnitude / math.sqrt(2))
        return probability

    def log_density(self, z: Floats) -> Floats:
        density: Floats = -(z**2) / 2 - math.log(2 * math.pi) / 2
        return density


def variate(uniform: arb) -> arb | None:
    """A standard normal variable, of either sign, as a falling function of a uniform one; None if it is too wide."""
    return arb(2).sqrt() * (2 * uniform).erfcinv() if uniform > 0 and uniform < 1 else None


def log_mills(w: Floats) -> Floats:
    """Logarithm of Mills' ratio, the probability beyond w divided by the density at w."""
    from scipy import special

    ratio: Floats = special.log_ndtr(-w) + w**2 / 2 + math.log(2 * math.pi) / 2
    return ratio
