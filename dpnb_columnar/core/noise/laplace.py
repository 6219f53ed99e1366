"""Laplace noise (Dwork, McSherry, Nissim and Smith 2006): pure differential privacy for counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb, ctx, fmpq

from dpnb_columnar.core.budget.costs import Pure
from dpnb_columnar.core.noise.family import PRECISION, Floats, Scaled, Standard

UNIFORM_BITS = 64
"""Bits of a uniform number by which ``Laplace.whole`` decides."""

LARGEST_SCALE = 2**40
"""Beyond this scale a whole number cannot be guessed in floating point."""

ENDS = 2**16
"""Ends of whole numbers that are kept: more than are drawn at scales up to a thousand."""


@dataclass(frozen=True, slots=True)
class StandardLaplace(Standard):
    """Density exp(-|x|) / 2."""

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

    def whole(self, scale: Fraction, seen: int) -> int | None:
        """Round ``scale * |Z|`` to the nearest whole number, where the first 64 bits of a uniform number u decide it.

        |Z| exceeds z where u < exp(-epsilon z). So it rounds to k or more where u < t(k), and to less where u > t(k),
        with t(k) = exp(-(k - 1/2) epsilon/scale). Of u it is known that seen <= 2**64 u <= seen + 1. With T(k) =
        floor(2**64 t(k)): if seen < T(k), then u <= T(k)/2**64 <= t(k), and not both are equal, as t(k) is irrational;
        if seen > T(k), then u >= (T(k) + 1)/2**64 > t(k). So T(k + 1) < seen < T(k) implies k, and T(1) < seen implies
        0, by comparison of integers. In floating point is only the guess which k to try. The result is None where these
        bits do not decide it, or another k was guessed.
        """
        if scale <= 0 or not 0 <= seen < 2**UNIFORM_BITS:
            raise ValueError(f"Laplace noise needs a positive scale and a uniform number of {UNIFORM_BITS} bits")
        top, bottom = self.epsilon.numerator * scale.denominator, self.epsilon.denominator * scale.numerator
        if bottom > LARGEST_SCALE * top:
            return None
        guess = int(-math.log((seen + 1) / 2**UNIFORM_BITS) * (bottom / top) + 0.5)
        if _end(guess + 1, top, bottom) < seen and (not guess or seen < _end(guess, top, bottom)):
            return guess
        return None


@lru_cache(ENDS)
def _end(whole: int, top: int, bottom: int) -> int:
    """Compute floor(2**64 exp(-(whole - 1/2) top/bottom)), exactly, for ``whole`` of at least 1."""
    if (2 * whole - 1) * top > 90 * bottom:  # exp(-45) < 2**-64
        return 0
    precision = PRECISION
    while True:
        with ctx.workprec(precision):
            end = (arb(fmpq((1 - 2 * whole) * top, 2 * bottom)).exp() * arb((1, UNIFORM_BITS))).floor().unique_fmpz()
        if end is not None:
            return int(end)
        precision *= 2
