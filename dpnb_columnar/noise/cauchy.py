"""Cauchy noise: the paper's (Zafarani and Clifton 2021, Algorithm 1) and that of Nissim, Raskhodnikova and Smith 2007.

The log-ratio of two Cauchy densities has supremum d, the hyperbolic distance of their parameters (location, scale) in
the upper half plane. For a shift min(1, exp(b)) and a scale ratio exp(b), |b| <= beta,

    cosh d = cosh b + exp(-|b|) / (2 c^2),

a convex function of |b|, hence largest at |b| = 0 or beta. ``StudentT`` with one degree of freedom has the smallest
scale that this allows; the two families here have the constants of their papers, for comparison.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb

from dpnb_columnar.budget.costs import Pure
from dpnb_columnar.noise.family import Floats, Scaled, rational, upper


@dataclass(frozen=True, slots=True)
class StandardCauchy:
    """Density 1 / (pi (1 + x^2))."""

    @property
    def uniforms(self) -> int:
        return 1

    def magnitude(self, *uniforms: arb) -> arb | None:
        """Invert ``survival``: 1 / tan(pi u / 2)."""
        (survival,) = uniforms
        return 1 / (survival * arb.pi() / 2).tan() if survival > 0 else None

    def survival(self, magnitude: Floats) -> Floats:
        probability: Floats = 2 / math.pi * np.arctan2(1, magnitude)
        return probability

    def log_density(self, z: Floats) -> Floats:
        density: Floats = -math.log(math.pi) - np.log1p(z**2)
        return density


@dataclass(frozen=True, slots=True)
class _Cauchy(Scaled):
    """Parameters, cost and shape of both families."""

    epsilon: Fraction
    beta: Fraction

    @property
    def cost(self) -> Pure:
        return Pure(self.epsilon)

    @property
    def standard(self) -> StandardCauchy:
        return StandardCauchy()


@dataclass(frozen=True, slots=True)
class PaperCauchy(_Cauchy):
    """Cauchy noise of scale c = sqrt(2)/epsilon, for beta <= epsilon/sqrt(2).

    Here cosh d = cosh b + exp(-|b|) epsilon^2 / 4. At b = 0 it is 1 + epsilon^2/4 <= cosh epsilon. At beta =
    epsilon/sqrt(2), with x = beta: cosh x + exp(-x) x^2/2 <= cosh(sqrt(2) x), because cosh(sqrt(2) x) - cosh x is at
    least x^2/2 termwise. So d <= epsilon: private, though not tight. As epsilon falls to 0 the loss approaches
    epsilon.

    Raises:
        ValueError: unless 0 < beta <= epsilon/sqrt(2).
    """

    def __post_init__(self) -> None:
        if not (self.epsilon > 0 and self.beta > 0 and 2 * self.beta**2 <= self.epsilon**2):
            raise ValueError(
                f"the paper's Cauchy noise needs 0 < beta <= epsilon/sqrt(2) = {float(self.epsilon) / math.sqrt(2):.6g}"
                f", found beta = {float(self.beta):.6g}"
            )

    @property
    def name(self) -> str:
        return "cauchy"

    @property
    def scale(self) -> Fraction:
        return _paper_scale(self.epsilon)


@lru_cache(maxsize=256)
def _paper_scale(epsilon: Fraction) -> Fraction:
    return upper(lambda: arb(2).sqrt() / rational(epsilon))


@dataclass(frozen=True, slots=True)
class NissimCauchy(_Cauchy):
    """Cauchy noise of scale c = 6/epsilon, for beta <= epsilon/6 (Nissim, Raskhodnikova and Smith 2007).

    Here cosh d = cosh b + exp(-|b|) epsilon^2 / 72, at most cosh(epsilon/6) + (epsilon/6)^2 / 2 <= cosh(sqrt(2)
    epsilon/6) by the term-by-term comparison of ``PaperCauchy``. So the loss is at most sqrt(2) epsilon/6, not a
    quarter of what it is charged.

    Raises:
        ValueError: unless 0 < beta <= epsilon/6.
    """

    def __post_init__(self) -> None:
        if not (self.epsilon > 0 and 0 < self.beta <= self.epsilon / 6):
            raise ValueError(
                f"Nissim's Cauchy noise needs 0 < beta <= epsilon/6 = {float(self.epsilon / 6):.6g}, found beta = "
                f"{float(self.beta):.6g}"
            )

    @property
    def name(self) -> str:
        return "nissim-cauchy"

    @property
    def scale(self) -> Fraction:
        return 6 / self.epsilon
