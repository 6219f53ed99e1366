"""Gaussian and Laplace noise with the constants of Nissim, Raskhodnikova and Smith (2007), for comparison.

Their argument bounds a shift and a dilation one after the other, for small epsilon. Here the constants are taken only
where they are proven by the exact calibration of ``Gaussian`` and ``ApproximateLaplace``: where the classical scale
is at least the exact one. For delta <= 1/10 that is everywhere up to epsilon = 9 or more; beyond, a large beta is
refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flint import arb

from dpnb_columnar.noise.approximate import ApproximateLaplace, ApproximateNoise, Gaussian
from dpnb_columnar.noise.family import rational, supremum, upper
from dpnb_columnar.noise.laplace import StandardLaplace
from dpnb_columnar.noise.log_normal import StandardNormal


@dataclass(frozen=True, slots=True)
class ClassicalGaussian(ApproximateNoise):
    """Gaussian noise of standard deviation 5 sqrt(2 ln(2/delta))/epsilon, for beta <= epsilon/(4 (1 + ln(2/delta))).

    Raises:
        ValueError: unless epsilon > 0, 0 < delta < 1 and 0 < beta within that range and no larger than proven.
    """

    def __post_init__(self) -> None:
        _check(self, Gaussian, 4, 1)

    @property
    def name(self) -> str:
        return "classical-gaussian"

    @property
    def standard(self) -> StandardNormal:
        return StandardNormal()

    @property
    def scale(self) -> Fraction:
        return _gaussian_scale(self.epsilon, self.delta)


@dataclass(frozen=True, slots=True)
class ClassicalLaplace(ApproximateNoise):
    """Laplace noise of scale 2/epsilon, for beta <= epsilon/(2 ln(2/delta)).

    Raises:
        ValueError: unless epsilon > 0, 0 < delta < 1 and 0 < beta within that range and no larger than proven.
    """

    def __post_init__(self) -> None:
        _check(self, ApproximateLaplace, 2, 0)

    @property
    def name(self) -> str:
        return "classical-laplace"

    @property
    def standard(self) -> StandardLaplace:
        return StandardLaplace()

    @property
    def scale(self) -> Fraction:
        return 2 / self.epsilon


@lru_cache(maxsize=256)
def _gaussian_scale(epsilon: Fraction, delta: Fraction) -> Fraction:
    return upper(lambda: 5 * (2 * _logarithm(delta)).sqrt() / rational(epsilon))


def _logarithm(delta: Fraction) -> arb:
    return arb(rational(2 / delta)).log()


def _check(
    noise: ClassicalGaussian | ClassicalLaplace,
    exact: type[Gaussian] | type[ApproximateLaplace],
    factor: int,
    addend: int,
) -> None:
    """Refuse a beta above epsilon / (factor * (addend + ln(2/delta))), or one for which the exact scale is larger."""
    epsilon, delta = noise.epsilon, noise.delta
    if not (epsilon > 0 and 0 < delta < 1):
        raise ValueError(
            f"{noise.name} noise needs epsilon > 0 and 0 < delta < 1, found epsilon = {float(epsilon):.6g} and delta "
            f"= {float(delta):.6g}"
        )
    published = epsilon / upper(lambda: factor * (addend + _logarithm(delta)))  # rounded down

    def proven(beta: Fraction) -> bool:
        try:
            return exact(epsilon, delta, beta).scale <= noise.scale
        except ValueError:
            return False

    if not (0 < noise.beta <= published and proven(noise.beta)):
        limit = published if proven(published) else Fraction(supremum(proven, published))
        raise ValueError(
            f"{noise.name} noise of epsilon = {float(epsilon):.6g} and delta = {float(delta):.6g} needs 0 < beta <= "
            f"{float(limit):.6g}, found beta = {float(noise.beta):.6g}"
        )
