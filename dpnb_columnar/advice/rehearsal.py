"""Releases of every private mechanism from an invented population, and the errors that noise causes."""

from __future__ import annotations

import math
import statistics as averages
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.advice.population import Population, Sample, expected_statistics, sample
from dpnb_columnar.budget import Budget
from dpnb_columnar.domain import Attribute, Numeric
from dpnb_columnar.domain.attributes import scale_codes
from dpnb_columnar.errors import UsageError
from dpnb_columnar.mechanisms.plan import MECHANISMS, ReleasePlan, plan
from dpnb_columnar.mechanisms.release import release
from dpnb_columnar.model.likelihood import cell_terms, class_terms, normal_terms
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.parameters import AttributeParameters, Histogram, Normal, Table
from dpnb_columnar.noise import ExactSampler, SeededBits

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def log_likelihoods(
    attribute: Attribute, parameters: AttributeParameters, codes: Integers, weight: float = 1.0
) -> Floats:
    """Compute the weighted log-likelihood of every code within every class, up to a number common to all of them.

    Args:
        attribute: The attribute as declared.
        parameters: Its parameters.
        codes: Shape (values,), int64: grid codes or category codes.
        weight: The attribute's weight.

    Returns:
        Shape (classes, values).
    """
    if isinstance(parameters, Table):
        return np.array(cell_terms(parameters, weight))[:, codes]
    assert isinstance(attribute, Numeric)
    scaled = scale_codes(attribute, codes)
    if isinstance(parameters, Histogram):
        bins = np.searchsorted(parameters.edges, scaled, side="right") - 1
        return np.array(cell_terms(parameters, weight))[:, bins]
    return np.stack(normal_terms(attribute, parameters, attribute.scale.origin + attribute.scale.step * scaled, weight))


DRAWS = 4
"""Releases per mechanism and population, from seeds 0, 1, 2, ..."""

NOT_PRIVATE = "none"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Errors of one mechanism's releases, beside a release without noise.

    Attributes:
        accuracy: Mean share of the invented rows that its models classify correctly.
        lost: Accuracy of the model without noise, less that.
        mean_error: Root mean square over draws, attributes and classes of (mean used - mean without noise) / deviation
            without noise; None where the models have no means.
        variance_error: Median over the same of |log(variance used / variance without noise)|; None likewise.
        ratio_error: Median over draws and attributes of the mean, over classes and over values by their shares, of
            |log-likelihood ratio to the first class - that without noise|.
    """

    accuracy: float
    lost: float
    mean_error: float | None
    variance_error: float | None
    ratio_error: float


def rehearse(population: Population, budget: Budget, rows: int) -> dict[str, Outcome]:
    """Release every private mechanism from the expected counts of an invented population.

    Args:
        population: The population.
        budget: What each release may spend; delta must be 0.
        rows: Rows that are released from.

    Returns:
        Per mechanism; one that the budget is too small for is left out.
    """
    stage = _Stage(population, budget, rows)
    plans = [_plan_if_possible(population, budget, name) for name, mechanism in MECHANISMS.items() if mechanism.private]
    return {planned.mechanism.name: stage.outcome(planned) for planned in plans if planned is not None}


def _plan_if_possible(population: Population, budget: Budget, mechanism: str) -> ReleasePlan | None:
    """Plan a release; None where the budget is too small for the mechanism."""
    try:
        return plan(population.domain, budget, mechanism)
    except UsageError:
        return None


class _Stage:
    """A population, ready for releases."""

    def __init__(self, population: Population, budget: Budget, rows: int) -> None:
        self._population = population
        self._statistics = expected_statistics(population, rows)
        self._sample = sample(population)
        self._masses = {
            name: np.bincount(self._sample.places[name], minlength=len(distribution.codes)) / self._sample.size
            for name, distribution in population.distributions.items()
        }
        exact = release(self._statistics, plan(population.domain, budget, NOT_PRIVATE), _draw(0))
        self._exact = {parameters.attribute: parameters for parameters in exact.attributes}
        self._exact_terms = self._terms(exact)
        self._ceiling = _accuracy(exact, self._exact_terms, self._sample)

    def outcome(self, plan: ReleasePlan) -> Outcome:
        """Measure a few releases."""
        models = [release(self._statistics, plan, _draw(seed)) for seed in range(DRAWS)]
        terms = [self._terms(model) for model in models]
        accuracy = averages.fmean(
            _accuracy(model, tables, self._sample) for model, tables in zip(models, terms, strict=True)
        )
        mean_error, variance_error = self._moment_errors(models)
        return Outcome(accuracy, self._ceiling - accuracy, mean_error, variance_error, self._ratio_error(terms))

    def _terms(self, model: Model) -> dict[str, Floats]:
        """Per attribute, shape (classes, values)."""
        codes = self._population.distributions
        return {
            parameters.attribute: log_likelihoods(
                model.domain[parameters.attribute], parameters, codes[parameters.attribute].codes, weight
            )
            for parameters, weight in zip(model.attributes, model.weights, strict=True)
        }

    def _moment_errors(self, models: Sequence[Model]) -> tuple[float | None, float | None]:
        means, variances = [], []
        for model in models:
            for used in model.attributes:
                exact = self._exact[used.attribute]
                if not isinstance(used, Normal) or not isinstance(exact, Normal):
                    continue
                pairs = zip(used.mean, used.deviation, exact.mean, exact.deviation, strict=True)
                for mean, deviation, exact_mean, exact_deviation in pairs:
                    means.append(((mean - exact_mean) / exact_deviation) ** 2)
                    variances.append(2 * abs(math.log(deviation / exact_deviation)))
        return (math.sqrt(averages.fmean(means)), averages.median(variances)) if means else (None, None)

    def _ratio_error(self, drawn: Sequence[Mapping[str, Floats]]) -> float:
        """An attribute that a model leaves out says nothing: its ratios are 1, their logarithms 0."""
        errors = []
        for terms in drawn:
            for name, exact in self._exact_terms.items():
                difference = _ratios(terms[name]) - _ratios(exact) if name in terms else _ratios(exact)
                errors.append(float(np.mean(np.abs(difference) @ self._masses[name])))
        return averages.median(errors)


def _draw(seed: int) -> ExactSampler:
    return ExactSampler(SeededBits(seed))


def _ratios(terms: Floats) -> Floats:
    """Logarithms of the likelihood ratios of every other class to the first."""
    return terms[1:] - terms[:1]


def _accuracy(model: Model, terms: Mapping[str, Floats], rows: Sample) -> float:
    """Part of the rows that the model classifies as they are."""
    joint = np.empty((len(model.classes.probability), rows.size))
    joint[:] = np.array(class_terms(model))[:, None]
    for name, table in terms.items():
        joint += table[:, rows.places[name]]
    return float(np.mean(joint.argmax(axis=0) == rows.classes))
