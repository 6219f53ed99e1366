"""The mechanisms ``histogram`` and ``adaptive-histogram``: numeric attributes as tables of counts over public bins.

Bins are placed from public facts and released numbers alone. Their edges are codes of the attribute's scale: the first
code of each bin, and the last code plus 1 as the end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dpnb_columnar.budget import Division, Parallel, Request, RowEffect
from dpnb_columnar.domain import Categorical, Domain, Numeric, Transform
from dpnb_columnar.mechanisms import postprocessing
from dpnb_columnar.mechanisms.mechanism import (
    COUNTS,
    PrivateCounts,
    QueryContext,
    categorical_requests,
    class_counts_request,
    counts_request,
    noisy_counts,
    noisy_table,
    presence,
    presence_requests,
)
from dpnb_columnar.mechanisms.samples import on_scale, pooled, pooled_size, positive_sum, released_sizes
from dpnb_columnar.mechanisms.smooth_moments import ExactAnswer, MomentQueries, exact_answers, moment_noise
from dpnb_columnar.mechanisms.smooth_noise import smooth_family
from dpnb_columnar.mechanisms.tuning import MOST_BINS, histogram_bins, prior_count, rate, trim, trimmed_normal_variance
from dpnb_columnar.model.parameters import AttributeParameters, Histogram

AMOUNTS = 1000
"""A range of more whole units than this is that of an amount: money, weights, populations."""

REACH = 2.5
"""Bins of equal width reach this many deviations to both sides of the released mean."""

GROWTH = 3
"""Beyond them, each bin is this many times as wide as the one before."""

MOST_OUTER_BINS = 2 * (math.ceil(math.log(2**33, GROWTH)) + 1)
"""Bins of growing width that reach from any code to both ends of the widest scale there is."""


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
    """Divide codes 0 to ``last`` into bins that grow in proportion to the distance from a code.

    Args:
        last: The last code.
        origin: The code near which bins are as narrow as codes.
        bins: Number of bins; there are fewer where several would share one code.
    """
    # Evenly spaced in asinh of the distance: linear near the origin, logarithmic far from it.
    low, high = (math.asinh((end - origin) / 2) for end in (0, last + 1))
    edges = [origin + round(2 * math.sinh(place)) for place in np.linspace(low, high, bins + 1)]
    return _covering(edges, last)


def placed_edges(last: int, bins: int, mean: float, deviation: float) -> list[int]:
    """Place equal bins where a distribution of this mean and deviation is, and growing bins from there to both ends.

    Args:
        last: The last code.
        bins: Number of equal bins.
        mean: In codes, 0 to ``last``.
        deviation: In codes, positive.
    """
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


class BinCounts(PrivateCounts):
    """Histograms over bins of the declared range, one share per attribute."""

    name = "histogram"
    summary = "numeric attributes as counts over bins of the declared range"
    smooth = False
    binned = True
    division = Division(Fraction(2), Fraction(1), Fraction(1, 4))

    def requests(self, domain: Domain, division: Division, noise: str) -> list[Request]:
        """List the class counts, one table per attribute, and the counts of missing values that are a category."""
        numeric = [
            counts_request(attribute.name, domain, min(attribute.scale.cells + 1, MOST_BINS), division.numeric)
            for attribute in domain.numeric
        ]
        counts = [class_counts_request(domain, division), *presence_requests(domain, division, samples=False)]
        return [*counts, *numeric, *categorical_requests(domain, division.categorical)]

    def attributes(self, context: QueryContext) -> list[AttributeParameters]:
        """Draw a histogram per numeric attribute, and a table per categorical attribute."""
        return [
            noisy_table(context, attribute)
            if isinstance(attribute, Categorical)
            else noisy_histogram(context, attribute, declared_edges(attribute, bins(context, attribute)))
            for attribute in context.statistics.domain.attributes
        ]


def bins(context: QueryContext, attribute: Numeric) -> int:
    """Choose as many bins as the attribute's share can count precisely."""
    return histogram_bins(positive_sum(released_sizes(context, attribute)), _epsilon(context, attribute))


def noisy_histogram(context: QueryContext, attribute: Numeric, edges: Sequence[int]) -> Histogram:
    """Draw the counts of public bins. One row changes one bin of one class by 1, as in a contingency table."""
    share = context.shares[COUNTS, attribute.name]
    released = []
    for column in context.statistics.columns[attribute.name]:
        scaled = on_scale(attribute, column)
        places = np.searchsorted(edges, scaled.codes, side="right") - 1
        counts = np.zeros(len(edges) - 1, dtype=np.int64)
        np.add.at(counts, places, scaled.counts)
        released.append(noisy_counts(counts, share, context.draw))
    prior = prior_count(_epsilon(context, attribute))
    parameters = postprocessing.histogram(attribute, edges, released, released_sizes(context, attribute), prior)
    return replace(parameters, presence=presence(context, attribute))


def _epsilon(context: QueryContext, attribute: Numeric) -> Fraction:
    return Fraction(rate(context.shares[COUNTS, attribute.name].row_cost))


# The mechanism ``adaptive-histogram``: bins placed where the released location and spread say the values are. A part of
# an attribute's share releases the trimmed mean and variance of all classes together, with noise scaled to smooth
# sensitivity; placing the bins by them is post-processing. The rest of the share counts the bins. ``Statistics`` hold
# the count of every code, so that the rows are not read again.

PLACING_QUERIES = ("mean", "variance")

PLACING = Fraction(1, 4)
"""Part of an attribute's share that is spent on where the bins are."""

ONE_SAMPLE = Parallel("one number", RowEffect.ONE_DRAW)
"""Why a query of one value needs no division of its share."""

SMALLEST_VARIANCE = 1 / 12
"""In squared codes: the variance of rounding to the grid. A released variance below it is noise."""


class AdaptiveHistogram(PrivateCounts):
    """Histograms over bins that follow the values, for bounds that are declared loosely."""

    name = "adaptive-histogram"
    summary = "counts over bins placed by a released mean and variance; best where bounds are loose and rows many"
    smooth = True
    binned = True
    division = Division(Fraction(2), Fraction(1), Fraction(1, 4))

    def requests(self, domain: Domain, division: Division, noise: str) -> list[Request]:
        """List the class counts, values present, two moments and a table per numeric attribute, a table per other."""
        kind = smooth_family(noise).kind
        placing = division.numeric * PLACING / len(PLACING_QUERIES)
        requests = [class_counts_request(domain, division), *presence_requests(domain, division)]
        for attribute in domain.numeric:
            most = min(attribute.scale.cells + 1, MOST_BINS + MOST_OUTER_BINS)
            requests += [
                Request(query, attribute.name, 1, ONE_SAMPLE, noise, placing, kind) for query in PLACING_QUERIES
            ]
            requests.append(counts_request(attribute.name, domain, most, division.numeric * (1 - PLACING)))
        return [*requests, *categorical_requests(domain, division.categorical)]

    def attributes(self, context: QueryContext) -> list[AttributeParameters]:
        """Draw a histogram per numeric attribute, and a table per categorical attribute."""
        numeric = context.statistics.domain.numeric
        answers = dict(zip(numeric, exact_answers([_moment_queries(context, each) for each in numeric]), strict=True))
        return [
            noisy_table(context, attribute)
            if isinstance(attribute, Categorical)
            else _place_and_count(context, attribute, answers[attribute])
            for attribute in context.statistics.domain.attributes
        ]


def _moment_queries(context: QueryContext, attribute: Numeric) -> MomentQueries:
    """Ask for mean and variance of a numeric attribute, all classes together."""
    column = pooled([on_scale(attribute, column) for column in context.statistics.columns[attribute.name]])
    shares = [context.shares[query, attribute.name] for query in PLACING_QUERIES]
    return MomentQueries([column], [pooled_size(context, attribute)], attribute.scale.cells, shares)


def _place_and_count(
    context: QueryContext, attribute: Numeric, answers: Mapping[str, Sequence[ExactAnswer]]
) -> Histogram:
    """Place the bins of one attribute, then count them."""
    cells = attribute.scale.cells
    mean, variance = (answers[query][0].noisy(context.draw) for query in PLACING_QUERIES)
    size, noise = pooled_size(context, attribute), moment_noise(context.shares[PLACING_QUERIES[-1], attribute.name])
    spread = float(min(max(variance, Fraction(0)), Fraction(cells**2))) / trimmed_normal_variance(
        trim(size, noise) / size
    )
    count = bins(context, attribute)
    if spread > SMALLEST_VARIANCE:
        edges = placed_edges(cells, count, float(min(max(mean, Fraction(0)), Fraction(cells))), math.sqrt(spread))
    else:
        edges = declared_edges(attribute, count)
    return noisy_histogram(context, attribute, edges)
