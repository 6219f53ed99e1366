"""Noise families to test, and privacy losses measured from their densities alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize

from dpnb_columnar.noise import (
    ApproximateLaplace,
    ArsinhNormal,
    ClassicalGaussian,
    ClassicalLaplace,
    Gaussian,
    Laplace,
    LaplaceLogNormal,
    NissimCauchy,
    NoiseFamily,
    PaperCauchy,
    PolyPlace,
    StudentT,
    UniformLogNormal,
)

Floats = NDArray[np.float64]
Density = Callable[[Floats], Floats]

POLYPLACE = [
    PolyPlace(Fraction(epsilon), Fraction(epsilon) / ratio)
    for epsilon in ("1/100", "1/10", "1", "5")
    for ratio in (Fraction(3, 2), 3, 5, 8)
]
LAPLACE = [Laplace(Fraction(epsilon)) for epsilon in ("1/100", "1", "3")]
CAUCHY = [PaperCauchy(Fraction(epsilon), Fraction(epsilon) * Fraction(7071, 10000)) for epsilon in ("1/100", "1", "3")]
NISSIM = [NissimCauchy(Fraction(epsilon), Fraction(epsilon) / 6) for epsilon in ("1/100", "1", "5")]
STUDENT = [
    StudentT(
        Fraction(epsilon), Fraction(epsilon) * Fraction(share) / max(Fraction(degrees), Fraction(1)), Fraction(degrees)
    )
    for degrees in ("1/3", "1/2", "1", "5/2", "3", "10", "40")
    for epsilon, share in (("1/100", "1/2"), ("1", "1/10"), ("1", "9/10"), ("4", "99/100"), ("4", "1/100"))
]
GAUSSIAN = [
    Gaussian(Fraction(epsilon), Fraction(delta), Fraction(beta))
    for epsilon, delta, beta in (
        ("1", "1/100000", "0"),
        ("1", "1/100000", "1/50"),
        ("1", "1/100000", "4/63"),
        ("1/10", "1/1000000", "1/200"),
        ("1/100", "1/1000", "1/2000"),
        ("3", "1/10000000000", "7/100"),
        ("8", "1/100", "1/2"),
    )
]
APPROXIMATE_LAPLACE = [
    ApproximateLaplace(Fraction(epsilon), Fraction(delta), Fraction(beta))
    for epsilon, delta, beta in (
        ("1", "1/100000", "1/10"),
        ("1", "1/100000", "11/100"),
        ("1/10", "1/1000000", "7/1000"),
        ("1/100", "1/1000", "3/2000"),
        ("3", "1/10000000000", "2/15"),
        ("8", "1/100", "1"),
    )
]
CLASSICAL = [
    make(Fraction(epsilon), Fraction(delta), Fraction(epsilon) * Fraction(share))
    for make, share in ((ClassicalGaussian, "1/54"), (ClassicalLaplace, "1/25"))
    for epsilon, delta in (("1/100", "1/100000"), ("1", "1/100000"), ("8", "1/100"))
]
CONCENTRATED = [
    make(Fraction(rho), Fraction(beta))
    for make in (ArsinhNormal, UniformLogNormal, LaplaceLogNormal)
    for rho, beta in (("1/20000", "1/1000"), ("1/2", "1/100"), ("1/2", "3/10"), ("2", "1/5"), ("1/200", "1/10"))
    if not (make is LaplaceLogNormal and rho == "2")
]
FAMILIES: list[NoiseFamily] = [
    *(POLYPLACE[index] for index in (0, 6, 9, 15)),
    *LAPLACE[1:],
    CAUCHY[1],
    NISSIM[1],
    *(StudentT(Fraction(1), Fraction(1, 50), Fraction(degrees)) for degrees in ("1/2", "1", "5/2", "3", "10")),
    GAUSSIAN[1],
    APPROXIMATE_LAPLACE[0],
    CLASSICAL[1],
    CLASSICAL[4],
    *(CONCENTRATED[index] for index in (1, 2, 6, 7, 11, 12)),
]
# Student's inverse takes half a millisecond; two of its kind are drawn from by the thousands.
DRAWN = [family for family in FAMILIES if family.name not in ("student-5/2", "student-10")]
# By its type: a family that is asked how many it takes is calibrated, which takes a second for all of them.
ONE_UNIFORM = [family for family in FAMILIES if not isinstance(family, UniformLogNormal | LaplaceLogNormal)]


def name_of(family: NoiseFamily) -> str:
    values = [getattr(family.cost, field) for field in family.cost.__slots__]
    return " ".join(str(part) for part in (family.name, *values, family.beta))


def every(families: list) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("family", families, ids=name_of)


def scaled(family: NoiseFamily, factor: float = 1.0) -> Density:
    return lambda z: family.log_density(z / factor) - math.log(factor)


def neighbours(beta: float, ratios: int = 9, shifts: int = 5) -> Iterator[tuple[float, float]]:
    """Shifts t and ratios r with 0 <= t <= min(1, r) and |log r| <= beta, the extremes among them.

    Shifts the other way are the same pairs seen in a mirror: every density is symmetrical, as a test of its own checks.
    """
    for logarithm in np.unique(np.linspace(-beta, beta, ratios)):
        for share in np.linspace(0, 1, shifts):
            yield float(share * min(1.0, math.exp(logarithm))), math.exp(logarithm)


def losses(density: Density, shift: float, ratio: float, z: Floats) -> Floats:
    """Log-ratio at z of the densities of Z and of shift + ratio Z."""
    return density(z) - (density((z - shift) / ratio) - math.log(ratio))


def worst_loss(family: NoiseFamily, factor: float = 1.0) -> float:
    """Largest |log-ratio| of the densities of neighbours: on a grid, then closing in on the best point."""
    density, beta, unit = scaled(family, factor), float(family.beta), family.quantile(0.5)
    reach = 1e12 if beta else 1e3  # far tails matter only where the scale moves; there the log-density stays small
    magnitudes = unit * np.concatenate([np.linspace(0, 10, 401), np.geomspace(10, reach, 401)])
    grid = np.concatenate([-magnitudes[:0:-1], magnitudes])
    worst = 0.0
    for shift, ratio in neighbours(beta):
        # The grid is moved along, so that both centres, where the ratio of a Laplace density peaks, are on it.
        for points in (grid, grid * ratio + shift):
            for _ in range(3):
                found = np.abs(losses(density, shift, ratio, points))
                best = int(np.argmax(found))
                worst = max(worst, float(found[best]))
                points = np.linspace(points[max(best - 1, 0)], points[min(best + 1, len(points) - 1)], 33)
    return worst


NODES, WEIGHTS = np.polynomial.legendre.leggauss(10)


def panels(edges: Floats) -> tuple[Floats, Floats]:
    """Nodes and weights of Gauss and Legendre on each panel between sorted edges."""
    half, middle = np.diff(edges)[:, None] / 2, (edges[1:] + edges[:-1])[:, None] / 2
    return (middle + half * NODES).ravel(), (half * WEIGHTS).ravel()


def hockey_stick(family: NoiseFamily, epsilon: float, shift: float, ratio: float, factor: float = 1.0) -> float:
    """sup over E of P(E) - exp(epsilon) Q(E), P of Z and Q of shift + ratio Z, integrated where the loss is larger."""
    density, reach = scaled(family, factor), factor * family.quantile(1e-22)

    def excess(z: Floats) -> Floats:
        return losses(density, shift, ratio, z) - epsilon

    grid = np.unique(np.concatenate([np.linspace(-reach, reach, 2001), [0, shift]]))
    values = excess(grid)
    changes = np.flatnonzero(np.sign(values[1:]) != np.sign(values[:-1]))
    roots = [optimize.brentq(lambda z: float(excess(np.array(z))), grid[i], grid[i + 1], xtol=1e-13) for i in changes]
    z, weights = panels(np.unique(np.concatenate([np.linspace(-reach, reach, 301), [0, shift], roots])))
    over = np.maximum(-np.expm1(-excess(z)), 0)
    return float(np.sum(weights * np.exp(density(z)) * over))


def worst_hockey_stick(family: NoiseFamily, epsilon: float, factor: float = 1.0) -> float:
    return max(hockey_stick(family, epsilon, *pair, factor) for pair in neighbours(float(family.beta)))


def renyi(family: NoiseFamily, orders: Floats, shift: float, ratio: float, factor: float = 1.0) -> Floats:
    """Renyi divergences of Z from shift + ratio Z, of several orders, shape of ``orders``."""
    density, unit = scaled(family, factor), factor * family.quantile(0.5)
    sizes = unit * np.geomspace(1e-6, 1e15, 70)
    edges = np.unique(
        np.concatenate([*(centre + sign * sizes for centre in (0, shift) for sign in (-1, 1)), [0, shift]])
    )
    z, weights = panels(edges)
    log_p, loss = density(z), losses(density, shift, ratio, z)
    exponent = log_p + np.log(weights) + (orders[:, None] - 1) * loss
    top = exponent.max(axis=1)
    return (top + np.log(np.exp(exponent - top[:, None]).sum(axis=1))) / (orders - 1)


def worst_renyi(family: NoiseFamily, rho: float, factor: float = 1.0) -> float:
    """Largest divergence over orders and neighbours, in units of order times rho."""
    orders = 1 + np.array([0.01, 0.1, 0.3, 0.5, 0.7, 1, 1.4, 2, 4, 8, 20]) / math.sqrt(2 * rho)
    pairs = neighbours(float(family.beta), 5, 3)
    return max(float(np.max(renyi(family, orders, *pair, factor) / (orders * rho))) for pair in pairs)


def precise(number: Fraction) -> mpmath.mpf:
    """The number to the digits that mpmath works with."""
    return mpmath.mpf(number.numerator) / number.denominator


def gaussian_delta(epsilon: mpmath.mpf, rho: mpmath.mpf) -> mpmath.mpf:
    """Exact delta of the Gaussian mechanism with noise of deviation 1/sqrt(2 rho), which is rho-zCDP and no less
    (Balle and Wang 2018, Theorem 8)."""
    mu = mpmath.sqrt(2 * rho)
    return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)
