"""Laplace noise (Dwork, McSherry, Nissim and Smith 2006): pure differential privacy for counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb

from dpnb_columnar.budget.costs import Pure
from dpnb_columnar.noise.family import Floats, Scaled


@dataclass(frozen=True, slots=True)
class StandardLaplace:
    """Density exp(-|x|) / 2."""

    @property
    def uniforms(self) -> int:
        return 1

    def magnitude(self, *uniforms: arb) -> arb | None:
        """Invert ``survival``: -log u."""
        (survival,) = uniforms
        return -survival.log() if survival > 0 else None

    def survival(self, magnitude: Floats) -> Floats:
        probability: Floats = np.exp(-magnitude)
        return probability

    def log_density(self, z: Floats) -> Floats:
        density: Floats = -math.log(2) - np.abs(z)
        return density


@dataclass(frozen=True, slots=True)
class Laplace(Scaled):
    """Density epsilon/2 * exp(-epsilon |z|), for a sensitivity S that is a public constant.

    A shift of at most 1 changes the log-density by at most epsilon, with equality outside the two locations. A scale
    that moves with the data is not admissible: the ratio of two scales changes the log-density without bound. So
    ``beta`` is 0. (With a small probability of failure allowed, see ``ApproximateLaplace``.)

    Raises:
        ValueError: unless 0 < epsilon.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise ValueError(f"Laplace noise needs epsilon > 0, found {float(self.epsilon):.6g}")

    @property
    def name(self) -> str:
        return "laplace"

    @property
    def beta(self) -> Fraction:
        return Fraction(0)

    @property
    def cost(self) -> Pure:
        return Pure(self.epsilon)

    @property
    def standard(self) -> StandardLaplace:
        return StandardLaplace()

    @property
    def scale(self) -> Fraction:
        return 1 / self.epsilon
