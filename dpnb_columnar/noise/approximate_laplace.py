"""Laplace noise for a scale that moves with the data: (epsilon, delta)-differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flint import arb

from dpnb_columnar.noise.approximate import ApproximateNoise, check
from dpnb_columnar.noise.calibration import rational, upper
from dpnb_columnar.noise.laplace import StandardLaplace


@dataclass(frozen=True, slots=True)
class ApproximateLaplace(ApproximateNoise):
    """Laplace noise of scale c, for 0 < beta below a limit that delta sets.

    The argument of ``approximate`` needs two bounds. Forward, the loss at z = 0 for b = 0 is 1/c, at most epsilon if
    c >= 1/epsilon. Reverse, the loss b - |z|/c + |z - 1| exp(-b)/c is largest at z = 0, where it is b + exp(-b)/c:
    convex in b, at most epsilon on [0, beta] if c >= 1/epsilon and c >= exp(-beta)/(epsilon - beta). Then H is 0 for
    every reverse pair.

    The forward loss -b + (|z exp(b) - 1| - |z|)/c is epsilon at z = -(c (epsilon + b) - 1)/(exp(b) - 1) and at
    z = (c (epsilon + b) + 1)/(exp(b) - 1). Beyond them Q holds exp(-b - epsilon) times what P holds, so

        H(forward, b) = D(b) cosh(1/(c (exp(b) - 1))),   D(b) = (1 - exp(-b)) exp(-(epsilon + b)/(exp(b) - 1)),

    D being the divergence of the dilation alone. Hence, for D(beta) < delta,

        c = max(1 / ((exp(beta) - 1) arcosh(delta/D(beta))), 1/epsilon, exp(-beta)/(epsilon - beta)),

    the smallest that is private wherever the first is the largest. Where 1/epsilon is the largest, a constant
    sensitivity would need no less noise.

    Raises:
        ValueError: Not epsilon > 0, 0 < delta < 1, 0 < beta < epsilon, or the dilation by exp(-beta) alone loses delta.
    """

    def __post_init__(self) -> None:
        if self.beta == 0:
            raise ValueError("Laplace noise of epsilon and delta needs beta > 0; with beta = 0 no delta is needed")
        check("Laplace", self.epsilon, self.delta, self.beta, lambda b: _dilation(self.epsilon, b))

    @property
    def name(self) -> str:
        return "laplace"

    @property
    def standard(self) -> StandardLaplace:
        return StandardLaplace()

    @property
    def scale(self) -> Fraction:
        return _scale(self.epsilon, self.delta, self.beta)


@lru_cache(maxsize=256)
def _scale(epsilon: Fraction, delta: Fraction, beta: Fraction) -> Fraction:
    def root() -> arb:
        return 1 / (arb(rational(beta)).expm1() * (rational(delta) / _dilation(epsilon, beta)).acosh())

    def reverse() -> arb:
        return arb(rational(-beta)).exp() / rational(epsilon - beta)

    return max(upper(root), upper(reverse), 1 / epsilon)


def _dilation(epsilon: Fraction, beta: Fraction) -> arb:
    """D(beta)."""
    exponent = -rational(epsilon + beta) / arb(rational(beta)).expm1()
    return -arb(rational(-beta)).expm1() * exponent.exp()
