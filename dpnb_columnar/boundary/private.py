"""What the private mechanisms share: noisy class counts and noisy contingency tables."""

from __future__ import annotations

from fractions import Fraction

from dpnb_columnar.aggregation.statistics import Statistics
from dpnb_columnar.boundary import postprocessing
from dpnb_columnar.boundary.counts import noisy_counts
from dpnb_columnar.boundary.mechanism import Release
from dpnb_columnar.budget import Request, Share
from dpnb_columnar.budget.composition import PARALLEL_CELLS
from dpnb_columnar.domain import Categorical, Domain
from dpnb_columnar.model.parameters import ClassCounts, Table
from dpnb_columnar.noise import Sampler

COUNTS = "counts"


class PrivateCounts:
    """Base of the private mechanisms."""

    private = True

    def classes(self, statistics: Statistics, share: Share, draw: Sampler) -> ClassCounts:
        """Class counts, each with Laplace noise."""
        return postprocessing.class_counts(noisy_counts(statistics.class_counts, share, draw))


def counts_request(attribute: str, domain: Domain, cells: int, weight: Fraction) -> Request:
    """The query for an attribute's table of ``cells`` counts within each class."""
    return Request(COUNTS, attribute, len(domain.classes) * cells, PARALLEL_CELLS, "laplace", weight)


def categorical_requests(domain: Domain, weight: Fraction) -> list[Request]:
    """One contingency table per categorical attribute."""
    return [counts_request(attribute.name, domain, attribute.size, weight) for attribute in domain.categorical]


def release_table(release: Release, attribute: Categorical) -> Table:
    """The contingency table of a categorical attribute with the classes: every cell, empty or not."""
    share = release.shares[COUNTS, attribute.name]
    table = release.statistics.tables[attribute.name]
    return postprocessing.table(attribute, [noisy_counts(row, share, release.draw) for row in table])
