"""How far a sensitivity found in floating point can be from the exact one, and how that is paid for.

Both searches maximise ``p * log(d) - beta * k`` (p = 1 or 2) over candidates whose ``d`` is an exact integer below
2**79, turned into a float with a relative error of at most 2**-52, and whose ``k`` is an exact integer.

Size of the terms. A result below the floor of ``DEEPEST`` is replaced by the floor, so only results above it matter.
For those, a candidate that is kept has beta * k <= 512 + log 2 + p * log(2**79) < 1024: the variance's search stops
where even the widest deviation cannot win, and the mean's search keeps a row or column only if it could reach the
best of a first look, which is at most log 2 below the best of all (for every pair, b_j - a_l <= 2 max(b_j - a_0, b_0
- a_l)). So each term is below 2**10 in absolute value, its logarithm is good to 4 units in the last place, product
and difference are rounded once each, and an evaluated candidate is off by at most 8 * 2**10 * 2**-53 = 2**-40.

Near ties. In the mean's search, a row whose own comparison was decided by rounding may pass on a bound on the columns
that excludes the best column of a later row. By total monotonicity that later row loses at most what the first row
lost: one comparison error, twice 2**-40. There are at most 34 levels, so altogether less than 35 * 2**-39 < 2**-33 in
the logarithm. In the variance's search the stationary point of a piece is found in floats; with x the relative rise
of d over the piece, it is off by at most 2**-52/x * 2/beta, which costs at most 2**-104/x**2, and never more than 2
x: below 2**-34.

Adding the final exponential and division, the computed S lies within a factor (1 +- 2**-32) of the exact one.
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
