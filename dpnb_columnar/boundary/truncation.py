"""From released numbers to a model as the paper does it: values below zero are truncated to zero, and nothing else.

Zafarani and Clifton 2021, after Algorithm 1. It is here to show what part of the gains comes from handling invalid
variances and noisy counts better (``postprocessing``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from dpnb_columnar.boundary.postprocessing import class_counts
from dpnb_columnar.boundary.reported import reported
from dpnb_columnar.domain import Categorical, Numeric
from dpnb_columnar.model.parameters import Normal, Table

SMALLEST_VARIANCE = Fraction(1, 12)
"""In squared codes: that of rounding to the grid, below which no model's variance is."""


def truncated_table(attribute: Categorical, released: Sequence[Sequence[int]]) -> Table:
    """Category probabilities within each class: counts below zero count as zero, then one is added to each, since no
    probability of a model file is zero."""
    rows = [class_counts(row) for row in released]  # made of counts as priors are
    return Table(attribute.name, tuple(row.released for row in rows), tuple(row.probability for row in rows))


def truncated_normal(attribute: Numeric, means: Sequence[Fraction], variances: Sequence[Fraction]) -> Normal:
    """Means and deviations from released trimmed moments.

    Code 0, the lower bound, is where the attribute begins, so that is what means are truncated to. A variance truncated
    to zero is left with that of rounding to the grid: a spike, which makes every value but one unlikely in this class.
    It is kept on purpose. The upper bounds are those of every model file.

    Args:
        attribute: The numeric attribute.
        means, variances: Released values per class, in codes and squared codes of its scale.
    """
    scale = attribute.scale
    cells = Fraction(scale.cells)
    used = [float(min(max(mean, Fraction(0)), cells)) for mean in means]
    deviations = [math.sqrt(min(max(variance, SMALLEST_VARIANCE), cells**2)) for variance in variances]
    return Normal(
        attribute=attribute.name,
        released_mean=tuple(reported(mean, scale.step, scale.origin) for mean in means),
        released_variance=tuple(reported(variance, scale.step**2) for variance in variances),
        mean=tuple(min(max(scale.origin + scale.step * mean, scale.origin), scale.end) for mean in used),
        deviation=tuple(min(scale.step * deviation, scale.end - scale.origin) for deviation in deviations),
    )
