"""The mechanism ``global-variance``: mean and variance of every numeric attribute with Laplace noise."""

from __future__ import annotations

from fractions import Fraction

from dpnb_columnar.boundary import postprocessing
from dpnb_columnar.boundary.untrimmed import Untrimmed
from dpnb_columnar.domain import Numeric
from dpnb_columnar.model.parameters import Normal


class GlobalVariance(Untrimmed):
    """Noise for the most that one row can change a mean, and a variance."""

    name = "global-variance"
    summary = "mean and variance with Laplace noise for the worst case of the declared bounds"
    spread = "variance"

    def normal(
        self, attribute: Numeric, means: list[Fraction], spreads: list[Fraction], sizes: list[int], pooled: float
    ) -> Normal:
        return postprocessing.normal(attribute, means, spreads, [1.0] * len(sizes), sizes, pooled)
