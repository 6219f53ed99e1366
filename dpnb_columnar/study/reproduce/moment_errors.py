"""CONFIDENTIAL. How far the means and variances that a model uses are from the exact ones of its training rows."""

from __future__ import annotations

import math
import statistics as averages
from collections.abc import Mapping
from dataclasses import dataclass

from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.mechanisms.moments import on_scale
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.parameters import Normal
from dpnb_columnar.sensitivity import trimmed_mean, trimmed_variance

Moments = tuple[float, float]
"""Mean and variance of one attribute within one class, on the attribute's scale."""


@dataclass(frozen=True, slots=True)
class MomentErrors:
    """Errors of a model's normal distributions over numeric attributes and classes.

    Attributes:
        mean: Root of the mean square of (mean used - exact mean) / exact deviation; None without normal distributions.
        variance: Median of |log(variance used / exact variance)|; None likewise.
    """

    mean: float | None
    variance: float | None


def exact_moments(statistics: Statistics) -> Mapping[str, tuple[Moments | None, ...]]:
    """Per numeric attribute and class, the exact moments; None where a class has no rows, or one value only."""
    found = {}
    for attribute in statistics.domain.numeric:
        scale, moments = attribute.scale, list[Moments | None]()
        for column in statistics.columns[attribute.name]:
            scaled = on_scale(attribute, column)
            variance = trimmed_variance(scaled, 0) if scaled.size else 0
            if not variance:
                moments.append(None)
                continue
            mean = scale.origin + scale.step * float(trimmed_mean(scaled, 0))
            moments.append((mean, scale.step**2 * float(variance)))
        found[attribute.name] = tuple(moments)
    return found


def moment_errors(model: Model, exact: Mapping[str, tuple[Moments | None, ...]]) -> MomentErrors:
    """Errors of a model's normal distributions.

    Args:
        model: A model of the rows.
        exact: Their ``exact_moments``. Classes without spread are left out.
    """
    means, variances = [], []
    for parameters in model.attributes:
        if not isinstance(parameters, Normal):
            continue
        used = zip(parameters.mean, parameters.deviation, exact[parameters.attribute], strict=True)
        for mean, deviation, moments in used:
            if moments is None:
                continue
            true_mean, true_variance = moments
            means.append((mean - true_mean) ** 2 / true_variance)
            variances.append(abs(2 * math.log(deviation) - math.log(true_variance)))
    if not means:
        return MomentErrors(None, None)
    return MomentErrors(math.sqrt(averages.fmean(means)), averages.median(variances))
