"""What a release is charged to a ledger: its names, its cost, and the inputs that a run begun again must share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpnb_columnar.domain import Domain, digest
from dpnb_columnar.domain.declaration import weight_document
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.errors import UsageError
from dpnb_columnar.ledger import Charge, check_dataset, check_run, fresh_run
from dpnb_columnar.ledger.codec import unit_named
from dpnb_columnar.ledger.payment import ModelDocuments, Payment, ScoreDocuments
from dpnb_columnar.model.model_document import document_digest

if TYPE_CHECKING:
    from dpnb_columnar.mechanisms.release_plan import ReleasePlan
    from dpnb_columnar.mechanisms.score_release import ScorePlan
    from dpnb_columnar.model.model import Model
    from dpnb_columnar.model.released_scores import ReleasedScores


def payment_for(
    plan: ReleasePlan, ledger: Path, data: Sequence[str], account: str | None = None, run: str | None = None
) -> Payment[Model]:
    """Make the payment of a planned release. All of it is public.

    Args:
        plan: The release.
        ledger: The ledger's file.
        data: Names of the files or tables that are counted.
        account: Data set of the ledger that is charged; None for the domain's name.
        run: Run id; None for a new one, or for the one of the model that is given.

    Raises:
        UsageError: if the mechanism protects nobody, or the model that is given has no guarantee, so that no budget
            pays for it, or if a name cannot be one.
    """
    mechanism = plan.mechanism
    if plan.given is not None and not plan.given.guarantee.private:
        raise UsageError(
            "given: this model carries no guarantee, so no budget pays for its weights; leave the ledger out"
        )
    if not mechanism.private:
        raise UsageError(f"mechanism: {mechanism.name} protects nobody, so no budget pays for it; leave the ledger out")
    charge = Charge(
        plan.domain.name if account is None else check_dataset(account),
        _default_run(plan) if run is None else check_run(run),
        plan.total,
        plan.budget.neighbours,
        mechanism.name,
        plan.noise,
        _inputs(plan, data),
        _unit(plan.domain),
    )
    return Payment(ledger, charge, ModelDocuments())


def payment_for_scores(
    plan: ScorePlan, ledger: Path, data: Sequence[str], account: str | None = None, run: str | None = None
) -> Payment[ReleasedScores]:
    """Make the payment of a planned release of scores; the arguments are those of ``payment_for``.

    Raises:
        UsageError: if a name cannot be one.
    """
    budget = plan.budget
    (share,) = plan.shares
    charge = Charge(
        plan.domain.name if account is None else check_dataset(account),
        fresh_run() if run is None else check_run(run),
        plan.total,
        budget.neighbours,
        share.query,
        None,
        {
            "data": sorted(data),
            "domain": digest(plan.domain),
            "epsilon": number_text(budget.epsilon),
            "delta": number_text(budget.delta),
            "neighbours": str(budget.neighbours),
            "mechanism": share.query,
            "evaluated": document_digest(plan.model),
        },
        _unit(plan.domain),
    )
    return Payment(ledger, charge, ScoreDocuments())


def _default_run(plan: ReleasePlan) -> str:
    """Make a new run id; for the weights of a model the one of that model, so that they are released once."""
    return fresh_run() if plan.given is None else f"weights-of-{document_digest(plan.given)[:32]}"


def _unit(domain: Domain) -> tuple[str, ...]:
    """Name the unit of a domain; empty where it is one row."""
    return () if domain.unit is None else unit_named(domain.unit.columns)


def _inputs(plan: ReleasePlan, data: Sequence[str]) -> dict[str, Any]:
    """List what must be the same when a run is begun again: names and declared facts, nothing computed from rows."""
    budget = plan.budget
    # Left out where there are none, as programs did that knew none: this one finishes a run that one of them began.
    weights: dict[str, Any] = {} if plan.attribute_weights is None else {"attribute_weights": plan.attribute_weights}
    if plan.public is not None:
        weights["public"] = {"name": plan.public.source.name, "sha256": plan.public.source.digest}
    if plan.reserved:
        weights["reserved"] = ", ".join(share.query for share in plan.reserved)
    if plan.domain.weight is not None:
        weights["weight"] = weight_document(plan.domain.weight)
    if plan.given is not None:
        weights["given"] = document_digest(plan.given)
    return {
        "data": sorted(data),
        "domain": digest(plan.domain),
        "epsilon": number_text(budget.epsilon),
        "delta": number_text(budget.delta),
        "neighbours": str(budget.neighbours),
        "shares": None if budget.division is None else str(budget.division),
        "mechanism": plan.mechanism.name,
        "noise": plan.noise,
        **weights,
    }
