"""The three kinds of privacy guarantee of one query, pure, approximate and concentrated, and conversion between them.

Their numbers are exact rationals. How they compose is in ``composition``.

Account for many releases from one data set against a limit (epsilon, delta): exact, and proven.

An account lives in two phases. In both of them every release, its kind and its budget may be chosen after looking at
all earlier releases; the totals only have to stay within a limit that was fixed before (a privacy filter).

1. Until the first concentrated release, epsilons and deltas of pure and approximate ones add up (Dwork, Kenthapadi,
   McSherry, Mironov and Naor 2006; for budgets chosen on the way: Rogers, Roth, Ullman and Vadhan 2016).
2. From the first concentrated release on, the totals of the first phase, epsilon' and delta', stay as they are. Rhos
   add up (Bun and Steinke 2016, Lemma 2.3; for budgets chosen on the way: Feldman and Zrnic 2021), and their sum has to
   imply what is left, (epsilon - epsilon', delta - delta'). A pure release costs epsilon^2/2 here
   (``costs.concentrated``); an approximate one has no rho and is refused.

Claim: all releases that ``admits`` lets through are together (epsilon, delta)-differentially private, in the relation
that each of them is stated in. *Proof.* When the second phase begins, what is left of the limit is fixed. Let r be the
supremum of the rhos that imply it. A sum that ``implies`` admits is at most r, so the whole second phase, whatever is
chosen in it, is r-zCDP; the bound behind ``implies`` is continuous in rho, so r implies what is left, too. Hence the
second phase is one more (epsilon - epsilon', delta - delta')-private release. It remains to show that the first phase
and this release add up. By induction from the last release to the first: a release x that is (e, d)-private, followed
by what is (epsilon - e, delta - d)-private for every outcome of x, is (epsilon, delta)-private by basic composition.
Every outcome leaves exactly that, since each release is deducted from the limit when its budget is known. []

Why epsilons, deltas and rhos do not grow side by side: what the rhos have to imply would then depend on outcomes of
earlier concentrated releases. One could go on with a delta after outcomes that tell little and with a rho after those
that tell much, and the conversion of rho, which averages over all outcomes, would prove nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from enum import Enum
from fractions import Fraction
from functools import lru_cache

from dpnb_columnar.core.budget.amounts import SMALLEST_EPSILON


@dataclass(frozen=True, slots=True)
class Pure:
    """epsilon-differential privacy: for neighbours D, D' and every event E, P[D](E) <= exp(epsilon) P[D'](E)."""

    epsilon: Fraction


@dataclass(frozen=True, slots=True)
class Approximate:
    """(epsilon, delta)-differential privacy: P[D](E) <= exp(epsilon) P[D'](E) + delta."""

    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True)
class Concentrated:
    """rho-zero-concentrated differential privacy (Bun and Steinke 2016).

    For neighbours D, D' and every a > 1 the Renyi divergence of order a of P[D] from P[D'] is at most a * rho.
    """

    rho: Fraction


PrivacyCost = Pure | Approximate | Concentrated


def cost_parameters(cost: PrivacyCost) -> dict[str, Fraction]:
    """Return the parameters by name: ``epsilon``; ``epsilon`` and ``delta``; or ``rho``."""
    return {field.name: getattr(cost, field.name) for field in fields(cost)}


def cost_of_numbers(amounts: Mapping[str, Fraction]) -> PrivacyCost:
    """Make the cost whose parameters these are: the inverse of ``numbers``."""
    kinds: tuple[type[PrivacyCost], ...] = (Pure, Approximate, Concentrated)
    for kind in kinds:
        if {field.name for field in fields(kind)} == amounts.keys() and min(amounts.values()) > 0:
            return kind(**amounts)
    raise ValueError("its epsilon, delta and rho state no cost")


# Conversion, always rounding towards more noise: rational where the formula is rational; else bounded by decimals of
# fifty digits. Logarithms of the decimal module are correctly rounded, so the neighbouring decimals are proven bounds.

DIGITS = 9
"""Significant decimal digits that are kept of an irrational number, rounded down."""

_BELOW, _ABOVE = (
    Context(prec=50, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX) for rounding in (ROUND_FLOOR, ROUND_CEILING)
)


def to_concentrated(cost: Pure) -> Concentrated:
    """Convert a pure cost: epsilon-differential privacy implies epsilon^2/2-zCDP (Bun and Steinke 2016, Prop. 1.4)."""
    return Concentrated(cost.epsilon**2 / 2)


def pure_within(rho: Fraction) -> Pure:
    """Find the largest pure cost, to nine digits, that costs at most ``rho``: sqrt(2 rho), rounded down."""
    unit = Fraction(10) ** (math.floor(math.log10(2 * rho) / 2) + 1 - DIGITS)
    return Pure(math.isqrt(2 * rho // unit**2) * unit)


class RowEffect(Enum):
    """What one row does to the draws of a query, and so what the rows between two neighbours do together.

    Epsilons add up either way. Rhos do not: for a replaced row they are e^2/2 + e^2/2 where two draws change, and
    (2e)^2/2 where one draw changes twice.
    """

    ONE_DRAW = "one draw"
    """A row moves one draw. Of a replacement the two rows move two draws, made independently, or one draw once."""
    ALL_DRAWS = "all draws"
    """A row moves any draw, all together by a bounded amount: sums over rows. Further rows move the same draws again.
    """


def for_one_row(cost: PrivacyCost, rows: int, effect: RowEffect) -> PrivacyCost:
    """Divide a cost: calibrate the draws of a query to the result, and ``rows`` changed rows cost ``cost``.

    Where each row moves a draw of its own, the costs of independent draws compose: epsilons, deltas and rhos add up.
    Where all rows move the same draws, the cost is that of a group of rows: r rows of a pure e cost r e, and of rho
    r^2 rho (Bun and Steinke 2016, Proposition 1.9; docs/privacy.md, Lemmas 2.5 and 2.9). More rows than two, those of a
    unit, may always change one draw several times: then ``cost`` is pure (Lemma 2.10).
    """
    if isinstance(cost, Pure):
        return Pure(cost.epsilon / rows)
    if isinstance(cost, Concentrated):
        return Concentrated(cost.rho / _times(rows, effect))
    if effect is RowEffect.ALL_DRAWS and rows > 1:
        raise ValueError("noise with a delta is not for sums that every row moves")
    return Approximate(cost.epsilon / rows, cost.delta / rows)


def _times(rows: int, effect: RowEffect) -> int:
    return rows**2 if effect is RowEffect.ALL_DRAWS else rows


def group_cost_within(row_cost: PrivacyCost, rows: int, cost: PrivacyCost, effect: RowEffect) -> bool:
    """Decide whether ``rows`` changed rows cost at most ``cost`` if each costs ``row_cost``.

    A concentrated cost may be met by a pure one.
    """
    if isinstance(cost, Concentrated):
        if isinstance(row_cost, Approximate):
            return False
        one = to_concentrated(row_cost) if isinstance(row_cost, Pure) else row_cost
        return one.rho * _times(rows, effect) <= cost.rho
    if isinstance(row_cost, Concentrated) or row_cost.epsilon * rows > cost.epsilon:
        return False
    if isinstance(row_cost, Pure):
        return True
    add_up = effect is RowEffect.ONE_DRAW or rows == 1
    return isinstance(cost, Approximate) and add_up and row_cost.delta * rows <= cost.delta


def implies(rho: Fraction, cost: Approximate) -> bool:
    """Decide whether rho-zCDP implies (epsilon, delta)-differential privacy; True is proven, not estimated.

    For every a > 1, delta = exp((a - 1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1) suffices (Canonne, Kamath and Steinke
    2020, Corollary 13). The best a is looked for in floating point; any a proves the claim.
    """
    a = Fraction(_best_order(float(rho), float(cost.epsilon)))
    exponent = (a - 1) * (a * rho - cost.epsilon)
    factor = a * _logarithm((a - 1) / a, _ABOVE) - _logarithm(a - 1, _BELOW)
    return exponent + factor <= _logarithm(cost.delta, _BELOW)


@lru_cache(maxsize=1024)
def concentrated_within(cost: Approximate) -> Concentrated:
    """Find the largest concentrated cost, to about six digits, that implies ``cost``."""
    low, high = Fraction(0), cost.epsilon
    while implies(high, cost):
        low, high = high, 2 * high
    while high - low > high / 10**7:
        middle = (low + high) / 2
        low, high = (middle, high) if implies(middle, cost) else (low, middle)
    return Concentrated(floor_digits(low, 6))


def floor_digits(number: Fraction, digits: int = DIGITS) -> Fraction:
    """Round a positive number down to so many significant decimal digits."""
    # The value of the last of these digits, or of the one after it.
    unit = Fraction(10) ** (len(str(number.numerator)) - len(str(number.denominator)) - digits)
    return number // unit * unit


def _best_order(rho: float, epsilon: float) -> float:
    """Find the order a at which the conversion of ``implies`` gives the least delta, by golden section.

    The logarithm of delta is a convex function of a: its second derivative is 2 rho + 1/(a (a - 1)) > 0.
    """

    def logarithm(a: float) -> float:
        return (a - 1) * (a * rho - epsilon) + a * math.log1p(-1 / a) - math.log(a - 1)

    low, high = math.log(1e-9), math.log(1e12)  # of a - 1
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(200):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if logarithm(1 + math.exp(left)) < logarithm(1 + math.exp(right)):
            high = right
        else:
            low = left
    return 1 + math.exp((low + high) / 2)


def _logarithm(number: Fraction, side: Context) -> Fraction:
    """Bound the natural logarithm from the side to which the context rounds."""
    if number == 1:  # exact; the decimal next to 0 has more digits than any machine holds
        return Fraction(0)
    logarithm = side.divide(Decimal(number.numerator), Decimal(number.denominator)).ln(side)
    return Fraction(logarithm.next_plus(side) if side is _ABOVE else logarithm.next_minus(side))


LARGEST_TOTAL = 10**1000
"""Numerator and denominator of a total are at most this, so that adding and comparing stay cheap."""

LARGEST_CONVERTED = 10**300
"""Epsilons and rhos beyond this have no nearest float, in which the order of a conversion is looked for."""


@dataclass(frozen=True, slots=True)
class Spent:
    """The exact total cost of an account's releases so far.

    Attributes:
        epsilon: Sum of the epsilons of pure and approximate releases of the first phase.
        delta: Sum of the deltas of approximate releases of the first phase.
        rho: Sum of the rhos of the second phase; 0 while there is none.
    """

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)

    def plus(self, cost: PrivacyCost) -> Spent:
        """Return the total with one more release."""
        if isinstance(cost, Concentrated):
            return _in_range(Spent(self.epsilon, self.delta, self.rho + cost.rho))
        if self.rho:
            if isinstance(cost, Approximate):
                raise ValueError("an approximate release cannot follow a concentrated one")
            return _in_range(Spent(self.epsilon, self.delta, self.rho + to_concentrated(cost).rho))
        delta = cost.delta if isinstance(cost, Approximate) else Fraction(0)
        return _in_range(Spent(self.epsilon + cost.epsilon, self.delta + delta))


def admits(limit: Approximate, spent: Spent) -> bool:
    """Decide whether a total is within a limit, in rational arithmetic; True is proven.

    A limit whose delta is 0 admits no release with a delta or a rho.
    """
    epsilon, delta = limit.epsilon - spent.epsilon, limit.delta - spent.delta
    if not spent.rho:
        return epsilon >= 0 and delta >= 0
    if epsilon <= 0 or delta <= 0 or max(epsilon, spent.rho) > LARGEST_CONVERTED:
        return False
    return implies(spent.rho, Approximate(epsilon, delta))


@dataclass(frozen=True, slots=True)
class Remaining:
    """The most that one more release may cost, by the kind of its guarantee.

    Attributes:
        epsilon: Of a pure release, and of an approximate one where ``delta`` is above 0.
        delta: Of an approximate release; 0 once there is a concentrated one.
        rho: Of a concentrated release, rounded down to about six digits of what is left at the first of them.
    """

    epsilon: Fraction
    delta: Fraction
    rho: Fraction


def remaining(limit: Approximate, spent: Spent) -> Remaining:
    """Compute what is left of a limit: exact in the first phase but for rho, never more than ``admits`` accepts.

    The limit's epsilon is at most 1000, and the total is within the limit.
    """
    epsilon, delta = limit.epsilon - spent.epsilon, limit.delta - spent.delta
    # Below the smallest epsilon there is no release to pay for, and none of the orders tried would prove anything.
    convertible = epsilon >= SMALLEST_EPSILON and delta > 0
    largest = concentrated_within(Approximate(epsilon, delta)).rho if convertible else Fraction(0)
    rho = max(largest - spent.rho, Fraction(0))
    if not spent.rho:
        return Remaining(epsilon, delta, rho)
    return Remaining(pure_within(rho).epsilon if rho else Fraction(0), Fraction(0), rho)


def _in_range(spent: Spent) -> Spent:
    for number in (spent.epsilon, spent.delta, spent.rho):
        if max(number.numerator, number.denominator) > LARGEST_TOTAL:
            raise ValueError("the total of these amounts has more than a thousand digits")
    return spent
