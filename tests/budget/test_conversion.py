"""Conversion between ways of stating a loss: against more digits and against distributions, never past the truth."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from dpnb_columnar.core.budget import (
    Approximate,
    Budget,
    Concentrated,
    Neighbours,
    PrivacyCost,
    Pure,
    Request,
    RowEffect,
    compose,
    costs,
    parse_delta,
    total,
)
from dpnb_columnar.core.budget.composition import BOUNDED_TOGETHER, PARALLEL_CLASSES
from dpnb_columnar.core.budget.costs import (
    concentrated_within,
    floor_digits,
    for_one_row,
    group_cost_within,
    implies,
    pure_within,
    to_concentrated,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.noise_cases import gaussian_delta, precise

from dpnb_columnar.errors import UsageError

EPSILONS = st.fractions(min_value=Fraction(1, 10**4), max_value=50)
DELTAS = st.fractions(min_value=Fraction(1, 10**12), max_value=Fraction(1, 20))
DELTA = Fraction(1, 10**6)
RHOS = st.fractions(min_value=Fraction(1, 10**12), max_value=100)


# --- concentrated losses ------------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(deadline=None)
@given(EPSILONS, DELTAS)
def test_the_converted_rho_is_safe_for_the_gaussian_mechanism(epsilon: Fraction, delta: Fraction) -> None:
    rho = concentrated_within(Approximate(epsilon, delta)).rho
    with mpmath.workdps(40):
        assert gaussian_delta(precise(epsilon), precise(rho)) <= precise(delta)


@pytest.mark.slow
@settings(deadline=None)
@given(EPSILONS, DELTAS)
def test_the_converted_rho_is_at_least_the_textbook_one_and_close_to_the_largest(
    epsilon: Fraction, delta: Fraction
) -> None:
    """rho + 2 sqrt(rho ln(1/delta)) = epsilon is the conversion of Bun and Steinke 2016, Proposition 1.3."""
    loss = Approximate(epsilon, delta)
    rho = concentrated_within(loss).rho
    with mpmath.workdps(30):
        logarithm = -mpmath.log(precise(delta))
        textbook = (mpmath.sqrt(logarithm + precise(epsilon)) - mpmath.sqrt(logarithm)) ** 2
        assert precise(rho) >= textbook * (1 - mpmath.mpf(10) ** -5)
    assert implies(rho, loss)
    assert not implies(rho * Fraction(100_001, 100_000), loss)


def test_more_digits_agree_on_the_delta_a_rho_implies() -> None:
    for rho, epsilon in ((Fraction(1, 50), Fraction(1)), (Fraction(1, 2), Fraction(3)), (Fraction(3), Fraction(20))):
        with mpmath.workdps(40):
            r, e = precise(rho), precise(epsilon)
            order = mpmath.findroot(lambda a, r=r, e=e: (2 * a - 1) * r - e + mpmath.log(1 - 1 / a), (e + r) / (2 * r))
            a = order
            exact = mpmath.exp((a - 1) * (a * r - e)) * (1 - 1 / a) ** a / (a - 1)
            above, below = (
                Fraction(str(mpmath.nstr(exact * (1 + sign * mpmath.mpf(10) ** -12), 20))) for sign in (1, -1)
            )
        assert implies(rho, Approximate(epsilon, above))
        assert not implies(rho, Approximate(epsilon, below))


@settings(deadline=None)
@given(RHOS)
def test_the_pure_loss_within_a_rho_is_its_square_root_to_nine_digits(rho: Fraction) -> None:
    epsilon = pure_within(rho).epsilon
    assert to_concentrated(Pure(epsilon)).rho <= rho
    assert (epsilon * (1 + Fraction(1, 10**8))) ** 2 / 2 > rho


def test_a_square_loses_nothing() -> None:
    assert pure_within(Fraction(1, 50)) == Pure(Fraction(1, 5))


@given(st.fractions(min_value=Fraction(1, 10**300), max_value=10**300), st.integers(2, 12))
def test_digits_are_cut_and_never_added(number: Fraction, digits: int) -> None:
    cut = floor_digits(number, digits)
    assert 0 < cut <= number < cut * (1 + Fraction(1, 10 ** (digits - 2)))


# --- one row, two rows --------------------------------------------------------------------------------------------


def losses() -> st.SearchStrategy[PrivacyCost]:
    return st.one_of(st.builds(Pure, EPSILONS), st.builds(Approximate, EPSILONS, DELTAS), st.builds(Concentrated, RHOS))


@settings(deadline=None)
@given(losses(), st.sampled_from(Neighbours), st.sampled_from(RowEffect))
def test_a_replaced_row_costs_at_most_the_share_and_hardly_less(
    loss: PrivacyCost, relation: Neighbours, effect: RowEffect
) -> None:
    assume(effect is RowEffect.ONE_DRAW or not isinstance(loss, Approximate))
    one = for_one_row(loss, relation.rows, effect)
    assert group_cost_within(one, relation.rows, loss, effect)
    assert not group_cost_within(_larger(one), relation.rows, loss, effect)


def _larger(loss: PrivacyCost) -> PrivacyCost:
    more = Fraction(10**7 + 1, 10**7)
    if isinstance(loss, Pure):
        return Pure(loss.epsilon * more)
    if isinstance(loss, Approximate):
        return Approximate(loss.epsilon, loss.delta * more)
    return Concentrated(loss.rho * more)


def test_two_rows_that_move_the_same_draws_cost_those_of_a_group() -> None:
    """The rho of Gaussian noise is exactly shift^2 / (2 sigma^2): a shift twice as long costs four times as much."""
    epsilon, delta, rho = Fraction(1), Fraction(1, 10**6), Fraction(1, 8)
    one = for_one_row(Concentrated(rho), 2, RowEffect.ALL_DRAWS)
    assert isinstance(one, Concentrated)
    deviation = (1 / (2 * one.rho)) ** 0.5  # one row moves the number by 1
    assert (2 / deviation) ** 2 / 2 == pytest.approx(float(rho))
    assert for_one_row(Pure(epsilon), 2, RowEffect.ALL_DRAWS) == Pure(epsilon / 2)
    gradient = Request("weight gradient 1", None, 3, BOUNDED_TOGETHER, "laplace", Fraction(1))
    (share,) = compose([gradient], Budget(Fraction(1), Neighbours.REPLACE_ONE))
    assert share.row_cost == Pure(Fraction(1, 2))
    with pytest.raises(ValueError, match="not for sums"):
        for_one_row(Approximate(epsilon, delta), 2, RowEffect.ALL_DRAWS)
    assert for_one_row(Approximate(epsilon, delta), 1, RowEffect.ALL_DRAWS) == Approximate(epsilon, delta)
    assert not group_cost_within(
        Approximate(epsilon, delta), 2, Approximate(4 * epsilon, 4 * delta), RowEffect.ALL_DRAWS
    )


@pytest.mark.parametrize("relation", Neighbours)
def test_a_sum_over_rows_among_concentrated_queries_spends_what_a_group_of_rows_costs(relation: Neighbours) -> None:
    gradient = Request("weight gradient 1", None, 3, BOUNDED_TOGETHER, "laplace", Fraction(1))
    shares = compose([gradient, request(Concentrated), request(Pure)], Budget(Fraction(1), relation, delta=DELTA))
    for share, draws in zip(shares, (relation.rows**2, relation.rows, relation.rows), strict=True):
        one = share.row_cost.rho if isinstance(share.row_cost, Concentrated) else share.row_cost.epsilon**2 / 2
        assert isinstance(share.cost, Concentrated)
        assert float(share.cost.rho) * (1 - 1e-7) <= draws * one <= share.cost.rho


@pytest.mark.parametrize("effect", RowEffect)
def test_losses_of_different_kinds_are_not_taken_for_each_other(effect: RowEffect) -> None:
    pure, approximate, rho = Pure(Fraction(1)), Approximate(Fraction(1), Fraction(1, 10)), Concentrated(Fraction(1))
    assert group_cost_within(pure, 1, approximate, effect)
    assert not group_cost_within(approximate, 1, pure, effect)
    assert group_cost_within(pure, 1, rho, effect)
    assert not group_cost_within(approximate, 1, rho, effect)
    assert not group_cost_within(rho, 1, pure, effect)
    assert not group_cost_within(rho, 1, approximate, effect)


# --- composition --------------------------------------------------------------------------------------------------


def request(kind: type[PrivacyCost], weight: Fraction = Fraction(1)) -> Request:
    return Request("mean", "age", 2, PARALLEL_CLASSES, "noise", weight, kind)


WEIGHTS = st.lists(st.fractions(min_value=Fraction(1, 1000), max_value=1000), min_size=1, max_size=20)


@pytest.mark.slow
@settings(deadline=None)
@given(WEIGHTS, WEIGHTS, EPSILONS, DELTAS, st.sampled_from(Neighbours))
def test_epsilons_and_deltas_add_up_exactly(
    pure: list[Fraction], approximate: list[Fraction], epsilon: Fraction, delta: Fraction, relation: Neighbours
) -> None:
    requests = [request(Pure, weight) for weight in pure] + [request(Approximate, weight) for weight in approximate]
    shares = compose(requests, Budget(epsilon, relation, delta=delta))
    assert total(shares) == Approximate(epsilon, delta)
    assert all(isinstance(share.cost, Pure) for share in shares[: len(pure)])
    assert all(group_cost_within(share.row_cost, relation.rows, share.cost, RowEffect.ONE_DRAW) for share in shares)


@pytest.mark.slow
@settings(deadline=None)
@given(WEIGHTS, WEIGHTS, EPSILONS, DELTAS, st.sampled_from(Neighbours))
def test_rhos_add_up_to_one_that_implies_the_budget(
    pure: list[Fraction], concentrated: list[Fraction], epsilon: Fraction, delta: Fraction, relation: Neighbours
) -> None:
    requests = [request(Pure, weight) for weight in pure] + [request(Concentrated, weight) for weight in concentrated]
    shares = compose(requests, Budget(epsilon, relation, delta=delta))
    spent = total(shares)
    assert spent == concentrated_within(Approximate(epsilon, delta))
    assert implies(spent.rho, Approximate(epsilon, delta))  # type: ignore[union-attr]
    assert [type(share.row_cost) for share in shares] == [Pure] * len(pure) + [Concentrated] * len(concentrated)
    assert all(group_cost_within(share.row_cost, relation.rows, share.cost, RowEffect.ONE_DRAW) for share in shares)


@pytest.mark.parametrize(
    ("kinds", "delta"),
    [([Pure], Fraction(1, 100)), ([Approximate], Fraction(0)), ([Pure, Concentrated], Fraction(0))],
)
def test_a_delta_is_given_exactly_where_it_is_needed(kinds: list[type[PrivacyCost]], delta: Fraction) -> None:
    with pytest.raises(ValueError, match="a delta is needed"):
        compose(map(request, kinds), Budget(Fraction(1), delta=delta))


def test_approximate_and_concentrated_losses_do_not_mix() -> None:
    with pytest.raises(ValueError, match="do not compose"):
        compose(map(request, [Approximate, Concentrated]), Budget(Fraction(1), delta=Fraction(1, 100)))


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("1e-6", Fraction(1, 10**6)), ("1/45222", Fraction(1, 45222)), (1e-6, Fraction(1, 10**6)), (0, 0)],
)
def test_delta_is_what_was_typed(typed: object, meant: Fraction) -> None:
    assert parse_delta(typed) == meant


@pytest.mark.parametrize("typed", ["-1", "nan", "inf", "one", "0.06", "1", "1e-101", None, ""])
def test_other_deltas_are_refused(typed: object) -> None:
    with pytest.raises(UsageError, match=r"^delta: "):
        parse_delta(typed)


def test_an_order_of_exactly_two_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """The logarithm of a - 1 is 0 there, and the decimal next to 0 is no number to make a fraction of."""
    monkeypatch.setattr(costs, "_best_order", lambda rho, epsilon: 2.0)
    assert implies(Fraction(1, 50), Approximate(Fraction(20), Fraction(1, 10**6)))
    assert not implies(Fraction(1, 50), Approximate(Fraction(1, 10), Fraction(1, 10**6)))
