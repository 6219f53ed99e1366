"""The worst neighbours of Gaussian and Laplace noise under (epsilon, delta)-differential privacy.

A release is (epsilon, delta)-differentially private iff for all neighbours P, Q the hockey-stick divergence
H(P, Q) = sup over events E of P(E) - exp(epsilon) Q(E) is at most delta. Let Z have a symmetrical, unimodal density.

*Shift.* H = 1 - the integral of min(p, exp(epsilon) q), and that integral is the integral over s > 0 of the length of
{p > s} and {exp(epsilon) q > s} together: intervals about the two locations, whose intersection can only shrink as
they move apart. So for a fixed ratio of scales the largest shift is the worst; and as a larger scale c is a smaller
shift, H never grows with c. Up to an affine map two kinds of pairs are left, for 0 <= b <= beta:

    forward:  P of Z,  Q of exp(-b) (1 + Z);          reverse:  P of Z,  Q of 1 + exp(b) Z.

*Forward.* {p <= exp(epsilon) q} is an interval (l, h). The integrand of H vanishes at its ends, so dH/db is
exp(epsilon) times the rate at which Q gains on the fixed interval: exp(epsilon) (h' phi(h' - 1) - l' phi(l' - 1)),
where phi is the density of Z, h' = h exp(b), l' = l exp(b). It is not negative if l <= 0 <= h, that is, if the loss
at z = 0 is at most epsilon for b = 0. Then b = beta is the worst.

*Reverse.* Each family shows in its docstring that for scales above a stated bound no reverse pair is worse than the
forward pair of b = 0, hence than that of beta.

So the scale is the larger of those two bounds and the one at which the forward pair of beta has H = delta. A pure
dilation (c growing without end) has a divergence of its own, which grows with beta: where it reaches delta, no scale is
large enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx

from dpnb_columnar.budget.losses import Approximate
from dpnb_columnar.noise.calibration import PRECISION, rational, supremum
from dpnb_columnar.noise.scaled import Scaled


@dataclass(frozen=True, slots=True)
class ApproximateNoise(Scaled):
    """What the families have in common."""

    epsilon: Fraction
    delta: Fraction
    beta: Fraction

    @property
    def loss(self) -> Approximate:
        return Approximate(self.epsilon, self.delta)


def check(family: str, epsilon: Fraction, delta: Fraction, beta: Fraction, dilation: Callable[[Fraction], arb]) -> None:
    """Refuse parameters for which no scale is large enough.

    Args:
        family: Name for the message.
        epsilon, delta, beta: As in the family.
        dilation: Hockey-stick divergence of the dilation by exp(-b), as a function of b > 0.

    Raises:
        ValueError: Not epsilon > 0, 0 < delta < 1, 0 <= beta < epsilon and ``dilation(beta)`` < delta.
    """
    if not (epsilon > 0 and 0 < delta < 1):
        raise ValueError(
            f"{family} noise needs epsilon > 0 and 0 < delta < 1, found epsilon = {float(epsilon):.6g} and delta = "
            f"{float(delta):.6g}"
        )

    def admissible(b: Fraction) -> bool:
        return bool(dilation(b) < rational(delta))

    with ctx.workprec(PRECISION):
        fits = beta == 0 or (0 < beta < epsilon and admissible(beta))
    if not fits:
        raise ValueError(
            f"{family} noise of epsilon = {float(epsilon):.6g} and delta = {float(delta):.6g} needs 0 <= beta < "
            f"{supremum(admissible, epsilon):.6g}, found beta = {float(beta):.6g}"
        )
