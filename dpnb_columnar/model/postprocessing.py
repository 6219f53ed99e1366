"""From noisy numbers to a usable model, by released numbers and public facts alone (docs/privacy.md, section 7).

On the public side: the release makes parameters by these functions, and whoever reads a model makes them again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpnb_columnar.core.budget import Share
from dpnb_columnar.core.code_limits import squares_shift
from dpnb_columnar.core.measurement import CLASS_COUNTS, COUNTS, Key, Measurement, finite
from dpnb_columnar.core.mechanisms.tuning import (
    Smoothness,
    pooled_rows,
    pure_epsilon,
    smoothness,
    trim,
    trimmed_normal_variance,
)
from dpnb_columnar.domain import Domain, Numeric
from dpnb_columnar.domain.attributes import is_complete
from dpnb_columnar.model.parameters import Normal, Priors

Counts = Sequence[Sequence[int]]
"""Per class, one whole number per cell."""

Moments = Sequence[float]
"""Per class, a released moment."""

HIDDEN = 1 / 3
"""Added to the size of every class, in deviations of the noise in it."""

USUAL_TILT = 0.1
"""Of log-odds: by how much weights usually move the prior of a class; of ten labels of the ACS, .14 (mean square)."""

SMALLEST_VARIANCE = 1 / 12
"""In squared codes: the variance of rounding to the grid, below which no model's variance is."""


def priors(released: Sequence[int], row: int = 1) -> Priors:
    """Make priors: counts below zero are truncated to zero, then one row, at its largest weight, is added to each."""
    return Priors(_normalised(released, row))


@dataclass(frozen=True, slots=True)
class ClassSizes:
    """The rows of each class by all released counts together, and the standard deviation of the noise in each."""

    rows: tuple[float, ...]
    deviation: float


def class_sizes(domain: Domain, measured: Mapping[Key, Measurement], *, tables: bool = True) -> ClassSizes:
    """Average the class counts, and the sums over the tables that every row is in, by their precision.

    A sum of K counts with noise of scale 1/e has the variance 2 K / e^2. Tables have most of the budget, so that the
    average has a fraction of the noise of the class counts alone.
    """
    counted = [
        (each.counts, each.share.row_cost)
        for each in measured.values()
        if each.share is not None
        and (
            each.query == CLASS_COUNTS
            or (tables and each.query == COUNTS and is_complete(domain[each.attribute or ""]))
        )
    ]
    precisions = [pure_epsilon(cost) ** 2 / (2 * len(rows[0])) for rows, cost in counted]
    whole = math.fsum(precisions)
    sums = zip(
        *([sum(row) * each for row in rows] for (rows, _), each in zip(counted, precisions, strict=True)), strict=True
    )
    return ClassSizes(tuple(math.fsum(parts) / whole for parts in sums), 1 / math.sqrt(whole))


def class_shares(sizes: ClassSizes) -> tuple[float, ...]:
    """Make priors of released sizes: below zero they are truncated to zero, then a row and some noise is added to each.

    What is added keeps a class that noise has hidden from being thought impossible.
    """
    return _normalised(sizes.rows, 1 + HIDDEN * sizes.deviation)


def population_shares(
    shares: Sequence[float], sizes: ClassSizes, weighted: Sequence[int], steps: int, share: Share
) -> Priors:
    """Move the shares of the rows towards those of the weights, each by the part that noise leaves of the difference.

    Let p be a class's share of the rows, p + d its share of the weights, and D their released difference, with noise of
    variance v in the one and v0 in the other. p + l D errs, squared and on average, by l^2 v + (1 - l)^2 (v0 + d^2):
    least at l = m / (m + v), m = v0 + d^2. Where d is on average, squared, t^2, so that m = v0 + t^2, that least error
    is m v / (m + v), below m, that of the rows' share, and below v, that of the weights'. t is a public constant,
    ``USUAL_TILT`` in log-odds, p (1 - p) times that of shares. Let l0 be this l.

    A survey may have been drawn with a far larger tilt. Where D^2 exceeds a threshold, m is at least the rest. Laplace
    noise, the family of these sums, exceeds h deviations with the probability exp(-sqrt(2) h), or less of several
    together; for h = sqrt(2) (1 - log l0) that is (l0 / e)^2, so that noise taken for a tilt costs no more than a part
    of l0^2 v. Whatever the tilt, the expected squared error is below that of the rows' share where d exceeds t, and at
    most t^2 / 2 above it elsewhere; up to 3 t it is at most 2.5 times that of the weights' share
    (tests/model/test_population_shares.py).
    """
    row = steps * math.sqrt(2) / pure_epsilon(share.row_cost)
    targets = priors(weighted, steps).probability
    noise, own = (
        deviation / max(total, 1)
        for deviation, total in ((row, sum(weighted)), (sizes.deviation, math.fsum(sizes.rows)))
    )
    moved = []
    for part, target in zip(shares, targets, strict=True):
        # The noise of the share is that of its sum, less its part of the noise in the sum of all.
        spread = (1 - part) ** 2 + (len(shares) - 1) * part**2
        variance, usual = noise**2 * spread, own**2 * spread + (USUAL_TILT * part * (1 - part)) ** 2
        threshold = 2 * variance * (1 + math.log1p(variance / usual)) ** 2
        signal = max((target - part) ** 2 - threshold, usual)
        moved.append(part + signal / (signal + variance) * (target - part))
    whole = math.fsum(moved)
    return Priors(tuple(each / whole for each in moved))


def probabilities(counts: Counts, sizes: Sequence[int], prior: Fraction) -> tuple[tuple[float, ...], ...]:
    """Make positive probabilities of the cells within each class from noisy counts.

    Counts below zero are truncated to zero. Then ``prior`` is added to every cell, on average over the classes and in
    proportion to their released sizes: a cell that is noise in all classes gets the same probability in all of them.
    """
    positive = [max(size, 0) + 1 for size in sizes]
    mean = Fraction(sum(positive), len(positive))
    return tuple(_normalised(row, float(prior * size / mean)) for row, size in zip(counts, positive, strict=True))


def _normalised(counts: Sequence[float], prior: float) -> tuple[float, ...]:
    """Truncate counts at zero, add a prior to each, and divide them by their sum."""
    positive = [max(count, 0) + prior for count in counts]
    total = math.fsum(positive)
    return tuple(count / total for count in positive)


def normal(
    attribute: Numeric,
    means: Moments,
    variances: Moments,
    corrections: Sequence[float],
    sizes: Sequence[int],
    pooled_rows: float = 0,
    floor: float = 1 / 12,
) -> Normal:
    """Make means and deviations from noisy trimmed moments, in codes of the attribute's scale."""
    scale = attribute.scale

    # A variance of trimmed values is divided by what trimming leaves of a normal variance.
    corrected = [finite(variance) / correction for variance, correction in zip(variances, corrections, strict=True)]

    # It is then drawn towards the average of the classes, weighted with their released sizes: each class's own counts
    # for its size, the average for ``pooled_rows``. A variance that is not above that of rounding is noise, not spread,
    # and is replaced by the average.
    weights = [max(size, 1) for size in sizes]
    average = sum(weight * variance for weight, variance in zip(weights, corrected, strict=True)) / sum(weights)
    own = [weight / (weight + pooled_rows) for weight in weights]
    used = [
        part * variance + (1 - part) * average if variance > floor else average
        for variance, part in zip(corrected, own, strict=True)
    ]

    largest = float(scale.cells)
    if min(used) <= floor:
        # The average is noise as well: the attribute says nothing, and every class gets the same wide distribution.
        centre = [scale.cells / 2] * len(used)
        deviations = [largest] * len(used)
    else:
        centre = [min(max(mean, 0.0), largest) for mean in means]
        deviations = [min(math.sqrt(variance), largest) for variance in used]
    return Normal(
        attribute=attribute.name,
        mean=tuple(min(max(scale.origin + scale.step * mean, scale.origin), scale.end) for mean in centre),
        deviation=tuple(min(scale.step * deviation, scale.end - scale.origin) for deviation in deviations),
    )


# The moments that mechanisms release, each made into parameters in one way.


def trimmed_normal(
    attribute: Numeric, means: Moments, variances: Moments, sizes: Sequence[int], share: Share, floor: float = 1 / 12
) -> Normal:
    """Make parameters from noisy trimmed means and variances."""
    noise = smoothness(share.noise, share.row_cost)
    weight = pooled_rows(share.row_cost)
    return normal(attribute, means, variances, corrections(sizes, noise), sizes, weight, floor)


def corrections(sizes: Sequence[int], noise: Smoothness) -> list[float]:
    """Compute the part of a normal variance that is left after trimming samples of these sizes."""
    smallest = min(sizes)
    return [trimmed_normal_variance(trim(size, noise, smallest) / size) for size in sizes]


def squares_normal(attribute: Numeric, means: Moments, squares: Moments, sizes: Sequence[int], share: Share) -> Normal:
    """Make parameters from noisy trimmed means of codes and of their squares, in units of ``squares_shift``."""
    scale, unit = attribute.scale, 2 ** squares_shift(attribute.scale.cells)
    # Both windows are of the same ranks, so without noise this is the trimmed variance, but for the rounding of
    # squares by at most half of their unit. A mean beyond the bounds is noise, and is not squared.
    variances = [
        unit * square - min(max(mean, 0), scale.cells) ** 2 for mean, square in zip(means, squares, strict=True)
    ]
    rounding = unit / 2 if unit > 1 else 1 / 12
    return trimmed_normal(attribute, means, variances, sizes, share, rounding)


def deviation_normal(
    attribute: Numeric, means: Moments, deviations: Moments, sizes: Sequence[int], share: Share
) -> Normal:
    """Make parameters from noisy means and standard deviations of whole samples."""
    # A deviation below zero is noise, as a variance below zero is: the square keeps its sign, so that both are treated
    # alike.
    variances = [deviation * (deviation if deviation > 0 else -deviation) for deviation in deviations]
    return variance_normal(attribute, means, variances, sizes, share)


def variance_normal(
    attribute: Numeric, means: Moments, variances: Moments, sizes: Sequence[int], share: Share | None
) -> Normal:
    """Make parameters from means and variances of whole samples: noisy ones, or exact ones without a share."""
    weight = 0.0 if share is None else pooled_rows(share.row_cost)
    return normal(attribute, means, variances, [1.0] * len(sizes), sizes, weight)


# What follows is post-processing as the paper does it: values below zero are truncated to zero, and nothing else
# (Zafarani and Clifton 2021, after Algorithm 1). It shows what part of the gains comes from the handling of invalid
# variances and noisy counts above.


def truncated(counts: Counts) -> tuple[tuple[float, ...], ...]:
    """Make probabilities within each class as priors are made: truncated at zero, then one is added to each count."""
    return tuple(_normalised(row, 1) for row in counts)


def truncated_normal(
    attribute: Numeric, means: Moments, variances: Moments, sizes: Sequence[int] = (), share: Share | None = None
) -> Normal:
    """Make means and deviations from noisy trimmed moments, truncated at zero.

    Code 0, the lower bound, is where the attribute begins, so means are truncated to it. A variance truncated to zero
    is left with that of rounding to the grid: a spike, which makes every value but one unlikely in this class. It is
    kept on purpose. The upper bounds are those of every model file.
    """
    scale = attribute.scale
    cells = float(scale.cells)
    used = [min(max(mean, 0.0), cells) for mean in means]
    deviations = [math.sqrt(min(max(variance, SMALLEST_VARIANCE), cells**2)) for variance in variances]
    return Normal(
        attribute=attribute.name,
        mean=tuple(min(max(scale.origin + scale.step * mean, scale.origin), scale.end) for mean in used),
        deviation=tuple(min(scale.step * deviation, scale.end - scale.origin) for deviation in deviations),
    )
