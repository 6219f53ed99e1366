"""``release(Statistics, ReleasePlan) -> NaiveBayes``: the trust boundary, the only code that sees both of its sides.

Where the plan has further passes, ``release_weights`` and ``release_round`` add what their counts and sums say: at
once, or, by ``release_given``, each in a release of its own, given a model that left a share for it.

All noise is drawn under it. Claim: under the budget's neighbouring relation the model is (epsilon,
delta)-differentially private, as the sum of the composition table says. Proof in docs/privacy.md, sections 2 to 6.

*Releases given a model.* Statistics that are there already cannot be asked what the tables that are drawn of them give.
So a release from statistics spends nothing on further passes: its model reserves their shares. Each of them is spent by
a release of its own, given the model of the last one, until none is left (docs/privacy.md, Lemma 2.8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import version

from dpnb_columnar.budget import Budget, Concentrated, Pure, Share, total
from dpnb_columnar.budget.composition import GRADIENT
from dpnb_columnar.counting.scores import GradientSums, LaterAnswer, LaterQuery, ScoreCounts
from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.domain import digest
from dpnb_columnar.errors import UsageError, option
from dpnb_columnar.mechanisms.attribute_weights import (
    CALIBRATED,
    LEARNED,
    MOST_LEARNED,
    TEMPERED,
    attribute_weights,
    bounded,
)
from dpnb_columnar.mechanisms.mechanism import CLASS_COUNTS, COUNTS, WEIGHTED_COUNTS, QueryContext, noisy_presence
from dpnb_columnar.mechanisms.release_plan import ReleasePlan, mechanism_named
from dpnb_columnar.mechanisms.score_calibration import CALIBRATION, calibrated_weights, scores_given
from dpnb_columnar.mechanisms.weight_rounds import WeightRounds, resume_rounds, start_rounds
from dpnb_columnar.model.guarantee import Guarantee
from dpnb_columnar.model.parameters import AttributeParameters, Histogram, NaiveBayes
from dpnb_columnar.noise import ExactSampler, Sampler, SystemBits
from dpnb_columnar.version import __version__


def without_further_passes(plan: ReleasePlan) -> ReleasePlan:
    """Leave the shares of further passes for other releases, each given the model of the last one (``plan_given``)."""
    reserved = tuple(share for share in plan.shares if share is plan.calibration or share in plan.rounds)
    if not reserved:
        return plan
    shares = tuple(share for share in plan.shares if share not in reserved)
    spent, budget = total(shares), plan.budget
    if not isinstance(spent, Concentrated):  # whose epsilon and delta follow from all releases' rho together
        budget = replace(budget, epsilon=spent.epsilon)
    return replace(plan, budget=budget, shares=shares, reserved=reserved)


def plan_given(model: NaiveBayes) -> ReleasePlan:
    """Plan the next release of a model whose tables were released: of its weights, for the next share that was left.

    Raises:
        UsageError: if the model left no share, or has no score that this share is for.
    """
    guarantee = model.guarantee
    relation, reserved = guarantee.neighbours, guarantee.reserved
    if not reserved or relation is None or not all(map(_is_of_weights, reserved)):
        raise UsageError(
            "given: this model left no part of its budget for attribute weights, or has spent it; release one from "
            f"statistics with {option('attribute-weights')} calibrated or learned"
        )
    share, *others = reserved
    method = _method(model)
    if share.query == CALIBRATION and (len(model.domain.classes) != 2 or not model.attributes):
        raise UsageError("given: only a model of two classes, with attributes, has a score to calibrate")
    if share.query != CALIBRATION and not _can_go_on(model, share, method):
        raise UsageError(
            f"given: this model's {share.query} does not follow from what it has released; restore its file as it was "
            "written"
        )
    # The noise is pure whatever it is accounted as.
    assert isinstance(share.row_cost, Pure)
    unit_rows = 1 if guarantee.unit is None else guarantee.unit.rows
    budget = Budget(share.row_cost.epsilon * relation.rows * unit_rows, relation, unit_rows=unit_rows)
    mechanism = mechanism_named(guarantee.mechanism)
    return ReleasePlan(model.domain, budget, mechanism, None, (share,), method, reserved=tuple(others), given=model)


def query_given(model: NaiveBayes) -> LaterQuery:
    """Return what the rows are asked next: the scores that a model gives them, or the sums of a round.

    Args:
        model: A model that ``plan_given`` accepts.
    """
    return scores_given(model) if model.guarantee.reserved[0].query == CALIBRATION else rounds_given(model).query


def rounds_given(model: NaiveBayes) -> WeightRounds:
    """Go on with the rounds of a model that ``plan_given`` accepts."""
    return resume_rounds(model, _method(model), _released_rounds(model))


def _is_of_weights(share: Share) -> bool:
    """Return whether a share is for a pass that releases attribute weights."""
    return (share.query == CALIBRATION or share.query.startswith(GRADIENT)) and isinstance(share.row_cost, Pure)


def _method(model: NaiveBayes) -> str:
    """Name the weights that the last pass gives; rounds of two classes learn a weight of each attribute."""
    rounds = any(share.query.startswith(GRADIENT) for share in model.guarantee.reserved)
    return LEARNED if rounds and len(model.domain.classes) == 2 else CALIBRATED


def _released_rounds(model: NaiveBayes) -> list[Share]:
    return [share for share in model.guarantee.composition if share.query.startswith(GRADIENT)]


def _can_go_on(model: NaiveBayes, share: Share, method: str) -> bool:
    """Return whether a share is for as many weights as there are, and the model names those of all rounds before."""
    size = len(model.attributes)
    values = (size if method == LEARNED else 1) + len(model.domain.classes) - 1
    released = _released_rounds(model)
    asked = () if model.attribute_weights is None else model.attribute_weights.asked
    possible = size > 0 and (method != LEARNED or size <= MOST_LEARNED) and len(model.domain.classes) >= 2
    pure = all(isinstance(each.row_cost, Pure) for each in released)
    return possible and pure and share.values == values and len(asked) == len(released)


LIBRARIES = ("numpy", "python-flint")
"""Packages that compute or draw released values; their versions are noted in the model beside the program's own."""


def release(statistics: Statistics, plan: ReleasePlan, draw: Sampler | None = None) -> NaiveBayes:
    """Release a model.

    Args:
        statistics: Exact counts. Confidential.
        plan: The queries, their noise and what each may spend.
        draw: Sampler of all noise; None for exact draws from the operating system's generator, the only ones that give
            a guarantee.

    Raises:
        ValueError: if the statistics were counted in another domain than the planned one.
    """
    if statistics.domain != plan.domain and digest(statistics.domain) != digest(plan.domain):
        raise ValueError(f"the statistics were counted in another domain than {plan.domain.name!r}, which is planned")
    draw = ExactSampler(SystemBits()) if draw is None else draw
    shares = {(share.query, share.attribute): share for share in plan.shares}
    classes = plan.mechanism.classes(statistics, shares[CLASS_COUNTS, None], draw)
    weighted = None
    if statistics.domain.weight is not None:
        weighted = plan.mechanism.weighted_classes(statistics, shares[WEIGHTED_COUNTS, None], draw)
    presence = noisy_presence(statistics, plan.shares, draw)
    context = QueryContext(statistics.only(plan.released), classes.released, presence, shares, draw)
    attributes = plan.mechanism.attributes(context)
    if plan.attribute_weights is not None:
        attributes = [bounded(parameters, len(classes.released)) for parameters in attributes]
    guarantee = plan.guarantee(_with_placed_bins(plan.shares, attributes), seeded=not draw.private)
    # From the number of released attributes alone, a public fact. Until a second release, whoever scores by this model
    # has the best weights that are free.
    free = plan.reserved and plan.mechanism.binned and len(statistics.domain.classes) == 2
    method = TEMPERED if free else plan.attribute_weights
    weights = attribute_weights(method, len(attributes), len(statistics.domain.classes))
    if plan.public is not None:
        weights = plan.public.attribute_weights
    return NaiveBayes(statistics.domain, guarantee, classes, tuple(attributes), dict(software()), weights, weighted)


def release_weights(
    model: NaiveBayes, counts: ScoreCounts, plan: ReleasePlan, draw: Sampler | None = None
) -> NaiveBayes:
    """Release the weights of a model that was planned with a second pass.

    Args:
        model: What ``release`` made of the first pass. Public.
        counts: Exact counts of the second. Confidential.
        plan: The plan of both.
        draw: Sampler of all noise, as for ``release``.

    Raises:
        ValueError: if the plan has no second pass, or if other scores were counted than the model gives.
    """
    if plan.calibration is None:
        raise ValueError("the release was planned without a second pass")
    draw = ExactSampler(SystemBits()) if draw is None else draw
    return replace(model, attribute_weights=calibrated_weights(model, counts, plan.calibration, draw))


def release_given(plan: ReleasePlan, statistics: LaterAnswer, draw: Sampler | None = None) -> NaiveBayes:
    """Release the weights that a plan of ``plan_given`` asks for: of a calibration, or of one round.

    Args:
        plan: The plan, with the model that it continues.
        statistics: Exact counts or sums of what this model gives (``query_given``). Confidential.
        draw: Sampler of all noise, as for ``release``.

    Returns:
        The model with these weights. Where shares are left it names what the next round needs of the ones before.

    Raises:
        ValueError: if the plan continues no model, or if something else was counted than the model gives.
    """
    model, (share, *_) = plan.given, plan.shares
    if model is None:
        raise ValueError("the release was planned for no model that it continues")
    draw = ExactSampler(SystemBits()) if draw is None else draw
    guarantee = _continued(model.guarantee, share, plan.reserved, seeded=not draw.private)
    if isinstance(statistics, ScoreCounts):
        weights = calibrated_weights(model, statistics, share, draw)
    else:
        rounds = rounds_given(model)
        weights, before = release_round(rounds, statistics, share, draw).weights, rounds.weights
        if plan.reserved:
            asked = () if model.attribute_weights is None else model.attribute_weights.asked
            weights = replace(weights, asked=(*asked, (before.weights, before.intercepts)))
    return replace(model, attribute_weights=weights, guarantee=guarantee)


def _continued(guarantee: Guarantee, share: Share, reserved: tuple[Share, ...], *, seeded: bool) -> Guarantee:
    """State what a model and the weights that were released given it promise together."""
    guarantee = replace(guarantee, understated=None)  # the new document states what is true
    composition = (*guarantee.composition, share)
    spent, seeded = total(composition), seeded or guarantee.seeded
    if isinstance(spent, Concentrated):  # the epsilon and delta that were stated follow from all rhos together
        return replace(guarantee, rho=spent.rho, composition=composition, seeded=seeded, reserved=reserved)
    return replace(guarantee, epsilon=spent.epsilon, composition=composition, seeded=seeded, reserved=reserved)


def first_round(model: NaiveBayes, plan: ReleasePlan) -> WeightRounds:
    """Start the rounds that a plan has, from what was released before. Public.

    Raises:
        ValueError: if the release was planned without rounds.
    """
    if not plan.rounds or plan.attribute_weights is None:
        raise ValueError("the release was planned without rounds")
    return start_rounds(model, plan.attribute_weights)


def release_round(weights: WeightRounds, sums: GradientSums, share: Share, draw: Sampler | None = None) -> WeightRounds:
    """Release the gradient of a round, and step.

    Args:
        weights: What was released before. Public.
        sums: Exact sums of its query. Confidential.
        share: The round's share of the budget.
        draw: Sampler of all noise, as for ``release``.

    Raises:
        ValueError: if another query was summed up than the one that was released.
    """
    return weights.after(sums, share, ExactSampler(SystemBits()) if draw is None else draw)


def _with_placed_bins(shares: Sequence[Share], attributes: Sequence[AttributeParameters]) -> tuple[Share, ...]:
    """Correct the composition table to the number of bins there are: a plan knows only the most there may be."""
    bins = {each.attribute: sum(map(len, each.released)) for each in attributes if isinstance(each, Histogram)}
    return tuple(
        replace(share, values=bins[share.attribute]) if share.query == COUNTS and share.attribute in bins else share
        for share in shares
    )


@cache
def software() -> dict[str, str]:
    """Return the versions of the program and of what computes or draws released values.

    Cached: looking them up takes longer than a small release.
    """
    return {"dpnb-columnar": __version__, **{name: version(name) for name in LIBRARIES}}
