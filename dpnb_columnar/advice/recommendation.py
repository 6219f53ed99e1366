"""``advise(domain, budget, rows) -> Advice``: what each mechanism would lose, and which one to choose."""

from __future__ import annotations

import statistics as averages
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from dpnb_columnar.advice.expectation import CANDIDATES, METHODS, is_worse, usual_scenarios
from dpnb_columnar.advice.rehearsal import Errors, RehearsalOutcome, draws_to_compare, stage
from dpnb_columnar.core.budget import Budget
from dpnb_columnar.core.code_limits import LARGEST_SIZE
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import UsageError, option
from dpnb_columnar.mechanisms import OWN
from dpnb_columnar.model.mechanism_rules import CALIBRATED, LEARNED, TEMPERED
from dpnb_columnar.releases.attribute_weights import AUTO, NONE, resolved_method
from dpnb_columnar.releases.automatic_choice import resolved_mechanism
from dpnb_columnar.releases.model_plan import ReleasePlan
from dpnb_columnar.releases.plan import by_unit, mechanism_named, plan
from dpnb_columnar.runtime.row_progress import report_work

MAJORITY = "majority"
"""The floor."""

PREFERRED_WEIGHTS = (CALIBRATED, LEARNED, TEMPERED, NONE)
"""Chosen first among what is as good: the weights first, then the mechanism (``MechanismRecord.preference``). Those
whose noise follows smooth sensitivity come first, since they bear loose bounds."""

TIE = 0.003
"""Accuracies that are no further apart are as good."""


@dataclass(frozen=True, slots=True)
class Prospect:
    """One mechanism with one way to weight attributes.

    Attributes:
        mechanism: Its name.
        weights: Name of the way.
        errors: Errors of its tables, on tight bounds and, if there are numeric attributes, on wide ones.
        outcomes: What its models score, likewise.
    """

    mechanism: str
    weights: str
    errors: tuple[Errors, ...]
    outcomes: tuple[RehearsalOutcome, ...]

    @property
    def accuracy(self) -> float:
        """Accuracy, averaged over tight and wide bounds."""
        return averages.fmean(outcome.accuracy for outcome in self.outcomes)

    @property
    def lost(self) -> float:
        """Accuracy lost against ordinary naive Bayes without noise, averaged likewise."""
        return averages.fmean(outcome.lost for outcome in self.outcomes)

    @property
    def worse(self) -> bool:
        """Whether its models are expected to be worse than always predicting the largest class, on any bounds."""
        return any(map(is_worse, self.outcomes))


@dataclass(frozen=True, slots=True)
class Automatic:
    """What ``auto`` takes.

    Attributes:
        mechanism: Name of the mechanism.
        weights: Name of the way to weight attributes.
    """

    mechanism: str
    weights: str


def what_auto_takes(domain: Domain, budget: Budget, rows: int | None, noise: str | None = None) -> Automatic:
    """Resolve the mechanism, and the attribute weights for it, that ``auto`` takes.

    Args:
        rows: Declared number of rows; None if there is none. Public.
    """
    epsilon = by_unit(budget, domain).row_epsilon
    name = resolved_mechanism(AUTO, domain, epsilon, rows, noise).name
    method = resolved_method(AUTO, mechanism_named(name), domain, epsilon, rows, repeatable=True)
    return Automatic(name, method or NONE)


@dataclass(frozen=True, slots=True)
class Advice:
    """What a rehearsal says.

    Attributes:
        rows: Rows of the invented populations.
        prospects: Every candidate that the budget suffices for, with its default noise.
        automatic: The mechanism that ``auto`` takes, with the attribute weights that it takes for it.
    """

    rows: int
    prospects: tuple[Prospect, ...]
    automatic: Automatic

    @property
    def best(self) -> Prospect:
        """What to choose: what ``auto`` takes, unless it is expected to be worse than the largest class.

        Then its weights, and then the mechanism as well, are the preferred ones of those that are as good as the best.
        """
        own = [prospect for prospect in self.prospects if prospect.mechanism == self.automatic.mechanism]
        default = [prospect for prospect in own if prospect.weights == self.automatic.weights]
        for prospects in (default, own):
            if prospects and not (chosen := _preferred(prospects)).worse:
                return chosen
        return _preferred([prospect for prospect in self.prospects if not prospect.worse] or self.prospects)

    @property
    def ranked(self) -> tuple[Prospect, ...]:
        """Each mechanism with the weights that suit it best: the recommended one, then from the best to the worst."""
        losses = sorted(self.prospects, key=lambda prospect: prospect.lost)
        found = {self.best.mechanism: self.best}
        for prospect in losses:
            found.setdefault(prospect.mechanism, prospect)
        return tuple(found.values())

    @property
    def recommended(self) -> str:
        """Name of the mechanism to choose."""
        return self.best.mechanism

    @property
    def recommended_weights(self) -> str:
        """Name of the way to weight attributes to choose with it."""
        return self.best.weights


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
    """Rehearse the candidates on invented rows whose attributes come in families.

    The same arguments give the same advice. It spends nothing, and holds for the invented rows: no real
    row is read. It is cached: plans of several mechanisms need the same.

    Args:
        budget: What the release may spend. Its delta is left aside: every mechanism draws its default noise, which
            needs none.
        rows: Public number of rows.
    """
    automatic = automatic or what_auto_takes(domain, budget, rows)
    pure, rows = replace(budget, delta=Fraction(0)), min(rows, LARGEST_SIZE)
    stages = [stage(domain, each.looseness, each.class_sizes, rows) for each in usual_scenarios(domain, class_sizes)]
    family, prospects = stages[0].families[-1], []
    draws = draws_to_compare(domain)
    for mechanism, weights in _choices(automatic):
        planned = _plan(domain, pure, mechanism, weights)
        if planned is None:
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


def _plan(domain: Domain, budget: Budget, mechanism: str, weights: str) -> ReleasePlan | None:
    """Plan a release; None where the budget is too small for it, or the weights do not suit it."""
    try:
        return plan(domain, budget, mechanism, attribute_weights=weights)
    except UsageError:
        return None
