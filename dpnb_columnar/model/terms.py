"""What one attribute says about a row: a value prepared once, and per class a term of the joint log-likelihood.

Both are Polars expressions that look at one row only. A term is null where the attribute is left out of the row. Terms
of one attribute are meant up to a number that all classes have in common, since probabilities do not depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

import polars as pl

from dpnb_columnar.domain import Attribute, Categorical, Numeric, Transform
from dpnb_columnar.model.parameters import AttributeParameters, Histogram, Normal
from dpnb_columnar.rows.columns import Kind
from dpnb_columnar.rows.expressions import category_code, grid_code, number

# MERGED FROM dpnb_columnar/model/terms.py: The truncated normal distribution, in logarithms and stable in the far
# tails.

LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)


def log_normalisation(mean: float, deviation: float, lower: float, upper: float) -> float:
    """The part of the log-density that does not depend on the value.

    The density on ``[lower, upper]`` is phi((x - mean)/deviation) / (deviation * (Phi(b) - Phi(a))) with a = (lower -
    mean)/deviation, b = (upper - mean)/deviation. (Zafarani and Clifton 2021, section 2.1, print a difference of
    densities in the denominator; a density has to be divided by a difference of distribution functions.)

    Args:
        mean: Location, within ``[lower, upper]``, so a <= 0 <= b and no tail beyond both ends is ever subtracted.
        deviation: Scale, positive and at most ``upper - lower``, so b - a >= 1 and the difference is well conditioned.
        lower, upper: Bounds, lower < upper.

    Returns:
        -log(deviation) - log(sqrt(2 pi)) - log(Phi(b) - Phi(a)).
    """
    # Phi(b) - Phi(a) = 1 - Phi(a) - Phi(-b): both tails are at most 1/2 each, without cancellation in either.
    outside = _tail((mean - lower) / deviation) + _tail((upper - mean) / deviation)
    return -math.log(deviation) - LOG_ROOT_TWO_PI - math.log1p(-outside)


def _tail(distance: float) -> float:
    """Probability that a standard normal variable exceeds ``distance``."""
    return math.erfc(distance / math.sqrt(2)) / 2


def prepared(attribute: Attribute, parameters: AttributeParameters, kind: Kind) -> pl.Expr:
    """The number on the attribute's scale, the category's code or the bin; null where it is to be left out.

    Args:
        attribute: The attribute as declared.
        parameters: Its parameters.
        kind: What its column holds.
    """
    if isinstance(attribute, Categorical):
        return category_code(attribute, kind)
    if isinstance(parameters, Histogram):
        code = grid_code(attribute, kind)
        reached = [(code >= threshold).cast(pl.Int64) for threshold in thresholds(attribute, parameters.edges)]
        return pl.sum_horizontal(code * 0, *reached, ignore_nulls=False)
    value = number(attribute.name, kind, attribute.missing_values).clip(float(attribute.lower), float(attribute.upper))
    return value.log1p() if attribute.transform is Transform.LOG1P else value


def terms(attribute: Attribute, parameters: AttributeParameters, value: pl.Expr) -> list[pl.Expr]:
    """Per class, the logarithm of the prepared value's likelihood, up to a number common to all classes."""
    if isinstance(parameters, Normal):
        assert isinstance(attribute, Numeric)
        return list(_normal_terms(attribute, parameters, value))
    widths = [1] * len(parameters.probability[0])
    if isinstance(parameters, Histogram):
        widths = [high - low for low, high in pairwise(parameters.edges)]
    logarithms = [
        [math.log(cell) - math.log(width) for cell, width in zip(row, widths, strict=True)]
        for row in parameters.probability
    ]
    return [pl.lit(pl.Series(row)).gather(value) for row in logarithms]


def _normal_terms(attribute: Numeric, parameters: Normal, value: pl.Expr) -> Iterator[pl.Expr]:
    """Log-likelihoods relative to the class of the widest distribution, w.

    With z = (value - mean)/deviation, that is (z_w^2 - z^2)/2 plus constants. In the far tails of every class z^2 is
    huge, and so is its rounding error; but there the widest class is the likeliest, and only classes nearly as wide
    come near it. Where the deviations are equal (a pooled variance), z = z_w - shift and the squares cancel by algebra:
    (z_w^2 - z^2)/2 = shift (z_w - shift/2).
    """
    scale = attribute.scale
    classes = list(zip(parameters.mean, parameters.deviation, strict=True))
    widest_mean, widest = max(classes, key=lambda parameters: parameters[1])
    distance = (value - widest_mean) / widest
    constant = log_normalisation(widest_mean, widest, scale.origin, scale.end)
    for mean, deviation in classes:
        if deviation == widest:
            shift = float((Fraction(mean) - Fraction(widest_mean)) / Fraction(deviation))
            gained = shift * (distance - shift / 2)
        else:
            gained = 0.5 * (distance * distance - _squared((value - mean) / deviation))
        yield gained + (log_normalisation(mean, deviation, scale.origin, scale.end) - constant)


def _squared(value: pl.Expr) -> pl.Expr:
    return value * value


def thresholds(attribute: Numeric, edges: tuple[int, ...]) -> Sequence[int]:
    """First grid code of every bin but the first: bins are found by whole numbers, as they were counted.

    Args:
        attribute: A numeric attribute.
        edges: Edges of the bins in codes of its scale.
    """
    if attribute.transform is Transform.IDENTITY:
        return edges[1:-1]
    # Loading numpy takes longer than scoring many a file.
    import numpy as np

    from dpnb_columnar.domain.attributes import scale_codes

    inner = np.array(edges[1:-1], dtype=np.int64)
    # The scale's code grows with the grid's: halve [low, high] until low is the first grid code to reach each edge.
    low, high = np.zeros_like(inner), np.full_like(inner, attribute.cells + 1)
    while np.any(low < high):
        middle = (low + high) // 2
        # The code beyond the grid's last is beyond every edge.
        reached = (middle > attribute.cells) | (scale_codes(attribute, middle) >= inner)
        low, high = np.where(reached, low, middle + 1), np.where(reached, middle, high)
    return [int(code) for code in low]
