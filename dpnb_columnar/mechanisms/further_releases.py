"""Releases of attribute weights given a model, one for each further pass that a release from statistics has left.

Statistics that are there already cannot be asked what the tables that are drawn of them give. So a release from
statistics spends nothing on further passes: its model reserves their shares. Each of them is spent by a release of its
own, given the model of the last one, until none is left (docs/privacy.md, Lemma 2.8).
"""

from __future__ import annotations

from dataclasses import replace

from dpnb_columnar.budget import Budget, Concentrated, Pure, Share, total
from dpnb_columnar.budget.composition import GRADIENT
from dpnb_columnar.counting.gradients import FurtherQuery
from dpnb_columnar.errors import UsageError
from dpnb_columnar.mechanisms.attribute_weights import CALIBRATED, LEARNED, MOST_LEARNED
from dpnb_columnar.mechanisms.release_plan import ReleasePlan, mechanism_named
from dpnb_columnar.mechanisms.round_starts import resume_rounds
from dpnb_columnar.mechanisms.score_calibration import CALIBRATION, scores_given
from dpnb_columnar.mechanisms.weight_rounds import WeightRounds
from dpnb_columnar.model.parameters import NaiveBayes


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
            "statistics with --attribute-weights calibrated or learned"
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


def query_given(model: NaiveBayes) -> FurtherQuery:
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
