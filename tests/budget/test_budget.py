"""Budgets: epsilon as it was typed, its division, and shares that add up exactly."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.people import DECLARATION, PEOPLE, people_domain

import dpnb_columnar as dpnb
from dpnb_columnar import errors
from dpnb_columnar.budget import (
    Approximate,
    Budget,
    Concentrated,
    Division,
    Neighbours,
    PrivacyCost,
    Pure,
    Request,
    RowEffect,
    Share,
    Spent,
    compose,
    is_rule,
    parse_delta,
    parse_division,
    parse_epsilon,
    parse_rows,
)
from dpnb_columnar.budget.composition import PARALLEL_CELLS
from dpnb_columnar.budget.costs import for_one_row, group_cost_within, implies
from dpnb_columnar.datasets.catalogue import read_catalogue
from dpnb_columnar.errors import UsageError
from dpnb_columnar.mechanisms.release_plan import MECHANISMS, plan
from dpnb_columnar.mechanisms.smooth_noise import NOISE_FAMILIES, smooth_family

WEIGHTS = st.fractions(min_value=Fraction(1, 10**4), max_value=10**5)
EPSILONS = st.fractions(min_value=Fraction(1, 10**4), max_value=1000)


def pure(loss: PrivacyCost) -> Fraction:
    assert isinstance(loss, Pure)
    return loss.epsilon


def request(weight: Fraction, query: str = "counts", attribute: str | None = "age") -> Request:
    return Request(query, attribute, 12, PARALLEL_CELLS, "laplace", weight)


# --- epsilon ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("0.1", Fraction(1, 10)),
        (" 0.1 ", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Fraction(1, 7), Fraction(1, 7)),
        (0.1, Fraction(1, 10)),
        (1e-4, Fraction(1, 10_000)),
        ("1000", Fraction(1000)),
        ("0." + "1" * 200, Fraction(int("1" * 200), 10**200)),
    ],
)
def test_epsilon_is_what_was_typed(typed: object, meant: Fraction) -> None:
    assert parse_epsilon(typed) == meant


def test_epsilon_from_a_float_that_prints_otherwise_is_its_decimal_too() -> None:
    class Loud(float):
        def __repr__(self) -> str:
            return f"Loud({float(self)})"

    assert parse_epsilon(Loud(0.3)) == Fraction(3, 10)


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("0", "must be above 0"),
        ("-1/3", "must be above 0"),
        ("nan", "finite"),
        (math.nan, "finite"),
        (Decimal("Infinity"), "finite"),
        ("1e400", "out of every sensible range"),
        ("1e999999999", "out of every sensible range"),
        ("1e99999999999999999999", "expected a number"),
        pytest.param(10**400, "out of every sensible range", id="400 digits"),
        pytest.param("9" * 100_000, "expected a number", id="100,000 characters"),
        ("1/0", "expected a number"),
        ("1/2/3", "expected a number"),
        ("", "expected a number"),
        (True, "expected a number"),
        (None, "expected a number"),
        (1j, "expected a number"),
        ("0.00009999", "leaves nothing but noise"),
        (Fraction(1, 10_001), "leaves nothing but noise"),
        ("1000.001", "gives no protection"),
    ],
)
def test_other_epsilons_are_refused_with_a_remedy(typed: object, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as caught:
        parse_epsilon(typed)
    message = str(caught.value)
    assert message.startswith("epsilon: ")
    assert "give a number such as 0.1 or 1" in message or "accepted is" in message
    assert len(message) < 250
    assert "\n" not in message
    assert caught.value.__suppress_context__ or caught.value.__cause__ is None


@settings(deadline=None)
@given(EPSILONS)
def test_epsilon_survives_being_parsed_again(epsilon: Fraction) -> None:
    assert parse_epsilon(epsilon) == epsilon
    assert parse_epsilon(f"{epsilon.numerator}/{epsilon.denominator}") == epsilon


# --- division ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("2:1:1", Division(Fraction(2), Fraction(1), Fraction(1))),
        ("0.5:1/3:1e1", Division(Fraction(1, 2), Fraction(1, 3), Fraction(10))),
        (" 2 : 1 : 1 ", Division(Fraction(2), Fraction(1), Fraction(1))),
    ],
)
def test_a_division_is_what_was_typed(typed: str, meant: Division) -> None:
    assert parse_division(typed) == meant


@pytest.mark.slow
@settings(deadline=None)
@given(st.builds(Division, WEIGHTS, WEIGHTS, WEIGHTS))
def test_a_division_survives_its_text(division: Division) -> None:
    assert parse_division(str(division)) == division


@pytest.mark.parametrize(
    "typed",
    ["", "2", "2:1", "2:1:1:1", "2:1:", "0:1:1", "2:-1:1", "nan:1:1", "1:inf:1", "1:1:1e400", "a:b:c", "1/0:1:1"],
)
def test_other_divisions_are_refused_with_an_example(typed: str) -> None:
    with pytest.raises(UsageError, match=r"shares: .*numeric:categorical:counts \(2:1:1\)") as caught:
        parse_division(typed)
    assert repr(typed) in str(caught.value)


def test_shares_of_different_worlds_are_refused() -> None:
    assert parse_division("1:1000000000:1").categorical == 10**9
    with pytest.raises(UsageError, match="more than 1e9 times another"):
        parse_division("1:1000000001:1")


# --- composition --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(WEIGHTS, min_size=1, max_size=40), EPSILONS, st.sampled_from(Neighbours))
def test_shares_add_up_to_epsilon_exactly(weights: list[Fraction], epsilon: Fraction, neighbours: Neighbours) -> None:
    shares = compose(map(request, weights), Budget(epsilon, neighbours))
    assert sum(pure(share.cost) for share in shares) == epsilon
    assert sum(pure(share.row_cost) for share in shares) * neighbours.rows == epsilon
    for weight, share in zip(weights, shares, strict=True):
        assert pure(share.cost) > 0
        assert pure(share.cost) * weights[0] == pure(shares[0].cost) * weight


def test_share_repeats_its_request() -> None:
    (share,) = compose([request(Fraction(7), "mean", None)], Budget(Fraction(1, 3)))
    assert share == Share(
        query="mean",
        attribute=None,
        values=12,
        composition="one row changes one of these counts by 1",
        noise="laplace",
        cost=Pure(Fraction(1, 3)),
        row_cost=Pure(Fraction(1, 3)),
    )


def test_replacing_a_row_is_removing_one_and_adding_one() -> None:
    requests = [request(Fraction(2)), request(Fraction(1))]
    added = compose(requests, Budget(Fraction(1, 10)))
    replaced = compose(requests, Budget(Fraction(1, 10), Neighbours.REPLACE_ONE))
    assert [pure(share.cost) for share in replaced] == [pure(share.cost) for share in added]
    assert [pure(share.row_cost) for share in added] == [Fraction(1, 15), Fraction(1, 30)]
    assert [pure(share.row_cost) for share in replaced] == [Fraction(1, 30), Fraction(1, 60)]


@pytest.mark.parametrize(
    ("weights", "epsilon", "words"),
    [
        ([], 1, "without a query"),
        *((weights, 1, "above 0") for weights in ([0], [1, 0], [2, -1], [-1, -1], [1, -1])),
        *(([1], epsilon, "above 0") for epsilon in (0, -1)),
    ],
)
def test_query_without_a_positive_share_is_refused(weights: list[int], epsilon: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        compose([request(Fraction(weight)) for weight in weights], Budget(Fraction(epsilon)))


# Single faults in how a budget is divided: what all queries of a release cost together, by every kind of noise.

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


# Delta by rule: one over the declared number of rows, exact, and never a number that was counted.


@pytest.mark.parametrize(
    ("rule", "rows", "meant"),
    [
        ("1/n", 48_842, Fraction(1, 48_842)),
        (" 1/n ", 100, Fraction(1, 100)),
        ("1/n^2", 250_000, Fraction(1, 62_500_000_000)),
        ("1/n^2", 10**12, Fraction(1, 10**24)),
    ],
)
def test_a_rule_is_an_exact_number(rule: str, rows: int, meant: Fraction) -> None:
    assert is_rule(rule)
    assert parse_delta(rule, rows) == meant


@pytest.mark.parametrize("typed", ["1/48842", "1e-6", 1e-6, 0, "0"])
def test_a_number_is_no_rule_and_does_not_depend_on_rows(typed: object) -> None:
    assert not is_rule(typed)
    assert parse_delta(typed, 100) == parse_delta(typed)


@pytest.mark.parametrize("typed", ["1/n^3", "1/N", "2/n", "n", "1/ n", "1/n^"])
def test_other_rules_are_refused_with_the_known_ones(typed: str) -> None:
    with pytest.raises(errors.UsageError, match=r"^delta: .*1/n or 1/n\^2"):
        parse_delta(typed, 1000)


@pytest.mark.parametrize("rows", [99, 0, -5, 10**12 + 1, True, 1000.0, "1000", Fraction(1000)])
def test_rows_out_of_range_are_refused(rows: Any) -> None:
    with pytest.raises(errors.UsageError, match=r"^declared rows: "):
        parse_rows(rows)


def test_rows_are_whole_numbers_of_any_kind() -> None:
    found = parse_rows(np.int32(1000))
    assert (found, type(found)) == (1000, int)
    assert [parse_rows(rows) for rows in (100, 10**12)] == [100, 10**12]


@pytest.mark.parametrize(("rule", "meant"), [("1/n", Fraction(1, 250_000)), ("1/n^2", Fraction(1, 250_000**2))])
def test_the_model_holds_the_number(rule: str, meant: Fraction, people_file: Path) -> None:
    options = {"epsilon": 1, "delta": rule, "rows": 250_000, "mechanism": "smooth", "noise": "gaussian"}
    released = dpnb.release(dpnb.aggregate(people_file), **options).guarantee
    trained = dpnb.train(people_file, **options, attribute_weights="none").guarantee
    assert trained.delta == released.delta == meant
    assert trained.composition == released.composition


def test_rows_without_a_rule_and_a_rule_without_rows_are_refused(people_file: Path) -> None:
    with pytest.raises(errors.UsageError, match="leave rows out"):
        dpnb.train(people_file, epsilon=1, rows=1000, mechanism="smooth", attribute_weights="none")
    named = {"mechanism": "smooth", "noise": "gaussian", "attribute_weights": "none"}
    with pytest.raises(errors.UsageError, match="leave rows out"):
        dpnb.release(dpnb.aggregate(people_file), epsilon=1, delta="1e-6", rows=1000, **named)
    with pytest.raises(errors.UsageError, match=r"never counted; give the public one, .* with rows, or"):
        dpnb.train(people_file, epsilon=1, delta="1/n", noise="gaussian")
    with pytest.raises(errors.UsageError, match="expected 100 to 1000000000000, found 12"):
        dpnb.train(people_file, epsilon=1, delta="1/n", noise="gaussian", rows=12)


def test_an_entry_declares_rows(tmp_path: Path) -> None:
    path = tmp_path / "datasets.toml"
    path.write_text(DECLARATION.replace("[people]\n", "[people]\nrows = 1234\n", 1))
    (entry,) = read_catalogue(path)
    assert entry.rows == 1234
    assert entry.domain.name == "people"
    path.write_text(DECLARATION)
    assert read_catalogue(path)[0].rows is None


@pytest.mark.parametrize("rows", ["0.5", '"1000"', "true", "[]"])
def test_an_entry_declares_a_whole_number(rows: str, tmp_path: Path) -> None:
    path = tmp_path / "datasets.toml"
    path.write_text(DECLARATION.replace("[people]\n", f"[people]\nrows = {rows}\n", 1))
    with pytest.raises(errors.ConfigurationError, match=r"people\.rows: expected a whole number"):
        _ = read_catalogue(path)[0].rows
