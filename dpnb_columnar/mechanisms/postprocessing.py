"""From released numbers to a usable model (docs/privacy.md, section 7), by released numbers and public facts alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from dpnb_columnar.domain import Categorical, Numeric
from dpnb_columnar.model.parameters import LARGEST_COUNT, ClassCounts, Histogram, Normal, Table

Counts = Sequence[Sequence[int]]
"""Per class, one whole number per cell."""

LARGEST_RELEASED = 1e280
"""Released moments beyond these are cut off: any 10,000 of them times counts of 2**53 add up to a finite float."""


def class_counts(released: Sequence[int]) -> ClassCounts:
    """Priors: counts below zero count as zero, then one is added to each."""
    counts = tuple(map(_whole, released))
    return ClassCounts(counts, _parts(counts, 1))


def table(attribute: Categorical, released: Counts, sizes: Sequence[int], prior: Fraction) -> Table:
    """Category probabilities within each class; see ``probabilities``."""
    counts = _whole_rows(released)
    return Table(attribute.name, counts, probabilities(counts, sizes, prior))


def histogram(
    attribute: Numeric, edges: Sequence[int], released: Counts, sizes: Sequence[int], prior: Fraction
) -> Histogram:
    """Bin probabilities within each class; see ``probabilities``."""
    counts = _whole_rows(released)
    return Histogram(attribute.name, tuple(edges), counts, probabilities(counts, sizes, prior))


def probabilities(counts: Counts, sizes: Sequence[int], prior: Fraction) -> tuple[tuple[float, ...], ...]:
    """Positive probabilities of the cells within each class, from noisy counts.

    Counts below zero count as zero. Then ``prior`` is added to every cell, on average over the classes and in
    proportion to their released sizes: a cell that is noise in all classes gets the same probability in all of them.

    Args:
        counts: Per class, the released count of each cell.
        sizes: Released class counts.
        prior: From ``prior_count``: the noisier the counts are, the more.
    """
    raised = [max(size, 0) + 1 for size in sizes]
    mean = Fraction(sum(raised), len(raised))
    return tuple(_parts(row, float(prior * size / mean)) for row, size in zip(counts, raised, strict=True))


def _parts(counts: Sequence[int], prior: float) -> tuple[float, ...]:
    """Parts of the whole of counts cut off at zero, with something added to each."""
    raised = [max(count, 0) + prior for count in counts]
    total = math.fsum(raised)
    return tuple(count / total for count in raised)


def normal(
    attribute: Numeric,
    means: Sequence[Fraction],
    variances: Sequence[Fraction],
    corrections: Sequence[float],
    sizes: Sequence[int],
    pooled_rows: float = 0,
    floor: float = 1 / 12,
) -> Normal:
    """Means and deviations from released trimmed moments.

    Means are clamped to the declared bounds. Variances are divided by what trimming leaves of a normal variance, and
    drawn towards the average of the classes' variances, weighted with their released sizes: each class's own counts for
    its size, the average for ``pooled_rows``. One that is not above the variance of rounding is noise, not spread: it
    is replaced by the average; where that is not above it either, the attribute says nothing, and every class gets the
    same wide distribution.

    Args:
        attribute: The numeric attribute.
        means, variances: Released values per class, in codes and squared codes of its scale.
        corrections: Per class, the part of a normal variance that is left after trimming, in (0, 1].
        sizes: Released class counts.
        pooled_rows: Rows that the average counts for, 0 or more.
        floor: Variance of what was rounded, in squared codes; that of the grid or more.
    """
    scale = attribute.scale
    found_means, found_variances = (list(map(_finite, released)) for released in (means, variances))
    corrected = [variance / correction for variance, correction in zip(found_variances, corrections, strict=True)]
    weights = [max(size, 1) for size in sizes]
    pooled = sum(weight * variance for weight, variance in zip(weights, corrected, strict=True)) / sum(weights)
    own = [weight / (weight + pooled_rows) for weight in weights]
    used = [
        part * variance + (1 - part) * pooled if variance > floor else pooled
        for variance, part in zip(corrected, own, strict=True)
    ]
    largest = float(scale.cells)
    if min(used) <= floor:
        centre = [scale.cells / 2] * len(used)
        deviations = [largest] * len(used)
    else:
        centre = [min(max(mean, 0.0), largest) for mean in found_means]
        deviations = [min(math.sqrt(variance), largest) for variance in used]
    return Normal(
        attribute=attribute.name,
        released_mean=tuple(_number(scale.origin + scale.step * mean) for mean in found_means),
        released_variance=tuple(_number(scale.step**2 * variance) for variance in found_variances),
        mean=tuple(_within(scale.origin + scale.step * mean, scale.origin, scale.end) for mean in centre),
        deviation=tuple(min(scale.step * deviation, scale.end - scale.origin) for deviation in deviations),
    )


def _within(value: float, lower: float, upper: float) -> float:
    return min(max(value, lower), upper)


def _whole_rows(counts: Counts) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(map(_whole, row)) for row in counts)


def _whole(count: int) -> int:
    return min(max(count, -LARGEST_COUNT), LARGEST_COUNT)


def _finite(released: Fraction) -> float:
    """The nearest float of a released moment in codes."""
    return float(min(max(released, -Fraction(LARGEST_RELEASED)), Fraction(LARGEST_RELEASED)))


def _number(value: float) -> float:
    return _within(value, -LARGEST_RELEASED, LARGEST_RELEASED)


# MERGED FROM dpnb_columnar/mechanisms/postprocessing.py: Released numbers in the units of a model file.


def reported(released: Fraction, unit: float, origin: float = 0.0) -> float:
    """A released number of units above an origin, cut off at ``LARGEST_RELEASED`` before and after."""
    largest = Fraction(LARGEST_RELEASED)
    number = origin + unit * float(min(max(released, -largest), largest))
    return min(max(number, -LARGEST_RELEASED), LARGEST_RELEASED)


# MERGED FROM dpnb_columnar/mechanisms/postprocessing.py: From released numbers to a model as the paper does it:
# values below zero are truncated to zero, and nothing else. Zafarani and Clifton 2021, after Algorithm 1. It is here
# to show what part of the gains comes from handling invalid variances and noisy counts better (``postprocessing``).

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
