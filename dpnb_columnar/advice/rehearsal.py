"""Releases from an invented population: the errors of their tables, and how well their models classify its rows.

No public fact says how attributes depend on each other, how unequal classes are (unless that is declared) or how
tightly bounds are declared. So these are rehearsed.
"""

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
    RARE,
    USUAL,
    InventedRows,
    Population,
    accuracy,
    expected_statistics,
    family_size,
    one_large_class,
    population,
    sample,
)
from dpnb_columnar.core.budget import Budget
from dpnb_columnar.core.code_limits import LARGEST_SIZE
from dpnb_columnar.core.noise import ExactSampler, Laplace, NoiseFamily, SeededBits
from dpnb_columnar.domain import Attribute, Domain, Numeric
from dpnb_columnar.domain.attributes import scale_codes
from dpnb_columnar.errors import UsageError, option
from dpnb_columnar.mechanisms import OWN
from dpnb_columnar.model.likelihood import cell_terms, normal_terms
from dpnb_columnar.model.parameters import (
    CALIBRATED,
    LEARNED,
    TEMPERED,
    AttributeParameters,
    Histogram,
    NaiveBayes,
    Normal,
    Table,
)
from dpnb_columnar.releases.attribute_weights import AUTO, NONE, attribute_weights, resolved_method
from dpnb_columnar.releases.model_plan import ReleasePlan, release
from dpnb_columnar.releases.plan import by_unit, mechanism_named, plan, resolved_mechanism
from dpnb_columnar.runtime.row_progress import report_work, track_work

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def log_likelihoods(attribute: Attribute, parameters: AttributeParameters, codes: Integers) -> Floats:
    """Compute the log-likelihood of every code within every class, up to a number common to all of them."""
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
    """Noise for invented counts, from a seed: Laplace noise in floating point, as there is nobody to protect."""

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
    """How well the models of several releases classify rows of which ``family`` attributes say much the same."""

    family: int
    accuracies: tuple[float, ...]
    without_noise: float
    largest_class: float

    @property
    def accuracy(self) -> float:
        return averages.fmean(self.accuracies)

    @property
    def low(self) -> float:
        """The accuracy that ``BAD_DRAWS`` of the releases stay below."""
        return float(np.quantile(self.accuracies, BAD_DRAWS))

    @property
    def lost(self) -> float:
        """Accuracy of ordinary naive Bayes without noise, less that of the releases."""
        return self.without_noise - self.accuracy

    @property
    def worse(self) -> bool:
        """Whether models are expected to be worse than always predicting the largest class."""
        return self.accuracy < self.largest_class - BELOW


@dataclass(frozen=True, slots=True, eq=False)
class _Release:
    """A release from invented rows; log-ratios to the first class are per attribute, shape (classes - 1, values)."""

    model: NaiveBayes
    ratios: Mapping[str, Floats]


class Stage:
    """An invented population, ready for releases."""

    def __init__(self, population: Population, rows: int) -> None:
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
        ratio_errors = []  # an attribute that a model leaves out has the log-ratio 0
        for each in drawn:
            for name, known in self._exact.ratios.items():
                difference = each.ratios[name] - known if name in each.ratios else known
                ratio_errors.append(float(np.mean(np.abs(difference) @ self._masses[name])))
        ratio = averages.median(ratio_errors)
        if not means:
            return Errors(None, None, ratio)
        return Errors(math.sqrt(averages.fmean(means)), averages.median(variances), ratio)

    def _release(self, planned: ReleasePlan, seed: int) -> _Release:
        """Carry out a release once: tables are the same however they are weighted, if that costs nothing."""
        key = planned.mechanism.name, planned.noise, planned.shares, seed
        if key in self._released:
            return self._released[key]
        model = release(self._statistics, planned, RepeatableNoise(seed))
        ratios = {}
        for parameters in model.attributes:
            codes = self._population.distributions[parameters.attribute].codes
            terms = log_likelihoods(model.domain[parameters.attribute], parameters, codes)
            ratios[parameters.attribute] = terms[1:] - terms[:1]
        self._released[key] = _Release(model, ratios)
        return self._released[key]

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


@lru_cache(maxsize=8)
def stage(domain: Domain, looseness: int, class_sizes: tuple[Fraction, ...], rows: int) -> Stage:
    """Prepare an invented population; the advice and the rehearsal of one plan share it."""
    return Stage(population(domain, looseness, class_sizes), rows)


WIDE = 10
"""How many times too wide bounds are where they are not tight."""

RELEASES = 20
FEWEST_RELEASES = 8
MOST_ATTRIBUTES = 40
"""Releases of a plan in each scenario; of more attributes than this fewer, in proportion, so that nobody waits."""

MOST_CLASSES = 20
"""Of more classes than this, ``expected_below`` rehearses nothing."""

LEAST_RELEASES = 2
"""Releases of a plan of very many classes."""

BELOW = 0.002
"""A model is called worse than always predicting the largest class if it is less accurate by more than this."""

MORE_EPSILON = 10
"""How many times the epsilon is tried where nothing else helps."""

_ADVISED = (name for name, record in OWN.items() if record.preference is not None and record.attributes)
CANDIDATES = tuple(sorted(_ADVISED, key=lambda name: bool(OWN[name].placing)))
"""Mechanisms that are advised; the others are there to compare with."""

METHODS = (NONE, TEMPERED, CALIBRATED)


@dataclass(frozen=True, slots=True)
class Scenario:
    """Circumstances that no public fact decides: how many times too wide bounds are, and proportions of classes."""

    looseness: int
    class_sizes: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class Expectation:
    """What is expected of a planned release."""

    scenario: Scenario
    outcome: RehearsalOutcome


@dataclass(frozen=True, slots=True)
class Remedy:
    """Another release that is no worse than always predicting the largest class."""

    mechanism: str
    weights: str
    epsilon: Fraction
    accuracy: float


def usual_scenarios(domain: Domain, class_sizes: tuple[Fraction, ...] | None) -> list[Scenario]:
    """List the scenarios with class sizes as declared or, where they are not, of 3:1."""
    sizes = class_sizes or one_large_class(len(domain.classes), USUAL)
    return [Scenario(looseness, sizes) for looseness in ((1, WIDE) if domain.numeric else (1,))]


def releases(domain: Domain) -> int:
    """Choose how many releases of a plan are rehearsed in each scenario."""
    attributes = len(domain.attributes)
    few_classes = max(FEWEST_RELEASES, RELEASES * MOST_ATTRIBUTES // max(attributes, MOST_ATTRIBUTES))
    return fewer(few_classes, domain, LEAST_RELEASES)


def _outcome(planned: ReleasePlan, scenario: Scenario, rows: int, draws: int, family: int) -> RehearsalOutcome:
    prepared = stage(planned.domain, scenario.looseness, scenario.class_sizes, min(rows, LARGEST_SIZE))
    return prepared.outcome(planned, draws, family)


def expect(planned: ReleasePlan, rows: int, class_sizes: tuple[Fraction, ...] | None = None) -> tuple[Expectation, ...]:
    """Rehearse a planned release in every scenario, from fixed seeds: independent attributes in the first alone."""
    draws = releases(planned.domain)
    return tuple(
        Expectation(scenario, _outcome(planned, scenario, rows, draws, family))
        for scenario, family in rehearsals(planned.domain, class_sizes)
    )


def rehearsals(domain: Domain, class_sizes: tuple[Fraction, ...] | None) -> list[tuple[Scenario, int]]:
    """List the scenarios that ``expect`` rehearses, each with the families of its attributes."""
    scenarios = usual_scenarios(domain, class_sizes)
    if class_sizes is None:
        scenarios.append(Scenario(1, one_large_class(len(domain.classes), RARE)))
    most = families(domain)[-1]
    return [(scenarios[0], family) for family in families(domain)[:-1]] + [(each, most) for each in scenarios]


def expected_below(planned: ReleasePlan, rows: int) -> Expectation | None:
    """Rehearse a planned release that no calibration guards; None where it is not expected below the largest class."""
    # A calibrated model predicts the largest class where its counts show no other one to be right more often. Of many
    # attributes or classes a rehearsal takes longer than a release, and is left to ``plan``.
    domain = planned.domain
    many = len(domain.attributes) > MOST_ATTRIBUTES or len(domain.classes) > MOST_CLASSES
    if not planned.mechanism.private or planned.calibration is not None or planned.public is not None or many:
        return None
    draws = draws_to_compare(domain)
    two = rehearsals(domain, None)[-2:]
    return worst([Expectation(each, _outcome(planned, each, rows, draws, family)) for each, family in two])


def worst(expectations: Sequence[Expectation]) -> Expectation | None:
    """Find the scenario in which models are furthest below the largest class; None if they are nowhere below it."""
    return min(
        (each for each in expectations if each.outcome.worse),
        key=lambda each: each.outcome.accuracy - each.outcome.largest_class,
        default=None,
    )


def remedies(planned: ReleasePlan, expected: Expectation, rows: int, automatic: str | None = None) -> list[Remedy]:
    """Find what would help where a planned release is worse than always predicting the largest class."""
    budget, planned_name = planned.budget, planned.mechanism.name
    own = [(planned_name, method, planned.noise, budget) for method in METHODS]
    pure = replace(budget, delta=Fraction(0))
    others = [(name, method, None, pure) for name in CANDIDATES if name != planned_name for method in METHODS]
    default = [choice for choice in others if choice[0] == automatic]
    others = [choice for choice in others if choice not in default]
    weights = planned.attribute_weights or NONE
    larger = replace(budget, epsilon=budget.epsilon * MORE_EPSILON)
    with track_work((len(own) + len(default) + len(others)) * draws_to_compare(planned.domain), "releases"):
        best_own, best_default = (_best(planned.domain, choices, expected, rows) for choices in (own, default))
        best_other = best_default or _best(planned.domain, others, expected, rows)
        found = [best for best in (best_own, best_other) if best is not None]
    if not found:
        choice = (planned.mechanism.name, weights, planned.noise, larger)
        found = [best for best in [_best(planned.domain, [choice], expected, rows)] if best is not None]
    return found


def _best(
    domain: Domain, choices: Sequence[tuple[str, str, str | None, Budget]], expected: Expectation, rows: int
) -> Remedy | None:
    """Rehearse choices of mechanism, weights, noise and budget in one scenario, and return the best if it helps."""
    draws, found = draws_to_compare(domain), []
    for mechanism, weights, noise, budget in choices:
        try:
            planned = plan(domain, budget, mechanism, noise, weights)
        except UsageError:  # the weights do not suit the mechanism, or the budget is too small
            report_work(draws)
            continue
        outcome = _outcome(planned, expected.scenario, rows, draws, expected.outcome.family)
        if not outcome.worse:
            found.append(Remedy(mechanism, weights, budget.epsilon, outcome.accuracy))
    return max(found, key=lambda remedy: remedy.accuracy, default=None)


MAJORITY = "majority"
"""The floor."""

PREFERRED_WEIGHTS = (CALIBRATED, LEARNED, TEMPERED, NONE)
"""Chosen first among what is as good: the weights first, then the mechanism (``MechanismRecord.preference``). Those
whose noise follows smooth sensitivity come first, since they bear loose bounds."""

TIE = 0.003
"""Accuracies that are no further apart are as good."""


@dataclass(frozen=True, slots=True)
class Prospect:
    """One mechanism with one way to weight attributes, on tight bounds and, if any are numeric, on wide ones."""

    mechanism: str
    weights: str
    errors: tuple[Errors, ...]
    outcomes: tuple[RehearsalOutcome, ...]

    @property
    def accuracy(self) -> float:
        return averages.fmean(outcome.accuracy for outcome in self.outcomes)

    @property
    def lost(self) -> float:
        """Accuracy lost against ordinary naive Bayes without noise, averaged likewise."""
        return averages.fmean(outcome.lost for outcome in self.outcomes)

    @property
    def worse(self) -> bool:
        """Whether its models are expected to be worse than always predicting the largest class, on any bounds."""
        return any(outcome.worse for outcome in self.outcomes)


@dataclass(frozen=True, slots=True)
class Automatic:
    """What ``auto`` takes."""

    mechanism: str
    weights: str


def what_auto_takes(domain: Domain, budget: Budget, rows: int | None, noise: str | None = None) -> Automatic:
    """Resolve the mechanism, and the attribute weights for it, that ``auto`` takes."""
    epsilon = by_unit(budget, domain).row_epsilon
    name = resolved_mechanism(AUTO, domain, epsilon, rows, noise).name
    method = resolved_method(AUTO, mechanism_named(name), domain, epsilon, rows, repeatable=True)
    return Automatic(name, method or NONE)


@dataclass(frozen=True, slots=True)
class Advice:
    """What a rehearsal says."""

    rows: int
    prospects: tuple[Prospect, ...]
    automatic: Automatic

    @property
    def best(self) -> Prospect:
        """What ``auto`` takes; if it is worse than the largest class other weights, else another mechanism as well."""
        own = [prospect for prospect in self.prospects if prospect.mechanism == self.automatic.mechanism]
        default = [prospect for prospect in own if prospect.weights == self.automatic.weights]
        for prospects in (default, own):
            if prospects and not (chosen := _preferred(prospects)).worse:
                return chosen
        return _preferred([prospect for prospect in self.prospects if not prospect.worse] or self.prospects)

    @property
    def recommended(self) -> str:
        """The mechanism to take."""
        return self.best.mechanism

    @property
    def ranked(self) -> tuple[Prospect, ...]:
        """Each mechanism with the weights that suit it best: the recommended one, then from the best to the worst."""
        losses = sorted(self.prospects, key=lambda prospect: prospect.lost)
        found = {self.best.mechanism: self.best}
        for prospect in losses:
            found.setdefault(prospect.mechanism, prospect)
        return tuple(found.values())


def _preferred(prospects: Sequence[Prospect]) -> Prospect:
    """Choose the preferred one of those that are as good as the one that loses least."""
    least = min(prospect.lost for prospect in prospects)
    return min(
        (prospect for prospect in prospects if prospect.lost <= least + TIE),
        key=lambda one: (PREFERRED_WEIGHTS.index(one.weights), OWN[one.mechanism].preference or 0),
    )


@lru_cache
def advise(
    domain: Domain,
    budget: Budget,
    rows: int,
    class_sizes: tuple[Fraction, ...] | None = None,
    automatic: Automatic | None = None,
) -> Advice:
    """Rehearse the candidates on invented rows in families; cached, as plans of several mechanisms need the same."""
    automatic = automatic or what_auto_takes(domain, budget, rows)
    pure, rows = replace(budget, delta=Fraction(0)), min(rows, LARGEST_SIZE)
    stages = [stage(domain, each.looseness, each.class_sizes, rows) for each in usual_scenarios(domain, class_sizes)]
    family, prospects = stages[0].families[-1], []
    draws = draws_to_compare(domain)
    for mechanism, weights in _choices(automatic):
        try:
            planned = plan(domain, pure, mechanism, attribute_weights=weights)
        except UsageError:  # the budget is too small for it, or the weights do not suit it
            report_work(draws * len(stages))
            continue
        if weights == NONE:
            errors = tuple(each.errors(planned, draws) for each in stages)
        outcomes = tuple(each.outcome(planned, draws, family) for each in stages)
        prospects.append(Prospect(mechanism, weights, errors, outcomes))
    if not prospects:
        raise UsageError(
            f"epsilon is too small for every mechanism; raise {option('epsilon')}, or declare fewer attributes"
        )
    return Advice(rows, tuple(prospects), automatic)


def _choices(automatic: Automatic) -> list[tuple[str, str]]:
    """List mechanisms and weights to rehearse: learned weights, which take the longest, only if ``auto`` takes them."""
    mechanisms = (*CANDIDATES, MAJORITY)
    own = {each: (automatic.weights,) if each == automatic.mechanism else () for each in mechanisms}
    return [(each, weights) for each in mechanisms for weights in dict.fromkeys((*METHODS, *own[each]))]


def releases_to_advise(domain: Domain, class_sizes: tuple[Fraction, ...] | None, automatic: Automatic) -> int:
    """Return how many releases ``advise`` rehearses at most."""
    return len(_choices(automatic)) * len(usual_scenarios(domain, class_sizes)) * draws_to_compare(domain)
