"""The composition table: every query of a release with its share of epsilon, adding up to the total exactly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from dpnb_columnar.budget.amounts import Budget, Neighbours

PARALLEL_CELLS = "one row changes one of these counts by 1"
PARALLEL_CLASSES = "one row changes the sample of one class only, in one place"


@dataclass(frozen=True, slots=True)
class Request:
    """A query that a mechanism wants to make.

    Attributes:
        query: What is released: ``class counts``, ``counts``, ``mean`` or ``variance``.
        attribute: The attribute asked about; None for the class counts.
        values: How many numbers are released.
        composition: Why all of them may share one epsilon (parallel composition).
        noise: Name of the noise family.
        weight: Relative share of the budget.
    """

    query: str
    attribute: str | None
    values: int
    composition: str
    noise: str
    weight: Fraction


@dataclass(frozen=True, slots=True)
class Share:
    """One row of the composition table.

    Attributes:
        query, attribute, values, composition, noise: As requested.
        epsilon: This query's part of the total, in the stated neighbouring relation.
        row_epsilon: What the query's mechanism is calibrated to: the loss for one row added or removed. Under
            ``replace-one`` neighbours are two such steps apart, so it is half of ``epsilon``.
    """

    query: str
    attribute: str | None
    values: int
    composition: str
    noise: str
    epsilon: Fraction
    row_epsilon: Fraction


def compose(requests: Iterable[Request], budget: Budget) -> tuple[Share, ...]:
    """Divide a budget among queries in proportion to their weights (sequential composition: the losses add up).

    Raises:
        ValueError: There is no request, or a query would get no positive share.
    """
    wanted = list(requests)
    if not wanted:
        raise ValueError("a release without a query has no composition")
    if min(budget.epsilon, *(request.weight for request in wanted)) <= 0:
        raise ValueError("the budget and every query's weight must be above 0")
    total = sum((request.weight for request in wanted), Fraction(0))
    return tuple(_share(request, budget.epsilon * request.weight / total, budget.neighbours) for request in wanted)


def _share(request: Request, epsilon: Fraction, neighbours: Neighbours) -> Share:
    return Share(
        query=request.query,
        attribute=request.attribute,
        values=request.values,
        composition=request.composition,
        noise=request.noise,
        epsilon=epsilon,
        row_epsilon=epsilon / neighbours.rows,
    )
