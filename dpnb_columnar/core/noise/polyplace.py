"""PolyPlace noise (Hladik and Tetek, FORC 2025): pure differential privacy, saturated everywhere."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb, ctx, fmpq

from dpnb_columnar.core.budget.costs import Pure
from dpnb_columnar.core.noise.family import Floats, quantile


@dataclass(frozen=True, slots=True)
class PolyPlace:
    """Noise with a density of two powers, private at a rate of exactly epsilon everywhere.

    The density is proportional to (1 - |z|/s)^(alpha-1) up to s/alpha and to (1 + |z|/s)^-(alpha+1) beyond, continuous
    there. Here s = 1/beta and alpha = epsilon/beta > 1. Let psi be the derivative of the log-density. On both pieces

        beta * |1 + z psi(z)| + |psi(z)| = alpha * beta = epsilon,

    which is the rate at which the log-density at a point can change while the location moves at the speed of the
    scale and the logarithm of the scale at speed beta. Every admissible neighbour is reached along such a path of
    length 1: with scale exp(b tau), the location covers (exp(b) - 1)/b >= min(1, exp(b)). Hence the loss is at most
    epsilon (docs/privacy.md, section 5). It is exact: the pure dilation by exp(beta) loses alpha * beta in the far
    tail.

    The tails fall like |z|^-(alpha+1), so the mean of |Z| is finite for alpha > 1 and the variance for alpha > 2.
    """

    epsilon: Fraction
    beta: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.beta < self.epsilon:
            raise ValueError(
                f"PolyPlace noise needs 0 < beta < epsilon, found beta = {float(self.beta):.6g} and "
                f"epsilon = {float(self.epsilon):.6g}"
            )

    @property
    def uniforms(self) -> int:
        return 1

    @property
    def cost(self) -> Pure:
        return Pure(self.epsilon)

    @property
    def name(self) -> str:
        return "polyplace"

    @property
    def scale(self) -> Fraction:
        """The scale s of the standard shape."""
        return 1 / self.beta

    @property
    def alpha(self) -> Fraction:
        """Exponent of the tails."""
        return self.epsilon / self.beta

    def magnitude(self, *uniforms: arb) -> arb | None:
        """Invert ``survival``.

        With T the probability beyond s/alpha and q = 1 - 1/alpha,

        beyond:  1 + z/s = (1 + 1/alpha) (T/u)^(1/alpha);   within:  (1 - z/s)^alpha = 1 - (1-u)(1 - q^alpha)/(1 - T).
        """
        (survival,) = uniforms
        scale, alpha, tail, within = _constants(self.epsilon, self.beta, ctx.prec)
        if survival < tail:
            return scale * ((1 + 1 / alpha) * (tail / survival) ** (1 / alpha) - 1)
        if survival > tail:
            return scale * (1 - (1 - (1 - survival) * within) ** (1 / alpha))
        return None

    def survival(self, magnitude: Floats) -> Floats:
        alpha, scale = float(self.alpha), float(1 / self.beta)
        tail, within = _tail(alpha), -math.expm1(alpha * math.log1p(-1 / alpha))
        inner = np.minimum(magnitude, scale / alpha) / scale
        body = 1 - (1 - tail) * -np.expm1(alpha * np.log1p(-inner)) / within
        beyond = tail * np.exp(-alpha * (np.log1p(magnitude / scale) - math.log1p(1 / alpha)))
        return np.where(magnitude * alpha <= scale, body, beyond)

    def log_density(self, z: Floats) -> Floats:
        alpha, scale = float(self.alpha), float(1 / self.beta)
        ratio = np.abs(z) / scale
        # The tail holds T/2 on each side: density (T alpha / 2 s) (1 + 1/alpha)^alpha (1 + z/s)^-(alpha+1).
        edge = math.log(_tail(alpha) * alpha / (2 * scale)) - math.log1p(1 / alpha)
        beyond = edge - (alpha + 1) * (np.log1p(ratio) - math.log1p(1 / alpha))
        inside = edge + (alpha - 1) * (np.log1p(-np.minimum(ratio, 1 / alpha)) - math.log1p(-1 / alpha))
        return np.where(ratio * alpha <= 1, inside, beyond)

    def quantile(self, probability: float) -> float:
        return quantile(self.survival, probability)


def _tail(alpha: float) -> float:
    """Compute the probability beyond s/alpha: (1 + 1/alpha) / (2/alpha + q^(1-alpha)), q = 1 - 1/alpha."""
    return (1 + 1 / alpha) / (2 / alpha + math.exp((1 - alpha) * math.log1p(-1 / alpha)))


@lru_cache(maxsize=256)
def _constants(epsilon: Fraction, beta: Fraction, precision: int) -> tuple[arb, arb, arb, arb]:
    """Compute s, alpha, T and (1 - q^alpha)/(1 - T) as balls at the current precision."""
    scale = arb(fmpq(beta.denominator, beta.numerator))
    alpha = scale * fmpq(epsilon.numerator, epsilon.denominator)
    rest = 1 - 1 / alpha
    tail = (1 + 1 / alpha) / (2 / alpha + rest ** (1 - alpha))
    return scale, alpha, tail, (1 - rest**alpha) / (1 - tail)
