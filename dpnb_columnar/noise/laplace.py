"""Laplace noise (Dwork, McSherry, Nissim and Smith 2006): pure differential privacy for counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, fmpq

from dpnb_columnar.budget.losses import Pure
from dpnb_columnar.noise.family import Floats


@dataclass(frozen=True, slots=True)
class Laplace:
    """Density epsilon/2 * exp(-epsilon |z|), for a sensitivity S that is a public constant.

    A shift of at most 1 changes the log-density by at most epsilon, with equality outside the two locations. A scale
    that moves with the data is not admissible: the ratio of two scales changes the log-density without bound. So
    ``beta`` is 0.

    Raises:
        ValueError: Not 0 < epsilon.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise ValueError(f"Laplace noise needs epsilon > 0, found {float(self.epsilon):.6g}")

    @property
    def uniforms(self) -> int:
        return 1

    @property
    def loss(self) -> Pure:
        return Pure(self.epsilon)

    @property
    def name(self) -> str:
        return "laplace"

    @property
    def beta(self) -> Fraction:
        return Fraction(0)

    def magnitude(self, *uniforms: arb) -> arb | None:
        """Inverse of ``survival``: -log(u) / epsilon."""
        (survival,) = uniforms
        if not survival > 0:
            return None
        return -survival.log() / fmpq(self.epsilon.numerator, self.epsilon.denominator)

    def survival(self, magnitude: Floats) -> Floats:
        probability: Floats = np.exp(-float(self.epsilon) * magnitude)
        return probability

    def log_density(self, z: Floats) -> Floats:
        epsilon = float(self.epsilon)
        density: Floats = math.log(epsilon / 2) - epsilon * np.abs(z)
        return density
