"""The mechanisms ``histogram`` and ``adaptive-histogram``: numeric attributes as tables of counts over public bins."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dpnb_columnar.budget import Division, Parallel, Request, RowEffect
from dpnb_columnar.domain import Categorical, Domain, Numeric
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
from dpnb_columnar.mechanisms.samples import on_scale, pooled, pooled_size, released_sizes
from dpnb_columnar.mechanisms.smooth_moments import ExactAnswer, MomentQueries, exact_answers, moment_noise
from dpnb_columnar.mechanisms.smooth_noise import smooth_family
from dpnb_columnar.model import postprocessing
from dpnb_columnar.model.bins import GROWTH, adaptive_edges, declared_edges
from dpnb_columnar.model.parameters import AttributeParameters, Histogram
from dpnb_columnar.core.measurement import to_file_float
from dpnb_columnar.model.tuning import MOST_BINS, cell_prior, share_bins

MOST_OUTER_BINS = 2 * (math.ceil(math.log(2**33, GROWTH)) + 1)
"""Bins of growing width that reach from any code to both ends of the widest scale there is."""


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
    return share_bins(released_sizes(context, attribute), context.shares[COUNTS, attribute.name])


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
    sizes = released_sizes(context, attribute)
    parameters = postprocessing.histogram(attribute, edges, released, sizes, cell_prior(share))
    return replace(parameters, presence=presence(context, attribute))


# The mechanism ``adaptive-histogram``: bins placed where the released location and spread say the values are. A part of
# an attribute's share releases the trimmed mean and variance of all classes together, with noise scaled to smooth
# sensitivity; placing the bins by them is post-processing. The rest of the share counts the bins. ``Statistics`` hold
# the count of every code, so that the rows are not read again.

PLACING_QUERIES = ("mean", "variance")

PLACING = Fraction(1, 4)
"""Part of an attribute's share that is spent on where the bins are."""

ONE_SAMPLE = Parallel("one number", RowEffect.ONE_DRAW)
"""Why a query of one value needs no division of its share."""


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
    """Place the bins of one attribute, then count them. What placed them is released, and stays beside the counts."""
    mean, variance = (answers[query][0].noisy(context.draw) for query in PLACING_QUERIES)
    size, noise = pooled_size(context, attribute), moment_noise(context.shares[PLACING_QUERIES[-1], attribute.name])
    scale = attribute.scale
    placed = to_file_float(mean, scale.step, scale.origin), to_file_float(variance, scale.step**2)
    edges = adaptive_edges(attribute, bins(context, attribute), *placed, size, noise)
    counted = noisy_histogram(context, attribute, edges)
    return replace(counted, released_mean=placed[0], released_variance=placed[1])
