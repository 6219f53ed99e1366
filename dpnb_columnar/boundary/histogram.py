"""The mechanism ``histogram``: every numeric attribute as a table of counts over public bins."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpnb_columnar.boundary import postprocessing
from dpnb_columnar.boundary.bins import declared_edges
from dpnb_columnar.boundary.counts import noisy_counts
from dpnb_columnar.boundary.mechanism import Release
from dpnb_columnar.boundary.private import (
    COUNTS,
    PrivateCounts,
    categorical_requests,
    class_counts_request,
    counts_request,
    release_table,
)
from dpnb_columnar.boundary.scaling import on_scale
from dpnb_columnar.boundary.tuning import MOST_BINS, histogram_bins, prior_count, rate
from dpnb_columnar.budget import Request, Weights
from dpnb_columnar.domain import Categorical, Domain, Numeric
from dpnb_columnar.model.parameters import AttributeParameters, Histogram


class BinCounts(PrivateCounts):
    """Histograms over bins of the declared range, one share per attribute."""

    name = "histogram"
    summary = "numeric attributes as counts over bins of the declared range"
    smooth = False
    weights = Weights(Fraction(2), Fraction(1), Fraction(1, 4))

    def requests(self, domain: Domain, weights: Weights, noise: str) -> list[Request]:
        numeric = [
            counts_request(attribute.name, domain, min(attribute.scale.cells + 1, MOST_BINS), weights.numeric)
            for attribute in domain.numeric
        ]
        return [class_counts_request(domain, weights), *numeric, *categorical_requests(domain, weights.categorical)]

    def attributes(self, release: Release) -> list[AttributeParameters]:
        return [
            release_table(release, attribute)
            if isinstance(attribute, Categorical)
            else release_histogram(release, attribute, declared_edges(attribute, bins(release, attribute)))
            for attribute in release.statistics.domain.attributes
        ]


def bins(release: Release, attribute: Numeric) -> int:
    """How many bins the attribute's share is good for."""
    return histogram_bins(sum(max(size, 0) for size in release.sizes), _epsilon(release, attribute))


def release_histogram(release: Release, attribute: Numeric, edges: Sequence[int]) -> Histogram:
    """Counts of public bins. One row changes one bin of one class by 1, as in a contingency table."""
    share = release.shares[COUNTS, attribute.name]
    released = []
    for column in release.statistics.columns[attribute.name]:
        scaled = on_scale(attribute, column)
        places = np.searchsorted(edges, scaled.codes, side="right") - 1
        counts = np.zeros(len(edges) - 1, dtype=np.int64)
        np.add.at(counts, places, scaled.counts)
        released.append(noisy_counts(counts, share, release.draw))
    prior = prior_count(_epsilon(release, attribute))
    return postprocessing.histogram(attribute, edges, released, release.sizes, prior)


def _epsilon(release: Release, attribute: Numeric) -> Fraction:
    return Fraction(rate(release.shares[COUNTS, attribute.name].row_loss))
