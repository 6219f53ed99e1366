"""Released numbers in the units of a model file."""

from __future__ import annotations

from fractions import Fraction

from dpnb_columnar.boundary.postprocessing import LARGEST_RELEASED


def reported(released: Fraction, unit: float, origin: float = 0.0) -> float:
    """A released number of units above an origin, cut off at ``LARGEST_RELEASED`` before and after."""
    largest = Fraction(LARGEST_RELEASED)
    number = origin + unit * float(min(max(released, -largest), largest))
    return min(max(number, -LARGEST_RELEASED), LARGEST_RELEASED)
