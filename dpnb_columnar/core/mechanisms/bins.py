"""Bins of numeric attributes: placed from public facts and released numbers alone.

Their edges are codes of the attribute's scale: the first code of each bin, and the last code plus 1 as the end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from dpnb_columnar.core.budget import Share
from dpnb_columnar.core.measurement import Key, Measurement
from dpnb_columnar.core.mechanisms.tuning import (
    Smoothness,
    positive_sum,
    sample_size,
    share_bins,
    smoothness,
    trim,
    trimmed_normal_variance,
)
from dpnb_columnar.domain import Numeric, Transform

PLACING_QUERIES = ("mean", "variance")
"""Queries about all classes together that place the bins of an attribute, where it was asked so."""

SMALLEST_VARIANCE = 1 / 12
"""In squared codes: the variance of rounding to the grid. A released variance below it is noise."""

AMOUNTS = 300
"""A range of more whole units than this is that of an amount: money, weights, populations; or its bounds are loose."""

REACH = 2.5
"""Bins of equal width reach this many deviations to both sides of the released mean."""

GROWTH = 3
"""Beyond them, each bin is this many times as wide as the one before."""


def bin_edges(
    attribute: Numeric, sizes: Sequence[int], counts: Share, measured: Mapping[Key, Measurement]
) -> list[int]:
    """Place the bins of an attribute: as many as its share can count precisely.

    They are where a mean and a variance that were measured say, or by the declaration.
    """
    name = attribute.name
    bins = share_bins(sizes, counts)
    if (PLACING_QUERIES[0], name) not in measured:
        return declared_edges(attribute, bins)
    (mean,), (variance,) = (measured[query, name].column for query in PLACING_QUERIES)
    share = measured[PLACING_QUERIES[-1], name].share
    assert share is not None
    noise = smoothness(share.noise, share.row_cost)
    return adaptive_edges(attribute, bins, mean, variance, sample_size(positive_sum(sizes)), noise)


def declared_edges(attribute: Numeric, bins: int) -> list[int]:
    """Place bins by the declaration alone.

    They are equal, unless the attribute is an amount: then they grow geometrically from zero, or from the bound that is
    nearest to it, since amounts are many small ones and a few large ones, and their upper bounds are declared loosely.
    """
    last = attribute.scale.cells
    if attribute.transform is Transform.IDENTITY and attribute.step >= 1 and last > AMOUNTS:
        zero = min(max(-attribute.lower / attribute.step, Fraction(0)), Fraction(last))
        return geometric_edges(last, math.floor(zero), bins)
    return equal_edges(last, bins)


def equal_edges(last: int, bins: int) -> list[int]:
    """Divide codes 0 to ``last`` into bins of equal width, no more than there are codes."""
    bins = min(bins, last + 1)
    return [(last + 1) * position // bins for position in range(bins + 1)]


def geometric_edges(last: int, origin: int, bins: int) -> list[int]:
    """Divide codes 0 to ``last`` into bins that grow in proportion to the distance from a code."""
    import numpy as np

    # Evenly spaced in asinh of the distance: linear near the origin, logarithmic far from it.
    low, high = (math.asinh((end - origin) / 2) for end in (0, last + 1))
    edges = [origin + round(2 * math.sinh(place)) for place in np.linspace(low, high, bins + 1)]
    return _covering(edges, last)


def adaptive_edges(
    attribute: Numeric, bins: int, mean: float, variance: float, size: int, noise: Smoothness
) -> list[int]:
    """Place bins where a released mean and variance say the values are; by the declaration where these are noise."""
    cells = attribute.scale.cells
    spread = min(max(variance, 0.0), float(cells**2)) / trimmed_normal_variance(trim(size, noise) / size)
    if spread > SMALLEST_VARIANCE:
        return placed_edges(cells, bins, min(max(mean, 0.0), float(cells)), math.sqrt(spread))
    return declared_edges(attribute, bins)


def placed_edges(last: int, bins: int, mean: float, deviation: float) -> list[int]:
    """Place equal bins where a distribution of this mean and deviation is, and growing bins from there to both ends."""
    end = last + 1.0
    low, high = max(mean - REACH * deviation, 0.0), min(mean + REACH * deviation, end)
    width = (high - low) / bins
    edges = [low + position * width for position in range(bins + 1)]
    for place, step in ((high, width), (low, -width)):
        while 0 < place < end:
            step *= GROWTH
            place += step
            edges.append(place)
    return _covering([round(min(max(edge, 0.0), end)) for edge in edges], last)


def _covering(edges: list[int], last: int) -> list[int]:
    """Sort edges, drop repeated ones, and add both ends: 0 and ``last + 1``."""
    return sorted({0, *(min(max(edge, 0), last + 1) for edge in edges), last + 1})
