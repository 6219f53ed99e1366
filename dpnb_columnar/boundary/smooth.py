"""The mechanism ``smooth``: trimmed mean and variance of every numeric attribute, noise scaled to smooth sensitivity.

After Zafarani and Clifton 2021, Algorithm 1, with the sensitivities of docs/privacy.md, section 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpnb_columnar.boundary import postprocessing
from dpnb_columnar.boundary.families import smooth_family
from dpnb_columnar.boundary.mechanism import Release
from dpnb_columnar.boundary.moments import Job, Prepared, class_sizes, moment_noise, prepare
from dpnb_columnar.boundary.private import PrivateCounts, categorical_requests, class_counts_request, release_table
from dpnb_columnar.boundary.scaling import on_scale
from dpnb_columnar.boundary.tuning import pooled_rows, trim, trimmed_normal_variance
from dpnb_columnar.budget import Request, Weights
from dpnb_columnar.budget.composition import PARALLEL_CLASSES
from dpnb_columnar.domain import Categorical, Domain, Numeric
from dpnb_columnar.model.parameters import AttributeParameters, Normal, Table
from dpnb_columnar.noise import NoiseFamily


class Smooth(PrivateCounts):
    """Truncated normal attributes from smooth sensitivity, categorical attributes from contingency tables.

    Attributes:
        queries: What is asked about a numeric attribute, within every class: its mean, then what tells its spread. The
            attribute's weight is divided evenly.
    """

    name = "smooth"
    summary = "trimmed mean and variance, noise scaled to smooth sensitivity (Zafarani and Clifton 2021)"
    smooth = True
    weights = Weights(Fraction(2), Fraction(1), Fraction(1))
    queries: tuple[str, str] = ("mean", "variance")

    def requests(self, domain: Domain, weights: Weights, noise: str) -> list[Request]:
        numeric = [
            Request(
                query,
                attribute.name,
                len(domain.classes),
                PARALLEL_CLASSES,
                noise,
                weights.numeric / len(self.queries),
                smooth_family(noise).kind,
            )
            for attribute in domain.numeric
            for query in self.queries
        ]
        tables = categorical_requests(domain, weights.categorical)
        return [self.class_counts(domain, weights, noise), *numeric, *tables]

    def class_counts(self, domain: Domain, weights: Weights, noise: str) -> Request:
        """The query for the class counts."""
        return class_counts_request(domain, weights)

    def attributes(self, release: Release) -> list[AttributeParameters]:
        sizes = class_sizes(release)
        prepared = iter(prepare(list(self._jobs(release, sizes))))
        return [
            self.table(release, attribute)
            if isinstance(attribute, Categorical)
            else self._release(release, attribute, sizes, prepared)
            for attribute in release.statistics.domain.attributes
        ]

    def table(self, release: Release, attribute: Categorical) -> Table:
        """The contingency table of a categorical attribute."""
        return release_table(release, attribute)

    def normal(
        self,
        attribute: Numeric,
        means: list[Fraction],
        spreads: list[Fraction],
        noise: NoiseFamily,
        sizes: list[int],
    ) -> Normal:
        """Parameters made of an attribute's released numbers.

        Args:
            attribute: The numeric attribute.
            means, spreads: Answers to both queries, per class in codes of the attribute's scale, or what their squares
                are counted in.
            noise: The noise of the second query.
            sizes: Public sample sizes.
        """
        weight = pooled_rows(noise.loss)
        return postprocessing.normal(attribute, means, spreads, corrections(sizes, noise), sizes, weight)

    def _jobs(self, release: Release, sizes: list[int]) -> Iterator[Job]:
        """Every moment in the order of its draw: by attribute, query and class."""
        for attribute in release.statistics.domain.numeric:
            columns = [on_scale(attribute, column) for column in release.statistics.columns[attribute.name]]
            for query in self.queries:
                share = release.shares[query, attribute.name]
                for column, size in zip(columns, sizes, strict=True):
                    yield Job(query, column, size, min(sizes), attribute.scale.cells, share)

    def _release(self, release: Release, attribute: Numeric, sizes: list[int], prepared: Iterator[Prepared]) -> Normal:
        """Draw the noise of one attribute, and make parameters of what comes out."""
        means, spreads = ([next(prepared).drawn(release.draw) for _ in sizes] for _ in self.queries)
        noise = moment_noise(release.shares[self.queries[-1], attribute.name])
        return self.normal(attribute, means, spreads, noise, sizes)


def corrections(sizes: list[int], noise: NoiseFamily) -> list[float]:
    """What trimming leaves of a normal variance in samples of these sizes."""
    return [trimmed_normal_variance(trim(size, noise, min(sizes)) / size) for size in sizes]
