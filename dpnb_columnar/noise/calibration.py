"""Scales that are certainly large enough: calibration in ball arithmetic.

A scale is either a closed expression, evaluated as a ball of which the upper end is taken, or the smallest number of
which a privacy condition is certain, found by bisection and taken from the certain side. Either way no rounding error
can make the noise smaller than proven. The exact scale is exceeded by a relative 2^-100 in the one case, 2^-30 in the
other.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import arb, ctx, fmpq

PRECISION = 160
TOLERANCE = Fraction(1, 2**30)


def rational(number: Fraction) -> fmpq:
    """Convert a fraction to Arb's rational type."""
    return fmpq(number.numerator, number.denominator)


def upper(expression: Callable[[], arb]) -> Fraction:
    """The upper end of an expression's ball."""
    with ctx.workprec(PRECISION):
        mantissa, exponent = (int(part) for part in expression().upper().man_exp())
    return mantissa * Fraction(2) ** exponent


def smallest(certain: Callable[[Fraction], bool], least: Fraction) -> Fraction:
    """The smallest number >= ``least`` of which ``certain`` is true, to a relative ``TOLERANCE``, from above.

    Args:
        certain: A condition that stays true as the number grows. It is called at the precision of calibration, and
            says True only where no rounding error could make it false. It has to be true of some number.
        least: Where to start.
    """
    with ctx.workprec(PRECISION):
        high = least
        while not certain(high):
            high *= 2
        if high == least:
            return least
        low = high / 2
        while high - low > low * TOLERANCE:
            middle = (low + high) / 2
            low, high = (low, middle) if certain(middle) else (middle, high)
        return high


def supremum(admissible: Callable[[Fraction], bool], limit: Fraction) -> float:
    """The largest number below ``limit`` that is admissible, for messages; every smaller one is admissible too."""
    low, high = Fraction(0), limit
    with ctx.workprec(PRECISION):
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if admissible(middle) else (low, middle)
    return float(low)
