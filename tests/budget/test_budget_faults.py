"""Single faults in how a budget is divided: what all queries of a release cost together, by every kind of noise."""

from __future__ import annotations

from fractions import Fraction

import pytest
from dpnb_columnar.core.budget import (
    Approximate,
    Budget,
    Concentrated,
    Neighbours,
    PrivacyCost,
    Pure,
    RowEffect,
    Share,
    Spent,
)
from dpnb_columnar.core.budget.costs import for_one_row, group_cost_within, implies
from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES, smooth_family
from dpnb_columnar.releases.plan import plan
from support.mechanisms import MECHANISMS
from support.people import PEOPLE, people_domain

EPSILON, DELTA = Fraction(3, 7), Fraction(1, 10**6)


def shares_of(mechanism: str, noise: str | None, relation: Neighbours, weights: str = "none") -> tuple[Share, ...]:
    domain = people_domain({**PEOPLE, "weight": {"column": "w", "cap": 4}})
    pure = noise is None or smooth_family(noise).kind is Pure
    budget = Budget(EPSILON, relation, delta=Fraction(0) if pure else DELTA)
    return plan(domain, budget, mechanism, noise, weights).shares


def together(costs: list[PrivacyCost]) -> PrivacyCost:
    """Add up costs by the definition of composition: pure ones cost epsilon^2/2 of rho where others have a rho."""
    if any(isinstance(cost, Concentrated) for cost in costs):
        rhos = (cost.epsilon**2 / 2 if isinstance(cost, Pure) else cost.rho for cost in costs)  # type: ignore[union-attr]
        return Concentrated(sum(rhos, Fraction(0)))
    epsilon = sum((cost.epsilon for cost in costs), Fraction(0))  # type: ignore[union-attr]
    return Approximate(epsilon, sum((getattr(cost, "delta", Fraction(0)) for cost in costs), Fraction(0)))


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("noise", NOISE_FAMILIES)
def test_all_draws_of_a_release_cost_the_budget_and_no_more(noise: str, relation: Neighbours) -> None:
    """Catches: a delta that is not divided among the queries, or between two rows; a charge of 0; a share paid twice.

    Every changed draw costs the ``row_cost`` that its noise is made for; between neighbours each query has as many
    changed draws as there are rows between them. Those of a gradient are the same draws, so their epsilons add up
    before they cost a rho: two rows cost four times one's.
    """
    concentrated = smooth_family(noise).kind is Concentrated
    for weights in ("none", "learned"):
        shares = shares_of("smooth", noise, relation, weights)
        times = [relation.rows ** (2 if concentrated and "gradient" in share.query else 1) for share in shares]
        spent = together([share.row_cost for share, many in zip(shares, times, strict=True) for _ in range(many)])
        if isinstance(spent, Concentrated):
            assert implies(spent.rho, Approximate(EPSILON, DELTA))
            assert not implies(spent.rho * Fraction(101, 100), Approximate(EPSILON, DELTA))
            continue
        assert isinstance(spent, Approximate)
        assert spent == Approximate(EPSILON, Fraction(0) if smooth_family(noise).kind is Pure else DELTA)


@pytest.mark.parametrize("mechanism", [name for name, mechanism in MECHANISMS.items() if mechanism.private])
def test_no_query_is_free(mechanism: str) -> None:
    """Catches: a charge of 0, for one query or for the release."""
    shares = shares_of(mechanism, None, Neighbours.ADD_REMOVE)
    assert all(isinstance(share.cost, Pure) and share.cost.epsilon > 0 for share in shares)
    planned = plan(people_domain(), Budget(EPSILON), mechanism)
    assert planned.total == Pure(EPSILON)
    assert Spent().plus(planned.total).epsilon == EPSILON


@pytest.mark.parametrize("rows", [1, 2, 3, 6])
def test_a_row_of_several_has_its_part_of_the_cost(rows: int) -> None:
    """Catches: a delta, an epsilon or a rho that a row has undivided."""
    cost = Approximate(Fraction(1, 3), Fraction(1, 10**5))
    row_cost = for_one_row(cost, rows, RowEffect.ONE_DRAW)
    assert isinstance(row_cost, Approximate)
    assert (rows * row_cost.epsilon, rows * row_cost.delta) == (cost.epsilon, cost.delta)
    assert group_cost_within(row_cost, rows, cost, RowEffect.ONE_DRAW)
    for more in (
        Approximate(row_cost.epsilon, row_cost.delta * Fraction(1001, 1000)),
        Approximate(row_cost.epsilon * Fraction(1001, 1000), row_cost.delta),
    ):
        assert not group_cost_within(more, rows, cost, RowEffect.ONE_DRAW)
    for effect in RowEffect:
        pure = for_one_row(Pure(Fraction(1, 3)), rows, effect)
        assert isinstance(pure, Pure)
        assert rows * pure.epsilon == Fraction(1, 3)
