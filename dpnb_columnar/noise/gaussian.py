"""Gaussian noise: (epsilon, delta)-differential privacy at the smallest scale, for a scale that moves with the data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flint import arb

from dpnb_columnar.noise.approximate import ApproximateNoise, check
from dpnb_columnar.noise.calibration import rational, smallest, upper
from dpnb_columnar.noise.normal import StandardNormal


@dataclass(frozen=True, slots=True)
class Gaussian(ApproximateNoise):
    """Gaussian noise of standard deviation sigma, for 0 <= beta below a limit that delta sets.

    The argument of ``approximate`` needs two bounds. Forward, the loss at z = 0 for b = 0 is 1/(2 sigma^2), at most
    epsilon if sigma >= 1/sqrt(2 epsilon). Reverse, {p > exp(epsilon) q} is an interval; let x = (z - 1) exp(-b), and
    x_l, x_h its ends. By the same reasoning dH/db = exp(epsilon) (x_h phi(x_h) - x_l phi(x_l)), which is not positive
    if x_h <= -sigma, where x phi(x) falls. That is so if the loss is at most epsilon for every x >= -sigma. It is

        b + (x^2 - (1 + exp(b) x)^2) / (2 sigma^2):

    at most b for x >= 0, and for x = -y, 0 <= y <= sigma, at most b + exp(b) y / sigma^2 <= beta + exp(beta)/sigma.
    So with sigma >= exp(beta)/(epsilon - beta) the reverse H never grows with b, and at b = 0 it is the forward H.
    Hence

        sigma = max(the root of H(forward, beta) = delta, 1/sqrt(2 epsilon), exp(beta)/(epsilon - beta)).

    It is the smallest that is private wherever the root is the largest of the three, as it is for delta far below
    epsilon. With beta = 0 this is the analytic Gaussian mechanism of Balle and Wang (2018).

    Raises:
        ValueError: Not epsilon > 0, 0 < delta < 1, 0 <= beta < epsilon, or the dilation by exp(-beta) alone loses
        delta.
    """

    def __post_init__(self) -> None:
        check("Gaussian", self.epsilon, self.delta, self.beta, lambda b: _divergence(arb(0), self.epsilon, b))

    @property
    def name(self) -> str:
        return "gaussian"

    @property
    def standard(self) -> StandardNormal:
        return StandardNormal()

    @property
    def scale(self) -> Fraction:
        return _scale(self.epsilon, self.delta, self.beta)


@lru_cache(maxsize=256)
def _scale(epsilon: Fraction, delta: Fraction, beta: Fraction) -> Fraction:
    bounds = [
        upper(lambda: 1 / arb(rational(2 * epsilon)).sqrt()),
        upper(lambda: arb(rational(beta)).exp() / rational(epsilon - beta)),
    ]
    return smallest(
        lambda sigma: bool(_divergence(1 / arb(rational(sigma)), epsilon, beta) < rational(delta)), max(bounds)
    )


def _divergence(shift: arb, epsilon: Fraction, beta: Fraction) -> arb:
    """H of the forward pair, in units of sigma: of N(0, 1) and N(shift exp(-beta), exp(-2 beta)), shift = 1/sigma.

    With e = exp(beta) and root = sqrt(shift^2 + 2 (e^2 - 1)(epsilon + beta)), the ends of the interval solve a
    quadratic: l = (shift^2 - 2 (epsilon + beta))/(e shift + root), h = (e shift + root)/(e^2 - 1).
    """
    budget, ratio = arb(rational(epsilon + beta)), arb(rational(beta)).exp()
    excess = arb(rational(2 * beta)).expm1()
    reach = ratio * shift + (shift**2 + 2 * excess * budget).sqrt()
    low = (shift**2 - 2 * budget) / reach
    inside, outside = _tail(shift - ratio * low), _tail(-low)
    if beta > 0:
        high = reach / excess
        inside, outside = inside + _tail(ratio * high - shift), outside + _tail(high)
    return outside - arb(rational(epsilon)).exp() * inside


def _tail(z: arb) -> arb:
    """Probability that a standard normal variable exceeds z."""
    return (z / arb(2).sqrt()).erfc() / 2
