"""The composition table: every query of a release with its share of the budget, adding up to the total exactly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpnb_columnar.budget.amounts import Budget
from dpnb_columnar.budget.conversion import concentrated_within, for_one_row, pure_within
from dpnb_columnar.budget.losses import Approximate, Concentrated, Loss, Pure

PARALLEL_CELLS = "one row changes one of these counts by 1"
PARALLEL_CLASSES = "one row changes the sample of one class only, in one place"


@dataclass(frozen=True, slots=True)
class Request:
    """A query that a mechanism will answer, before its share is known.

    Attributes:
        query: What is released: ``class counts``, ``counts``, ``mean``, ``variance``, ``deviation`` or ``mean of
            squares``.
        attribute: The attribute that is queried; None for the class counts.
        values: Number of released numbers.
        composition: Why all of them may share one loss (parallel composition).
        noise: Name of the noise family.
        weight: Relative share of the budget.
        kind: The kind of guarantee that this noise gives.
    """

    query: str
    attribute: str | None
    values: int
    composition: str
    noise: str
    weight: Fraction
    kind: type[Loss] = Pure


@dataclass(frozen=True, slots=True)
class Share:
    """One row of the composition table.

    Attributes:
        query, attribute, values, composition, noise: As requested.
        loss: This query's part of the total, in the stated neighbouring relation.
        row_loss: What the query's noise is calibrated to: the loss for one row added or removed. Under
            ``replace-one`` neighbours are two such steps apart.
    """

    query: str
    attribute: str | None
    values: int
    composition: str
    noise: str
    loss: Loss
    row_loss: Loss


def compose(requests: Iterable[Request], budget: Budget) -> tuple[Share, ...]:
    """Divide a budget among queries in proportion to their weights (sequential composition: the losses add up).

    Epsilons add up, and so do deltas (Dwork, Kenthapadi, McSherry, Mironov and Naor 2006); only queries whose noise
    needs a delta get one. As soon as one query's loss is concentrated, all are accounted so: the budget is converted to
    the largest rho that implies it, and rhos add up (Bun and Steinke 2016, Lemma 2.3). A pure query then gets the
    largest epsilon that its rho allows.

    Raises:
        ValueError: if there is no request, a share would not be above 0, or the budget has a delta that no query
            needs, or lacks one.
    """
    wanted = list(requests)
    if not wanted:
        raise ValueError("a release without a query has no composition")
    if min(budget.epsilon, *(request.weight for request in wanted)) <= 0:
        raise ValueError("the budget and every query's weight must be above 0")
    kinds = {request.kind for request in wanted}
    if (budget.delta > 0) is (kinds == {Pure}):
        raise ValueError("a delta is needed by approximate and concentrated losses, and by no others")
    losses = _concentrated(wanted, budget) if Concentrated in kinds else _added(wanted, budget)
    return tuple(
        Share(
            query=request.query,
            attribute=request.attribute,
            values=request.values,
            composition=request.composition,
            noise=request.noise,
            loss=loss,
            row_loss=_calibrated(loss, request.kind, budget.neighbours.rows),
        )
        for request, loss in zip(wanted, losses, strict=True)
    )


def total(shares: Sequence[Share]) -> Loss:
    """Add up the shares; a pure total has no delta."""
    losses = [share.loss for share in shares]
    rhos = [loss.rho for loss in losses if isinstance(loss, Concentrated)]
    if rhos:
        return Concentrated(sum(rhos, Fraction(0)))
    epsilon = sum((loss.epsilon for loss in losses if isinstance(loss, Pure | Approximate)), Fraction(0))
    delta = sum((loss.delta for loss in losses if isinstance(loss, Approximate)), Fraction(0))
    return Approximate(epsilon, delta) if delta else Pure(epsilon)


def _added(wanted: Sequence[Request], budget: Budget) -> list[Loss]:
    """Divide a budget into pure and approximate losses that add up to it."""
    whole = sum((request.weight for request in wanted), Fraction(0))
    uncertain = sum((request.weight for request in wanted if request.kind is Approximate), Fraction(0))
    losses: list[Loss] = []
    for request in wanted:
        epsilon = budget.epsilon * request.weight / whole
        if request.kind is Approximate:
            losses.append(Approximate(epsilon, budget.delta * request.weight / uncertain))
        else:
            losses.append(Pure(epsilon))
    return losses


def _concentrated(wanted: Sequence[Request], budget: Budget) -> list[Loss]:
    """Divide a budget into concentrated losses whose sum implies it."""
    if Approximate in {request.kind for request in wanted}:
        raise ValueError("approximate and concentrated losses do not compose")
    rho = concentrated_within(Approximate(budget.epsilon, budget.delta)).rho
    whole = sum((request.weight for request in wanted), Fraction(0))
    return [Concentrated(rho * request.weight / whole) for request in wanted]


def _calibrated(loss: Loss, kind: type[Loss], rows: int) -> Loss:
    """Return the loss for one row, of the kind that the query's noise is calibrated to."""
    one = for_one_row(loss, rows)
    return pure_within(one.rho) if kind is Pure and isinstance(one, Concentrated) else one
