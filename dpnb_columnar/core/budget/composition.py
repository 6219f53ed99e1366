"""The composition table: every query of a release with its share of the budget, adding up to the total exactly.

The guarantee of a release: the total privacy loss, and its composition.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpnb_columnar.core.budget.amounts import Budget, Neighbours
from dpnb_columnar.core.budget.costs import (
    Approximate,
    Concentrated,
    PrivacyCost,
    Pure,
    RowEffect,
    concentrated_within,
    cost_parameters,
    for_one_row,
    pure_within,
)
from dpnb_columnar.domain import Unit
from dpnb_columnar.domain.names import number_text
from dpnb_columnar.errors import excerpt


@dataclass(frozen=True, slots=True, repr=False)
class Guarantee:
    """What a release promises about every row, or about every unit.

    Attributes:
        mechanism: Name of the mechanism.
        noise: Noise family of the smooth releases; None where there is none.
        epsilon: Total privacy loss, exact; None where the mechanism is not private.
        delta: Total delta, exact, 0 for a pure guarantee; None where the mechanism is not private.
        neighbours: The relation that epsilon refers to; None where the mechanism is not private.
        composition: Every query with its share; the shares add up to epsilon and delta, or to rho, exactly.
        seeded: The noise came from a seed, so it can be repeated and protects nobody.
        rho: Total concentrated loss, which implies (epsilon, delta); None unless the shares are concentrated.
        reserved: The share that is left for a later release, given this model; no part of the composition, and not
            spent. None for none.
        unit: The unit that the relation is of; None where it is of rows.
    """

    mechanism: str
    noise: str | None
    epsilon: Fraction | None
    delta: Fraction | None
    neighbours: Neighbours | None
    composition: tuple[Share, ...]
    seeded: bool
    rho: Fraction | None = None
    reserved: Share | None = None
    unit: Unit | None = None

    @property
    def private(self) -> bool:
        """Whether the model carries a guarantee at all."""
        return self.epsilon is not None and not self.seeded

    @property
    def shares(self) -> tuple[Share, ...]:
        """Every share of the budget, that which is left last."""
        return self.composition if self.reserved is None else (*self.composition, self.reserved)

    def __repr__(self) -> str:
        """Name what is promised, and of how many queries it is composed, in one line; ``guarantee_text`` says more."""
        mechanism = f"mechanism {self.mechanism}" + (f", noise {self.noise}" if self.noise else "")
        if self.epsilon is None or self.seeded:
            return f"Guarantee: NO GUARANTEE, {mechanism}"
        delta = f", delta {number_text(self.delta)}" if self.delta else ""
        counted = f"rows of {self.neighbours}" if self.unit is None else f"units of {self.neighbours}"
        return (
            f"Guarantee: epsilon {number_text(self.epsilon)}{delta} for {counted}, {mechanism}, composition of "
            f"{len(self.composition)}" + ("" if self.reserved is None else ", a share reserved")
        )


@dataclass(frozen=True, slots=True)
class Parallel:
    """Why all numbers of a query may share one cost (parallel composition): what one row changes, in words and kind."""

    reason: str
    effect: RowEffect


PARALLEL_CELLS = Parallel("one row changes one of these counts by 1", RowEffect.ONE_DRAW)


def parallel_cells(most: int) -> Parallel:
    """Say that one row changes one of a query's counts, by so much at most."""
    if most == 1:
        return PARALLEL_CELLS
    return Parallel(f"one row changes one of these counts by at most {most}", RowEffect.ONE_DRAW)


PARALLEL_CLASSES = Parallel("one row changes the sample of one class only, in one place", RowEffect.ONE_DRAW)
BOUNDED_TOGETHER = Parallel("one row changes all these sums together by a bounded amount", RowEffect.ALL_DRAWS)

GRADIENT = "weight gradient"
"""Query for the gradient of a round, followed by the round's number."""


def row_effect(query: str) -> RowEffect:
    """Look up what a row does to the draws of a query that a document names; documents do not state it."""
    return BOUNDED_TOGETHER.effect if query.startswith(GRADIENT) else RowEffect.ONE_DRAW


@dataclass(frozen=True, slots=True)
class Request:
    """A query that a mechanism will answer, before its share is known.

    Attributes:
        query: What is released: ``class counts``, ``values present``, ``counts``, ``mean``, ``variance``,
            ``deviation`` or ``mean of squares``.
        attribute: The attribute that is queried; None for the class counts.
        values: Number of released numbers.
        parallel: Why all of them may share one cost.
        noise: Name of the noise family.
        weight: Relative share of the budget.
        kind: The kind of guarantee that this noise gives.
    """

    query: str
    attribute: str | None
    values: int
    parallel: Parallel
    noise: str
    weight: Fraction
    kind: type[PrivacyCost] = Pure


@dataclass(frozen=True, slots=True, repr=False)
class Share:
    """One row of the composition table.

    Attributes:
        query, attribute, values, noise: As requested.
        composition: The reason why all values may share one cost.
        cost: This query's part of the total, in the stated neighbouring relation.
        row_cost: What the query's noise is calibrated to: the cost for one row added or removed. Under
            ``replace-one`` neighbours are two such steps apart, neighbours of whole units as many as rows of theirs
            count.
    """

    query: str
    attribute: str | None
    values: int
    composition: str
    noise: str
    cost: PrivacyCost
    row_cost: PrivacyCost

    def __repr__(self) -> str:
        """Write the share as one line: the query, its part of the total, and its noise."""
        asked = self.query if self.attribute is None else f"{self.query} of {excerpt(self.attribute)}"
        cost = ", ".join(f"{name} {number_text(number)}" for name, number in cost_parameters(self.cost).items())
        return f"Share({asked}: {self.values} values, {cost}, noise {self.noise})"


def compose(requests: Iterable[Request], budget: Budget) -> tuple[Share, ...]:
    """Divide a budget among queries in proportion to their weights (sequential composition: the costs add up).

    Epsilons add up, and so do deltas (Dwork, Kenthapadi, McSherry, Mironov and Naor 2006); only queries whose noise
    needs a delta get one. As soon as one query's cost is concentrated, all are accounted so: the budget is converted to
    the largest rho that implies it, and rhos add up (Bun and Steinke 2016, Lemma 2.3). A pure query then gets the
    largest epsilon that its rho allows.
    """
    wanted = list(requests)
    if not wanted:
        raise ValueError("a release without a query has no composition")
    if min(budget.epsilon, *(request.weight for request in wanted)) <= 0:
        raise ValueError("the budget and every query's weight must be above 0")
    kinds = {request.kind for request in wanted}
    if (budget.delta > 0) is (kinds == {Pure}):
        raise ValueError("a delta is needed by approximate and concentrated costs, and by no others")
    if budget.unit_rows > 1 and kinds != {Pure}:
        raise ValueError("only pure costs of rows add up to the cost of a unit")
    costs = _divide_concentrated(wanted, budget) if Concentrated in kinds else _divide_additively(wanted, budget)
    return tuple(
        Share(
            query=request.query,
            attribute=request.attribute,
            values=request.values,
            composition=request.parallel.reason,
            noise=request.noise,
            cost=cost,
            row_cost=calibration_cost(cost, request.kind, budget.rows, request.parallel.effect),
        )
        for request, cost in zip(wanted, costs, strict=True)
    )


def total(shares: Sequence[Share]) -> PrivacyCost:
    """Add up the shares; a pure total has no delta."""
    costs = [share.cost for share in shares]
    rhos = [cost.rho for cost in costs if isinstance(cost, Concentrated)]
    if rhos:
        return Concentrated(sum(rhos, Fraction(0)))
    epsilon = sum((cost.epsilon for cost in costs if isinstance(cost, Pure | Approximate)), Fraction(0))
    delta = sum((cost.delta for cost in costs if isinstance(cost, Approximate)), Fraction(0))
    return Approximate(epsilon, delta) if delta else Pure(epsilon)


def _divide_additively(wanted: Sequence[Request], budget: Budget) -> list[PrivacyCost]:
    """Divide a budget into pure and approximate costs that add up to it."""
    whole = sum((request.weight for request in wanted), Fraction(0))
    uncertain = sum((request.weight for request in wanted if request.kind is Approximate), Fraction(0))
    costs: list[PrivacyCost] = []
    for request in wanted:
        epsilon = budget.epsilon * request.weight / whole
        if request.kind is Approximate:
            costs.append(Approximate(epsilon, budget.delta * request.weight / uncertain))
        else:
            costs.append(Pure(epsilon))
    return costs


def _divide_concentrated(wanted: Sequence[Request], budget: Budget) -> list[PrivacyCost]:
    """Divide a budget into concentrated costs whose sum implies it."""
    if Approximate in {request.kind for request in wanted}:
        raise ValueError("approximate and concentrated costs do not compose")
    rho = concentrated_within(Approximate(budget.epsilon, budget.delta)).rho
    whole = sum((request.weight for request in wanted), Fraction(0))
    return [Concentrated(rho * request.weight / whole) for request in wanted]


def calibration_cost(cost: PrivacyCost, kind: type[PrivacyCost], rows: int, effect: RowEffect) -> PrivacyCost:
    """Return the cost for one row, of the kind that the query's noise is calibrated to."""
    one = for_one_row(cost, rows, effect)
    return pure_within(one.rho) if kind is Pure and isinstance(one, Concentrated) else one


def composition_table(shares: Sequence[Share]) -> tuple[list[str], list[list[object]]]:
    """Write shares as a header and rows. What one row costs has columns where it differs from the share."""
    stated = [{name: number_text(number) for name, number in cost_parameters(share.cost).items()} for share in shares]
    if any(share.row_cost != share.cost for share in shares):
        for row, share in zip(stated, shares, strict=True):
            row |= {
                f"{name} of one row": number_text(number) for name, number in cost_parameters(share.row_cost).items()
            }
    names = list(dict.fromkeys(name for row in stated for name in row))
    names.sort(key=lambda name: name.endswith("of one row"))
    rows: list[list[object]] = [
        [share.query, share.attribute or "", share.values, *(row.get(name, "") for name in names), share.noise]
        for share, row in zip(shares, stated, strict=True)
    ]
    return ["query", "attribute", "values", *names, "noise"], rows


def budget_part(cost: PrivacyCost, whole: PrivacyCost) -> float:
    """Divide a share by the sum of all, by their epsilons or their rhos."""
    return float(next(iter(cost_parameters(cost).values())) / next(iter(cost_parameters(whole).values())))
