"""Plan a release before rows are read: ``plan(Domain, Budget)``, and ``plan_given(NaiveBayes)`` of weights after it.

Everything that is decided about a release is decided and checked here.

How large a planned model's document may become: a bound from public facts, before anything is charged or drawn.

Which mechanism ``auto``, the default, takes: by public facts alone, before a row is read.

Among mechanisms that are about as accurate it prefers those whose noise follows smooth sensitivity: loose bounds are
what a curator who may not look at the rows can honestly declare, and there noise for the declared range hides the most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from dpnb_columnar.core.budget import (
    Budget,
    Concentrated,
    Division,
    PrivacyCost,
    Pure,
    Share,
    SharesRule,
    compose,
    total,
)
from dpnb_columnar.core.budget.composition import GRADIENT, Request
from dpnb_columnar.core.budget.costs import cost_parameters
from dpnb_columnar.core.measurement import (
    CALIBRATION,
    CLASS_COUNTS,
    COUNTS,
    EXACT,
    LARGEST_COUNT,
    PRESENCE,
    WEIGHTED_COUNTS,
    Measurement,
)
from dpnb_columnar.core.mechanisms.bins import AMOUNTS
from dpnb_columnar.core.mechanisms.histogram import AdaptiveHistogram, BinCounts
from dpnb_columnar.core.mechanisms.mechanism import Mechanism, weighted_counts_request
from dpnb_columnar.core.mechanisms.smooth import MOMENTS
from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES, smooth_family, smooth_noise
from dpnb_columnar.core.sensitivity.search import SMALLEST_BETA
from dpnb_columnar.domain import Categorical, Domain, Missing, Numeric, Transform
from dpnb_columnar.domain.names import exact_number, named
from dpnb_columnar.errors import ConfigurationError, UsageError, option
from dpnb_columnar.mechanisms import MechanismRecord, mechanism_names, record_named
from dpnb_columnar.model.document import (
    LARGEST_MODEL_FILE,
    MOST_CONTAINERS,
    MOST_PARAMETERS,
    to_document,
    to_json,
)
from dpnb_columnar.model.parameters import (
    CALIBRATED,
    CALIBRATION_RANGES,
    LEARNED,
    MOST_MARGINS,
    PUBLIC,
    AttributeParameters,
    AttributeWeights,
    CalibrationLine,
    Histogram,
    NaiveBayes,
    Normal,
    Presence,
    Priors,
    Table,
)
from dpnb_columnar.model.score_calibration import PART, calibration_request
from dpnb_columnar.model.weight_rounds import LEARNING, round_requests
from dpnb_columnar.releases.attribute_weights import (
    AUTO,
    MOST_LEARNED,
    NONE,
    PublicWeights,
    divide_by_size,
    resolved_method,
    sized_attribute,
)
from dpnb_columnar.releases.model_plan import ReleasePlan

LEAST_PLACED = 30_000
"""Least number of rows times epsilon, for each attribute, to spend a part of its share on where its bins are.
With as many, ``adaptive-histogram`` was within .003 of the best mechanism on every table, with bounds as they are and
ten and a hundred times too wide; with fewer, up to .015 below ``histogram`` (docs/journal/accuracy.md)."""


class MechanismChoice(NamedTuple):
    """A mechanism, and why ``auto`` took it, as the rest of a sentence after "since"; None where it was named."""

    name: str
    reason: str | None = None


def resolved_mechanism(
    mechanism: str, domain: Domain, epsilon: Fraction, rows: int | None, noise: str | None
) -> MechanismChoice:
    """Return the mechanism that was named, or the one that ``auto`` takes.

    Every mechanism that ``auto`` may take releases attributes. Where a noise family is named, it is one that draws it,
    so that a delta is spent by what needs it.
    """
    if mechanism != AUTO:
        return MechanismChoice(mechanism)
    if not domain.numeric:
        reason = "no attribute is numeric, so that mechanisms release the same counts"
    elif any(map(_is_fine, domain.numeric)):
        reason = "bins of fractional numbers are placed by a released mean and variance"
    elif noise is not None:
        reason = "its bins are placed with noise of the family that is named"
    elif rows is not None and rows * epsilon >= LEAST_PLACED * len(domain.attributes):
        reason = "rows are many enough to place bins by a released mean and variance, whatever bounds are declared"
    else:
        few = "no number of rows is declared"
        if rows is not None:
            few = "rows are few for this epsilon and so many attributes"
        return MechanismChoice(BinCounts.name, f"{few}: all of the budget counts declared bins")
    return MechanismChoice(AdaptiveHistogram.name, reason)


def _is_fine(attribute: Numeric) -> bool:
    """Tell whether equal bins over the declared range may all be empty but one, if its bounds are loose.

    Ranges of few whole units are a codebook's, and those of many have bins that grow from zero.
    """
    return attribute.transform is Transform.IDENTITY and attribute.step < 1 and attribute.cells > AMOUNTS


LONGEST_FLOAT = -2.2250738585072014e-308
"""Of all floats in their shortest exact form none is longer than this one: sign, 17 digits and a point, exponent."""

SEPARATOR = len(", ")
FLOAT = len(repr(LONGEST_FLOAT)) + SEPARATOR
COUNT = len(str(-LARGEST_COUNT)) + SEPARATOR
EDGE = len(str(2**33)) + SEPARATOR
"""Characters of a number in a list: a float, a released count, and an edge between bins, a code of the widest scale."""

ROW = len(" " * 10 + "[],\n")
"""Characters of a list within a list but for its numbers; none is indented further."""

LISTED = len("\n" + "\n" + " " * 8)
"""Characters by which a list of lists is longer than these, and an empty one's brackets."""

SLACK = 2**12
"""Characters of what a plan does not know to the letter: the versions of three packages; and where weights are released
later, sums of shares in place of the budget (three numbers of at most 601 characters) and another heading."""


@dataclass(frozen=True, slots=True)
class ModelSize:
    """Upper bounds of a model's JSON bytes, objects and lists (brackets in names as well), and Parquet rows."""

    bytes: int
    containers: int
    parameters: int


def check_size(plan: ReleasePlan) -> None:
    """Refuse a plan whose model no program might read again, before it is charged."""
    size = largest_model(plan)
    limits = {
        f"{size.parameters} parameters": (size.parameters, MOST_PARAMETERS),
        f"{size.containers} lists": (size.containers, MOST_CONTAINERS),
        f"{size.bytes} bytes": (size.bytes, LARGEST_MODEL_FILE),
    }
    for found, (number, most) in limits.items():
        if number > most:
            largest, cells = max(_cells(plan), key=lambda each: each[1], default=("its label", 1))
            raise ConfigurationError(
                f"domain {plan.domain.name!r}: a model of it may have {found}, and a model file has at most {most}: "
                f"{len(plan.domain.classes)} classes, times {cells} cells of {largest}; merge categories with groups, "
                "leave attributes out, or declare fewer classes"
            )


def largest_model(plan: ReleasePlan) -> ModelSize:
    """Bound the size of a planned model.

    The document is written with everything that the plan decides: domain, guarantee, names and keys. Its other lists
    are empty, and hold, in the model, numbers alone; so the document is longer by

    * ``FLOAT`` for every float, and ``COUNT`` for every count: counts are cut off at ``LARGEST_COUNT``, and what
      separates the last number of a list is not there;
    * per list within a list ``ROW``, and per list of these ``LISTED``: each is on a line of its own, while a list of
      numbers is on one line.

    A histogram has at most the bins that its share pays for, so at most one more edge. Names may be of any alphabet,
    and are measured in bytes; numbers are ASCII. Each cell of a table or histogram, and each class of a moment, is one
    parameter.
    """
    attributes, measured = list(_skeletons(plan)), list(_measured(plan))
    classes, skeleton = len(plan.domain.classes), _skeleton(plan, attributes, measured)
    text = to_json(to_document(skeleton))
    longer = sum(_characters(part, cells, classes) for part, cells in attributes)
    longer += sum(_table_characters(columns, rows, width) for _, rows, columns, width in measured)
    lists = sum(classes * (isinstance(part, Table | Histogram) + _is_counted(part)) for part, _ in attributes)
    lists += sum(rows for _, rows, *_ in measured)
    cells = sum(cells + 2 * _is_counted(part) for part, cells in attributes)
    priors = classes * (1 if plan.domain.weight is None else 2)
    return ModelSize(
        bytes=len(text.encode()) + longer + SLACK,
        containers=text.count("[") + text.count("{") + lists,
        parameters=priors + classes * cells + _parameters_of_weights(plan, skeleton),
    )


def _cells(plan: ReleasePlan) -> Iterator[tuple[str, int]]:
    """Yield the attributes that a model has parameters of, and the most cells that each has in a class.

    A moment is two cells: the mean and the deviation.
    """
    paid = {share.attribute: share.values for share in plan.shares if share.query == COUNTS}
    asked = {share.attribute for share in plan.shares}
    for attribute in plan.released.attributes:
        if plan.mechanism.private and attribute.name not in asked:
            continue  # majority: an attribute without a query has no parameters
        if isinstance(attribute, Categorical):
            yield attribute.name, attribute.size
        else:
            yield attribute.name, paid.get(attribute.name, 2 * len(plan.domain.classes)) // len(plan.domain.classes)


def _skeletons(plan: ReleasePlan) -> Iterator[tuple[AttributeParameters, int]]:
    """Yield the parameters of each attribute without their numbers, and how many cells they are of in a class."""
    declared = {attribute.name: attribute for attribute in plan.released.attributes}
    for name, cells in _cells(plan):
        attribute = declared[name]
        if isinstance(attribute, Categorical):
            yield Table(name, ()), cells
            continue
        presence = Presence(()) if attribute.missing in (Missing.SKIP, Missing.CATEGORY) else None
        if plan.mechanism.binned:
            yield Histogram(name, (), (), presence), cells
        else:
            yield Normal(name, (), (), presence, LONGEST_FLOAT), cells


Skeleton: TypeAlias = tuple[Measurement, int, int, int]
"""A measurement without its numbers, its rows of numbers, the most in each, and the most characters of one."""


def _measured(plan: ReleasePlan) -> Iterator[Skeleton]:
    """Yield what is measured."""
    classes, cells = len(plan.domain.classes), dict(_cells(plan))
    if not plan.mechanism.private:
        yield _unmeasured(CLASS_COUNTS, None, None, classes, 1)
        if plan.domain.weight is not None:
            yield _unmeasured(WEIGHTED_COUNTS, None, None, classes, 1)
        for attribute in plan.released.attributes:
            if isinstance(attribute, Categorical):
                yield _unmeasured(COUNTS, attribute.name, None, classes, cells[attribute.name])
            else:
                yield _unmeasured(PRESENCE, attribute.name, None, classes, 2)
                for query in plan.record.moments:
                    yield _unmeasured(query, attribute.name, None, classes, 1)
    for share in plan.shares:
        if share.query == CALIBRATION:
            rows = CALIBRATION_RANGES
        elif share.query.startswith(GRADIENT) or share.values == 1:
            rows = share.values
        elif not plan.mechanism.private:
            continue
        else:
            rows = classes
        yield _unmeasured(share.query, share.attribute, share, rows, share.values // rows)


def _unmeasured(query: str, attribute: str | None, share: Share | None, rows: int, columns: int) -> Skeleton:
    """Return a measurement without its numbers, its scales as long as they may be."""
    noise, scale = (EXACT, None) if share is None else (share.noise, (LONGEST_FLOAT,) * rows)
    width = COUNT if query in (CLASS_COUNTS, WEIGHTED_COUNTS, COUNTS, PRESENCE, CALIBRATION) else FLOAT
    return Measurement(query, attribute, (), noise, scale, share), rows, columns, width


def _skeleton(
    plan: ReleasePlan, attributes: list[tuple[AttributeParameters, int]], measured: list[Skeleton]
) -> NaiveBayes:
    """Make a model of what a plan decides, with the longest numbers per class and none per attribute."""
    classes, names = len(plan.domain.classes), len(attributes)
    priors = Priors((LONGEST_FLOAT,) * classes)
    weights = None if plan.public is None else plan.public.attribute_weights
    if plan.attribute_weights is not None and weights is None:
        fitted = (LONGEST_FLOAT,) * names, (LONGEST_FLOAT,) * classes
        weights = AttributeWeights(plan.attribute_weights, *fitted, line=_line(plan))
    return NaiveBayes(
        domain=plan.domain,
        guarantee=plan.guarantee(plan.shares, seeded=False),
        measurements=tuple(each for each, *_ in measured),
        classes=priors,
        attributes=tuple(part for part, _ in attributes),
        software={},
        attribute_weights=weights,
        weighted_classes=None if plan.domain.weight is None else priors,
    )


def _parameters_of_weights(plan: ReleasePlan, skeleton: NaiveBayes) -> int:
    """Count the parameters of attribute weights: of classes, of attributes, and of the points of a line."""
    if plan.attribute_weights is None:
        return 0
    line = None if skeleton.attribute_weights is None else skeleton.attribute_weights.line
    points = 0 if line is None else len(line.margins) + len(line.log_odds) + len(line.others) + bool(line.others)
    return len(plan.domain.classes) + len(skeleton.attributes) + points


def _line(plan: ReleasePlan) -> CalibrationLine | None:
    """Make the longest line that weights fitted to the rows may have."""
    if plan.attribute_weights not in (CALIBRATED, LEARNED):
        return None
    points, names = (LONGEST_FLOAT,) * MOST_MARGINS, plan.domain.classes
    longest = max(range(len(names)), key=lambda place: len(to_json({"class": names[place]}).encode()))
    return CalibrationLine(longest, points, points, points if len(names) > 2 else (), LONGEST_FLOAT)


def _characters(part: AttributeParameters, cells: int, classes: int) -> int:
    """Bound the characters that the numbers of an attribute add to its empty lists."""
    presence = _table_characters(2, classes) if _is_counted(part) else 0
    if isinstance(part, Normal):
        return presence + 2 * classes * FLOAT
    return presence + _table_characters(cells, classes) + (cells + 1) * EDGE * isinstance(part, Histogram)


def _table_characters(cells: int, rows: int, width: int = FLOAT) -> int:
    """Bound the characters of rows of numbers."""
    return rows * (cells * width + ROW) + LISTED


def _is_counted(part: AttributeParameters) -> bool:
    """Return whether the rows that have a value are counted."""
    return not isinstance(part, Table) and part.presence is not None


def plan(
    domain: Domain,
    budget: Budget,
    mechanism: str = AUTO,
    noise: str | None = None,
    attribute_weights: str | PublicWeights = NONE,
    rows: int | None = None,
    *,
    repeatable: bool = True,
) -> ReleasePlan:
    """Plan a release: choose the mechanism and its noise, and divide the budget among the queries."""
    budget = by_unit(budget, domain)
    choice = resolved_mechanism(mechanism, domain, budget.row_epsilon, rows, noise)
    chosen = mechanism_named(choice.name, AUTO)
    public = attribute_weights if isinstance(attribute_weights, PublicWeights) else None
    weights, best = (
        PUBLIC
        if isinstance(attribute_weights, PublicWeights)
        else resolved_method(attribute_weights, chosen, domain, budget.row_epsilon, rows, repeatable=again)
        for again in (repeatable, True)
    )
    family = noise_named(chosen, noise)
    rule = budget.division or (chosen.shares_rule if public is None else SharesRule.BY_SIZE)
    if public is not None:
        if rule is not SharesRule.BY_SIZE:
            raise UsageError(
                f"shares: the public file divides the budget among the attributes; leave {option('shares')} out"
            )
        domain = public.counted(domain)
    released = domain if public is None else public.released(domain)
    requests = chosen.requests(released, rule if isinstance(rule, Division) else chosen.division, family)
    by_size = rule is SharesRule.BY_SIZE and any(map(sized_attribute, requests))
    if by_size:
        requests = divide_by_size(requests, released, None if public is None else public.shares_by)
    if domain.weight is not None:
        requests.insert(1, weighted_counts_request(domain, requests[0]))
    requests += later_requests(domain, weights, requests)
    needs_delta = {request.kind for request in requests} != {Pure}
    if domain.unit is not None and (needs_delta or budget.delta):
        raise UsageError(
            f"unit {named(domain.unit.columns)}: a guarantee for whole units is of pure noise alone, without a delta; "
            f"leave {option('delta')} out, and choose {option('noise')} polyplace or student-3"
        )
    if needs_delta and not budget.delta:
        raise UsageError(f"noise: {family} spends a delta, and none is given; give {option('delta')}, such as 1e-6")
    if budget.delta and not needs_delta:
        spends_none = f"noise {family}" if chosen.smooth else f"mechanism {chosen.name}"
        able = ", ".join(name for name in NOISE_FAMILIES if smooth_family(name).kind is not Pure)
        raise UsageError(
            f"delta: {spends_none} spends none; leave {option('delta')} out, or choose mechanism smooth with noise "
            f"{able}"
        )
    shares = compose(requests, budget)
    _check_digits(shares)
    if chosen.smooth:
        _check_smoothness(shares)
    planned = ReleasePlan(
        domain,
        budget,
        chosen,
        family if chosen.smooth else None,
        shares,
        weights,
        public,
        by_size=by_size,
        automatic=attribute_weights == AUTO,
        uncalibrated=best != weights,
        mechanism_reason=choice.reason,
    )
    check_size(planned)
    return planned


def by_unit(budget: Budget, domain: Domain) -> Budget:
    """Return a budget as one for the unit of a domain: as it is where the domain declares none."""
    return budget if domain.unit is None else replace(budget, unit_rows=domain.unit.rows)


def reserve_later_pass(plan: ReleasePlan) -> ReleasePlan:
    """Leave the share of a calibration for another release, given the model of this one (``plan_given``)."""
    reserved = plan.calibration
    if reserved is None:
        return plan
    shares = tuple(share for share in plan.shares if share is not reserved)
    spent, budget = total(shares), plan.budget
    if not isinstance(spent, Concentrated):  # whose epsilon and delta follow from both releases' rho together
        budget = replace(budget, epsilon=spent.epsilon)
    return replace(plan, budget=budget, shares=shares, reserved=reserved)


def plan_given(model: NaiveBayes) -> ReleasePlan:
    """Plan the second release of a model whose tables were released: of its weights, for the share that was left."""
    guarantee = model.guarantee
    relation, share = guarantee.neighbours, guarantee.reserved
    # The noise is pure whatever it is accounted as.
    if share is None or relation is None or share.query != CALIBRATION or not isinstance(share.row_cost, Pure):
        raise UsageError(
            "given: this model left no part of its budget for attribute weights, or has spent it; release one from "
            f"statistics with {option('attribute-weights', 'calibrated')}"
        )
    if len(model.domain.classes) < 2 or not model.attributes:
        raise UsageError("given: only a model of two classes or more, with attributes, has a margin to calibrate")
    unit_rows = 1 if guarantee.unit is None else guarantee.unit.rows
    budget = Budget(share.row_cost.epsilon * relation.rows * unit_rows, relation, unit_rows=unit_rows)
    mechanism = mechanism_named(guarantee.mechanism)
    return ReleasePlan(model.domain, budget, mechanism, None, (share,), CALIBRATED, given=model)


def mechanism_named(name: str, *others: str) -> Mechanism:
    """Look up what asks and draws of a mechanism."""
    mechanism: Mechanism = known_record(name, *others).mechanism
    return mechanism


def known_record(name: str, *others: str) -> MechanismRecord:
    """Look up a mechanism; an error names those that are known, and others."""
    if (record := record_named(name)) is None:
        raise UsageError(f"mechanism: no {name!r}; known mechanisms: {', '.join((*others, *mechanism_names()))}")
    return record


def noise_named(mechanism: Mechanism, name: str | None) -> str:
    """Name the noise family of a mechanism: the one chosen, or its default."""
    if name is not None and not mechanism.smooth:
        raise UsageError(f"noise: mechanism {mechanism.name!r} takes no noise family; leave {option('noise')} out")
    return smooth_family(mechanism.default_noise if name is None else name).name


def _check_digits(shares: Sequence[Share]) -> None:
    """Refuse shares of more digits than a model file holds."""
    try:
        for share in shares:
            for loss in (share.cost, share.row_cost):
                for number in cost_parameters(loss).values():
                    exact_number(number)
    except ValueError:
        raise UsageError(
            "epsilon: a share has more digits than a model file holds; give epsilon, delta and shares fewer digits"
        ) from None


def _check_smoothness(shares: Sequence[Share]) -> None:
    """Refuse shares so small that the searches for smooth sensitivity could not tell their beta from 0."""
    moments = [share for share in shares if share.query in MOMENTS]
    if moments and min(map(_beta, moments)) < SMALLEST_BETA:
        raise UsageError(
            f"epsilon is too small for {len(shares)} queries: the smallest share is "
            f"{min(float(_size(share.cost)) for share in moments):.2g}; raise {option('epsilon')}, declare fewer "
            f"attributes, or choose other {option('shares')}"
        )


def _beta(share: Share) -> Fraction:
    """Calibrate a share's noise, and return the smoothness that it allows for."""
    try:
        return smooth_noise(share.noise, share.row_cost).beta
    except ValueError as error:
        raise UsageError(f"noise: {error}; lower {option('epsilon')}, or choose other noise") from None


def _size(loss: PrivacyCost) -> Fraction:
    return loss.rho if isinstance(loss, Concentrated) else loss.epsilon


def later_requests(domain: Domain, method: str | None, others: Sequence[Request]) -> list[Request]:
    """Make the queries of later passes, with weights that give them their part of the budget."""
    if method not in (CALIBRATED, LEARNED):
        return []
    if all(request.attribute is None for request in others):
        raise UsageError(
            f"attribute weights: {method} is for mechanisms that release attributes with noise; choose another one, "
            f"such as {option('mechanism', 'histogram')}, or leave {option('attribute-weights')} out"
        )
    first = sum((request.weight for request in others), Fraction(0))
    if method == LEARNED:
        if len(domain.attributes) > MOST_LEARNED:
            raise UsageError(
                f"attribute weights: learned is for at most {MOST_LEARNED} attributes, and the domain declares "
                f"{len(domain.attributes)}; choose calibrated"
            )
        whole = first / (1 - LEARNING - PART)
        return [*round_requests(domain, whole * LEARNING), calibration_request(domain, whole * PART)]
    return [calibration_request(domain, first / (1 - PART) * PART)]
