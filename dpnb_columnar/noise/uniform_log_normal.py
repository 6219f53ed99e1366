"""Uniform log-normal noise (Bun and Steinke 2019): zero-concentrated differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb

from dpnb_columnar.noise.calibration import rational
from dpnb_columnar.noise.concentrated import ConcentratedNoise
from dpnb_columnar.noise.family import Floats
from dpnb_columnar.noise.normal import log_mills, variate
from dpnb_columnar.noise.score import Scores


@dataclass(frozen=True, slots=True)
class StandardUniformLogNormal:
    """X exp(sigma Y), X uniform on [-1, 1] and Y standard normal.

    With v = ln|x|/sigma, w = v + sigma, Q the normal survival and m = Q/phi Mills' ratio: the density is
    h(x) = exp(sigma^2/2) Q(w) / 2, the survival Q(v) - |x| exp(sigma^2/2) Q(w) = phi(v) (m(v) - m(w)), and
    -x h'(x)/h(x) = 1/(sigma m(w)).
    """

    sigma: Fraction

    @property
    def uniforms(self) -> int:
        return 2

    def magnitude(self, *uniforms: arb) -> arb | None:
        first, second = uniforms
        normal = variate(second)
        return None if normal is None else first * (rational(self.sigma) * normal).exp()

    def survival(self, magnitude: Floats) -> Floats:
        from scipy import special

        sigma, v = float(self.sigma), self._exponent(magnitude)
        near = special.ndtr(-v) - np.exp(sigma * np.minimum(v, 0) + sigma**2 / 2) * special.ndtr(-v - sigma)
        far = np.maximum(v, 0) / math.sqrt(2)
        mills = special.erfcx(far) - special.erfcx(far + sigma / math.sqrt(2))
        probability: Floats = np.where(v < 0, near, np.exp(-(far**2)) / 2 * mills)
        return probability

    def log_density(self, z: Floats) -> Floats:
        from scipy import special

        sigma = float(self.sigma)
        density: Floats = sigma**2 / 2 - math.log(2) + special.log_ndtr(-self._exponent(np.abs(z)) - sigma)
        return density

    def log_deviation(self) -> float:
        return float(self.sigma) ** 2 - math.log(3) / 2

    def scores(self, reach: float, nodes: int) -> Scores:
        """Trapezoidal rule over w, from all but exp(-37) of the mass to the largest Y."""
        from scipy import special

        sigma = float(self.sigma)
        w = np.linspace(sigma - 37 / sigma, sigma + reach, nodes)
        log_x = sigma * (w - sigma)
        log_rate = -log_mills(w) - math.log(sigma)
        log_weights = log_x + special.log_ndtr(-w)  # x dw times the density
        return Scores.normalised(log_weights, 1 - np.exp(log_rate), np.exp(log_rate - log_x), sigma)

    def _exponent(self, magnitude: Floats) -> Floats:
        exponent: Floats = np.log(np.maximum(magnitude, 1e-300)) / float(self.sigma)
        return exponent


@dataclass(frozen=True, slots=True)
class UniformLogNormal(ConcentratedNoise):
    """Z = c X exp(sigma Y), calibrated by the condition of ``score``.

    A dilation by exp(b) is a shift of Y by b/sigma, so E exp(m (1 + Z psi)) <= exp(m^2/(2 sigma^2)). Bun and
    Steinke's own bound, kappa = beta/sigma + sqrt(2/pi) exp(3 sigma^2/2)/(sigma c), adds the losses of dilation and
    shift; it needs more noise.

    Raises:
        ValueError: Not rho > 0 and 0 < beta <= sqrt(2 rho).
    """

    @property
    def name(self) -> str:
        return "uniform-log-normal"

    @property
    def shape(self) -> type[StandardUniformLogNormal]:
        return StandardUniformLogNormal
