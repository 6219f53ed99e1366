"""Prove in ball arithmetic that concentrated noise of a given scale is private.

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

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Protocol, TypeVar

import numpy as np
from flint import acb, arb, ctx, fmpq

from dpnb_columnar.core.noise.family import rational

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


class Score(Protocol):
    """A standard shape's density and score as analytic functions of a coordinate x of |X|, at a parameter sigma.

    Attributes:
        sigma: A number for which E exp(-m A) <= 2 exp(m^2/(2 sigma^2)) for every m >= 0.
        start: Where the panels start.
    """

    @property
    def sigma(self) -> fmpq: ...

    @property
    def start(self) -> arb: ...

    def at(self, x: acb) -> tuple[acb, acb, acb]:
        """Enclose density, A and B over a ball of coordinates; not finite where one of them may have a pole."""

    def before(self) -> Term:
        """Bound the mass before ``start``, with balls that hold all A and B there."""

    def beyond(self, x: arb) -> tuple[arb, arb]:
        """Bound the mass beyond x, and all B there."""

    def largest_shift(self) -> arb:
        """Bound all B."""


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
        tilt: beta/sigma.
        beta: Largest rate of the scale's logarithm.
        speed: Shift in units of the scale, 1/c.
        reach: W, for the mass beyond the last panel.
        shift_beyond: Bound of B there.
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


def cumulants(score: Score, beta: arb, speed: arb) -> Cumulants | None:
    """Divide the coordinate into panels; None unless beta < sigma, and if no panel is short enough."""
    tilt, bound = beta / score.sigma, (score.largest_shift() * speed).upper()
    if not tilt < 1:
        return None
    low, high = -_farthest(tilt, bound, 0), float((2 * (beta + bound)).upper()) + 1e-9
    end, reach, shift_beyond = _end(score, tilt, speed)
    probes = [arb(mu) for limit in (low, high) for mu in limit / np.geomspace(1, max(-low, high), PROBES)]

    def error(mu: arb, term: Term) -> arb:
        weight, dilation, shift = term
        return weight * (mu * beta * dilation).exp() * (mu * speed * shift).cosh() / (mu * mu / 2).exp()

    def small(term: Term) -> bool:
        return all(error(mu, term) < PANEL_ERROR for mu in probes)

    terms = [score.before()]
    x, length = score.start, LONGEST
    while x < end:
        length = min(2 * length, LONGEST)
        while (panel := _panel(score, x, min(x + length, end), small)) is None:
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


def _end(score: Score, tilt: arb, speed: arb) -> tuple[arb, arb, arb]:
    """Find the end of the last panel, with W and the bound of B beyond it.

    There the mass beyond is small for every mu that is nearer than those for which the cruder bound is enough.
    """
    end = score.start
    while True:
        end = end + arb(1) / 4
        mass, shift = score.beyond(end)
        if mass < arb(-MASS_EXPONENT).exp() and score.at(acb(end))[1].real < 0:
            reach, shifted = (-2 * mass.log()).sqrt().lower(), (shift * speed).upper()
            if reach > tilt * _farthest(tilt, shifted, 1) + (shifted * shifted + 2 * MASS_EXPONENT).sqrt():
                return end, reach, shift.upper()


def _panel(score: Score, start: arb, end: arb, small: Callable[[Term], bool]) -> list[Term] | None:
    """Integrate over a panel by the rule of fewest nodes whose error is small; None if it has to be shorter."""
    middle, half = (start + end) / 2, (end - start) / 2
    wide, high = Fraction(ELLIPSE**2 + 1, 2 * ELLIPSE), Fraction(ELLIPSE**2 - 1, 2 * ELLIPSE)
    box = acb(arb(middle, (half * rational(wide)).upper()), arb(0, (half * rational(high)).upper()))
    density, dilation, shift = score.at(box)
    if not (density.is_finite() and dilation.is_finite() and shift.is_finite()):
        return None
    most = 8 * half * density.abs_upper() / (1 - arb(1) / ELLIPSE)
    for order in ORDERS:
        error = (most / arb(ELLIPSE) ** (2 * order), dilation.real, arb(shift.real.abs_upper()))
        if small(error):
            values = ((weight, score.at(acb(middle + half * node))) for node, weight in _rule(order))
            return [error, *((weight * half * d.real, a.real, b.real) for weight, (d, a, b) in values)]
    return None


def is_certified(score: Score, ratio_squared: Fraction, scale: Fraction) -> bool:
    """Prove log F(mu) <= mu^2/2 for every mu; False if no proof was found.

    Args:
        score: The shape's.
        ratio_squared: (beta/kappa)^2.
        scale: The scale for kappa = 1.
    """
    with ctx.workprec(PRECISION):
        bounds = cumulants(score, arb(rational(ratio_squared)).sqrt(), 1 / arb(rational(scale)))
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
