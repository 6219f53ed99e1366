"""How far a sensitivity found in floating point can be from the exact one, and how that is paid for.

Both searches maximise ``p * log(d) - beta * k`` over candidates whose ``k`` is an exact integer up to 2**45. For the
mean p = 1 and ``d`` is a difference of codes, exact; for the variance p = 2 and ``d`` an exact integer up to 2**77,
turned into a float with a relative error of at most 2**-52. Below, "off by" is said of these logarithms.

One candidate. A result below the floor of ``DEEPEST`` is replaced by the floor, so only candidates above it matter,
and these have beta * k <= 512. Those that others are compared with on the way have at most twice 512 + log 2: the
mean's search keeps a row or a column only if it could reach the best of a first look, which is at most log 2 below the
best of all (for every pair, b_j - a_l <= 2 max(b_j - a_0, b_0 - a_l)). So beta * k and the result are below 2**11, and
rounding them once each costs 2**-43 twice. The logarithm is below 54; good to 4 units in the last place and taken
twice, it costs 2**-44, and the rounded ``d`` 2**-51. An evaluated candidate is off by less than 2**-41.

Near ties, in the mean's search. A row whose own comparison was decided by rounding passes on a bound on the columns
that may exclude the best column of a later row. By total monotonicity that later row loses at most what the first row
lost, one comparison: 2**-40. There are at most 33 levels, and a row and a column may have been left out by another
comparison each: off by less than 36 * 2**-40 < 2**-34.

Stationary points, in the variance's search. On a piece, D = D_0 + s t with D_0 and s exact, and 2 log(D) - beta t is
largest at t = 2/beta - D_0/s, where D = 2 s/beta and the second derivative is -beta^2/2. Both terms of t are at most
2/beta, so six roundings move t by at most 2**-50 * 2/beta, below 1, and cost at most 2**-98; the integers on both sides
of the computed t are looked at. The widest deviation's k, beyond which nothing is looked at, is off by 2**-40 at most.

Together. Exponential, division and the logarithms of w add less than 2**-42. The computed S is within a factor
(1 +- 2**-33) of the exact one; (1 +- 2**-32) is what is relied on. ``raised`` multiplies by (1 + 2**-31), so that the
result is never below the exact smooth bound, and never above it by more than 2**-30 of it. Between neighbours its
logarithm moves by at most beta_searched + 2**-31 + 2**-51, so ``searched_beta`` searches at beta - 2**-30. That is
rounded by at most 2**-33 (beta is at most 2**20), and the raised value is beta-smooth for the beta that the noise is
calibrated to. Attacked in tests/test_sensitivity_accuracy.py, by exact integers and balls at every extreme.
"""

from __future__ import annotations

from fractions import Fraction

DEEPEST = 512.0
"""Largest ``beta * k`` that is looked at. A smooth bound may be replaced by its maximum with any public constant, and
exp(-512) times the global sensitivity is far below every released digit."""

RAISE = 1.0 + 2.0**-31
SLACK = Fraction(1, 2**30)

SMALLEST_BETA = Fraction(1, 2**24)
"""Below this, the slack would be a sizeable part of beta."""

LARGEST_BETA = Fraction(2**20)
"""Above this, rounding beta to a float would use up the slack."""


def searched_beta(beta: Fraction) -> float:
    """The beta at which a search must be run so that the raised sensitivity is ``beta``-smooth.

    Raises:
        ValueError: ``beta`` is not in 2**-24..2**20.
    """
    if not SMALLEST_BETA <= beta <= LARGEST_BETA:
        raise ValueError(f"beta must lie in 2**-24..2**20, found {float(beta):.3g}")
    return float(beta - SLACK)


def raised(sensitivity: float) -> Fraction:
    """The sensitivity raised above its evaluation error, as the exact value of a float."""
    return Fraction(sensitivity * RAISE)
