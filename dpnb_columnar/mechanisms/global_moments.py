"""Moments of all values of a sample of public size, with Laplace noise for the most that one row can change.

What the mechanisms ``global`` and ``global-variance`` share (docs/privacy.md, sections 3 and 4).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from dpnb_columnar.budget import Request, Weights
from dpnb_columnar.budget.composition import PARALLEL_CLASSES
from dpnb_columnar.domain import Categorical, Domain, Numeric
from dpnb_columnar.mechanisms import postprocessing
from dpnb_columnar.mechanisms.mechanism import QueryContext
from dpnb_columnar.mechanisms.postprocessing import reported
from dpnb_columnar.mechanisms.queries import (
    LAPLACE,
    PrivateCounts,
    categorical_requests,
    class_counts_request,
    constant_noise,
    noisy_table,
)
from dpnb_columnar.mechanisms.smooth_moments import GRID_BITS, class_sizes, on_scale
from dpnb_columnar.mechanisms.tuning import pooled_rows
from dpnb_columnar.model.parameters import AttributeParameters, Normal
from dpnb_columnar.sensitivity import RunLengthColumn, public_size, trimmed_mean, trimmed_variance
from dpnb_columnar.sensitivity.global_sensitivity import (
    deviation_sensitivity,
    mean_sensitivity,
    rounded_deviation,
    variance_sensitivity,
)


@dataclass(frozen=True, slots=True)
class ConstantMoment:
    """A statistic of all values of a sample, and by how much one substitution moves it at most.

    Attributes:
        statistic: From a sample to the exact statistic, in codes or squared codes.
        sensitivity: From the public size of the sample and the largest code there may be.
    """

    statistic: Callable[[RunLengthColumn], Fraction]
    sensitivity: Callable[[int, int], Fraction]


CONSTANT_MOMENTS: dict[str, ConstantMoment] = {
    "mean": ConstantMoment(lambda column: trimmed_mean(column, 0), mean_sensitivity),
    "variance": ConstantMoment(lambda column: trimmed_variance(column, 0), variance_sensitivity),
    "deviation": ConstantMoment(rounded_deviation, deviation_sensitivity),
}
"""By query."""


class Untrimmed(PrivateCounts, ABC):
    """Truncated normal attributes from means and a measure of spread, categorical attributes from contingency tables.

    Attributes:
        spread: The query that tells the spread.
    """

    smooth = False
    weights = Weights(Fraction(2), Fraction(1), Fraction(1))
    spread: str

    def requests(self, domain: Domain, weights: Weights, noise: str) -> list[Request]:
        queries = ("mean", self.spread)
        numeric = [
            Request(
                query,
                attribute.name,
                len(domain.classes),
                PARALLEL_CLASSES,
                LAPLACE,
                weights.numeric / len(queries),
            )
            for attribute in domain.numeric
            for query in queries
        ]
        return [class_counts_request(domain, weights), *numeric, *categorical_requests(domain, weights.categorical)]

    def attributes(self, context: QueryContext) -> list[AttributeParameters]:
        sizes = class_sizes(context)
        return [
            noisy_table(context, attribute)
            if isinstance(attribute, Categorical)
            else self.normal(
                attribute,
                _noisy_moment(context, attribute, "mean", sizes),
                _noisy_moment(context, attribute, self.spread, sizes),
                sizes,
                pooled_rows(context.shares[self.spread, attribute.name].row_loss),
            )
            for attribute in context.statistics.domain.attributes
        ]

    @abstractmethod
    def normal(
        self, attribute: Numeric, means: list[Fraction], spreads: list[Fraction], sizes: list[int], pooled: float
    ) -> Normal:
        """Parameters made of the released numbers, per class in codes; ``pooled`` is from ``pooled_rows``."""


def _noisy_moment(context: QueryContext, attribute: Numeric, query: str, sizes: list[int]) -> list[Fraction]:
    """One moment of every class, with noise."""
    moment, cells = CONSTANT_MOMENTS[query], attribute.scale.cells
    noise = constant_noise(context.shares[query, attribute.name])
    found = []
    for column, size in zip(context.statistics.columns[attribute.name], sizes, strict=True):
        sample = public_size(on_scale(attribute, column), size, cells)
        found.append(context.draw(moment.statistic(sample), moment.sensitivity(size, cells), noise, GRID_BITS))
    return found


# MERGED FROM dpnb_columnar/mechanisms/global_moments.py: The mechanism ``global``: mean and standard deviation of every
# numeric attribute with Laplace noise. After Vaidya, Shafiq, Basu and Hong 2013, whose (U-L)/(n+1) for the mean and
# sqrt(n) (U-L)/(n+1) for the deviation are the sensitivities of samples of N = n + 1 values under substitution. There
# n is the exact number of rows; here N is released, so that neither it nor the noise's scale tells anything
# (docs/privacy.md, section 4).


class Global(Untrimmed):
    """Noise for the most that one row can change a mean, and a standard deviation."""

    name = "global"
    summary = "mean and standard deviation with Laplace noise for the worst case (Vaidya, Shafiq, Basu and Hong 2013)"
    spread = "deviation"

    def normal(
        self, attribute: Numeric, means: list[Fraction], spreads: list[Fraction], sizes: list[int], pooled: float
    ) -> Normal:
        # A deviation below zero is noise, as a variance below zero is: the sign is kept, and handled there.
        variances = [deviation * abs(deviation) for deviation in spreads]
        found = postprocessing.normal(attribute, means, variances, [1.0] * len(sizes), sizes, pooled)
        deviations = tuple(reported(deviation, attribute.scale.step) for deviation in spreads)
        return replace(found, released_variance=None, released_deviation=deviations)


# MERGED FROM dpnb_columnar/mechanisms/global_moments.py: The mechanism ``global-variance``: mean and variance of every
# numeric attribute with Laplace noise.


class GlobalVariance(Untrimmed):
    """Noise for the most that one row can change a mean, and a variance."""

    name = "global-variance"
    summary = "mean and variance with Laplace noise for the worst case of the declared bounds"
    spread = "variance"

    def normal(
        self, attribute: Numeric, means: list[Fraction], spreads: list[Fraction], sizes: list[int], pooled: float
    ) -> Normal:
        return postprocessing.normal(attribute, means, spreads, [1.0] * len(sizes), sizes, pooled)
