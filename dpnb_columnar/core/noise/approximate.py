"""Gaussian and Laplace noise at their smallest scales for (epsilon, delta)-differential privacy.

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

*The constants of Nissim, Raskhodnikova and Smith (2007)*, for comparison (``ClassicalGaussian``, ``ClassicalLaplace``).
Their argument bounds a shift and a dilation one after the other, for small epsilon. Here the constants are taken only
where they are proven by the exact calibration of ``Gaussian`` and ``ApproximateLaplace``: where the classical scale is
at least the exact one. For delta <= 1/10 that is everywhere up to epsilon = 9 or more; beyond, a large beta is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx

from dpnb_columnar.core.budget.costs import Approximate
from dpnb_columnar.core.noise.family import PRECISION, Floats, Scaled, Standard, rational, smallest, supremum, upper
from dpnb_columnar.core.noise.laplace import StandardLaplace


@dataclass(frozen=True, slots=True)
class ApproximateNoise(Scaled):
    """Parameters and cost of an approximate family, calibrated to epsilon, delta and beta."""

    epsilon: Fraction
    delta: Fraction
    beta: Fraction

    @property
    def cost(self) -> Approximate:
        return Approximate(self.epsilon, self.delta)


def check(family: str, epsilon: Fraction, delta: Fraction, beta: Fraction, dilation: Callable[[Fraction], arb]) -> None:
    """Refuse parameters for which no scale is large enough: dilation by exp(-beta) alone diverges by delta or more."""
    _check_loss(family, epsilon, delta)

    def admissible(b: Fraction) -> bool:
        return bool(dilation(b) < rational(delta))

    with ctx.workprec(PRECISION):
        fits = beta == 0 or (0 < beta < epsilon and admissible(beta))
    if not fits:
        raise ValueError(
            f"{family} noise of epsilon = {float(epsilon):.6g} and delta = {float(delta):.6g} needs 0 <= beta < "
            f"{supremum(admissible, epsilon):.6g}, found beta = {float(beta):.6g}"
        )


def _check_loss(family: str, epsilon: Fraction, delta: Fraction) -> None:
    if not (epsilon > 0 and 0 < delta < 1):
        raise ValueError(
            f"{family} noise needs epsilon > 0 and 0 < delta < 1, found epsilon = {float(epsilon):.6g} and delta = "
            f"{float(delta):.6g}"
        )


# Laplace noise for a scale that moves with the data.


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
        return _laplace_scale(self.epsilon, self.delta, self.beta)


@lru_cache(maxsize=256)
def _laplace_scale(epsilon: Fraction, delta: Fraction, beta: Fraction) -> Fraction:
    def root() -> arb:
        return 1 / (arb(rational(beta)).expm1() * (rational(delta) / _dilation(epsilon, beta)).acosh())

    def reverse() -> arb:
        return arb(rational(-beta)).exp() / rational(epsilon - beta)

    return max(upper(root), upper(reverse), 1 / epsilon)


def _dilation(epsilon: Fraction, beta: Fraction) -> arb:
    """Compute D(beta) of ``ApproximateLaplace``."""
    exponent = -rational(epsilon + beta) / arb(rational(beta)).expm1()
    return -arb(rational(-beta)).expm1() * exponent.exp()


# Gaussian noise for a scale that moves with the data.


@dataclass(frozen=True, slots=True)
class StandardNormal(Standard):
    """Density exp(-x^2/2) / sqrt(2 pi)."""

    def magnitude(self, *uniforms: arb) -> arb | None:
        """Invert ``survival``: sqrt(2) erfcinv(u)."""
        (survival,) = uniforms
        return arb(2).sqrt() * survival.erfcinv() if survival > 0 else None

    def survival(self, magnitude: Floats) -> Floats:
        from scipy import special

        probability: Floats = special.erfc(magnitude / math.sqrt(2))
        return probability

    def log_density(self, z: Floats) -> Floats:
        density: Floats = -(z**2) / 2 - math.log(2 * math.pi) / 2
        return density


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
        return _gaussian_scale(self.epsilon, self.delta, self.beta)


@lru_cache(maxsize=256)
def _gaussian_scale(epsilon: Fraction, delta: Fraction, beta: Fraction) -> Fraction:
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
    """Compute the probability that a standard normal variable exceeds z."""
    return (z / arb(2).sqrt()).erfc() / 2


@dataclass(frozen=True, slots=True)
class ClassicalGaussian(ApproximateNoise):
    """Gaussian noise of standard deviation 5 sqrt(2 ln(2/delta))/epsilon, for beta <= epsilon/(4 (1 + ln(2/delta)))."""

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
        return _classical_gaussian_scale(self.epsilon, self.delta)


@dataclass(frozen=True, slots=True)
class ClassicalLaplace(ApproximateNoise):
    """Laplace noise of scale 2/epsilon, for beta <= epsilon/(2 ln(2/delta))."""

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
def _classical_gaussian_scale(epsilon: Fraction, delta: Fraction) -> Fraction:
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
    _check_loss(noise.name, epsilon, delta)
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
