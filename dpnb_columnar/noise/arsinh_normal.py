"""Arsinh-normal noise (Bun and Steinke 2019): zero-concentrated differential privacy, almost as little as Gaussian."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb

from dpnb_columnar.noise.calibration import rational
from dpnb_columnar.noise.concentrated import ConcentratedNoise, Scores
from dpnb_columnar.noise.family import Floats
from dpnb_columnar.noise.log_normal import StandardNormal


@dataclass(frozen=True, slots=True)
class StandardArsinhNormal:
    """sinh(sigma Y)/sigma, Y standard normal.

    At x = sinh(sigma y)/sigma the density is phi(y)/cosh(sigma y), and -h'(x)/h(x) = (y + sigma tanh(sigma y)) /
    cosh(sigma y).
    """

    sigma: Fraction

    @property
    def uniforms(self) -> int:
        return 1

    def magnitude(self, *uniforms: arb) -> arb | None:
        """Inverse of ``survival``, through the normal distribution's."""
        normal = StandardNormal().magnitude(*uniforms)
        sigma = rational(self.sigma)
        return None if normal is None else (sigma * normal).sinh() / sigma

    def survival(self, magnitude: Floats) -> Floats:
        return StandardNormal().survival(self._normal(magnitude))

    def log_density(self, z: Floats) -> Floats:
        square = (float(self.sigma) * z) ** 2  # cosh^2(sigma y) - 1
        return StandardNormal().log_density(self._normal(z)) - np.log1p(square) / 2

    def log_deviation(self) -> float:
        square = 2 * float(self.sigma) ** 2
        return math.log(math.expm1(square) / square) / 2

    def scores(self, reach: float, nodes: int) -> Scores:
        """Trapezoidal rule over y from 0 to ``reach``."""
        sigma, y = float(self.sigma), np.linspace(0, reach, nodes)
        log_weights = -(y**2) / 2
        log_weights[0] -= math.log(2)
        shift = (y + sigma * np.tanh(sigma * y)) / np.cosh(sigma * y)
        return Scores.normalised(log_weights, 1 - np.sinh(sigma * y) / sigma * shift, shift, sigma)

    def _normal(self, z: Floats) -> Floats:
        sigma = float(self.sigma)
        normal: Floats = np.arcsinh(sigma * z) / sigma
        return normal


@dataclass(frozen=True, slots=True)
class ArsinhNormal(ConcentratedNoise):
    """Z = c sinh(sigma Y)/sigma, calibrated by the condition of ``score``.

    As 1 + x h'(x)/h(x) >= -|y|/sigma, E exp(-m (1 + Z psi)) <= 2 exp(m^2/(2 sigma^2)) for m >= 0. With beta =
    kappa/10 the standard deviation is 6 % above that of Gaussian noise for a constant sensitivity, 1/kappa.

    Raises:
        ValueError: unless rho > 0 and 0 < beta <= sqrt(2 rho).
    """

    @property
    def name(self) -> str:
        return "arsinh-normal"

    @property
    def shape(self) -> type[StandardArsinhNormal]:
        return StandardArsinhNormal
