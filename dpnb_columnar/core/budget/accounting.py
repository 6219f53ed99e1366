"""Account for many releases from one data set against a limit (epsilon, delta): exact, and proven.

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

from dataclasses import dataclass
from fractions import Fraction

from dpnb_columnar.core.budget.amounts import SMALLEST_EPSILON
from dpnb_columnar.core.budget.costs import (
    Approximate,
    Concentrated,
    PrivacyCost,
    concentrated_within,
    implies,
    pure_within,
    to_concentrated,
)

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
        """Return the total with one more release.

        Raises:
            ValueError: if an approximate release comes after a concentrated one, or the total has too many digits.
        """
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

    Args:
        limit: Its delta may be 0; then no release with a delta or a rho is ever admitted.
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

    Args:
        limit: Its epsilon is at most 1000.
        spent: A total that is within it.
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
