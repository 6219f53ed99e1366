"""Audited configurations, their recorded releases (samplers that note each draw), findings and measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, lru_cache
from random import Random
from typing import Any

from dpnb_columnar.core import measurement
from dpnb_columnar.core.budget import Approximate, Budget, Neighbours, Pure
from dpnb_columnar.core.mechanisms.smooth import MOMENTS
from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES, smooth_family
from dpnb_columnar.core.noise import ExactSampler, NoiseFamily, Sampler, SystemBits
from dpnb_columnar.core.queries.statistics import assemble
from dpnb_columnar.core.sensitivity import RunLengthColumns, end_to_end
from dpnb_columnar.counting.countable import Rows
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.groupings import divisions_of
from dpnb_columnar.errors import UsageError
from dpnb_columnar.evaluation.evaluation import ScoreValues
from dpnb_columnar.mechanisms import OWN, MechanismRecord
from dpnb_columnar.model.parameters import CALIBRATED, LEARNED, Histogram, NaiveBayes, Normal, Presence, Table
from dpnb_columnar.releases.attribute_weights import NONE
from dpnb_columnar.releases.model_plan import release
from dpnb_columnar.releases.plan import known_record, plan
from dpnb_columnar.releases.score_plan import SCORES, plan_scores
from dpnb_columnar.training import Plan, Release, carry_out

COUNTS = (-40, -2, 0, 1, 3, 8, 60, 1000)
"""Forced answers to counts."""

LARGEST = 100_000
"""Number of remembered results at which all are forgotten."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """One call of the sampler: the arguments of ``location + scale * Z``, and the answer."""

    location: Fraction
    scale: Fraction
    noise: NoiseFamily
    grid_bits: int
    answer: Fraction


@dataclass(frozen=True, slots=True)
class Answers:
    """A sampler whose answers are forced: each depends on its place in the order of draws, and on nothing else."""

    sizes: Sequence[int]  # answers to the first draws: class counts, then numbers of values where they are released
    seed: int
    period: int | None = None  # draws after which other answers recur, so that tables of copies agree
    draws: list[Drawn] = field(default_factory=list)
    private: bool = True

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        place = len(self.draws)
        answer = Fraction(self.sizes[place] if place < len(self.sizes) else self._number(place, grid_bits))
        self.draws.append(Drawn(location, scale, noise, grid_bits, answer))
        return answer

    def _number(self, place: int, grid_bits: int) -> Fraction:
        if self.period is not None:
            place = len(self.sizes) + (place - len(self.sizes)) % self.period
        return _forced(self.seed * 1000 + place, grid_bits)


@lru_cache(maxsize=LARGEST)
def _forced(seed: int, grid_bits: int) -> Fraction:
    """Make up the answer to a count or, where it has bits after the point, to a moment: the same in all releases."""
    random = Random(seed)
    if not grid_bits:
        return Fraction(random.choice(COUNTS))
    return Fraction(random.randrange(-1, 10) * random.getrandbits(random.choice((16, 20, 36))), 2**grid_bits)


@dataclass(frozen=True, slots=True)
class RecordingSampler:
    """A sampler that draws as releases do by default, from the system's random bits, and notes each draw."""

    draws: list[Drawn] = field(default_factory=list)
    sampler: Sampler = field(default_factory=lambda: ExactSampler(SystemBits()))

    @property
    def private(self) -> bool:
        """Whether the sampler's noise protects."""
        return self.sampler.private

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        answer = self.sampler(location, scale, noise, grid_bits)
        self.draws.append(Drawn(location, scale, noise, grid_bits, answer))
        return answer


@dataclass(frozen=True, slots=True)
class Record:
    """One release: its draws, and the model or the scores, or the kind of exception that it ended with."""

    draws: tuple[Drawn, ...]
    release: Release | None
    failure: str = ""


def record(plan: Plan, rows: Rows, sampler: Answers | RecordingSampler | None) -> Record:
    """Carry out a release and record it. An exception is an outcome as well: whoever sees it, learns from it."""
    release, failure = None, ""
    try:
        release = carry_out(plan, rows, draw=sampler)
    except Exception as error:
        failure = type(error).__name__
    return Record(() if sampler is None else tuple(sampler.draws), release, failure)


def numbers(release: NaiveBayes | ScoreValues) -> dict[str, float]:
    """Name every released number and every parameter computed from them: all that the receiver of a release sees."""
    return dict(_scores(release) if isinstance(release, ScoreValues) else _numbers(release))


def is_drawn(name: str) -> bool:
    """Tell from a number's name whether it was drawn, rather than computed from drawn ones."""
    return not name.endswith("*")


def _numbers(model: NaiveBayes) -> Iterator[tuple[str, float]]:
    yield from _listed("count of class", model.class_counts)
    yield from _listed("prior of class", model.classes.probability, " *")
    if (weighted := model.weighted_classes) is not None:
        yield from _listed("sum of weights of class", model.weighted_counts)
        yield from _listed("weighted prior of class", weighted.probability, " *")
    if model.attribute_weights is not None:
        yield from _listed("intercept of class", model.intercepts, " *")
        if (line := model.attribute_weights.line) is not None:
            yield "evidence of the line *", line.evidence
            for part in ("margins", "log_odds", "others"):
                yield from _listed(f"{part} of the line, point", getattr(line, part), " *")
    for parameters, weight in zip(model.attributes, model.weights, strict=True):
        name = parameters.attribute
        if model.attribute_weights is not None:
            yield f"weight of {name} *", weight
        if not isinstance(parameters, Table) and parameters.presence is not None:
            yield from _cells(f"presence of {name}", model.counts(measurement.PRESENCE, name), parameters.presence)
        if isinstance(parameters, Normal):
            for query, attribute in model.measured:
                if attribute == name and query != measurement.PRESENCE:
                    yield from _listed(f"released {query} of {name}, class", model.measured[query, name].column)
            for part in ("mean", "deviation"):
                yield from _listed(f"{part} of {name}, class", getattr(parameters, part), " *")
            continue
        yield from _cells(name, model.counts(measurement.COUNTS, name), parameters)


def _scores(scores: ScoreValues) -> Iterator[tuple[str, float]]:
    """Name the counts of scores, and those and the sums of each group; the figures follow from them."""
    for klass, counts in enumerate(scores.counts):
        yield from _listed(f"count in class {klass} of bin", counts)
    for division in scores.groups:
        columns = ":".join(division.columns)
        for group, by_class in enumerate(division.counts):
            for klass, predicted in enumerate(by_class):
                yield from _listed(f"count of {columns} {group}, class {klass} predicted as", predicted)
        yield from _listed(f"sum of probabilities of {columns}", division.expected or ())


def _cells(
    name: str, released: Sequence[Sequence[int]], cells: Table | Histogram | Presence
) -> Iterator[tuple[str, float]]:
    for klass, (counts, shares) in enumerate(zip(released, cells.probability, strict=True)):
        yield from _listed(f"count of {name}, class {klass}, cell", counts)
        yield from _listed(f"probability of {name}, class {klass}, cell", shares, " *")


def _listed(name: str, numbers: Sequence[float], ending: str = "") -> Iterator[tuple[str, float]]:
    return ((f"{name} {place}{ending}", number) for place, number in enumerate(numbers))


@contextmanager
def remembered_searches() -> Iterator[None]:
    """Let releases in this block look up moments and sensitivities of columns that recur thousands of times."""
    original = dict(MOMENTS)
    MOMENTS.update(
        {
            query: replace(moment, statistics=_Remembered(moment.statistics), search=_Remembered(moment.search))
            for query, moment in original.items()
        }
    )
    try:
        yield
    finally:
        MOMENTS.update(original)


class _Remembered:
    """A function of columns and public numbers of each that remembers its results by column."""

    def __init__(self, function: Callable[..., list[Any]]) -> None:
        self._function = function
        self._results: dict[tuple[Any, ...], Any] = {}

    def __call__(self, columns: RunLengthColumns, *public: Any) -> list[Any]:
        numbers = zip(columns.cells.tolist(), *(array.tolist() for array in public), strict=True)
        each = [columns[place] for place in range(len(columns))]
        keys = [
            (column.codes.tobytes(), column.counts.tobytes(), *key) for column, key in zip(each, numbers, strict=True)
        ]
        if len(self._results) + len(keys) > LARGEST:
            self._results.clear()
        new = [place for place, key in enumerate(keys) if key not in self._results]
        if new:
            asked = end_to_end([each[place] for place in new], columns.cells[new].tolist())
            results = self._function(asked, *(array[new] for array in public))
            self._results.update(zip((keys[place] for place in new), results, strict=True))
        return [self._results[key] for key in keys]


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
    """Choose the noise families that a mechanism is audited with: all with ``smooth``, else the default and a few."""
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
        Configuration(name, noise, Budget(EPSILON, neighbours, delta=Fraction(0) if pure else DELTA), weights)
        for name, record in (chosen if mechanisms else OWN).items()
        if record.private
        for weights in (NONE, CALIBRATED, LEARNED)
        for noise in _noises(record)
        for pure in [noise is None or smooth_family(noise).kind is Pure]
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


@dataclass(frozen=True, slots=True)
class Finding:
    """A promise that does not hold."""

    check: str
    pair: str
    seen: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """Measurements of one configuration: the largest epsilon of any pair, and lower confidence bounds on epsilon."""

    configuration: Configuration
    claim: Approximate
    loss: float
    number_bound: float
    model_bound: float
    bit_patterns: bool | None  # whether all are public; None for units and weights, whose draws are those of other rows
    pairs: int
    releases: int
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Audit:
    """Measurements of a whole audit."""

    findings: tuple[Finding, ...]
    outcomes: tuple[Outcome, ...]
    confidence: float

    @property
    def holds(self) -> bool:
        return not self.findings and not any(outcome.findings for outcome in self.outcomes)
