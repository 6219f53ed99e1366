"""Calibrate log-normal and arsinh-normal noise to rho-zCDP, by a condition on the score.

When is noise zero-concentrated differentially private? Move from one neighbour to the other along scale exp(b tau)
and location m with m' = a times the scale, 0 <= tau <= 1,
|b| <= beta, |a| <= 1; every admissible neighbour is reached so (docs/privacy.md, section 5). With u = (z - m)/scale,
h the density of Z and psi = (log h)', the log-density at a point changes at the rate

    s = -b (1 + u psi(u)) - a psi(u),    u distributed as Z.

**Condition.** If log E exp(mu s) <= mu^2 kappa^2 / 2 for every real mu, the Renyi divergence of order alpha between the
ends, either way round, is at most alpha kappa^2 / 2: one release is kappa^2/2-zCDP.

*Proof.* Let M(tau, alpha) be the logarithm of the integral of p_tau^alpha p_0^(1-alpha), and w its integrand as a
density. Then dM/dtau = alpha E_w s. By Gibbs' variational principle mu E_w s <= KL(w, p_tau) + mu^2 kappa^2/2, and
KL(w, p_tau) = (alpha - 1) dM/dalpha - M. Follow the curve alpha = k/tau with mu = (alpha - 1) tau = k - tau: there

    dM <= (-(alpha/mu) M + alpha mu kappa^2/2) dtau,

which G = alpha (alpha - 1) tau^2 kappa^2/2 satisfies with equality. So (M - G) tau/(k - tau) never grows. It starts
from 0, since M stays bounded (|log p_tau/p_0| / tau has all exponential moments), hence M <= G, and at tau = 1 the
divergence M/(alpha - 1) is at most alpha kappa^2/2. Reversing the path changes the sign of s, that is of mu. []

For small rho the condition is all but exact. At beta = kappa/10 it needs about half the noise of the published bounds
(Bun and Steinke 2019), which pay for shift and dilation one after the other.

The logarithm of E exp(mu s) is convex in (a, b) and Z is symmetrical, so b = beta and a = 1 suffice. There

    E exp(mu s) = E exp(mu beta A) cosh(mu B),    A = 1 + u psi(u), B = |psi(u)|,    mu of either sign,

an integral over |Z| of two known functions. A search in floating point (``Scores``) finds a scale for which the
condition is all but exact; ``certificate`` proves that it holds. What is released rests on the proof alone.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np
from flint import arb

from dpnb_columnar.budget.costs import Concentrated
from dpnb_columnar.noise.certificate import Score, certified
from dpnb_columnar.noise.family import Floats, Scaled, Standard, rational, upper

SMALLEST_ORDER = 1e-3
ZOOMS, ZOOMED = 2, 9


@dataclass(frozen=True, slots=True)
class Scores:
    """The two parts of a standard shape's score, as a quadrature over |X|.

    Attributes:
        log_weights: Logarithms of the nodes' probabilities, shape (nodes,).
        dilation: 1 + x psi(x) at the nodes, shape (nodes,); at most 1, as the density falls from 0.
        shift: |psi(x)| at the nodes, shape (nodes,).
        sigma: A number for which E exp(-m (1 + X psi)) <= 2 exp(m^2 / (2 sigma^2)) for all m >= 0.
    """

    log_weights: Floats
    dilation: Floats
    shift: Floats
    sigma: float

    @classmethod
    def normalised(cls, log_weights: Floats, dilation: Floats, shift: Floats, sigma: float) -> Scores:
        """Make scores of weights that are given in proportion, so that they add up to 1."""
        top = float(np.max(log_weights))
        total = top + math.log(float(np.sum(np.exp(log_weights - top))))
        return cls(log_weights - total, dilation, shift, sigma)

    def information(self, beta: float, speed: float) -> float:
        """Variance of the score, the limit of ``steepness`` as mu falls to 0."""
        weights = np.exp(self.log_weights)
        return float(weights @ (beta * self.dilation) ** 2 + weights @ (speed * self.shift) ** 2)

    def farthest_order(self, beta: float, speed: float) -> float:
        """Compute a number beyond which no |mu| needs a look, if kappa is 1 and beta < sigma (``certificate``)."""
        bound, gap = speed * float(np.max(self.shift)), 1 - (beta / self.sigma) ** 2
        return max((bound + math.sqrt(bound**2 + 2 * gap * math.log(2))) / gap, 2 * (beta + bound))

    def steepness(self, beta: float, speed: float, orders: int) -> float:
        """Compute the largest 2 log E exp(mu s) / mu^2 over all mu, for kappa = 1: private if at most 1.

        Args:
            beta: Largest rate of the scale's logarithm.
            speed: Shift in units of the scale, 1/c.
            orders: How many mu of each sign to try before closing in on the largest.
        """
        sizes = np.geomspace(SMALLEST_ORDER, self.farthest_order(beta, speed), orders)
        largest = self.information(beta, speed)
        for sign in (-1, 1):
            tried = sizes
            for _ in range(1 + ZOOMS):
                found = self._steepness_at(sign * tried, beta, speed)
                largest, best = max(largest, float(np.max(found))), int(np.argmax(found))
                tried = np.linspace(tried[max(best - 1, 0)], tried[min(best + 1, len(tried) - 1)], ZOOMED)
        return largest

    def _steepness_at(self, mu: Floats, beta: float, speed: float) -> Floats:
        turned = np.outer(np.abs(mu) * speed, self.shift)
        log_cosh = turned + np.log1p(np.exp(-2 * turned)) - math.log(2)
        exponent = np.outer(mu * beta, self.dilation) + log_cosh + self.log_weights
        top = np.max(exponent, axis=1, keepdims=True)
        mean: Floats = top[:, 0] + np.log(np.sum(np.exp(exponent - top), axis=1))
        return 2 * mean / mu**2


# By how much the scale that the search finds is raised before it is certified, and up to which excess it is raised
# again, twice as much each time, until it is.
FIRST_EXCESS, LARGEST_EXCESS = Fraction(1, 2**14), Fraction(1)
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
        """Compute the logarithm of the standard deviation."""

    def scores(self, reach: float, nodes: int) -> Scores:
        """Compute a quadrature of so many nodes that holds the mass for all |Y| <= ``reach``."""

    def score(self) -> Score:
        """Return density and score in ball arithmetic."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A sigma, and a scale for kappa = 1 that is certified for it."""

    sigma: Fraction
    scale: Fraction


@dataclass(frozen=True, slots=True)
class ConcentratedNoise(Scaled):
    """Base of the concentrated families: Z = c X, X of a shape whose sigma and scale are calibrated to rho and beta.

    Raises:
        ValueError: unless rho > 0 and 0 < beta <= sqrt(2 rho).
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
    def cost(self) -> Concentrated:
        return Concentrated(self.rho)

    @property
    def standard(self) -> Shape:
        return self.shape(calibrate(self.shape, _ratio_squared(self.rho, self.beta)).sigma)

    @property
    def scale(self) -> Fraction:
        return _scale(self.shape, self.rho, self.beta)


@lru_cache(maxsize=256)
def _scale(shape: Callable[[Fraction], Shape], rho: Fraction, beta: Fraction) -> Fraction:
    """Compute the scale for kappa = sqrt(2 rho): that for kappa = 1 and beta/kappa, divided by kappa."""
    unit = calibrate(shape, _ratio_squared(rho, beta)).scale
    return upper(lambda: rational(unit) / arb(rational(2 * rho)).sqrt())


def _ratio_squared(rho: Fraction, beta: Fraction) -> Fraction:
    """Return (beta/kappa)^2, raised to a whole millionth.

    Noise for a larger beta serves a smaller one, and queries with the same ratio share a calibration whatever the last
    digit of their beta is.
    """
    return Fraction(math.ceil(10**6 * beta**2 / (2 * rho)), 10**6)


@lru_cache(maxsize=256)
def calibrate(shape: Callable[[Fraction], Shape], ratio_squared: Fraction) -> Calibrated:
    """Choose sigma for the least variance, and a scale for it: searched in floating point, then certified.

    The search decides how much noise there is, the certificate alone that it is private. Any sigma > beta is private at
    some scale.

    Args:
        shape: The standard shape as a function of sigma.
        ratio_squared: (beta/kappa)^2.

    Raises:
        ArithmeticError: if no scale up to twice the one that was searched is certified.
    """
    from scipy import optimize

    ratio_squared = max(ratio_squared, SMALLEST_RATIO**2)
    beta = math.sqrt(ratio_squared)

    def log_deviation(log_sigma: float) -> float:
        candidate = shape(Fraction(math.exp(log_sigma)))
        speed = _speed(candidate, beta, nodes=250, orders=12, tolerance=1e-4)
        return candidate.log_deviation() - math.log(speed) if speed > 0 else 1e3

    bounds = math.log(1.03 * beta), math.log(2 * max(beta, 0.6))
    found = optimize.minimize_scalar(log_deviation, bounds=bounds, method="bounded", options={"xatol": 0.02})
    best = shape(Fraction(math.exp(found.x)))
    speed, excess = Fraction(_speed(best, beta, nodes=800, orders=120, tolerance=1e-7)), FIRST_EXCESS
    while excess <= LARGEST_EXCESS:
        scale = (1 + excess) / speed
        if certified(best.score(), ratio_squared, scale):
            return Calibrated(best.sigma, scale)
        excess *= 2
    raise ArithmeticError(f"no scale of {shape.__name__} was certified for (beta/kappa)^2 = {ratio_squared}")


def _speed(shape: Shape, beta: float, nodes: int, orders: int, tolerance: float) -> float:
    """Compute the largest shift, in units of the scale, that is private for kappa = 1, from below; 0 if none is."""
    scores = shape.scores(REACH, nodes)
    high = 1 / math.sqrt(scores.information(0, 1))
    tilt = scores.farthest_order(beta, high) * beta / float(shape.sigma)
    scores, low = shape.scores(REACH + tilt, nodes), 0.0
    while high - low > tolerance and high > tolerance:
        middle = (low + high) / 2
        low, high = (middle, high) if scores.steepness(beta, middle, orders) <= 1 else (low, middle)
    return low
