"""Student's t noise: pure differential privacy, with tails as light as beta allows; Cauchy noise is its special case.

*Cauchy noise* of the paper (Zafarani and Clifton 2021, Algorithm 1) and of Nissim, Raskhodnikova and Smith 2007. The
log-ratio of two Cauchy densities has supremum d, the hyperbolic distance of their parameters (location, scale) in
the upper half plane. For a shift min(1, exp(b)) and a scale ratio exp(b), |b| <= beta,

    cosh d = cosh b + exp(-|b|) / (2 c^2),

a convex function of |b|, hence largest at |b| = 0 or beta. ``StudentT`` with one degree of freedom has the smallest
scale that this allows; the two families here have the constants of their papers, for comparison.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb, ctx

from dpnb_columnar.core.budget.costs import Pure
from dpnb_columnar.core.noise.family import Floats, Scaled, Standard, enclose_inverse, rational, upper


@dataclass(frozen=True, slots=True)
class StandardCauchy(Standard):
    """Density 1 / (pi (1 + x^2))."""

    def magnitude(self, *uniforms: arb) -> arb | None:
        """Invert ``survival``: 1 / tan(pi u / 2)."""
        (survival,) = uniforms
        return 1 / (survival * arb.pi() / 2).tan() if survival > 0 else None

    def survival(self, magnitude: Floats) -> Floats:
        probability: Floats = 2 / math.pi * np.arctan2(1, magnitude)
        return probability

    def log_density(self, z: Floats) -> Floats:
        density: Floats = -math.log(math.pi) - np.log1p(z**2)
        return density


@dataclass(frozen=True, slots=True)
class _Cauchy(Scaled):
    """Parameters, cost and shape of both families."""

    epsilon: Fraction
    beta: Fraction

    @property
    def cost(self) -> Pure:
        return Pure(self.epsilon)

    @property
    def standard(self) -> StandardCauchy:
        return StandardCauchy()


@dataclass(frozen=True, slots=True)
class PaperCauchy(_Cauchy):
    """Cauchy noise of scale c = sqrt(2)/epsilon, for beta <= epsilon/sqrt(2).

    Here cosh d = cosh b + exp(-|b|) epsilon^2 / 4. At b = 0 it is 1 + epsilon^2/4 <= cosh epsilon. At beta =
    epsilon/sqrt(2), with x = beta: cosh x + exp(-x) x^2/2 <= cosh(sqrt(2) x), because cosh(sqrt(2) x) - cosh x is at
    least x^2/2 termwise. So d <= epsilon: private, though not tight. As epsilon falls to 0 the loss approaches
    epsilon.
    """

    def __post_init__(self) -> None:
        if not (self.epsilon > 0 and self.beta > 0 and 2 * self.beta**2 <= self.epsilon**2):
            raise ValueError(
                f"the paper's Cauchy noise needs 0 < beta <= epsilon/sqrt(2) = {float(self.epsilon) / math.sqrt(2):.6g}"
                f", found beta = {float(self.beta):.6g}"
            )

    @property
    def name(self) -> str:
        return "cauchy"

    @property
    def scale(self) -> Fraction:
        return _paper_scale(self.epsilon)


@lru_cache(maxsize=256)
def _paper_scale(epsilon: Fraction) -> Fraction:
    return upper(lambda: arb(2).sqrt() / rational(epsilon))


@dataclass(frozen=True, slots=True)
class NissimCauchy(_Cauchy):
    """Cauchy noise of scale c = 6/epsilon, for beta <= epsilon/6 (Nissim, Raskhodnikova and Smith 2007).

    Here cosh d = cosh b + exp(-|b|) epsilon^2 / 72, at most cosh(epsilon/6) + (epsilon/6)^2 / 2 <= cosh(sqrt(2)
    epsilon/6) by the term-by-term comparison of ``PaperCauchy``. So the loss is at most sqrt(2) epsilon/6, not a
    quarter of what it is charged.
    """

    def __post_init__(self) -> None:
        if not (self.epsilon > 0 and 0 < self.beta <= self.epsilon / 6):
            raise ValueError(
                f"Nissim's Cauchy noise needs 0 < beta <= epsilon/6 = {float(self.epsilon / 6):.6g}, found beta = "
                f"{float(self.beta):.6g}"
            )

    @property
    def name(self) -> str:
        return "nissim-cauchy"

    @property
    def scale(self) -> Fraction:
        return 6 / self.epsilon


START_PRECISION = 64
# Newton's error is of the order of the square of its last step.
START_STEP, START_ACCURACY = arb((1, -20)), arb((1, -36))
HALF = arb(0.5)


@dataclass(frozen=True, slots=True)
class StandardStudent(Standard):
    """Density proportional to (1 + x^2/nu)^(-(nu+1)/2), nu the degrees of freedom.

    P(|X| > x) is the regularised incomplete beta function I(nu/(nu + x^2); nu/2, 1/2).
    """

    degrees: Fraction

    def magnitude(self, *uniforms: arb) -> arb | None:
        """Invert ``survival``: approximately, at low precision, then as a ball that certainly holds it."""
        (survival,) = uniforms
        if not (survival > 0 and survival.mid() < 1):
            return None
        with ctx.workprec(START_PRECISION):
            guess, step = self._start(survival.mid()), arb(1)
            while not step < START_STEP:
                guess, step = self._newton(guess, survival.mid())
        return enclose_inverse(self._survival, self._density, survival, guess, guess * START_ACCURACY)

    def survival(self, magnitude: Floats) -> Floats:
        from scipy import special

        degrees = float(self.degrees)
        root = math.sqrt(degrees)
        cosine, sine = (side / np.hypot(root, magnitude) for side in (root, magnitude))
        beyond, within = special.betainc(degrees / 2, 0.5, cosine**2), special.betainc(0.5, degrees / 2, sine**2)
        probability: Floats = np.where(within < 0.5, 1 - within, beyond)
        return probability

    def log_density(self, z: Floats) -> Floats:
        nu = float(self.degrees)
        norm = math.lgamma((nu + 1) / 2) - math.lgamma(nu / 2) - math.log(nu * math.pi) / 2
        density: Floats = norm - (nu + 1) / 2 * np.log1p(z**2 / nu)
        return density

    def _survival(self, magnitude: arb) -> arb:
        """I(nu/(nu + x^2); nu/2, 1/2), but near 1, where that loses digits, 1 minus the complement."""
        degrees, half, _ = _constants(self.degrees, ctx.prec)
        square = magnitude**2
        if 4 * square < degrees and 4 * square < 1:
            return 1 - self._complement(magnitude)
        return (degrees / (degrees + square)).beta_lower(half, HALF, regularized=True)

    def _complement(self, magnitude: arb) -> arb:
        """I(x^2/(nu + x^2); 1/2, nu/2), where it is at most 1/2 or so."""
        degrees, half, _ = _constants(self.degrees, ctx.prec)
        square = magnitude**2
        if 4 * degrees < square:
            return 1 - self._survival(magnitude)
        return (square / (degrees + square)).beta_lower(HALF, half, regularized=True)

    def _density(self, magnitude: arb) -> arb:
        """Density of |X|."""
        degrees, half, beta = _constants(self.degrees, ctx.prec)
        return 2 / ((degrees.sqrt() * beta) * (1 + magnitude**2 / degrees) ** (half + HALF))

    def _start(self, survival: arb) -> arb:
        """Compute the inverse of the asymptote in the tail, or near 0, whichever is closer."""
        degrees, half, beta = _constants(self.degrees, ctx.prec)
        if survival < HALF:
            return degrees.sqrt() * (survival * beta * half) ** (-1 / degrees)
        return degrees.sqrt() * beta * (1 - survival) / 2

    def _newton(self, magnitude: arb, survival: arb) -> tuple[arb, arb]:
        """Take a step of Newton's method for log x, and return its size too.

        The logarithm of X^2 has a log-concave density, so the logarithms of the survival and of its complement are
        concave in log x. From the asymptotes of ``_start`` the method therefore converges from one side.
        """
        magnitude = magnitude.mid()
        slope = magnitude * self._density(magnitude)
        if survival < HALF:
            tail = self._survival(magnitude)
            step = (tail / survival).log() * tail / slope
        else:
            tail = self._complement(magnitude)
            step = ((1 - survival) / tail).log() * tail / slope
        return magnitude * step.exp(), abs(step)


@lru_cache(maxsize=256)
def _constants(degrees: Fraction, precision: int) -> tuple[arb, arb, arb]:
    """Compute nu, nu/2 and B(nu/2, 1/2) at the current precision."""
    half = arb(rational(degrees)) / 2
    return 2 * half, half, (half.lgamma() + HALF.lgamma() - (half + HALF).lgamma()).exp()


@dataclass(frozen=True, slots=True)
class StudentT(Scaled):
    """Student's t noise of the smallest scale c that is private, for nu > 0 degrees of freedom.

    With y = c sqrt(nu), the density at z is proportional to (y / (y^2 + z^2))^((nu+1)/2) * y^((nu-1)/2). The first
    factor is a power of the Poisson kernel of the upper half plane at the point (location, y): the logarithm of the
    ratio of two kernels has supremum and negative infimum d, the hyperbolic distance of the points. For two neighbours
    whose scales have the ratio exp(b), b >= 0, the worst shift is min(1, exp(+-b)), and the loss, either way round, has
    the exact supremum

        (nu+1)/2 * d + |nu-1|/2 * b,    cosh d = cosh b + exp(-b) / (2 nu c^2).

    It is at most epsilon iff 1/(2 nu c^2) <= g(b) = exp(b) (cosh eta(b) - cosh b), where
    eta(b) = (2 epsilon - |nu-1| b)/(nu+1). With m = |nu-1|/(nu+1) < 1, 2 g(b) is a sum of exponentials of b with
    exponents 0, 1-m, 1+m, 2 and signs -, +, +, -. Its derivative changes sign at most once, from + to - (Descartes'
    rule for exponential sums), so on [0, beta] the smallest g is at one of the ends: c = 1/sqrt(2 nu min(g(0),
    g(beta))). As g(beta) has to be positive, epsilon > max(nu, 1) beta: the far tails lose nu beta, and the centre
    loses beta, by a dilation alone.

    One degree of freedom is the Cauchy distribution at the smallest scale. The variance is finite for nu > 2.

    Source: the family is Bun and Steinke's (2019); the distance is that of Cauchy noise, above.
    """

    epsilon: Fraction
    beta: Fraction
    degrees: Fraction

    def __post_init__(self) -> None:
        if not self.degrees > 0:
            raise ValueError(f"Student's t noise needs degrees > 0, found {float(self.degrees):.6g}")
        limit = self.epsilon / max(self.degrees, Fraction(1))
        if not 0 < self.beta < limit:
            divisor = f"/{self.degrees}" if self.degrees > 1 else ""
            raise ValueError(
                f"Student's t noise of {self.degrees} degrees of freedom needs 0 < beta < epsilon{divisor} = "
                f"{float(limit):.6g}, found beta = {float(self.beta):.6g}"
            )

    @property
    def name(self) -> str:
        return f"student-{self.degrees}"

    @property
    def cost(self) -> Pure:
        return Pure(self.epsilon)

    @property
    def standard(self) -> StandardCauchy | StandardStudent:
        return StandardCauchy() if self.degrees == 1 else StandardStudent(self.degrees)

    @property
    def scale(self) -> Fraction:
        return _scale(self.epsilon, self.beta, self.degrees)


@lru_cache(maxsize=256)
def _scale(epsilon: Fraction, beta: Fraction, degrees: Fraction) -> Fraction:
    """Compute 1/sqrt(2 nu min(g(0), g(beta))), with g(b) = 2 exp(b) sinh((eta + b)/2) sinh((eta - b)/2)."""

    def admissible(b: Fraction) -> Fraction:
        eta = (2 * epsilon - abs(degrees - 1) * b) / (degrees + 1)

        def expression() -> arb:
            sinh = arb(rational((eta + b) / 2)).sinh() * arb(rational((eta - b) / 2)).sinh()
            return 1 / (4 * rational(degrees) * arb(rational(b)).exp() * sinh).sqrt()

        return upper(expression)

    return max(admissible(Fraction(0)), admissible(beta))
