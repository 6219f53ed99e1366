"""The mechanism ``paper``: Algorithm 1 of Zafarani and Clifton 2021 as it is printed, for comparison.

An equal share of epsilon for every query, Cauchy noise of scale sqrt(2) S/epsilon' on trimmed means, trimmed variances
and class counts, Laplace noise on contingency tables, values below zero truncated to zero. Only the sensitivities and
the samples of public size are those of docs/privacy.md, so that it is private.
"""

from __future__ import annotations

from fractions import Fraction

from dpnb_columnar.boundary.families import smooth_family
from dpnb_columnar.boundary.mechanism import Release
from dpnb_columnar.boundary.private import class_counts_request, table_counts
from dpnb_columnar.boundary.smooth import Smooth
from dpnb_columnar.boundary.truncation import truncated_normal, truncated_table
from dpnb_columnar.budget import Pure, Request, Weights
from dpnb_columnar.domain import Categorical, Domain, Numeric
from dpnb_columnar.model.parameters import Normal, Table
from dpnb_columnar.noise import NoiseFamily


class Paper(Smooth):
    """The queries of ``smooth``; its own noise, and its own way from released numbers to a model."""

    name = "paper"
    summary = "Algorithm 1 of Zafarani and Clifton 2021 as printed: Cauchy noise, negative values truncated to zero"
    weights = Weights(Fraction(2), Fraction(1), Fraction(1))
    """epsilon / (2 num + cat + 1) for every query."""
    default_noise = "cauchy"

    def class_counts(self, domain: Domain, weights: Weights, noise: str) -> Request:
        # A count's sensitivity is the constant 1. Noise that spends a delta would gain nothing by it, so under such
        # noise the counts keep the Cauchy noise that is printed.
        pure = smooth_family(noise).kind is Pure
        return class_counts_request(domain, weights, noise if pure else self.default_noise)

    def table(self, release: Release, attribute: Categorical) -> Table:
        return truncated_table(attribute, table_counts(release, attribute))

    def normal(
        self,
        attribute: Numeric,
        means: list[Fraction],
        variances: list[Fraction],
        noise: NoiseFamily,
        sizes: list[int],
    ) -> Normal:
        return truncated_normal(attribute, means, variances)
