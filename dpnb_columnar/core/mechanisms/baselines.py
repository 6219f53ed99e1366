"""Two baselines: ``majority`` releases the class counts alone, ``none`` is ordinary naive Bayes without privacy."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpnb_columnar.core.budget import Division, Request, Share, SharesRule
from dpnb_columnar.core.mechanisms.mechanism import (
    PrivateCounts,
    QueryContext,
    class_counts_request,
    presence_counts,
    weight_sums,
)
from dpnb_columnar.core.mechanisms.samples import on_scale
from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES
from dpnb_columnar.core.noise import Sampler
from dpnb_columnar.core.queries.statistics import Statistics
from dpnb_columnar.core.sensitivity import trimmed_mean, trimmed_variance
from dpnb_columnar.domain import Categorical, Domain, Missing
from dpnb_columnar.model import postprocessing
from dpnb_columnar.model.parameters import AttributeParameters, ClassCounts
from dpnb_columnar.model.postprocessing import NORMALS, truncated_presence, truncated_table

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
