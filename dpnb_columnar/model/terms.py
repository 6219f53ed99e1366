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
from dpnb_columnar.model.likelihood import log_normalisation
from dpnb_columnar.model.parameters import AttributeParameters, Histogram, Normal
from dpnb_columnar.rows.column_kinds import Kind
from dpnb_columnar.rows.row_rules import category_code, grid_code, number


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
