"""What the private mechanisms share: noisy class counts and noisy contingency tables."""

from __future__ import annotations

from fractions import Fraction

from dpnb_columnar.aggregation.statistics import Statistics
from dpnb_columnar.boundary import postprocessing
from dpnb_columnar.boundary.counts import LAPLACE, noisy_counts
from dpnb_columnar.boundary.families import NOISE_FAMILIES
from dpnb_columnar.boundary.mechanism import CLASS_COUNTS, Release
from dpnb_columnar.boundary.tuning import prior_count, rate
from dpnb_columnar.budget import Request, Share, Weights
from dpnb_columnar.budget.composition import PARALLEL_CELLS
from dpnb_columnar.domain import Categorical, Domain
from dpnb_columnar.model.parameters import ClassCounts, Table
from dpnb_columnar.noise import Sampler

COUNTS = "counts"


class PrivateCounts:
    """Base of the private mechanisms."""

    private = True
    default_noise = NOISE_FAMILIES[0]

    def classes(self, statistics: Statistics, share: Share, draw: Sampler) -> ClassCounts:
        """Class counts, each with noise."""
        return postprocessing.class_counts(noisy_counts(statistics.class_counts, share, draw))


def class_counts_request(domain: Domain, weights: Weights, noise: str = LAPLACE) -> Request:
    """The query for the number of rows of each class, the first of every mechanism."""
    return Request(CLASS_COUNTS, None, len(domain.classes), PARALLEL_CELLS, noise, weights.counts)


def counts_request(attribute: str, domain: Domain, cells: int, weight: Fraction) -> Request:
    """The query for an attribute's table of ``cells`` counts within each class."""
    return Request(COUNTS, attribute, len(domain.classes) * cells, PARALLEL_CELLS, LAPLACE, weight)


def categorical_requests(domain: Domain, weight: Fraction) -> list[Request]:
    """One contingency table per categorical attribute."""
    return [counts_request(attribute.name, domain, attribute.size, weight) for attribute in domain.categorical]


def release_table(release: Release, attribute: Categorical) -> Table:
    """The contingency table of a categorical attribute with the classes."""
    prior = prior_count(Fraction(rate(release.shares[COUNTS, attribute.name].row_loss)))
    return postprocessing.table(attribute, table_counts(release, attribute), release.sizes, prior)


def table_counts(release: Release, attribute: Categorical) -> list[list[int]]:
    """Released counts of a contingency table, per class: every cell, empty or not."""
    share = release.shares[COUNTS, attribute.name]
    return [noisy_counts(row, share, release.draw) for row in release.statistics.tables[attribute.name]]
