"""Log-normal and arsinh-normal noise (Bun and Steinke 2019): zero-concentrated differential privacy.

*Calibration* is by a condition on the score. When is noise zero-concentrated differentially private? Move from one
neighbour to the other along scale exp(b tau) and location m with m' = a times the scale, 0 <= tau <= 1, |b| <= beta,
|a| <= 1; every admissible neighbour is reached so (docs/privacy.md, section 5). With u = (z - m)/scale, h the density
of Z and psi = (log h)', the log-density at a point changes at the rate

    s = -b (1 + u psi(u)) - a psi(u),    u distributed as Z.

**Condition.** If log E exp(mu s) <= mu^2 kappa^2 / 2 for every real mu, the Renyi divergence of order alpha between the
ends, either way round, is at most alpha kappa^2 / 2: one release is kappa^2/2-zCDP.

*Proof.* Let M(tau, alpha) be the logarithm of the integral of p_tau^alpha p_0^(1-alpha), and w its integrand as a
density. Then dM/dtau = alpha E_w s. By Gibbs' variational principle mu E_w s <= KL(w, p_tau) + mu^2 kappa^2/2, and
KL(w, p_tau) = (alpha - 1) dM/dalpha - M. Follow the curve alpha = k/tau with mu = (alpha - 1) tau = k - tau: there

    dM <= (-(alpha/mu) M + alpha mu kappa^2/2) dtau,

which G = alpha (alpha - 1) tau^2 kappa^2/2 satisfies with equality. So (M - G) tau/(k - tau) never grows. It starts
from 0, since M stays bounded (docs/privacy.md, Lemma 5.5), hence M <= G, and at tau = 1 the
divergence M/(alpha - 1) is at most alpha kappa^2/2. Reversing the path changes the sign of s, that is of mu. []

For small rho the condition is all but exact. At beta = kappa/10 it needs about half the noise of the published bounds
(Bun and Steinke 2019), which pay for shift and dilation one after the other.

The logarithm of E exp(mu s) is convex in (a, b) and Z is symmetrical, so b = beta and a = 1 suffice. There

    E exp(mu s) = E exp(mu beta A) cosh(mu B),    A = 1 + u psi(u), B = |psi(u)|,    mu of either sign,

an integral over |Z| of two known functions. A search in floating point (``ScoreQuadrature``) finds a scale for which
the condition is all but exact; ``certificate`` proves that it holds. What is released rests on the proof alone.

Prove in ball arithmetic that concentrated noise of a given scale is private.

The condition of ``log_normal`` for kappa = 1 is log F(mu) <= mu^2/2 for every real mu, where

    F(mu) = E exp(mu s) = E exp(mu beta A) cosh(mu B/c),    A = 1 + X psi(X), B = |psi(X)|, X the shape, c its scale.

**All mu from finitely many.** E s = 0, so Taylor's theorem gives (F(mu) - 1)/mu^2 = the integral over 0 <= v <= 1 of
(1 - v) E s^2 exp(v mu s): a mixture of functions of mu whose logarithms are convex (of s^2 exp(v mu s), linear), so
its own logarithm, call it L, is convex. So is p(mu) = log((exp(mu^2/2) - 1)/mu^2), the logarithm of the integral of
exp(v mu^2) over 0 <= v <= 1/2. The condition is L <= p. Where L is below a tangent of p at both ends of an interval, it
is below it within, by convexity, and the tangent is below p. [] Neither function has a singularity at mu = 0.

**F(mu) from above** is a sum of terms w exp(mu beta A) cosh(mu B/c), each a weight, a value of A and one of B, of four
kinds; x is a coordinate of |X| in which density, A and B are analytic, A falls, and A <= 1:

* the nodes of Gauss-Legendre rules on panels of x, which end where the mass ends;
* one term a panel for the error of its rule. If f is analytic with |f| <= M within the ellipse of parameter r about
  the panel, its Chebyshev coefficients are at most 2 M r^-k; a rule of n nodes is exact to degree 2n - 1 and has
  weights that add up to the panel's length 2 d; so its error is at most 8 d M r^-2n/(1 - 1/r). A box that holds the
  ellipse bounds |f| by |density| exp(mu beta Re A) cosh(mu Re B/c). A ball that is finite holds no pole;
* one term for the mass before the first panel;
* the mass beyond the last panel, of probability at most exp(-W^2/2), where A <= 0 and B <= b. Let mu = -m < 0 and
  t = m beta/sigma, where E exp(-m A) <= 2 exp(m^2/(2 sigma^2)) for every m >= 0. By Hoelder's inequality with the
  exponent W/t >= 1 this part is at most 2 exp(t W - W^2/2) cosh(m b/c); with the exponent 1, at most 2 exp(t^2/2)
  cosh(m b/c). For mu > 0 the first holds with t = 0.

**Far mu.** Let b bound B/c. For mu < 0, log F <= log 2 + mu^2 beta^2/(2 sigma^2) + |mu| b, for mu > 0, log F <= mu
(beta + b); each is at most mu^2/2 beyond a number that is solved for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import pairwise
from typing import ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
from flint import acb, arb, arb_mat, ctx, fmpq

from dpnb_columnar.core.budget.costs import Concentrated
from dpnb_columnar.core.noise.approximate import StandardNormal
from dpnb_columnar.core.noise.family import Floats, Scaled, Standard, rational, upper

PRECISION = 96
# Panels: their parameter r, the numbers of nodes to choose from, the error that one may have relative to exp(mu^2/2),
# and the longest and shortest.
ELLIPSE, ORDERS, PANEL_ERROR = 3, (8, 12, 20, 32), arb(10) ** -11
LONGEST, SHORTEST = 1.0, 2.0**-12
# For how many mu of each sign the error of a panel is looked at.
PROBES = 12
# Minus the logarithm, about, of the mass beyond the last panel for every tilt by mu that it has to be small for.
MASS_EXPONENT = 24
# Where cells of mu begin around 0, so that no bisection ends at 0 itself, and the narrowest that is looked at.
AROUND_ZERO, NARROWEST = (-1 / 32, 1 / 16), 2.0**-12

Term = tuple[arb, arb, arb]
"""A weight, a value of A and a value of B."""

Ball = TypeVar("Ball", arb, acb)


def normal_density(x: Ball) -> Ball:
    """Compute exp(-x^2/2)/sqrt(2 pi)."""
    return (-x * x / 2).exp() / (2 * arb.pi()).sqrt()


def normal_survival(x: Ball) -> Ball:
    """Compute the probability that a standard normal variable exceeds x."""
    return (x / arb(2).sqrt()).erfc() / 2


def disc(radius: arb) -> acb:
    """Enclose all complex numbers of at most this absolute value."""
    size = arb(0, radius.upper())
    return acb(size, size)


@cache
def _rule(order: int) -> list[tuple[arb, arb]]:
    return [arb.legendre_p_root(order, index, weight=True) for index in range(order)]


@dataclass(frozen=True, slots=True)
class Cumulants:
    """Upper bounds of F for one shape, beta and scale.

    Attributes:
        terms: Nodes of all panels, bounds of their errors, and the mass before the first panel.
        tilt, speed: beta/sigma, and the shift in units of the scale, 1/c.
        reach, shift_beyond: W, for the mass beyond the last panel, and the bound of B there.
        farthest: Beyond these, minus a number and a number, the condition holds by itself.
    """

    terms: list[Term]
    tilt: arb
    beta: arb
    speed: arb
    reach: arb
    shift_beyond: arb
    farthest: tuple[float, float]

    def bound(self, mu: arb) -> arb:
        """Bound F(mu) from above."""
        dilated, shifted = mu * self.beta, mu * self.speed
        within = arb(0)
        for weight, dilation, shift in self.terms:
            within += weight * (dilated * dilation).exp() * (shifted * shift).cosh()
        tilt = -mu * self.tilt if mu < 0 else arb(0)
        exponent = (tilt - self.reach / 2) * self.reach if self.reach >= tilt else tilt * tilt / 2
        return (within + 2 * exponent.exp() * (shifted * self.shift_beyond).cosh()).upper()


def cumulants(shape: Shape, beta: arb, speed: arb) -> Cumulants | None:
    """Divide the coordinate into panels; None unless beta < sigma, and if no panel is short enough."""
    tilt, bound = beta / rational(shape.sigma), (shape.largest_shift() * speed).upper()
    if not tilt < 1:
        return None
    low, high = -_farthest(tilt, bound, 0), float((2 * (beta + bound)).upper()) + 1e-9
    end, reach, shift_beyond = _end(shape, tilt, speed)
    probes = [arb(mu) for limit in (low, high) for mu in limit / np.geomspace(1, max(-low, high), PROBES)]

    def error(mu: arb, term: Term) -> arb:
        weight, dilation, shift = term
        return weight * (mu * beta * dilation).exp() * (mu * speed * shift).cosh() / (mu * mu / 2).exp()

    def small(term: Term) -> bool:
        return all(error(mu, term) < PANEL_ERROR for mu in probes)

    terms = [shape.before()]
    x, length = shape.start, LONGEST
    while x < end:
        length = min(2 * length, LONGEST)
        while (panel := _panel(shape, x, min(x + length, end), small)) is None:
            length /= 2
            if length < SHORTEST:
                return None
        terms.extend(panel)
        x = min(x + length, end)
    return Cumulants(terms, tilt, beta, speed, reach, shift_beyond, (low, high))


def _farthest(tilt: arb, bound: arb, exponent: int) -> float:
    """Solve m^2/2 = exponent + log 2 + m^2 tilt^2/2 + m bound for m, from above."""
    gap = 1 - tilt * tilt
    root = (bound * bound + 2 * gap * (arb(2).log() + exponent)).sqrt()
    return float(((bound + root) / gap).upper()) + 1e-9


def _end(shape: Shape, tilt: arb, speed: arb) -> tuple[arb, arb, arb]:
    """Find the end of the last panel, with W and the bound of B beyond it.

    There the mass beyond is small for every mu that is nearer than those for which the cruder bound is enough.
    """
    end = shape.start
    while True:
        end = end + arb(1) / 4
        mass, shift = shape.beyond(end)
        if mass < arb(-MASS_EXPONENT).exp() and shape.at(acb(end))[1].real < 0:
            reach, shifted = (-2 * mass.log()).sqrt().lower(), (shift * speed).upper()
            if reach > tilt * _farthest(tilt, shifted, 1) + (shifted * shifted + 2 * MASS_EXPONENT).sqrt():
                return end, reach, shift.upper()


def _panel(shape: Shape, start: arb, end: arb, small: Callable[[Term], bool]) -> list[Term] | None:
    """Integrate over a panel by the rule of fewest nodes whose error is small; None if it has to be shorter."""
    middle, half = (start + end) / 2, (end - start) / 2
    wide, high = Fraction(ELLIPSE**2 + 1, 2 * ELLIPSE), Fraction(ELLIPSE**2 - 1, 2 * ELLIPSE)
    box = acb(arb(middle, (half * rational(wide)).upper()), arb(0, (half * rational(high)).upper()))
    density, dilation, shift = shape.at(box)
    if not (density.is_finite() and dilation.is_finite() and shift.is_finite()):
        return None
    most = 8 * half * density.abs_upper() / (1 - arb(1) / ELLIPSE)
    for order in ORDERS:
        error = (most / arb(ELLIPSE) ** (2 * order), dilation.real, arb(shift.real.abs_upper()))
        if small(error):
            values = ((weight, shape.at(acb(middle + half * node))) for node, weight in _rule(order))
            return [error, *((weight * half * d.real, a.real, b.real) for weight, (d, a, b) in values)]
    return None


def is_certified(shape: Shape, ratio_squared: Fraction, scale: Fraction) -> bool:
    """Prove log F(mu) <= mu^2/2 for every mu; False if no proof was found."""
    with ctx.workprec(PRECISION):
        bounds = cumulants(shape, arb(rational(ratio_squared)).sqrt(), 1 / arb(rational(scale)))
        return bounds is not None and all(_cells(bounds))


def _cells(bounds: Cumulants) -> Iterator[bool]:
    """Say of cell after cell of mu whether the condition holds on it; a cell without an answer is divided."""

    @cache
    def logarithm(mu: float) -> arb:
        return ((bounds.bound(arb(mu)) - 1) / arb(mu) ** 2).log().upper()

    ends = [bounds.farthest[0], *AROUND_ZERO, bounds.farthest[1]]
    cells = list(pairwise(ends))
    while cells:
        low, high = cells.pop()
        value, slope = _tangent(arb((low + high) / 2))
        if all(logarithm(mu) <= value + slope * (arb(mu) - arb((low + high) / 2)) for mu in (low, high)):
            yield True
        elif high - low < NARROWEST or not all(logarithm(mu) <= _tangent(arb(mu))[0] for mu in (low, high)):
            yield False
        else:
            cells += [(low, (low + high) / 2), ((low + high) / 2, high)]


def _tangent(mu: arb) -> tuple[arb, arb]:
    """Compute p and its derivative."""
    power = (mu * mu / 2).exp()
    return ((power - 1) / (mu * mu)).log(), mu * power / (power - 1) - 2 / mu


SMALLEST_ORDER = 1e-3
ZOOMS, ZOOMED = 2, 9


@dataclass(frozen=True, slots=True)
class ScoreQuadrature:
    """A quadrature over |X|: logarithms of the nodes' probabilities, A (at most 1) and B at the nodes, and sigma."""

    log_weights: Floats
    dilation: Floats
    shift: Floats
    sigma: float

    @classmethod
    def normalised(cls, log_weights: Floats, dilation: Floats, shift: Floats, sigma: float) -> ScoreQuadrature:
        """Make a quadrature of weights that are given in proportion."""
        top = float(np.max(log_weights))
        total = top + math.log(float(np.sum(np.exp(log_weights - top))))
        return cls(log_weights - total, dilation, shift, sigma)

    def information(self, beta: float, speed: float) -> float:
        """Variance of the score, the limit of ``steepness`` as mu falls to 0."""
        weights = np.exp(self.log_weights)
        return float(weights @ (beta * self.dilation) ** 2 + weights @ (speed * self.shift) ** 2)

    def farthest_order(self, beta: float, speed: float) -> float:
        """Compute a number beyond which no |mu| needs a look, if kappa is 1 and beta < sigma (``certificate``)."""
        bound, gap = speed * float(np.max(self.shift)), 1 - (beta / self.sigma) ** 2
        return max((bound + math.sqrt(bound**2 + 2 * gap * math.log(2))) / gap, 2 * (beta + bound))

    def steepness(self, beta: float, speed: float, orders: int) -> float:
        """Compute the largest 2 log E exp(mu s) / mu^2 over all mu, for kappa = 1: private if at most 1."""
        sizes = np.geomspace(SMALLEST_ORDER, self.farthest_order(beta, speed), orders)
        largest = self.information(beta, speed)
        for sign in (-1, 1):
            tried = sizes
            for _ in range(1 + ZOOMS):
                at_nodes = self._steepness_at(sign * tried, beta, speed)
                largest, best = max(largest, float(np.max(at_nodes))), int(np.argmax(at_nodes))
                tried = np.linspace(tried[max(best - 1, 0)], tried[min(best + 1, len(tried) - 1)], ZOOMED)
        return largest

    def _steepness_at(self, mu: Floats, beta: float, speed: float) -> Floats:
        turned = np.outer(np.abs(mu) * speed, self.shift)
        log_cosh = turned + np.log1p(np.exp(-2 * turned)) - math.log(2)
        exponent = np.outer(mu * beta, self.dilation) + log_cosh + self.log_weights
        top = np.max(exponent, axis=1, keepdims=True)
        mean: Floats = top[:, 0] + np.log(np.sum(np.exp(exponent - top), axis=1))
        return 2 * mean / mu**2


# By how much the scale that the search finds is raised before it is certified, and up to which excess it is raised
# again, twice as much each time, until it is.
FIRST_EXCESS, LARGEST_EXCESS = Fraction(1, 2**14), Fraction(1)
# Ratios beta/kappa that are calibrated: below the first, noise is that of the first; at the last its standard deviation
# is 5 to 13 times 1/kappa.
SMALLEST_RATIO, LARGEST_RATIO = Fraction(1, 1024), Fraction(1)
# Standard deviations of Y that hold all its mass, before any tilt.
REACH = 9.0


class Shape(Standard, Protocol):
    """A standard shape with a parameter sigma; density and score are analytic functions of a coordinate x of |X|.

    For sigma E exp(-m A) <= 2 exp(m^2/(2 sigma^2)) for every m >= 0. Panels begin at ``start``.
    """

    def __init__(self, sigma: Fraction) -> None: ...

    @property
    def sigma(self) -> Fraction: ...

    @property
    def start(self) -> arb: ...

    def log_deviation(self) -> float:
        """Compute the logarithm of the standard deviation."""

    def scores(self, reach: float, nodes: int) -> ScoreQuadrature:
        """Compute a quadrature of so many nodes that holds the mass for all |Y| <= ``reach``."""

    def at(self, x: acb) -> tuple[acb, acb, acb]:
        """Enclose density, A and B over a ball of coordinates; not finite where one of them may have a pole."""

    def before(self) -> Term:
        """Bound the mass before ``start``, with balls that hold all A and B there."""

    def beyond(self, x: arb) -> tuple[arb, arb]:
        """Bound the mass beyond x, and all B there."""

    def largest_shift(self) -> arb:
        """Bound all B."""


class Calibrated(NamedTuple):
    """A sigma, and a scale for kappa = 1 that is certified for it."""

    sigma: Fraction
    scale: Fraction


@dataclass(frozen=True, slots=True)
class ConcentratedNoise(Scaled):
    """Base of the concentrated families: Z = c X, X of a shape whose sigma and scale are calibrated to rho and beta."""

    name: ClassVar[str]
    shape: ClassVar[type[Shape]]
    rho: Fraction
    beta: Fraction

    def __post_init__(self) -> None:
        if not self.rho > 0:
            raise ValueError(f"{self.name} noise needs rho > 0, found {float(self.rho):.6g}")
        if not (self.beta > 0 and self.beta**2 <= 2 * self.rho * LARGEST_RATIO**2):
            raise ValueError(
                f"{self.name} noise needs 0 < beta <= sqrt(2 rho) = {math.sqrt(2 * self.rho):.6g}, found beta = "
                f"{float(self.beta):.6g}"
            )

    @property
    def cost(self) -> Concentrated:
        return Concentrated(self.rho)

    @property
    def standard(self) -> Shape:
        return self.shape(calibrate(self.shape, _ratio_squared(self.rho, self.beta)).sigma)

    @property
    def scale(self) -> Fraction:
        return _scale(self.shape, self.rho, self.beta)


@lru_cache(maxsize=256)
def _scale(shape: type[Shape], rho: Fraction, beta: Fraction) -> Fraction:
    """Compute the scale for kappa = sqrt(2 rho): that for kappa = 1 and beta/kappa, divided by kappa."""
    unit = calibrate(shape, _ratio_squared(rho, beta)).scale
    return upper(lambda: rational(unit) / arb(rational(2 * rho)).sqrt())


def _ratio_squared(rho: Fraction, beta: Fraction) -> Fraction:
    """Return (beta/kappa)^2, raised to a whole millionth: noise for a larger beta serves a smaller one."""
    return Fraction(math.ceil(10**6 * beta**2 / (2 * rho)), 10**6)


@lru_cache(maxsize=256)
def calibrate(shape: type[Shape], ratio_squared: Fraction) -> Calibrated:
    """Choose sigma for the least variance, and a scale for it: searched in floating point, then certified.

    The search decides how much noise there is, the certificate alone that it is private. Any sigma > beta is private at
    some scale.
    """
    from scipy import optimize

    ratio_squared = max(ratio_squared, SMALLEST_RATIO**2)
    beta = math.sqrt(ratio_squared)

    def log_deviation(log_sigma: float) -> float:
        candidate = shape(Fraction(math.exp(log_sigma)))
        speed = _speed(candidate, beta, nodes=250, orders=12, tolerance=1e-4)
        return candidate.log_deviation() - math.log(speed) if speed > 0 else 1e3

    bounds = math.log(1.03 * beta), math.log(2 * max(beta, 0.6))
    minimum = optimize.minimize_scalar(log_deviation, bounds=bounds, method="bounded", options={"xatol": 0.02})
    best = shape(Fraction(math.exp(minimum.x)))
    speed, excess = Fraction(_speed(best, beta, nodes=800, orders=120, tolerance=1e-7)), FIRST_EXCESS
    while excess <= LARGEST_EXCESS:
        scale = (1 + excess) / speed
        if is_certified(best, ratio_squared, scale):
            return Calibrated(best.sigma, scale)
        excess *= 2
    raise ArithmeticError(f"no scale of {shape.__name__} was certified for (beta/kappa)^2 = {ratio_squared}")


def _speed(shape: Shape, beta: float, nodes: int, orders: int, tolerance: float) -> float:
    """Compute the largest shift, in units of the scale, that is private for kappa = 1, from below; 0 if none is."""
    scores = shape.scores(REACH, nodes)
    high = 1 / math.sqrt(scores.information(0, 1))
    tilt = scores.farthest_order(beta, high) * beta / float(shape.sigma)
    scores, low = shape.scores(REACH + tilt, nodes), 0.0
    while high - low > tolerance and high > tolerance:
        middle = (low + high) / 2
        low, high = (middle, high) if scores.steepness(beta, middle, orders) <= 1 else (low, middle)
    return low


def variate(uniform: arb) -> arb | None:
    """Map a uniform number, by a falling function, to a standard normal one; None while the ball is too wide."""
    return arb(2).sqrt() * (2 * uniform).erfcinv() if uniform > 0 and uniform < 1 else None


STEPS = 120


@dataclass(frozen=True, slots=True)
class StandardLaplaceLogNormal:
    """X exp(sigma Y), X of the Laplace distribution and Y standard normal.

    The survival is R(x) = E exp(-x exp(-sigma Y)). Writing exp(-sigma Y) as a change of the normal density, the density
    is h(x) = exp(sigma^2/2) R(x exp(sigma^2)) / 2, and -h'(x)/h(x) = exp(3 sigma^2/2) R(x exp(2 sigma^2)) / R(x
    exp(sigma^2)), which is largest at 0.

    The coordinate is x, X = |Z| exp(sigma^2) = exp(x). Let r = exp(-sigma Y) and R_k = E r^k exp(-X r). The density
    of x is exp(-sigma^2/2) X R_0, A = 1 - X R_1/R_0, B = exp(sigma^2) R_1/R_0. A falls, since x is a sum of two
    variables whose densities are log-concave, hence one itself, and A is its logarithm's derivative. B falls from
    exp(3 sigma^2/2), since R_0 is a mixture of exponentials.

    For a real X > 0, R_k is the trapezoidal rule over Y with steps h: for analytic f it is off by at most 2 M/(exp(2 pi
    a/h) - 1), M bounding the integral of |f(y + ib)| over y for |b| < a (Trefethen and Weideman 2014, theorem 5.1).
    Here M = exp(a^2/2 + k^2 sigma^2/2) for a <= pi/(2 sigma), where Re exp(-i sigma b) >= 0.

    For X = c + d, c real, let E_c be the mean with weights in proportion to exp(-c r), and g = r - E_c r. Then
    R_0/R_0(c) exp(d E_c r) = 1 + u, R_1/R_0 = E_c r + v/(1 + u), u = E_c (exp(-d g) - 1 + d g) and v = E_c g (exp(-d g)
    - 1); so |u| <= |d|^2 S/2 and |v| <= |d| S, S = E_c g^2 exp(|g Re d|), which is at most the sum of its values for
    either sign of g Re d.
    """

    uniforms: ClassVar = 2
    start: ClassVar = arb(-12)
    sigma: Fraction

    def magnitude(self, *uniforms: arb) -> arb | None:
        first, second = uniforms
        normal = variate(second)
        if normal is None or not first > 0:
            return None
        return -first.log() * (rational(self.sigma) * normal).exp()

    def survival(self, magnitude: Floats) -> Floats:
        probability: Floats = np.exp(self._log_survival(magnitude))
        return probability

    def log_density(self, z: Floats) -> Floats:
        variance = float(self.sigma) ** 2
        return variance / 2 - math.log(2) + self._log_survival(np.abs(z) * math.exp(variance))

    def log_deviation(self) -> float:
        return math.log(2) / 2 + float(self.sigma) ** 2

    def scores(self, reach: float, nodes: int) -> ScoreQuadrature:
        """Trapezoidal rule over log x, from exp(-37) of the mass to the tail of the largest Y."""
        variance = float(self.sigma) ** 2
        log_x = np.linspace(-37, 4 + float(self.sigma) * reach, nodes)
        x = np.exp(log_x)
        level = self._log_survival(x * math.exp(variance))
        shift = np.exp(1.5 * variance + self._log_survival(x * math.exp(2 * variance)) - level)
        return ScoreQuadrature.normalised(log_x + level, 1 - x * shift, shift, float(self.sigma))

    def _log_survival(self, x: Floats) -> Floats:
        """Compute log R by the trapezoidal rule over y, centred on the integrand's peak.

        At the peak sigma^2 x = v exp(v), v = sigma y.
        To the left of the peak the integrand falls faster than a normal density of its curvature 1 + v, to the right
        faster than a standard normal density.
        """
        from scipy import special

        sigma = float(self.sigma)
        v = np.atleast_1d(special.lambertw(sigma**2 * x).real)[..., None]
        width = 1 / np.sqrt(1 + v)
        span = 9 * (1 + width)
        y = v / sigma - 9 * width + span * np.linspace(0, 1, STEPS)
        exponent = -(y**2) / 2 - np.atleast_1d(x)[..., None] * np.exp(-sigma * y)
        peak = -((v / sigma) ** 2) / 2 - v / sigma**2
        total = np.sum(np.exp(exponent - peak), axis=-1) * span[..., 0] / (STEPS - 1)
        log_survival: Floats = np.minimum(0, np.log(total) + peak[..., 0] - math.log(2 * math.pi) / 2)
        return log_survival.reshape(np.shape(x))

    def at(self, x: acb) -> tuple[acb, acb, acb]:
        variance, argument = arb(rational(self.sigma)) ** 2, x.exp()
        if x.imag.is_zero():
            level, slope, _ = self._moments(argument.real)
            rate = acb(slope / level)
            value = acb(level)
        else:
            centre = arb(argument.real.mid())
            change = argument - centre
            level, slope, _ = self._moments(centre)
            mean, size, spread = slope / level, change.abs_upper(), arb(0)
            for sign in (-1, 1):
                moved = sign * arb(change.real.abs_upper())
                at = self._moments(centre + moved)
                spread += (moved * mean).exp() * (at[2] - 2 * mean * at[1] + mean * mean * at[0]) / level
            ratio = 1 + disc(size * size * spread / 2)
            value = level * (-change * mean).exp() * ratio
            rate = mean + disc(size * spread) / ratio
        return (-variance / 2).exp() * argument * value, 1 - argument * rate, variance.exp() * rate

    def before(self) -> Term:
        _, dilation, shift = self.at(acb(self.start))
        mass = (self.start - arb(rational(self.sigma)) ** 2 / 2).exp()
        return mass, dilation.real.union(arb(1)), shift.real.union(self.largest_shift())

    def beyond(self, x: arb) -> tuple[arb, arb]:
        return self._moments(x.exp())[0], self.at(acb(x))[2].real

    def largest_shift(self) -> arb:
        return (3 * arb(rational(self.sigma)) ** 2 / 2).exp()

    def _moments(self, argument: arb) -> list[arb]:
        """Enclose R_0, R_1 and R_2 at a real X; not finite unless X > 0."""
        moments = [arb.nan()] * 3
        for exponent in SUM_EXPONENTS if argument > 0 else ():
            rates, weights, errors = _sums(rational(self.sigma), exponent)
            values = weights * arb_mat(len(rates), 1, [(-argument * rate).exp() for rate in rates])
            moments = [values[power, 0] + error for power, error in enumerate(errors)]
            if all(moment.rel_accuracy_bits() > 40 for moment in moments):
                break
        return moments


# Minus the logarithms of the errors of sums over Y in ball arithmetic, to choose from.
SUM_EXPONENTS = (110, 220, 440, 880, 1760)


@lru_cache(maxsize=64)
def _sums(sigma: fmpq, exponent: int) -> tuple[list[arb], arb_mat, list[arb]]:
    """Return values of r, weights of R_0, R_1 and R_2 at them, and balls about 0 that hold the errors."""
    strip = min(math.sqrt(2 * exponent), 1.57 / float(arb(sigma)))
    step = arb(2 * math.pi * strip / (exponent + strip**2 / 2))
    last = math.ceil((math.sqrt(2 * exponent) + 1 + 2 * float(arb(sigma))) / float(step))
    normal = [step * index for index in range(-last, last + 1)]
    rates = [(-sigma * y).exp() for y in normal]
    weights = [
        step * normal_density(y) * rate**power for power in range(3) for y, rate in zip(normal, rates, strict=True)
    ]
    missed = 2 * (arb(strip) ** 2 / 2).exp() / ((2 * arb.pi() * strip / step).exp() - 1)
    errors = []
    for power in range(3):
        tails = 2 * normal_survival(last * step - power * sigma)
        errors.append((power**2 * arb(sigma) ** 2 / 2).exp() * (missed + tails))
    return rates, arb_mat(3, len(rates), weights), [arb(0, error.upper()) for error in errors]


@dataclass(frozen=True, slots=True)
class LaplaceLogNormal(ConcentratedNoise):
    """Z = c X exp(sigma Y), calibrated by the condition above.

    A dilation by exp(b) is a shift of Y by b/sigma, so E exp(m (1 + Z psi)) <= exp(m^2/(2 sigma^2)). Bun and
    Steinke's own bound, kappa = beta/sigma + exp(3 sigma^2/2)/c, adds the losses of dilation and shift; it needs more
    noise.
    """

    name = "laplace-log-normal"
    shape = StandardLaplaceLogNormal


# Uniform log-normal noise.


@dataclass(frozen=True, slots=True)
class StandardUniformLogNormal:
    """X exp(sigma Y), X uniform on [-1, 1] and Y standard normal.

    With v = ln|x|/sigma, w = v + sigma, Q the normal survival and m = Q/phi Mills' ratio: the density is
    h(x) = exp(sigma^2/2) Q(w) / 2, the survival Q(v) - |x| exp(sigma^2/2) Q(w) = phi(v) (m(v) - m(w)), and
    -x h'(x)/h(x) = 1/(sigma m(w)).

    The coordinate is w. Let l = phi/Q = 1/m, the hazard. The density of w is sigma exp(sigma w - sigma^2/2) Q(w), A
    = 1 - l/sigma, which falls, and B = l exp(sigma^2 - sigma w)/sigma. Since l - w falls (0 < l' < 1; Sampford
    1953) and (log B)' = l - w - sigma, B rises up to where l - w = sigma, and falls beyond. |X| <= 1, so |Z| is
    beyond w with at most Q(w - sigma).
    """

    uniforms: ClassVar = 2
    start: ClassVar = arb(-8)
    sigma: Fraction

    def magnitude(self, *uniforms: arb) -> arb | None:
        first, second = uniforms
        normal = variate(second)
        return None if normal is None else first * (rational(self.sigma) * normal).exp()

    def survival(self, magnitude: Floats) -> Floats:
        from scipy import special

        sigma, v = float(self.sigma), self._exponent(magnitude)
        near = special.ndtr(-v) - np.exp(sigma * np.minimum(v, 0) + sigma**2 / 2) * special.ndtr(-v - sigma)
        far = np.maximum(v, 0) / math.sqrt(2)
        mills = special.erfcx(far) - special.erfcx(far + sigma / math.sqrt(2))
        probability: Floats = np.where(v < 0, near, np.exp(-(far**2)) / 2 * mills)
        return probability

    def log_density(self, z: Floats) -> Floats:
        from scipy import special

        sigma = float(self.sigma)
        density: Floats = sigma**2 / 2 - math.log(2) + special.log_ndtr(-self._exponent(np.abs(z)) - sigma)
        return density

    def log_deviation(self) -> float:
        return float(self.sigma) ** 2 - math.log(3) / 2

    def scores(self, reach: float, nodes: int) -> ScoreQuadrature:
        """Trapezoidal rule over w, from all but exp(-37) of the mass to the largest Y."""
        from scipy import special

        sigma = float(self.sigma)
        w = np.linspace(sigma - 37 / sigma, sigma + reach, nodes)
        log_x = sigma * (w - sigma)
        log_mills = special.log_ndtr(-w) + w**2 / 2 + math.log(2 * math.pi) / 2
        log_rate = -log_mills - math.log(sigma)
        log_weights = log_x + special.log_ndtr(-w)  # x dw times the density
        return ScoreQuadrature.normalised(log_weights, 1 - np.exp(log_rate), np.exp(log_rate - log_x), sigma)

    def _exponent(self, magnitude: Floats) -> Floats:
        exponent: Floats = np.log(np.maximum(magnitude, 1e-300)) / float(self.sigma)
        return exponent

    def at(self, x: acb) -> tuple[acb, acb, acb]:
        (hazard, survival), sigma = self._hazard(x), rational(self.sigma)
        rate = hazard / sigma
        level = (sigma * x - arb(sigma) ** 2 / 2).exp()
        return sigma * level * survival, 1 - rate, rate * (sigma * (sigma - x)).exp()

    def before(self) -> Term:
        (_, dilation, shift), sigma = self.at(acb(self.start)), rational(self.sigma)
        mass = (sigma * self.start - arb(sigma) ** 2 / 2).exp()
        rising = self._excess(self.start) > 0
        return mass, dilation.real.union(arb(1)), shift.real.union(arb(0)) if rising else self.largest_shift()

    def beyond(self, x: arb) -> tuple[arb, arb]:
        falling = self._excess(x) < 0
        return normal_survival(x - rational(self.sigma)), self.at(acb(x))[2].real if falling else self.largest_shift()

    def largest_shift(self) -> arb:
        """Bound B by the largest l, and the least w, of a short interval that holds the place where l - w = sigma."""
        sigma = rational(self.sigma)
        low, high = arb(-8), 8 + 2 / arb(sigma)
        if not (self._excess(low) > 0 and self._excess(high) < 0):
            return arb.pos_inf()
        for _ in range(20):
            middle = arb(((low + high) / 2).mid())
            excess = self._excess(middle)
            low, high = (middle if excess > 0 else low), (middle if excess < 0 else high)
        return self._hazard(acb(high))[0].real * (sigma * (sigma - low)).exp() / sigma

    def _excess(self, w: arb) -> arb:
        return self._hazard(acb(w))[0].real - w - rational(self.sigma)

    def _hazard(self, w: acb) -> tuple[acb, acb]:
        """Enclose l and Q, over a ball w by expansions about the middle c of its real parts.

        Left of 0, |Q(w) - Q(c)| <= |w - c| max |phi|. Elsewhere m(w) is the integral of exp(-w t - t^2/2) over t > 0,
        so the second derivative, (1 + w^2) m(w) - w, is nowhere larger than at the least real part.
        """
        if w.imag.is_zero():
            survival = normal_survival(w)
            return normal_density(w) / survival, survival
        centre, least = arb(w.real.mid()), w.real.lower()
        change = w - centre
        size = change.abs_upper()
        if centre < -1.5:
            steepest = normal_density(w.real) * (w.imag * w.imag / 2).exp()
            survival = normal_survival(centre) + disc(size * steepest.abs_upper())
            return normal_density(w) / survival, survival
        value, largest = (normal_survival(at) / normal_density(at) for at in (centre, least))
        curvature = (1 + least * least) * largest - least
        mills = value + (centre * value - 1) * change + disc(size * size / 2 * curvature)
        return 1 / mills, normal_density(w) * mills


@dataclass(frozen=True, slots=True)
class UniformLogNormal(ConcentratedNoise):
    """Z = c X exp(sigma Y), calibrated by the condition above.

    A dilation by exp(b) is a shift of Y by b/sigma, so E exp(m (1 + Z psi)) <= exp(m^2/(2 sigma^2)). Bun and
    Steinke's own bound, kappa = beta/sigma + sqrt(2/pi) exp(3 sigma^2/2)/(sigma c), adds the losses of dilation and
    shift; it needs more noise.
    """

    name = "uniform-log-normal"
    shape = StandardUniformLogNormal


# Arsinh-normal noise, which is almost as little as Gaussian.


@dataclass(frozen=True, slots=True)
class StandardArsinhNormal:
    """sinh(sigma Y)/sigma, Y standard normal.

    At x = sinh(sigma y)/sigma the density is phi(y)/cosh(sigma y), and -h'(x)/h(x) = (y + sigma tanh(sigma y)) /
    cosh(sigma y).

    The coordinate is y = |Y|. A = 1 - y tanh(sigma y)/sigma - tanh^2(sigma y), which falls, and B = (y + sigma
    tanh(sigma y))/cosh(sigma y). B is at most 2/(3 sigma) + sigma/2: sinh u / cosh^2 u <= 1/2, and cosh u >= 3u/2,
    which is below the tangent of cosh where sinh u = 3/2.
    """

    uniforms: ClassVar = 1
    start: ClassVar = arb(0)
    sigma: Fraction

    def magnitude(self, *uniforms: arb) -> arb | None:
        """Invert ``survival``, through the normal distribution's."""
        normal = StandardNormal().magnitude(*uniforms)
        sigma = rational(self.sigma)
        return None if normal is None else (sigma * normal).sinh() / sigma

    def survival(self, magnitude: Floats) -> Floats:
        return StandardNormal().survival(self._normal(magnitude))

    def log_density(self, z: Floats) -> Floats:
        square = (float(self.sigma) * z) ** 2  # cosh^2(sigma y) - 1
        return StandardNormal().log_density(self._normal(z)) - np.log1p(square) / 2

    def log_deviation(self) -> float:
        square = 2 * float(self.sigma) ** 2
        return math.log(math.expm1(square) / square) / 2

    def scores(self, reach: float, nodes: int) -> ScoreQuadrature:
        """Trapezoidal rule over y from 0 to ``reach``."""
        sigma, y = float(self.sigma), np.linspace(0, reach, nodes)
        log_weights = -(y**2) / 2
        log_weights[0] -= math.log(2)
        shift = (y + sigma * np.tanh(sigma * y)) / np.cosh(sigma * y)
        return ScoreQuadrature.normalised(log_weights, 1 - np.sinh(sigma * y) / sigma * shift, shift, sigma)

    def _normal(self, z: Floats) -> Floats:
        sigma = float(self.sigma)
        normal: Floats = np.arcsinh(sigma * z) / sigma
        return normal

    def at(self, x: acb) -> tuple[acb, acb, acb]:
        sigma = rational(self.sigma)
        tangent = (sigma * x).tanh()
        shift = (x + sigma * tangent) / (sigma * x).cosh()
        return 2 * normal_density(x), 1 - x * tangent / sigma - tangent * tangent, shift

    def before(self) -> Term:
        return arb(0), arb(1), arb(0)

    def beyond(self, x: arb) -> tuple[arb, arb]:
        return 2 * normal_survival(x), self.largest_shift()

    def largest_shift(self) -> arb:
        sigma = arb(rational(self.sigma))
        return 2 / (3 * sigma) + sigma / 2


@dataclass(frozen=True, slots=True)
class ArsinhNormal(ConcentratedNoise):
    """Z = c sinh(sigma Y)/sigma, calibrated by the condition above.

    As 1 + x h'(x)/h(x) >= -|y|/sigma, E exp(-m (1 + Z psi)) <= 2 exp(m^2/(2 sigma^2)) for m >= 0. With beta =
    kappa/10 the standard deviation is 6 % above that of Gaussian noise for a constant sensitivity, 1/kappa.
    """

    name = "arsinh-normal"
    shape = StandardArsinhNormal
