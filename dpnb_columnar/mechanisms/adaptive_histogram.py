"""The mechanism ``adaptive-histogram``: bins placed where the released location and spread say the values are.

A part of an attribute's share releases the trimmed mean and variance of all classes together, with noise scaled to
smooth sensitivity; placing the bins by them is post-processing. The rest of the share counts the bins. ``Statistics``
hold the count of every code, so that the rows are not read again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from dpnb_columnar.budget import Division, Request
from dpnb_columnar.domain import Categorical, Domain, Numeric
from dpnb_columnar.mechanisms.histogram import MOST_OUTER_BINS, bins, declared_edges, noisy_histogram, placed_edges
from dpnb_columnar.mechanisms.mechanism import QueryContext
from dpnb_columnar.mechanisms.queries import (
    PrivateCounts,
    categorical_requests,
    class_counts_request,
    counts_request,
    noisy_table,
    presence_requests,
)
from dpnb_columnar.mechanisms.samples import on_scale, pooled, pooled_size
from dpnb_columnar.mechanisms.smooth_moments import ExactAnswer, MomentQueries, exact_answers, moment_noise
from dpnb_columnar.mechanisms.smooth_noise import smooth_family
from dpnb_columnar.mechanisms.tuning import MOST_BINS, trim, trimmed_normal_variance
from dpnb_columnar.model.parameters import AttributeParameters, Histogram

QUERIES = ("mean", "variance")

PLACING = Fraction(1, 4)
"""Part of an attribute's share that is spent on where the bins are."""

ONE_SAMPLE = "one number"
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
        placing = division.numeric * PLACING / len(QUERIES)
        requests = [class_counts_request(domain, division), *presence_requests(domain, division)]
        for attribute in domain.numeric:
            most = min(attribute.scale.cells + 1, MOST_BINS + MOST_OUTER_BINS)
            requests += [Request(query, attribute.name, 1, ONE_SAMPLE, noise, placing, kind) for query in QUERIES]
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
    shares = [context.shares[query, attribute.name] for query in QUERIES]
    return MomentQueries([column], [pooled_size(context, attribute)], attribute.scale.cells, shares)


def _place_and_count(
    context: QueryContext, attribute: Numeric, answers: Mapping[str, Sequence[ExactAnswer]]
) -> Histogram:
    """Place the bins of one attribute, then count them."""
    cells = attribute.scale.cells
    mean, variance = (answers[query][0].noisy(context.draw) for query in QUERIES)
    size, noise = pooled_size(context, attribute), moment_noise(context.shares[QUERIES[-1], attribute.name])
    spread = float(min(max(variance, Fraction(0)), Fraction(cells**2))) / trimmed_normal_variance(
        trim(size, noise) / size
    )
    count = bins(context, attribute)
    if spread > SMALLEST_VARIANCE:
        edges = placed_edges(cells, count, float(min(max(mean, Fraction(0)), Fraction(cells))), math.sqrt(spread))
    else:
        edges = declared_edges(attribute, count)
    return noisy_histogram(context, attribute, edges)
