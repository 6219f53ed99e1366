"""How far a sensitivity found in floating point can be from the exact one, and how that is paid for.

Both searches maximise ``log(d) * p - beta * k + constant`` (p = 1 or 2) over candidates whose ``d`` is an exact
integer below 2**103 and ``k`` an exact integer. Candidates with ``beta * k`` beyond ``DEEPEST`` are cut off by a
floor (below), so each term is below 2**10 in absolute value; its logarithm, product and differences are each rounded
once or faithfully, and an evaluated candidate is off by at most 8 * 2**10 * 2**-53 = 2**-40. The divide-and-conquer
search of the mean may, at each of its at most 34 levels, prefer a candidate that rounding made look better; by total
monotonicity every later row loses at most that evaluation error, twice. Altogether less than 35 * 2 * 2**-40 < 2**-33
in the logarithm. Adding the final exponential and division, the computed S lies within a factor (1 +- 2**-32) of the
exact one.

``raised`` multiplies by (1 + 2**-31): the result is never below the exact smooth bound, and between neighbours its
logarithm moves by at most beta_searched + 2**-30. ``searched_beta`` therefore searches at beta - 2**-30, so that the
raised value is beta-smooth for the beta that the noise is calibrated to.
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


def searched_beta(beta: Fraction) -> float:
    """The beta at which a search must be run so that the raised sensitivity is ``beta``-smooth.

    Raises:
        ValueError: ``beta`` is below 2**-24.
    """
    if beta < SMALLEST_BETA:
        raise ValueError(f"beta must be at least 2**-24, found {float(beta):.3g}")
    # The nearest float is off by 2**-53 relative, which the slack's own margin (2**-30 against 3 * 2**-32) covers.
    return float(beta - SLACK)


def raised(sensitivity: float) -> Fraction:
    """The sensitivity raised above its evaluation error, as the exact value of a float."""
    return Fraction(sensitivity * RAISE)
