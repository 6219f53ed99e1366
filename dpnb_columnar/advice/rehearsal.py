"""Releases from an invented population: the errors of their tables, and how well their models classify its rows."""

from __future__ import annotations

import math
import statistics as averages
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.advice.population import (
    InventedRows,
    Population,
    accuracy,
    expected_statistics,
    family_size,
    population,
    sample,
)
from dpnb_columnar.core.budget import Budget
from dpnb_columnar.core.noise import ExactSampler, Laplace, NoiseFamily, SeededBits
from dpnb_columnar.domain import Attribute, Domain, Numeric
from dpnb_columnar.domain.attributes import scale_codes
from dpnb_columnar.model.likelihood import cell_terms, normal_terms
from dpnb_columnar.model.parameters import AttributeParameters, Histogram, NaiveBayes, Normal, Table
from dpnb_columnar.releases.attribute_weights import attribute_weights
from dpnb_columnar.releases.model_plan import ReleasePlan, release
from dpnb_columnar.releases.plan import plan
from dpnb_columnar.runtime.row_progress import report_work

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def log_likelihoods(attribute: Attribute, parameters: AttributeParameters, codes: Integers) -> Floats:
    """Compute the log-likelihood of every code within every class, up to a number common to all of them.

    Args:
        codes: Shape (values,), int64: grid codes or category codes.

    Returns:
        Shape (classes, values).
    """
    if isinstance(parameters, Table):
        return np.array(cell_terms(parameters))[:, codes]
    assert isinstance(attribute, Numeric)
    scaled = scale_codes(attribute, codes)
    if isinstance(parameters, Histogram):
        bins = np.searchsorted(parameters.edges, scaled, side="right") - 1
        return np.array(cell_terms(parameters))[:, bins]
    values = attribute.scale.origin + attribute.scale.step * scaled
    return np.stack(normal_terms(attribute, parameters).of(values))


DRAWS = 4
MANY_ATTRIBUTES = 60
"""Releases of each mechanism that is compared with others; half as many of more attributes than this."""

NOT_PRIVATE = "none"

BAD_DRAWS = 0.05
"""Part of the releases that is called bad luck."""


MANY_CLASSES, MANY_COUNTS = 100, 20_000
"""Releases take time in proportion to the classes, and to the counts of the largest table: of more than this fewer are
rehearsed, so that nobody waits."""


def draws_to_compare(domain: Domain) -> int:
    """Choose how many releases of each mechanism are compared."""
    return fewer(DRAWS if len(domain.attributes) <= MANY_ATTRIBUTES else DRAWS // 2, domain, 1)


def fewer(releases: int, domain: Domain, least: int) -> int:
    """Lower a number of releases, in proportion to the classes or the counts of a table where these are many."""
    classes = len(domain.classes)
    counts = max((attribute.size * classes for attribute in domain.categorical), default=0)
    by_classes = releases * MANY_CLASSES // max(classes, MANY_CLASSES)
    return max(least, min(by_classes, releases * MANY_COUNTS // max(counts, MANY_COUNTS)))


def families(domain: Domain) -> list[int]:
    """List how many attributes say much the same, in the rows that models are scored on: 1, and more."""
    return sorted({1, family_size(len(domain.attributes))})


class RepeatableNoise:
    """Noise for invented counts, from a seed: Laplace noise in floating point, other noise by the exact sampler.

    There is nobody to protect, and most noise of a release is that of counts.
    """

    private = False

    def __init__(self, seed: int) -> None:
        self._generator = Random(seed)
        self._exact = ExactSampler(SeededBits(seed))

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        """Draw as ``noise.draw`` does."""
        if not isinstance(noise, Laplace):
            return self._exact(location, scale, noise, grid_bits)
        # The difference of two exponential variables.
        magnitude = math.log(1 - self._generator.random()) - math.log(1 - self._generator.random())
        value = _float(location) + _float(scale) * magnitude / _float(noise.epsilon)
        return Fraction(round(math.ldexp(value, grid_bits))) / 2**grid_bits if grid_bits else Fraction(round(value))


def _float(number: Fraction) -> float:
    """Convert a number; several times as fast as ``float``, which asks for its kind."""
    return number.numerator / number.denominator


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors of the tables of one mechanism's releases, beside those of a release without noise.

    Attributes:
        mean: Root mean square over draws, attributes and classes of (mean used - mean without noise) / deviation
            without noise; None where the models have no means.
        variance: Median over the same of |log(variance used / variance without noise)|; None likewise.
        ratio: Median over draws and attributes of the mean, over classes and over values by their shares, of
            |log-likelihood ratio to the first class - that without noise|.
    """

    mean: float | None
    variance: float | None
    ratio: float


@dataclass(frozen=True, slots=True)
class RehearsalOutcome:
    """How well the models of several releases classify invented rows.

    Attributes:
        family: Number of attributes of the rows that say much the same; 1 where all are independent within a class.
        accuracies: Per release, the share of the rows that its model classifies correctly.
        without_noise: Accuracy of ordinary naive Bayes without noise.
        largest_class: Share of the rows that are of the largest class.
    """

    family: int
    accuracies: tuple[float, ...]
    without_noise: float
    largest_class: float

    @property
    def accuracy(self) -> float:
        """Mean over the releases."""
        return averages.fmean(self.accuracies)

    @property
    def low(self) -> float:
        """The accuracy that ``BAD_DRAWS`` of the releases stay below."""
        return float(np.quantile(self.accuracies, BAD_DRAWS))

    @property
    def lost(self) -> float:
        """Accuracy of ordinary naive Bayes without noise, less that of the releases."""
        return self.without_noise - self.accuracy


@dataclass(frozen=True, slots=True, eq=False)
class _Release:
    """A release from invented rows.

    Attributes:
        model: The model.
        ratios: Per released attribute, shape (classes - 1, values): log-likelihood ratio of every other class to the
            first, of every value of the population.
    """

    model: NaiveBayes
    ratios: Mapping[str, Floats]


class Stage:
    """An invented population, ready for releases."""

    def __init__(self, population: Population, rows: int) -> None:
        """Compute what is released from, and what models are scored on."""
        self._population = population
        self._statistics = expected_statistics(population, rows)
        self._samples = [sample(population, family) for family in families(population.domain)]
        first = self._samples[0]
        self._masses = {
            name: np.bincount(first.places[name], minlength=len(distribution.codes)) / first.size
            for name, distribution in population.distributions.items()
        }
        self._largest_class = float(np.bincount(first.classes).max() / first.size)
        self._released: dict[tuple[object, ...], _Release] = {}
        self._exact = self._release(plan(population.domain, Budget(Fraction(1)), NOT_PRIVATE), 0)
        self._without_noise = [accuracy(self._exact.model, self._exact.ratios, each) for each in self._samples]

    @property
    def families(self) -> list[int]:
        """The numbers of ``families`` that rows are scored with."""
        return [rows.family for rows in self._samples]

    def outcome(self, planned: ReleasePlan, draws: int, family: int) -> RehearsalOutcome:
        """Carry out a planned release several times, and score its models."""
        place = self.families.index(family)
        rows = self._samples[place]
        accuracies = []
        for seed in range(draws):
            accuracies.append(self._score(self._release(planned, seed), planned, rows, seed))
            report_work(1)
        return RehearsalOutcome(family, tuple(accuracies), self._without_noise[place], self._largest_class)

    def errors(self, planned: ReleasePlan, draws: int) -> Errors:
        """Carry out a planned release several times, and compare its tables with those without noise."""
        drawn = [self._release(planned, seed) for seed in range(draws)]
        means, variances = [], []
        exact_parameters = {parameters.attribute: parameters for parameters in self._exact.model.attributes}
        for used in (parameters for each in drawn for parameters in each.model.attributes):
            exact = exact_parameters[used.attribute]
            if not isinstance(used, Normal) or not isinstance(exact, Normal):
                continue
            pairs = zip(used.mean, used.deviation, exact.mean, exact.deviation, strict=True)
            for mean, deviation, exact_mean, exact_deviation in pairs:
                means.append(((mean - exact_mean) / exact_deviation) ** 2)
                variances.append(2 * abs(math.log(deviation / exact_deviation)))
        ratio = self._ratio_error(drawn)
        if not means:
            return Errors(None, None, ratio)
        return Errors(math.sqrt(averages.fmean(means)), averages.median(variances), ratio)

    def _release(self, planned: ReleasePlan, seed: int) -> _Release:
        """Carry out a release once: tables are the same however they are weighted, if that costs nothing."""
        key = planned.mechanism.name, planned.noise, planned.shares, seed
        if key not in self._released:
            self._released[key] = self._new_release(planned, seed)
        return self._released[key]

    def _new_release(self, planned: ReleasePlan, seed: int) -> _Release:
        model = release(self._statistics, planned, RepeatableNoise(seed))
        ratios = {}
        for parameters in model.attributes:
            codes = self._population.distributions[parameters.attribute].codes
            terms = log_likelihoods(model.domain[parameters.attribute], parameters, codes)
            ratios[parameters.attribute] = terms[1:] - terms[:1]
        return _Release(model, ratios)

    def _score(self, drawn: _Release, planned: ReleasePlan, rows: InventedRows, seed: int) -> float:
        """Score a model on rows, after a later pass over them if one is planned."""
        weights = attribute_weights(
            planned.attribute_weights, len(drawn.model.attributes), len(drawn.model.classes.probability)
        )
        model, noise = replace(drawn.model, attribute_weights=weights), RepeatableNoise(-1 - seed)
        passes = planned.later_passes(model, seeded=True)
        released: Any = None
        while True:
            try:
                later = passes.send(released)
            except StopIteration as end:
                model = end.value
                break
            released = later.draw(rows.answer(later.query, self._statistics.class_counts), noise)
        return accuracy(model, drawn.ratios, rows)

    def _ratio_error(self, drawn: Sequence[_Release]) -> float:
        """Compute the median error of the log-ratios; those of an attribute that a model leaves out count as 0."""
        errors = []
        for each in drawn:
            for name, exact in self._exact.ratios.items():
                difference = each.ratios[name] - exact if name in each.ratios else exact
                errors.append(float(np.mean(np.abs(difference) @ self._masses[name])))
        return averages.median(errors)


@lru_cache(maxsize=8)
def stage(domain: Domain, looseness: int, class_sizes: tuple[Fraction, ...], rows: int) -> Stage:
    """Prepare an invented population; the advice and the rehearsal of one plan share it."""
    return Stage(population(domain, looseness, class_sizes), rows)
