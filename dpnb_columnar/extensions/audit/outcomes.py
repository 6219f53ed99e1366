"""Audited configurations, findings, and measurements per configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

from dpnb_columnar.core.budget import Approximate, Budget, Neighbours, Pure
from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES, smooth_family
from dpnb_columnar.core.queries.statistics import assemble
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.groupings import divisions_of
from dpnb_columnar.errors import UsageError
from dpnb_columnar.extensions.audit.recording import Answers
from dpnb_columnar.mechanisms import OWN, MechanismRecord
from dpnb_columnar.model.mechanism_rules import CALIBRATED, LEARNED
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.releases.attribute_weights import NONE
from dpnb_columnar.releases.model_plan import release
from dpnb_columnar.releases.plan import known_record, plan
from dpnb_columnar.releases.score_plan import SCORES, plan_scores
from dpnb_columnar.training import Plan

EPSILON = Fraction(4)
"""Large enough for a few hundred releases to show some of it."""

DELTA = Fraction(1, 10**6)

GAUSSIAN, CONCENTRATED = "gaussian", "arsinh-normal"
"""Families that every kind of attribute weights is audited with: one spends a delta, one a rho. How costs compose
depends on their kind alone, so one family of each shows it."""

WEIGHTS = {
    ("histogram", None): (CALIBRATED, LEARNED),
    ("smooth", GAUSSIAN): (CALIBRATED, LEARNED),
    ("smooth", CONCENTRATED): (CALIBRATED, LEARNED),
}
"""Attribute weights, beside none, that a mechanism is audited with under a noise. Later passes are the same whatever
the first has released. ``calibrated`` is audited with three classes as well, and ``learned`` with copies."""


UNIT_ROWS: dict[tuple[str, str | None, str], tuple[int | None, ...]] = {
    ("smooth", NOISE_FAMILIES[0], NONE): (2,),
    ("histogram", None, NONE): (1, 2),
    ("histogram", None, CALIBRATED): (2,),
    ("histogram", None, LEARNED): (2,),
}
"""Rows of a unit that count, by mechanism, noise and attribute weights of what is audited with units: pure noise alone,
since no other is for units, and that of rows, so that one family shows how it is divided."""


WEIGHTED: dict[tuple[str, str | None, str], tuple[int | None, ...]] = {
    ("histogram", None, NONE): (None, 2),
    ("histogram", None, CALIBRATED): (None,),
    ("histogram", None, LEARNED): (None, 2),
    ("smooth", GAUSSIAN, NONE): (None,),
    ("smooth", GAUSSIAN, LEARNED): (None,),
    ("smooth", CONCENTRATED, NONE): (None,),
    ("smooth", CONCENTRATED, LEARNED): (None,),
}
"""Likewise of what is audited with weights of rows; None for rows without units. The query for the sums is the same in
every mechanism."""


GROUPED = ("category", "number:copy 1=p")
"""Divisions into groups that scores are audited with: by a declared attribute, and by another one crossed with a column
that the domain of two classes does not declare."""

GROUPED_IN_THREE = ("category", "number:copy 1")
"""The same divisions of rows of three classes, whose domain declares that column."""

SCORED: tuple[tuple[int, tuple[str, ...], int | None, bool], ...] = (
    (2, (), None, False),
    (2, GROUPED, None, False),
    (2, GROUPED, 1, False),
    (2, (), None, True),
    (2, GROUPED, 1, True),
    (3, (), None, False),
    (3, GROUPED_IN_THREE, None, False),
)
"""Released scores that are audited: number of classes, divisions, rows of a unit, and whether rows have a weight."""


SCORED_SEED = 582
"""Seed of the released numbers of the model whose scores are audited: in every audited domain it predicts two classes,
and some rows with a probability of nearly 0 or 1, so that one of them moves a sum of probabilities by all it may."""


@cache
def scored_model(domain: Domain) -> NaiveBayes:
    """Release a model of no rows under forced answers: its scores are attacked as those of any fixed model."""
    sizes = tuple(10**place for place in range(len(domain.classes)))
    planned = plan(domain, Budget(EPSILON), "histogram", None, NONE)
    return release(assemble(domain, []), planned, Answers(sizes, SCORED_SEED))


@dataclass(frozen=True, slots=True)
class Configuration:
    """A way to plan a release, whatever the domain: of a model, or of the scores of a fixed one."""

    mechanism: str
    noise: str | None
    budget: Budget
    attribute_weights: str = NONE
    unit_rows: int | None = None
    """The most rows of a unit that count, where databases are of units; None where they are of rows."""
    weighted: bool = False
    """Whether rows have a weight, of which the prior and released scores are made."""
    classes: int = 2
    """Number of classes; three in rows of copies of an attribute."""
    copies: bool = False
    """Whether rows of two classes have copies of an attribute, so that a gradient scales them down."""
    by: tuple[str, ...] = ()
    """Divisions into groups, where scores are released."""

    @property
    def few(self) -> bool:
        """Whether databases are of few rows that count by unit or by weight, and draws are those of other rows."""
        return self.weighted or self.unit_rows is not None

    def plan(self, domain: Domain) -> Plan:
        """Plan the release in a domain."""
        if self.mechanism == SCORES:
            return plan_scores(scored_model(domain), self.budget, divisions=divisions_of(self.by or None, domain))
        return plan(domain, self.budget, self.mechanism, self.noise, self.attribute_weights)

    def __str__(self) -> str:
        weights = None if self.attribute_weights == NONE else f"{self.attribute_weights} weights"
        units = None if self.unit_rows is None else f"units of {self.unit_rows}"
        weighted = None if not self.weighted else "weighted" if self.mechanism == SCORES else "weighted prior"
        classes = None if self.classes == 2 else f"{self.classes} classes"
        copies = "copies of an attribute" if self.copies else None
        groups = f"groups of {' and '.join(self.by)}" if self.by else None
        relation = str(self.budget.neighbours)
        named = [self.mechanism, self.noise, weights, relation, units, weighted, classes, copies, groups]
        return ", ".join(filter(None, named))


def _noises(record: MechanismRecord) -> tuple[str | None, ...]:
    """Choose the noise families that a mechanism is audited with.

    All of them are tried with the sampler and the searches by ``smooth``; the others that take a family are audited
    with their default, and ``paper`` also with a family that gives its class counts other noise.
    """
    if not record.smooth:
        return (None,)
    return NOISE_FAMILIES if "all" in record.audited else (record.mechanism.default_noise, *record.audited)


def configurations(mechanisms: Sequence[str] = ()) -> list[Configuration]:
    """List every configuration of some mechanisms; of all private ones, and of released scores, where none is named."""
    chosen = {name: known_record(name) for name in mechanisms if name != SCORES}
    for name, record in chosen.items():
        if not record.private:
            raise UsageError(f"mechanism: {name!r} promises no privacy, so there is nothing to audit")
    of_rows = [
        Configuration(name, noise, Budget(EPSILON, neighbours, delta=_delta(noise)), weights)
        for name, record in (chosen if mechanisms else OWN).items()
        if record.private
        for weights in (NONE, CALIBRATED, LEARNED)
        for noise in _noises(record)
        for neighbours in Neighbours
        if weights == NONE or weights in WEIGHTS.get((name, noise), ())
    ]
    of_units = [
        replace(each, unit_rows=rows, weighted=weighted)
        for weighted, audited in ((False, UNIT_ROWS), (True, WEIGHTED))
        for each in of_rows
        for rows in audited.get((each.mechanism, each.noise, each.attribute_weights), ())
    ]
    of_classes = [replace(each, classes=3) for each in of_rows if each.attribute_weights == CALIBRATED]
    # Under noise with a delta gradients are pure, as under pure noise.
    learned = [each for each in of_rows if each.attribute_weights == LEARNED and each.noise != GAUSSIAN]
    of_copies = [replace(each, copies=True) for each in learned]
    of_scores = [
        Configuration(SCORES, None, Budget(EPSILON, neighbours), NONE, rows, weighted, classes=classes, by=by)
        for classes, by, rows, weighted in SCORED
        for neighbours in Neighbours
        if not mechanisms or SCORES in mechanisms
    ]
    return of_rows + of_units + of_classes + of_copies + of_scores


def _delta(noise: str | None) -> Fraction:
    """Return the delta that a noise family needs."""
    return Fraction(0) if noise is None or smooth_family(noise).kind is Pure else DELTA


@dataclass(frozen=True, slots=True)
class Finding:
    """A promise that does not hold.

    Attributes:
        check: Name of the check that failed.
        pair: The neighbours, or other circumstances, under which it failed.
        seen: The observation.
    """

    check: str
    pair: str
    seen: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """Measurements of one configuration.

    Attributes:
        configuration: The attacked configuration.
        claim: The guarantee that its releases state, exactly.
        loss: Largest epsilon of any pair of neighbours, from exact distributions.
        number_bound: Lower confidence bound on epsilon from single released numbers; 0 where they show nothing.
        model_bound: Likewise from whole releases.
        pairs: Pairs of neighbours whose distributions were compared exactly.
        releases: Releases to count outcomes.
        findings: Promises that do not hold.
    """

    configuration: Configuration
    claim: Approximate
    loss: float
    number_bound: float
    model_bound: float
    pairs: int
    releases: int
    findings: tuple[Finding, ...]

    def broken(self, *checks: str) -> bool:
        """Tell whether one of some checks failed."""
        return any(finding.check in checks for finding in self.findings)


@dataclass(frozen=True, slots=True)
class Audit:
    """Measurements of a whole audit.

    Attributes:
        findings: Faults between rows and statistics.
        outcomes: Per configuration.
        confidence: Probability that all bounds and tests hold together, where the code is correct.
    """

    findings: tuple[Finding, ...]
    outcomes: tuple[Outcome, ...]
    confidence: float

    @property
    def holds(self) -> bool:
        """Whether every check passed."""
        return not self.findings and not any(outcome.findings for outcome in self.outcomes)
