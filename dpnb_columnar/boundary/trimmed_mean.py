"""The mechanism ``trimmed-mean``: trimmed means of x and of x^2, noise scaled to the smooth sensitivity of each.

After Bun and Steinke 2019, whose estimator is of means alone; the variance is E[x^2] - E[x]^2, as Zafarani and Clifton
2021, section 5, compare with it.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpnb_columnar.boundary import postprocessing
from dpnb_columnar.boundary.reported import reported
from dpnb_columnar.boundary.smooth import Smooth, corrections
from dpnb_columnar.boundary.tuning import pooled_rows
from dpnb_columnar.domain import Numeric
from dpnb_columnar.model.parameters import Normal
from dpnb_columnar.noise import NoiseFamily
from dpnb_columnar.sensitivity.squares import squares_shift


class TrimmedMean(Smooth):
    """``smooth`` with another query for the spread."""

    name = "trimmed-mean"
    summary = "trimmed means of x and of x^2, noise scaled to smooth sensitivity (Bun and Steinke 2019)"
    queries = ("mean", "mean of squares")

    def normal(
        self,
        attribute: Numeric,
        means: list[Fraction],
        squares: list[Fraction],
        noise: NoiseFamily,
        sizes: list[int],
    ) -> Normal:
        scale, unit = attribute.scale, 2 ** squares_shift(attribute.scale.cells)
        # Both windows are of the same ranks, so without noise this is the trimmed variance, but for the rounding of
        # squares by at most half of their unit. A mean beyond the bounds is noise, and is not squared.
        variances = [
            unit * square - min(max(mean, Fraction(0)), Fraction(scale.cells)) ** 2
            for mean, square in zip(means, squares, strict=True)
        ]
        weight, rounding = pooled_rows(noise.loss), unit / 2 if unit > 1 else 1 / 12
        left = corrections(sizes, noise)
        found = postprocessing.normal(attribute, means, variances, left, sizes, weight, rounding)
        released = tuple(reported(unit * square, scale.step**2) for square in squares)
        return replace(found, released_variance=None, released_square=released)
