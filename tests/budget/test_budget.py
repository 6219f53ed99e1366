"""Budgets: epsilon as it was typed, its division, and shares that add up exactly."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from dpnb_columnar.core.budget import (
    Approximate,
    Budget,
    Division,
    Neighbours,
    PrivacyCost,
    Pure,
    Request,
    Share,
    compose,
    parse_division,
    parse_epsilon,
    total,
)
from dpnb_columnar.core.budget.composition import PARALLEL_CELLS
from hypothesis import given, settings
from hypothesis import strategies as st

from dpnb_columnar.errors import UsageError

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
        ("1e-1", Fraction(1, 10)),
        ("1", Fraction(1)),
        (1, Fraction(1)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Fraction(1, 7), Fraction(1, 7)),
        (0.1, Fraction(1, 10)),
        (1.0, Fraction(1)),
        (1e-4, Fraction(1, 10_000)),
        ("0.0001", Fraction(1, 10_000)),
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
        (0, "must be above 0"),
        ("-0", "must be above 0"),
        (-0.0, "must be above 0"),
        ("-1", "must be above 0"),
        ("-1/3", "must be above 0"),
        ("nan", "finite"),
        ("sNaN", "finite"),
        (math.nan, "finite"),
        ("inf", "finite"),
        ("-inf", "finite"),
        (math.inf, "finite"),
        (Decimal("Infinity"), "finite"),
        ("1e400", "out of every sensible range"),
        ("1e-400", "out of every sensible range"),
        ("1e999999999", "out of every sensible range"),
        ("1e99999999999999999999", "expected a number"),
        pytest.param(10**400, "out of every sensible range", id="400 digits"),
        pytest.param(10**5000, "out of every sensible range", id="5000 digits"),
        pytest.param("9" * 100_000, "expected a number", id="100,000 characters"),
        ("1/0", "expected a number"),
        ("1/2/3", "expected a number"),
        ("0,1", "expected a number"),
        ("one", "expected a number"),
        ("", "expected a number"),
        (" ", "expected a number"),
        ("0x1", "expected a number"),
        (True, "expected a number"),
        (None, "expected a number"),
        ([1], "expected a number"),
        (1j, "expected a number"),
        ("0.00009999", "leaves nothing but noise"),
        (Fraction(1, 10_001), "leaves nothing but noise"),
        ("1000.001", "gives no protection"),
        ("1e290", "gives no protection"),
        ("3000/2", "gives no protection"),
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


def test_release_without_a_query_is_refused() -> None:
    with pytest.raises(ValueError, match="without a query"):
        compose([], Budget(Fraction(1)))


@pytest.mark.parametrize("weights", [[0], [1, 0], [2, -1], [-1, -1], [1, -1]])
def test_query_without_a_positive_share_is_refused(weights: list[int]) -> None:
    with pytest.raises(ValueError, match="above 0"):
        compose([request(Fraction(weight)) for weight in weights], Budget(Fraction(1)))


@pytest.mark.parametrize("epsilon", [0, -1])
def test_budget_of_nothing_is_refused(epsilon: int) -> None:
    with pytest.raises(ValueError, match="above 0"):
        compose([request(Fraction(1))], Budget(Fraction(epsilon)))


def test_the_total_is_what_was_divided() -> None:
    """The deltas of those queries that need one add up as the epsilons of all do."""
    kinds = (Pure, Approximate, Approximate)
    requests = [
        Request("counts", None, 1, PARALLEL_CELLS, "laplace", Fraction(weight), kind)
        for weight, kind in enumerate(kinds, 1)
    ]
    delta = Fraction(1, 10**6)
    assert total(compose(requests, Budget(Fraction(1, 3), delta=delta))) == Approximate(Fraction(1, 3), delta)
    assert total(compose(requests[:1], Budget(Fraction(1, 3)))) == Pure(Fraction(1, 3))
