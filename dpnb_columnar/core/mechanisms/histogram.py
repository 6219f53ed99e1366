"""The mechanisms ``histogram`` and ``adaptive-histogram``: numeric attributes as tables of counts over public bins."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpnb_columnar.core.budget import Division, Parallel, Request, RowEffect
from dpnb_columnar.core.measurement import COUNTS
from dpnb_columnar.core.mechanisms.bins import GROWTH, PLACING_QUERIES, bin_edges
from dpnb_columnar.core.mechanisms.mechanism import (
    Drawing,
    PrivateCounts,
    categorical_requests,
    class_counts_request,
    counts_request,
    measure_table,
    on_scale,
    pooled,
    presence_requests,
)
from dpnb_columnar.core.mechanisms.smooth import MomentQueries, exact_answers, measure_moments
from dpnb_columnar.core.mechanisms.smooth_noise import smooth_family
from dpnb_columnar.core.mechanisms.tuning import MOST_BINS
from dpnb_columnar.domain import Categorical, Domain, Numeric

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

    def attributes(self, drawing: Drawing) -> None:
        """Measure the bins of every numeric attribute, and a table of every categorical attribute."""
        for attribute in drawing.statistics.domain.attributes:
            if isinstance(attribute, Categorical):
                measure_table(drawing, attribute)
            else:
                measure_bins(drawing, attribute)


def measure_bins(drawing: Drawing, attribute: Numeric) -> None:
    """Measure the counts of public bins. One row changes one bin of one class by 1, as in a contingency table."""
    edges = bin_edges(
        attribute, drawing.released_sizes(attribute), drawing.shares[COUNTS, attribute.name], drawing.measured
    )
    exact = []
    for column in drawing.statistics.columns[attribute.name]:
        scaled = on_scale(attribute, column)
        places = np.searchsorted(edges, scaled.codes, side="right") - 1
        counts = np.zeros(len(edges) - 1, dtype=np.int64)
        np.add.at(counts, places, scaled.counts)
        exact.append(counts)
    drawing.counts(COUNTS, attribute.name, exact)


# The mechanism ``adaptive-histogram``: bins placed where the released location and spread say the values are. A part of
# an attribute's share releases the trimmed mean and variance of all classes together, with noise scaled to smooth
# sensitivity; placing the bins by them is post-processing. The rest of the share counts the bins. ``Statistics`` hold
# the count of every code, so that the rows are not read again.

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

    def attributes(self, drawing: Drawing) -> None:
        """Measure where the bins of every numeric attribute are, then the bins; a table of every categorical one."""
        domain = drawing.statistics.domain
        answers = iter(exact_answers([_moment_queries(drawing, each) for each in domain.numeric]))
        for attribute in domain.attributes:
            if isinstance(attribute, Categorical):
                measure_table(drawing, attribute)
                continue
            measure_moments(drawing, attribute.name, next(answers))
            measure_bins(drawing, attribute)


def _moment_queries(drawing: Drawing, attribute: Numeric) -> MomentQueries:
    """Ask for mean and variance of a numeric attribute, all classes together."""
    column = pooled([on_scale(attribute, column) for column in drawing.statistics.columns[attribute.name]])
    shares = [drawing.shares[query, attribute.name] for query in PLACING_QUERIES]
    return MomentQueries([column], [drawing.pooled_size(attribute)], attribute.scale.cells, shares)
