"""Calibration of log-normal and arsinh-normal noise to rho-zCDP, by the condition of ``score``."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

from flint import arb

from dpnb_columnar.budget.losses import Concentrated
from dpnb_columnar.noise.calibration import rational, upper
from dpnb_columnar.noise.scaled import Scaled, Standard
from dpnb_columnar.noise.score import Scores

# The quadrature is good to 1e-12, the search over mu to 1e-6; the scale is raised by more than that.
MARGIN = 1 + Fraction(1, 2**14)
# Ratios beta/kappa that are calibrated: below the first, noise is that of the first; at the last its standard deviation
# is 5 to 13 times 1/kappa.
SMALLEST_RATIO, LARGEST_RATIO = Fraction(1, 1024), Fraction(1)
# Standard deviations of Y that hold all its mass, before any tilt.
REACH = 9.0


class Shape(Standard, Protocol):
    """A standard shape with a parameter sigma."""

    @property
    def sigma(self) -> Fraction: ...

    def log_deviation(self) -> float:
        """Logarithm of the standard deviation."""

    def scores(self, reach: float, nodes: int) -> Scores:
        """A quadrature of so many nodes that holds the mass for all |Y| <= ``reach``."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """The sigma of least variance and the scale for kappa = 1."""

    sigma: Fraction
    scale: Fraction


@dataclass(frozen=True, slots=True)
class ConcentratedNoise(Scaled):
    """What the families have in common: Z = c X, X of a shape whose sigma and scale are calibrated to rho and beta.

    Raises:
        ValueError: Not rho > 0 and 0 < beta <= sqrt(2 rho).
    """

    rho: Fraction
    beta: Fraction

    def __post_init__(self) -> None:
        if not self.rho > 0:
            raise ValueError(f"{self.name} noise needs rho > 0, found {float(self.rho):.6g}")
        if not (self.beta > 0 and self.beta**2 <= 2 * self.rho * LARGEST_RATIO**2):
            raise ValueError(
                f"{self.name} noise needs 0 < beta <= sqrt(2 rho) = {math.sqrt(2 * self.rho):.6g}, found beta = "
                f"{float(self.beta):.6g}"
            )

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    @abstractmethod
    def shape(self) -> Callable[[Fraction], Shape]:
        """The standard shape as a function of sigma."""

    @property
    def loss(self) -> Concentrated:
        return Concentrated(self.rho)

    @property
    def standard(self) -> Shape:
        return self.shape(calibrate(self.shape, _ratio_squared(self.rho, self.beta)).sigma)

    @property
    def scale(self) -> Fraction:
        return _scale(self.shape, self.rho, self.beta)


@lru_cache(maxsize=256)
def _scale(shape: Callable[[Fraction], Shape], rho: Fraction, beta: Fraction) -> Fraction:
    """The scale for kappa = sqrt(2 rho): that for kappa = 1 and beta/kappa, divided by kappa."""
    unit = calibrate(shape, _ratio_squared(rho, beta)).scale
    return upper(lambda: rational(unit) / arb(rational(2 * rho)).sqrt())


def _ratio_squared(rho: Fraction, beta: Fraction) -> Fraction:
    """(beta/kappa)^2, raised to a whole millionth: noise for a larger beta serves a smaller one, and queries with the
    same ratio share a calibration whatever the last digit of their beta is."""
    return Fraction(math.ceil(10**6 * beta**2 / (2 * rho)), 10**6)


@lru_cache(maxsize=256)
def calibrate(shape: Callable[[Fraction], Shape], ratio_squared: Fraction) -> Calibrated:
    """Choose sigma for the least variance, then the smallest scale for it; any sigma > beta is private at its scale.

    Args:
        shape: The standard shape as a function of sigma.
        ratio_squared: (beta/kappa)^2.
    """
    from scipy import optimize

    beta = math.sqrt(max(ratio_squared, SMALLEST_RATIO**2))

    def log_deviation(log_sigma: float) -> float:
        candidate = shape(Fraction(math.exp(log_sigma)))
        speed = _speed(candidate, beta, nodes=250, orders=12, tolerance=1e-4)
        return candidate.log_deviation() - math.log(speed) if speed > 0 else 1e3

    bounds = math.log(1.03 * beta), math.log(2 * max(beta, 0.6))
    found = optimize.minimize_scalar(log_deviation, bounds=bounds, method="bounded", options={"xatol": 0.02})
    best = shape(Fraction(math.exp(found.x)))
    return Calibrated(best.sigma, MARGIN / Fraction(_speed(best, beta, nodes=800, orders=120, tolerance=1e-7)))


def _speed(shape: Shape, beta: float, nodes: int, orders: int, tolerance: float) -> float:
    """The largest shift, in units of the scale, that is private for kappa = 1, from below; 0 if none is."""
    scores = shape.scores(REACH, nodes)
    high = 1 / math.sqrt(scores.information(0, 1))
    tilt = scores.farthest_order(beta, high) * beta / float(shape.sigma)
    scores, low = shape.scores(REACH + tilt, nodes), 0.0
    while high - low > tolerance and high > tolerance:
        middle = (low + high) / 2
        low, high = (middle, high) if scores.steepness(beta, middle, orders) <= 1 else (low, middle)
    return low
