"""``expect(plan, rows)``: how well the models of a planned release would classify invented rows, and what would help.

No public fact says how attributes depend on each other, how unequal classes are (unless that is declared) or how
tightly bounds are declared. So these are rehearsed, families of attributes under all circumstances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpnb_columnar.advice.population import RARE, USUAL, one_large_class
from dpnb_columnar.advice.rehearsal import RehearsalOutcome, draws_to_compare, families, fewer, stage
from dpnb_columnar.core.budget import Budget
from dpnb_columnar.core.code_limits import LARGEST_SIZE
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import UsageError
from dpnb_columnar.mechanisms import OWN
from dpnb_columnar.model.mechanism_rules import CALIBRATED, TEMPERED
from dpnb_columnar.releases.attribute_weights import NONE
from dpnb_columnar.releases.model_plan import ReleasePlan
from dpnb_columnar.releases.plan import plan
from dpnb_columnar.runtime.row_progress import report_work, track_work

WIDE = 10
"""How many times too wide bounds are where they are not tight."""

RELEASES = 20
FEWEST_RELEASES = 8
MANY_ATTRIBUTES = 40
"""Releases of a plan in each scenario; of more attributes than this fewer, in proportion, so that nobody waits."""

MANY_CLASSES = 20
"""Of more classes than this, ``expected_below`` rehearses nothing."""

LEAST_RELEASES = 2
"""Releases of a plan of very many classes."""

BELOW = 0.002
"""A model is called worse than always predicting the largest class if it is less accurate by more than this."""

MORE_EPSILON = 10
"""How many times the epsilon is tried where nothing else helps."""

_ADVISED = {name: each for name, each in OWN.items() if each.preference is not None and each.attributes}

CANDIDATES = tuple(sorted(_ADVISED, key=lambda name: bool(_ADVISED[name].placing)))
"""Mechanisms that are advised, last those that pay for where bins lie; the others are there to compare with."""

METHODS = (NONE, TEMPERED, CALIBRATED)


@dataclass(frozen=True, slots=True)
class Scenario:
    """Circumstances that no public fact decides.

    Attributes:
        looseness: How many times too wide the bounds are, 1 for tight ones.
        class_sizes: Per class, its size in proportion to the others'.
    """

    looseness: int
    class_sizes: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class Expectation:
    """What is expected of a planned release.

    Attributes:
        scenario: The circumstances.
        outcome: What the models of its releases score.
    """

    scenario: Scenario
    outcome: RehearsalOutcome

    @property
    def worse(self) -> bool:
        """Whether the models are expected to be worse than always predicting the largest class."""
        return is_worse(self.outcome)


@dataclass(frozen=True, slots=True)
class Remedy:
    """Another release that is no worse than always predicting the largest class.

    Attributes:
        mechanism: Its mechanism.
        weights: How it weights attributes.
        epsilon: Its epsilon.
        accuracy: Its expected accuracy.
    """

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
    few_classes = max(FEWEST_RELEASES, RELEASES * MANY_ATTRIBUTES // max(attributes, MANY_ATTRIBUTES))
    return fewer(few_classes, domain, LEAST_RELEASES)


def expect(planned: ReleasePlan, rows: int, class_sizes: tuple[Fraction, ...] | None = None) -> tuple[Expectation, ...]:
    """Rehearse a planned release in every scenario, from fixed seeds: with independent attributes in the first alone.

    Args:
        rows: Public number of rows.
    """
    domain, rows = planned.domain, min(rows, LARGEST_SIZE)
    found, draws = [], releases(domain)
    for scenario, family in rehearsals(domain, class_sizes):
        prepared = stage(domain, scenario.looseness, scenario.class_sizes, rows)
        found.append(Expectation(scenario, prepared.outcome(planned, draws, family)))
    return tuple(found)


def rehearsals(domain: Domain, class_sizes: tuple[Fraction, ...] | None) -> list[tuple[Scenario, int]]:
    """List the scenarios that ``expect`` rehearses, each with the families of its attributes."""
    scenarios = usual_scenarios(domain, class_sizes)
    if class_sizes is None:
        scenarios.append(Scenario(1, one_large_class(len(domain.classes), RARE)))
    most = families(domain)[-1]
    return [(scenarios[0], family) for family in families(domain)[:-1]] + [(each, most) for each in scenarios]


def expected_below(planned: ReleasePlan, rows: int) -> Expectation | None:
    """Rehearse a planned release that no calibration guards; None where it is not expected below the largest class.

    A calibrated model predicts the largest class where its counts show no other one to be right more often, so there
    is nothing to rehearse. Of many attributes or classes a rehearsal takes longer than a release, and is left to
    ``plan``.

    Args:
        rows: Declared number of rows. Public.
    """
    domain = planned.domain
    many = len(domain.attributes) > MANY_ATTRIBUTES or len(domain.classes) > MANY_CLASSES
    if not planned.mechanism.private or planned.calibration is not None or planned.public is not None or many:
        return None
    found = []
    for scenario, family in rehearsals(domain, None)[-2:]:
        prepared = stage(domain, scenario.looseness, scenario.class_sizes, min(rows, LARGEST_SIZE))
        found.append(Expectation(scenario, prepared.outcome(planned, draws_to_compare(domain), family)))
    return worst(found)


def worst(expectations: Sequence[Expectation]) -> Expectation | None:
    """Find the scenario in which models are furthest below the largest class; None if they are nowhere below it."""
    return min(
        (each for each in expectations if each.worse),
        key=lambda each: each.outcome.accuracy - each.outcome.largest_class,
        default=None,
    )


def remedies(planned: ReleasePlan, expected: Expectation, rows: int, automatic: str | None = None) -> list[Remedy]:
    """Find what would help where a planned release is worse than always predicting the largest class.

    Args:
        rows: Public number of rows.
    """
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
    where, family, found = expected.scenario, expected.outcome.family, []
    for mechanism, weights, noise, budget in choices:
        try:
            planned = plan(domain, budget, mechanism, noise, weights)
        except UsageError:  # the weights do not suit the mechanism, or the budget is too small
            report_work(draws_to_compare(domain))
            continue
        prepared = stage(domain, where.looseness, where.class_sizes, min(rows, LARGEST_SIZE))
        outcome = prepared.outcome(planned, draws_to_compare(domain), family)
        if not is_worse(outcome):
            found.append(Remedy(mechanism, weights, budget.epsilon, outcome.accuracy))
    return max(found, key=lambda remedy: remedy.accuracy, default=None)


def is_worse(outcome: RehearsalOutcome) -> bool:
    """Return whether models are expected to be worse than always predicting the largest class."""
    return outcome.accuracy < outcome.largest_class - BELOW
