"""Mechanisms whose noise is scaled to smooth sensitivity: ``smooth``, ``paper`` and ``trimmed-mean``.

``smooth`` is after Zafarani and Clifton 2021, Algorithm 1, with the sensitivities of docs/privacy.md, section 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from dpnb_columnar.core.budget import Division, Pure, Request, SharesRule
from dpnb_columnar.core.budget.composition import PARALLEL_CLASSES
from dpnb_columnar.core.mechanisms.mechanism import (
    PrivateCounts,
    QueryContext,
    categorical_requests,
    class_counts_request,
    noisy_table,
    presence,
    presence_requests,
    table_counts,
)
from dpnb_columnar.core.mechanisms.samples import on_scale, sample_sizes
from dpnb_columnar.core.mechanisms.smooth_moments import ExactAnswer, MomentQueries, exact_answers
from dpnb_columnar.core.mechanisms.smooth_noise import smooth_family
from dpnb_columnar.domain import Categorical, Domain, Numeric
from dpnb_columnar.model.parameters import AttributeParameters, Normal, Presence, Table
from dpnb_columnar.model.postprocessing import NORMALS, truncated_presence, truncated_table


class Smooth(PrivateCounts):
    """Truncated normal attributes from smooth sensitivity, categorical attributes from contingency tables.

    Attributes:
        queries: Queries on a numeric attribute within every class: its mean, then its spread. The attribute's weight is
            divided evenly.
    """

    name = "smooth"
    summary = "trimmed mean and variance, noise scaled to smooth sensitivity (Zafarani and Clifton 2021)"
    smooth = True
    division = Division(Fraction(2), Fraction(1), Fraction(1))
    queries: tuple[str, str] = ("mean", "variance")

    def requests(self, domain: Domain, division: Division, noise: str) -> list[Request]:
        """List the class counts, values present, two moments per numeric attribute, a table per categorical one."""
        numeric = [
            Request(
                query,
                attribute.name,
                len(domain.classes),
                PARALLEL_CLASSES,
                noise,
                division.numeric / len(self.queries),
                smooth_family(noise).kind,
            )
            for attribute in domain.numeric
            for query in self.queries
        ]
        tables = categorical_requests(domain, division.categorical)
        presence = presence_requests(domain, division)
        return [self.class_counts(domain, division, noise), *presence, *numeric, *tables]

    def class_counts(self, domain: Domain, division: Division, noise: str) -> Request:
        """Make the query for the class counts."""
        return class_counts_request(domain, division)

    def attributes(self, context: QueryContext) -> list[AttributeParameters]:
        """Draw a normal distribution per numeric attribute and class, and a table per categorical attribute."""
        numeric = context.statistics.domain.numeric
        answers = dict(
            zip(numeric, exact_answers([self._moment_queries(context, each) for each in numeric]), strict=True)
        )
        return [
            self.table(context, attribute)
            if isinstance(attribute, Categorical)
            else self._noisy_normal(context, attribute, answers[attribute])
            for attribute in context.statistics.domain.attributes
        ]

    def table(self, context: QueryContext, attribute: Categorical) -> Table:
        """Draw the contingency table of a categorical attribute."""
        return noisy_table(context, attribute)

    def presence(self, context: QueryContext, attribute: Numeric) -> Presence | None:
        """Make the probabilities of having a value of a numeric attribute; None where there is no query about it."""
        return presence(context, attribute)

    def _moment_queries(self, context: QueryContext, attribute: Numeric) -> MomentQueries:
        """Ask for the moments of an attribute within every class."""
        columns = [on_scale(attribute, column) for column in context.statistics.columns[attribute.name]]
        shares = [context.shares[query, attribute.name] for query in self.queries]
        return MomentQueries(columns, sample_sizes(context, attribute), attribute.scale.cells, shares)

    def _noisy_normal(
        self, context: QueryContext, attribute: Numeric, answers: Mapping[str, Sequence[ExactAnswer]]
    ) -> Normal:
        """Draw the noise of one attribute by query and class, and make its parameters."""
        sizes = sample_sizes(context, attribute)
        means, spreads = ([answer.noisy(context.draw) for answer in answers[query]] for query in self.queries)
        share = context.shares[self.queries[-1], attribute.name]
        parameters = NORMALS[self.name](attribute, means, spreads, sizes, share)
        return replace(parameters, presence=self.presence(context, attribute))


class Paper(Smooth):
    """Algorithm 1 of Zafarani and Clifton 2021 as it is printed, for comparison.

    An equal share of epsilon for every query, Cauchy noise of scale sqrt(2) S/epsilon' on trimmed means, trimmed
    variances and class counts, Laplace noise on contingency tables, values below zero truncated to zero. Only the
    sensitivities and the samples of public size are those of docs/privacy.md, so that it is private.
    """

    name = "paper"
    summary = "Algorithm 1 of Zafarani and Clifton 2021 as printed: Cauchy noise, negative values truncated to zero"
    truncated = True
    division = Division(Fraction(2), Fraction(1), Fraction(1))
    """epsilon / (2 num + cat + 1) for every query."""
    shares_rule = SharesRule.EQUAL
    default_noise = "cauchy"

    def class_counts(self, domain: Domain, division: Division, noise: str) -> Request:
        """Make the query for the class counts, with the noise of the moments if that is pure, else with Cauchy noise.

        A count's sensitivity is the constant 1. Noise that spends a delta would gain nothing by it, so under such noise
        the counts keep the Cauchy noise that is printed.
        """
        pure = smooth_family(noise).kind is Pure
        return class_counts_request(domain, division, noise if pure else self.default_noise)

    def table(self, context: QueryContext, attribute: Categorical) -> Table:
        """Draw the contingency table, counts below zero truncated to zero."""
        return truncated_table(attribute, table_counts(context, attribute))

    def presence(self, context: QueryContext, attribute: Numeric) -> Presence | None:
        """Make the probabilities of having a value, counts below zero truncated to zero."""
        counts = context.presence.get(attribute.name)
        return None if counts is None else truncated_presence(counts)


class TrimmedMean(Smooth):
    """Trimmed means of x and of x^2, with noise scaled to the smooth sensitivity of each.

    After Bun and Steinke 2019, whose estimator is of means alone; the variance is E[x^2] - E[x]^2, with which Zafarani
    and Clifton 2021, section 5, compare theirs.
    """

    name = "trimmed-mean"
    summary = "trimmed means of x and of x^2, noise scaled to smooth sensitivity (Bun and Steinke 2019)"
    queries = ("mean", "mean of squares")
