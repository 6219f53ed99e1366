"""Laplace log-normal noise (Bun and Steinke 2019): zero-concentrated differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb

from dpnb_columnar.noise.calibration import rational
from dpnb_columnar.noise.concentrated import ConcentratedNoise
from dpnb_columnar.noise.family import Floats
from dpnb_columnar.noise.normal import variate
from dpnb_columnar.noise.score import Scores

STEPS = 120


@dataclass(frozen=True, slots=True)
class StandardLaplaceLogNormal:
    """X exp(sigma Y), X of the Laplace distribution and Y standard normal.

    The survival is R(x) = E exp(-x exp(-sigma Y)). Writing exp(-sigma Y) as a change of the normal density, the density
    is h(x) = exp(sigma^2/2) R(x exp(sigma^2)) / 2, and -h'(x)/h(x) = exp(3 sigma^2/2) R(x exp(2 sigma^2)) / R(x
    exp(sigma^2)), which is largest at 0.
    """

    sigma: Fraction

    @property
    def uniforms(self) -> int:
        return 2

    def magnitude(self, *uniforms: arb) -> arb | None:
        first, second = uniforms
        normal = variate(second)
        if normal is None or not first > 0:
            return None
        return -first.log() * (rational(self.sigma) * normal).exp()

    def survival(self, magnitude: Floats) -> Floats:
        probability: Floats = np.exp(self._log_survival(magnitude))
        return probability

    def log_density(self, z: Floats) -> Floats:
        variance = float(self.sigma) ** 2
        return variance / 2 - math.log(2) + self._log_survival(np.abs(z) * math.exp(variance))

    def log_deviation(self) -> float:
        return math.log(2) / 2 + float(self.sigma) ** 2

    def scores(self, reach: float, nodes: int) -> Scores:
        """Trapezoidal rule over log x, from exp(-37) of the mass to the tail of the largest Y."""
        variance = float(self.sigma) ** 2
        log_x = np.linspace(-37, 4 + float(self.sigma) * reach, nodes)
        x = np.exp(log_x)
        level = self._log_survival(x * math.exp(variance))
        shift = np.exp(1.5 * variance + self._log_survival(x * math.exp(2 * variance)) - level)
        return Scores.normalised(log_x + level, 1 - x * shift, shift, float(self.sigma))

    def _log_survival(self, x: Floats) -> Floats:
        """log R by the trapezoidal rule over y, centred on the integrand's peak, where sigma^2 x = v exp(v), v =
        sigma y.

        To the left of the peak the integrand falls faster than a normal density of its curvature 1 + v, to the right
        faster than a standard normal density.
        """
        from scipy import special

        sigma = float(self.sigma)
        v = np.atleast_1d(special.lambertw(sigma**2 * x).real)[..., None]
        width = 1 / np.sqrt(1 + v)
        span = 9 * (1 + width)
        y = v / sigma - 9 * width + span * np.linspace(0, 1, STEPS)
        exponent = -(y**2) / 2 - np.atleast_1d(x)[..., None] * np.exp(-sigma * y)
        peak = -((v / sigma) ** 2) / 2 - v / sigma**2
        total = np.sum(np.exp(exponent - peak), axis=-1) * span[..., 0] / (STEPS - 1)
        log_survival: Floats = np.minimum(0, np.log(total) + peak[..., 0] - math.log(2 * math.pi) / 2)
        return log_survival.reshape(np.shape(x))


@dataclass(frozen=True, slots=True)
class LaplaceLogNormal(ConcentratedNoise):
    """Z = c X exp(sigma Y), calibrated by the condition of ``score``.

    A dilation by exp(b) is a shift of Y by b/sigma, so E exp(m (1 + Z psi)) <= exp(m^2/(2 sigma^2)). Bun and
    Steinke's own bound, kappa = beta/sigma + exp(3 sigma^2/2)/c, adds the losses of dilation and shift; it needs more
    noise.

    Raises:
        ValueError: Not rho > 0 and 0 < beta <= sqrt(2 rho).
    """

    @property
    def name(self) -> str:
        return "laplace-log-normal"

    @property
    def shape(self) -> type[StandardLaplaceLogNormal]:
        return StandardLaplaceLogNormal
