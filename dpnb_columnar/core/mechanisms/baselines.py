"""Two baselines: ``majority`` releases the class counts alone, ``none`` is ordinary naive Bayes without privacy.

Mechanisms whose noise is scaled to the global sensitivity of moments: ``global`` and ``global-variance``.

Moments are of all values of a sample of public size, with Laplace noise for the most that one row can change
(docs/privacy.md, sections 3 and 4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dpnb_columnar.core.budget import Division, Request, SharesRule
from dpnb_columnar.core.measurement import CLASS_COUNTS, COUNTS, PRESENCE, WEIGHTED_COUNTS
from dpnb_columnar.core.mechanisms.mechanism import (
    Drawing,
    PrivateCounts,
    categorical_requests,
    class_counts_request,
    constant_noise,
    measure_table,
    moment_requests,
    on_scale,
    presence_counts,
    presence_requests,
    rows_of,
    weight_sums,
)
from dpnb_columnar.core.mechanisms.smooth import GRID_BITS
from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES
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
from dpnb_columnar.domain import Categorical, Domain, Numeric


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
    """Truncated normal attributes from means and a spread (``spread``), categorical ones from contingency tables."""

    smooth = False
    division = Division(Fraction(2), Fraction(1), Fraction(1))
    name: str
    spread: str

    def requests(self, domain: Domain, division: Division, noise: str) -> list[Request]:
        """List the class counts, values present, two moments per numeric attribute, a table per categorical one."""
        numeric = moment_requests(domain, ("mean", self.spread), division.numeric)
        tables = categorical_requests(domain, division.categorical)
        return [class_counts_request(domain, division), *presence_requests(domain, division), *numeric, *tables]

    def attributes(self, drawing: Drawing) -> None:
        """Measure mean and spread of every numeric attribute and class, and a table of every categorical attribute."""
        for attribute in drawing.statistics.domain.attributes:
            if isinstance(attribute, Categorical):
                measure_table(drawing, attribute)
                continue
            for query in ("mean", self.spread):
                measure_moment(drawing, attribute, query)


def measure_moment(drawing: Drawing, attribute: Numeric, query: str) -> None:
    """Measure one moment of every class, of whole samples of public size."""
    moment, cells, sizes = CONSTANT_MOMENTS[query], attribute.scale.cells, drawing.sample_sizes(attribute)
    noise = constant_noise(drawing.shares[query, attribute.name])
    sensitivities = [moment.sensitivity(size, cells) for size in sizes]
    columns = [on_scale(attribute, column) for column in drawing.statistics.columns[attribute.name]]
    drawn: list[tuple[Fraction]] = []
    for chunk in chunks(columns):
        exact = moment.statistics(public_sizes(columns[chunk], sizes[chunk], [cells] * len(columns[chunk])))
        for location, sensitivity in zip(exact, sensitivities[chunk], strict=True):
            drawn.append((drawing.sampler(location, sensitivity, noise, GRID_BITS),))
    drawing.add(query, attribute.name, tuple(drawn), sensitivities)


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

    def attributes(self, drawing: Drawing) -> None:
        """Model no attribute."""


class Plain:
    """Exact counts and untrimmed moments. The model is as confidential as the rows."""

    name = "none"
    summary = "ordinary naive Bayes WITHOUT PRIVACY, for comparison by the curator"
    private = False
    smooth = False
    binned = False
    default_noise = NOISE_FAMILIES[0]
    division = EQUAL
    shares_rule = SharesRule.EQUAL

    def requests(self, domain: Domain, division: Division, noise: str) -> list[Request]:
        """List the class counts alone, for a table of what is spent: nothing is."""
        return [class_counts_request(domain, division)]

    def classes(self, drawing: Drawing) -> None:
        """Count the classes, the values present, and add up weights, without noise."""
        statistics = drawing.statistics
        drawing.exact(CLASS_COUNTS, None, rows_of(statistics.class_counts))
        if statistics.domain.weight is not None:
            drawing.exact(WEIGHTED_COUNTS, None, rows_of(weight_sums(statistics)[0]))
        for attribute in statistics.domain.numeric:
            drawing.exact(PRESENCE, attribute.name, tuple(map(tuple, presence_counts(statistics, attribute))))

    def attributes(self, drawing: Drawing) -> None:
        """Compute tables, means and variances of every attribute without noise."""
        statistics = drawing.statistics
        for attribute in statistics.domain.attributes:
            if isinstance(attribute, Categorical):
                table = tuple(tuple(map(int, row)) for row in statistics.tables[attribute.name])
                drawing.exact(COUNTS, attribute.name, table)
                continue
            columns = [on_scale(attribute, column) for column in statistics.columns[attribute.name]]
            middle = Fraction(attribute.scale.cells, 2)
            means = [trimmed_mean(column, 0) if column.size else middle for column in columns]
            variances = [trimmed_variance(column, 0) if column.size else Fraction(0) for column in columns]
            drawing.exact("mean", attribute.name, tuple((mean,) for mean in means))
            drawing.exact("variance", attribute.name, tuple((variance,) for variance in variances))
