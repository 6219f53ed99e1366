"""The Cauchy noise of Zafarani and Clifton 2021, Algorithm 1: scale sqrt(2)/epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, fmpq

from dpnb_columnar.budget.losses import Pure
from dpnb_columnar.noise.family import Floats


@dataclass(frozen=True, slots=True)
class PaperCauchy:
    """Cauchy noise of scale c = sqrt(2)/epsilon, for beta <= epsilon/sqrt(2).

    The log-ratio of two Cauchy densities has supremum d, the hyperbolic distance of their parameters (location,
    scale) in the upper half plane. For a shift min(1, exp(b)) and a scale ratio exp(b), |b| <= beta,

        cosh d = cosh b + exp(-|b|) / (2 c^2) = cosh b + exp(-|b|) epsilon^2 / 4,

    a convex function of |b|, hence largest at |b| = 0 or beta. At 0 it is 1 + epsilon^2/4 <= cosh epsilon. At beta =
    epsilon/sqrt(2), with x = beta: cosh x + exp(-x) x^2/2 <= cosh(sqrt(2) x), because cosh(sqrt(2) x) - cosh x is at
    least x^2/2 termwise. So d <= epsilon: private, though not tight. As epsilon falls to 0 the loss approaches
    epsilon.

    Raises:
        ValueError: Not 0 < beta <= epsilon/sqrt(2).
    """

    epsilon: Fraction
    beta: Fraction

    def __post_init__(self) -> None:
        if not (self.beta > 0 and 2 * self.beta**2 <= self.epsilon**2):
            raise ValueError(
                f"the paper's Cauchy noise needs 0 < beta <= epsilon/sqrt(2), found beta = {float(self.beta):.6g} and "
                f"epsilon = {float(self.epsilon):.6g}"
            )

    @property
    def uniforms(self) -> int:
        return 1

    @property
    def loss(self) -> Pure:
        return Pure(self.epsilon)

    @property
    def name(self) -> str:
        return "cauchy"

    def magnitude(self, *uniforms: arb) -> arb | None:
        """Inverse of ``survival``: c / tan(pi u / 2)."""
        (survival,) = uniforms
        if not survival > 0:
            return None
        epsilon = fmpq(self.epsilon.numerator, self.epsilon.denominator)
        return arb(2).sqrt() / epsilon / (survival * arb.pi() / 2).tan()

    def survival(self, magnitude: Floats) -> Floats:
        probability: Floats = 2 / math.pi * np.arctan2(math.sqrt(2) / float(self.epsilon), magnitude)
        return probability

    def log_density(self, z: Floats) -> Floats:
        scale = math.sqrt(2) / float(self.epsilon)
        density: Floats = -math.log(math.pi * scale) - np.log1p((z / scale) ** 2)
        return density
