"""The mechanism ``global``: mean and standard deviation of every numeric attribute with Laplace noise.

After Vaidya, Shafiq, Basu and Hong 2013, whose (U-L)/(n+1) for the mean and sqrt(n) (U-L)/(n+1) for the deviation are
the sensitivities of samples of N = n + 1 values under substitution. There n is the exact number of rows; here N is
released, so that neither it nor the noise's scale tells anything (docs/privacy.md, section 4).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpnb_columnar.boundary import postprocessing
from dpnb_columnar.boundary.reported import reported
from dpnb_columnar.boundary.untrimmed import Untrimmed
from dpnb_columnar.domain import Numeric
from dpnb_columnar.model.parameters import Normal


class Global(Untrimmed):
    """Noise for the most that one row can change a mean, and a standard deviation."""

    name = "global"
    summary = "mean and standard deviation with Laplace noise for the worst case (Vaidya, Shafiq, Basu and Hong 2013)"
    spread = "deviation"

    def normal(
        self, attribute: Numeric, means: list[Fraction], spreads: list[Fraction], sizes: list[int], pooled: float
    ) -> Normal:
        # A deviation below zero is noise, as a variance below zero is: the sign is kept, and handled there.
        variances = [deviation * abs(deviation) for deviation in spreads]
        found = postprocessing.normal(attribute, means, variances, [1.0] * len(sizes), sizes, pooled)
        deviations = tuple(reported(deviation, attribute.scale.step) for deviation in spreads)
        return replace(found, released_variance=None, released_deviation=deviations)
