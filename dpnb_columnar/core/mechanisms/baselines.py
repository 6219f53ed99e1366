"""Two baselines: ``majority`` releases the class counts alone, ``none`` is ordinary naive Bayes without privacy.

Mechanisms whose noise is scaled to the global sensitivity of moments: ``global`` and ``global-variance``.

Moments are of all values of a sample of public size, with Laplace noise for the most that one row can change
(docs/privacy.md, sections 3 and 4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from dpnb_columnar.core.budget import Division, Request, Share, SharesRule
from dpnb_columnar.core.budget.composition import PARALLEL_CLASSES
from dpnb_columnar.core.mechanisms.mechanism import (
    LAPLACE,
    PrivateCounts,
    QueryContext,
    categorical_requests,
    class_counts_request,
    constant_noise,
    noisy_table,
    on_scale,
    presence,
    presence_counts,
    presence_requests,
    sample_sizes,
    weight_sums,
)
from dpnb_columnar.core.mechanisms.smooth import GRID_BITS
from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES
from dpnb_columnar.core.noise import Sampler
from dpnb_columnar.core.queries.statistics import Statistics
from dpnb_columnar.core.sensitivity import (
    RunLengthColumns,
    chunks,
    public_sizes,
    trimmed_mean,
    trimmed_means,
    trimmed_variance,
    trimmed_variances,
)
from dpnb_columnar.core.sensitivity.moments import (
    deviation_sensitivity,
    mean_sensitivity,
    rounded_deviations,
    variance_sensitivity,
)
from dpnb_columnar.domain import Categorical, Domain, Missing, Numeric
from dpnb_columnar.model import postprocessing
from dpnb_columnar.model.parameters import AttributeParameters, ClassCounts, Normal
from dpnb_columnar.model.postprocessing import NORMALS, truncated_presence, truncated_table


@dataclass(frozen=True, slots=True)
class ConstantMoment:
    """A statistic of all values of a sample, and its global sensitivity: the most that one substitution changes it.

    Attributes:
        statistics: From samples to the exact statistic of each, in codes or squared codes.
        sensitivity: From the public size of the sample and the largest possible code.
    """

    statistics: Callable[[RunLengthColumns], list[Fraction]]
    sensitivity: Callable[[int, int], Fraction]


CONSTANT_MOMENTS: dict[str, ConstantMoment] = {
    "mean": ConstantMoment(lambda samples: trimmed_means(samples, 0 * samples.size), mean_sensitivity),
    "variance": ConstantMoment(lambda samples: trimmed_variances(samples, 0 * samples.size), variance_sensitivity),
    "deviation": ConstantMoment(rounded_deviations, deviation_sensitivity),
}
"""Moments of constant sensitivity by query."""


class Untrimmed(PrivateCounts):
    """Truncated normal attributes from means and a measure of spread, categorical attributes from contingency tables.

    Attributes:
        spread: The query for the spread.
    """

    smooth = False
    division = Division(Fraction(2), Fraction(1), Fraction(1))
    name: str
    spread: str

    def requests(self, domain: Domain, division: Division, noise: str) -> list[Request]:
        """List the class counts, values present, two moments per numeric attribute, a table per categorical one."""
        queries = ("mean", self.spread)
        numeric = [
            Request(
                query,
                attribute.name,
                len(domain.classes),
                PARALLEL_CLASSES,
                LAPLACE,
                division.numeric / len(queries),
            )
            for attribute in domain.numeric
            for query in queries
        ]
        tables = categorical_requests(domain, division.categorical)
        return [class_counts_request(domain, division), *presence_requests(domain, division), *numeric, *tables]

    def attributes(self, context: QueryContext) -> list[AttributeParameters]:
        """Draw a normal distribution per numeric attribute and class, and a table per categorical attribute."""
        return [
            noisy_table(context, attribute)
            if isinstance(attribute, Categorical)
            else self._noisy_normal(context, attribute)
            for attribute in context.statistics.domain.attributes
        ]

    def _noisy_normal(self, context: QueryContext, attribute: Numeric) -> Normal:
        """Draw the noise of one attribute, and make its parameters."""
        sizes = sample_sizes(context, attribute)
        means, spreads = (_noisy_moments(context, attribute, query, sizes) for query in ("mean", self.spread))
        share = context.shares[self.spread, attribute.name]
        parameters = NORMALS[self.name](attribute, means, spreads, sizes, share)
        return replace(parameters, presence=presence(context, attribute))


def _noisy_moments(context: QueryContext, attribute: Numeric, query: str, sizes: list[int]) -> list[Fraction]:
    """Draw one moment of every class."""
    moment, cells = CONSTANT_MOMENTS[query], attribute.scale.cells
    noise = constant_noise(context.shares[query, attribute.name])
    columns = [on_scale(attribute, column) for column in context.statistics.columns[attribute.name]]
    moments = []
    for chunk in chunks(columns):
        exact = moment.statistics(public_sizes(columns[chunk], sizes[chunk], [cells] * len(columns[chunk])))
        for location, size in zip(exact, sizes[chunk], strict=True):
            moments.append(context.draw(location, moment.sensitivity(size, cells), noise, GRID_BITS))
    return moments


class Global(Untrimmed):
    """Mean and standard deviation of every numeric attribute, with noise for the most that one row can change each.

    After Vaidya, Shafiq, Basu and Hong 2013, whose (U-L)/(n+1) for the mean and sqrt(n) (U-L)/(n+1) for the deviation
    are the sensitivities of samples of N = n + 1 values under substitution. There n is the exact number of rows; here N
    is released, so that neither it nor the noise's scale reveals anything (docs/privacy.md, section 4).
    """

    name = "global"
    summary = "mean and standard deviation with Laplace noise for the worst case (Vaidya, Shafiq, Basu and Hong 2013)"
    spread = "deviation"


class GlobalVariance(Untrimmed):
    """Mean and variance of every numeric attribute, with noise for the most that one row can change each."""

    name = "global-variance"
    summary = "mean and variance with Laplace noise for the worst case of the declared bounds"
    spread = "variance"


EQUAL = Division(Fraction(1), Fraction(1), Fraction(1))


class Majority(PrivateCounts):
    """Class counts and nothing else: the whole budget is spent on the priors."""

    name = "majority"
    summary = "class counts alone: the model always predicts the largest class"
    smooth = False
    division = EQUAL

    def requests(self, domain: Domain, division: Division, noise: str) -> list[Request]:
        """List the class counts alone."""
        return [class_counts_request(domain, division)]

    def attributes(self, context: QueryContext) -> list[AttributeParameters]:
        """Model no attribute."""
        return []


class Plain:
    """Exact counts and untrimmed moments. The model is as confidential as the rows."""

    name = "none"
    summary = "ordinary naive Bayes WITHOUT PRIVACY, for comparison by the curator"
    private = False
    smooth = False
    binned = False
    truncated = True
    default_noise = NOISE_FAMILIES[0]
    division = EQUAL
    shares_rule = SharesRule.EQUAL

    def requests(self, domain: Domain, division: Division, noise: str) -> list[Request]:
        """List the class counts alone, for a table of what is spent: nothing is."""
        return [class_counts_request(domain, division)]

    def classes(self, statistics: Statistics, share: Share, draw: Sampler) -> ClassCounts:
        """Count the classes without noise."""
        return postprocessing.class_counts([int(count) for count in statistics.class_counts])

    def weighted_classes(self, statistics: Statistics, share: Share, draw: Sampler) -> ClassCounts:
        """Add up the weights of the classes without noise."""
        return postprocessing.class_counts(*weight_sums(statistics))

    def attributes(self, context: QueryContext) -> list[AttributeParameters]:
        """Compute the parameters of every attribute without noise."""
        statistics = context.statistics
        parameters: list[AttributeParameters] = []
        for attribute in statistics.domain.attributes:
            if isinstance(attribute, Categorical):
                table = statistics.tables[attribute.name]
                counts = [[int(count) for count in row] for row in table]
                parameters.append(truncated_table(attribute, counts))  # add-one smoothing
                continue
            columns = [on_scale(attribute, column) for column in statistics.columns[attribute.name]]
            middle = Fraction(attribute.scale.cells, 2)
            means = [trimmed_mean(column, 0) if column.size else middle for column in columns]
            variances = [trimmed_variance(column, 0) if column.size else Fraction(0) for column in columns]
            sizes = [column.size for column in columns]
            normal = NORMALS[self.name](attribute, means, variances, sizes, None)
            if attribute.missing is Missing.CATEGORY:
                normal = replace(normal, presence=truncated_presence(presence_counts(statistics, attribute)))
            parameters.append(normal)
        return parameters
