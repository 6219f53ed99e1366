"""The mechanism ``histogram``: every numeric attribute as a table of counts over public bins."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpnb_columnar.boundary import postprocessing
from dpnb_columnar.boundary.counts import noisy_counts
from dpnb_columnar.boundary.mechanism import Release
from dpnb_columnar.boundary.private import COUNTS, PrivateCounts, categorical_requests, counts_request, release_table
from dpnb_columnar.boundary.scaling import on_scale
from dpnb_columnar.boundary.tuning import histogram_bins
from dpnb_columnar.budget import Request, Weights
from dpnb_columnar.domain import Categorical, Domain, Numeric
from dpnb_columnar.model.parameters import AttributeParameters, Histogram


class BinCounts(PrivateCounts):
    """Histograms over equal bins of the declared range, one share per attribute."""

    name = "histogram"
    summary = "numeric attributes as counts over equal bins of the declared range; best where the bounds are tight"
    smooth = False
    weights = Weights(Fraction(1), Fraction(1), Fraction(1))

    def requests(self, domain: Domain, weights: Weights, noise: str) -> list[Request]:
        numeric = [
            counts_request(attribute.name, domain, len(_edges(attribute)) - 1, weights.numeric)
            for attribute in domain.numeric
        ]
        return [*numeric, *categorical_requests(domain, weights.categorical)]

    def attributes(self, release: Release) -> list[AttributeParameters]:
        return [
            release_table(release, attribute) if isinstance(attribute, Categorical) else _release(release, attribute)
            for attribute in release.statistics.domain.attributes
        ]


def _edges(attribute: Numeric) -> list[int]:
    """First code of each bin of the attribute's scale, and the last code plus 1: public."""
    codes, bins = attribute.scale.cells + 1, histogram_bins(attribute.scale.cells)
    return [codes * position // bins for position in range(bins + 1)]


def _release(release: Release, attribute: Numeric) -> Histogram:
    """One row changes one bin of one class by 1, as in a contingency table."""
    share, edges = release.shares[COUNTS, attribute.name], _edges(attribute)
    released = []
    for column in release.statistics.columns[attribute.name]:
        scaled = on_scale(attribute, column)
        bins = np.searchsorted(edges, scaled.codes, side="right") - 1
        counts = np.zeros(len(edges) - 1, dtype=np.int64)
        np.add.at(counts, bins, scaled.counts)
        released.append(noisy_counts(counts, share, release.draw))
    return postprocessing.histogram(attribute, edges, released)
