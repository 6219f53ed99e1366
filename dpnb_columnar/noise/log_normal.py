"""Log-normal and arsinh-normal noise (Bun and Steinke 2019): zero-concentrated differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb

from dpnb_columnar.noise.concentrated import ConcentratedNoise, Scores
from dpnb_columnar.noise.family import Floats, rational

# The standard normal distribution.


@dataclass(frozen=True, slots=True)
class StandardNormal:
    """Density exp(-x^2/2) / sqrt(2 pi)."""

    @property
    def uniforms(self) -> int:
        return 1

    def magnitude(self, *uniforms: arb) -> arb | None:
        """Invert ``survival``: sqrt(2) erfcinv(u)."""
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
    """Map a uniform number, by a falling function, to a standard normal one; None while the ball is too wide."""
    return arb(2).sqrt() * (2 * uniform).erfcinv() if uniform > 0 and uniform < 1 else None


def log_mills(w: Floats) -> Floats:
    """Compute the logarithm of Mills' ratio, the probability beyond w divided by the density at w."""
    from scipy import special

    ratio: Floats = special.log_ndtr(-w) + w**2 / 2 + math.log(2 * math.pi) / 2
    return ratio


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
        """Compute log R by the trapezoidal rule over y, centred on the integrand's peak.

        At the peak sigma^2 x = v exp(v), v = sigma y.
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
        ValueError: unless rho > 0 and 0 < beta <= sqrt(2 rho).
    """

    @property
    def name(self) -> str:
        return "laplace-log-normal"

    @property
    def shape(self) -> type[StandardLaplaceLogNormal]:
        return StandardLaplaceLogNormal


# Uniform log-normal noise.


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
        ValueError: unless rho > 0 and 0 < beta <= sqrt(2 rho).
    """

    @property
    def name(self) -> str:
        return "uniform-log-normal"

    @property
    def shape(self) -> type[StandardUniformLogNormal]:
        return StandardUniformLogNormal


# Arsinh-normal noise, which is almost as little as Gaussian.


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
        """Invert ``survival``, through the normal distribution's."""
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
