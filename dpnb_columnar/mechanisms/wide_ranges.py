"""Attributes declared so widely that noise hides whatever their values say. Public facts alone.

A codebook states the width of a column, not how large its amounts are: nines in nine digits are no income. Noise that
grows with the declared range then hides what amounts differ by, and the attribute's share of the budget is lost.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpnb_columnar.budget import Share
from dpnb_columnar.domain import Numeric, Transform
from dpnb_columnar.mechanisms.expected_error import moment_error
from dpnb_columnar.mechanisms.global_moments import CONSTANT_MOMENTS
from dpnb_columnar.mechanisms.release_plan import ReleasePlan
from dpnb_columnar.mechanisms.smooth_moments import MOMENTS

DIFFERENCE = 50_000
"""Whole units that amounts differ by: about the standard deviation of persons' incomes in dollars, one of the largest
amounts that censuses and surveys ask for."""

FILLED = 4
"""Values are assumed to fill this many times as many units from zero on: evenly filled, they deviate by 1.15 times
``DIFFERENCE``."""

NARROWEST = 200_000
"""Upper bound of the narrowest range that is suggested: where published tables of incomes end (ACS table B19001)."""

LOSSES = 10
"""The lower bound suggested is at most this part of the upper one below zero."""

NARROW = NARROWEST + NARROWEST // LOSSES
"""Ranges of no more units are not too wide, however few the rows are."""


@dataclass(frozen=True, slots=True)
class WideRange:
    """An attribute whose declared range is too wide for a release to say anything about it.

    Attributes:
        attribute: The attribute.
        hidden: Differences of up to so many units are hidden by the noise.
        suggested: The widest round bounds under which it hides less than half of ``DIFFERENCE``; those of ``NARROWEST``
            where the rows are too few for any.
    """

    attribute: Numeric
    hidden: float
    suggested: tuple[Fraction, Fraction]


def wide_ranges(plan: ReleasePlan, size: int) -> tuple[WideRange, ...]:
    """Find the attributes whose moments are released with noise that hides what amounts differ by.

    Histograms are not asked: the bins of an amount grow with its distance from zero, however wide it is declared.

    Args:
        plan: A plan of a release.
        size: Rows of a class, declared by the user.
    """
    found = []
    for attribute in plan.domain.numeric:
        shares = [
            share
            for share in plan.shares
            if share.attribute == attribute.name and share.query in {*MOMENTS, *CONSTANT_MOMENTS} and share.values > 1
        ]
        hidden = _hidden(attribute, shares, size)
        if hidden > DIFFERENCE:
            fitting = (narrow for narrow in _narrower(attribute) if 2 * _hidden(narrow, shares, size) <= DIFFERENCE)
            suggested = next(fitting, _bounded(attribute, NARROWEST))
            found.append(WideRange(attribute, hidden, (suggested.lower, suggested.upper)))
    return tuple(found)


def _hidden(attribute: Numeric, shares: Sequence[Share], size: int) -> float:
    """Compute the difference between two classes, in units of the column, that the noise of a moment hides."""
    if (
        attribute.transform is not Transform.IDENTITY
        or attribute.step < 1
        or attribute.upper - attribute.lower <= NARROW
    ):
        return 0
    zero = int(min(max(-attribute.lower / attribute.step, Fraction(0)), Fraction(attribute.cells)))
    filled = zero, min(zero + int(FILLED * DIFFERENCE / attribute.step), attribute.cells)
    errors = {share.query: moment_error(attribute, share, size, filled) for share in shares}
    linear = ("mean", "deviation")
    return max((error if query in linear else math.sqrt(error) for query, error in errors.items()), default=0)


def _narrower(attribute: Numeric) -> Iterator[Numeric]:
    """Yield the attribute with ever narrower bounds: 5, 2 and 1 times powers of ten, down to ``NARROWEST``."""
    for digits in range(len(str(int(attribute.upper - attribute.lower))), len(str(NARROWEST)) - 2, -1):
        for first in (5, 2, 1):
            if first * 10**digits >= NARROWEST:
                yield _bounded(attribute, first * 10**digits)


def _bounded(attribute: Numeric, bound: int) -> Numeric:
    """Narrow an attribute's range to a bound above zero, or above its bound next to zero, in whole steps from below."""
    step, zero = attribute.step, min(max(Fraction(0), attribute.lower), attribute.upper)
    lower = max(attribute.lower, zero - bound // LOSSES)
    lower = attribute.lower + (lower - attribute.lower) // step * step
    upper = lower + (min(attribute.upper, zero + bound) - lower) // step * step
    return replace(attribute, lower=lower, upper=upper)
