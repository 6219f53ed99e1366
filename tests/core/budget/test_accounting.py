"""Losses converted, added up and compared with limits: exact where they add up, and never past the truth."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

import mpmath
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.noise_cases import gaussian_delta, precise

from dpnb_columnar.core.budget import (
    Approximate,
    Budget,
    Concentrated,
    Neighbours,
    PrivacyCost,
    Pure,
    Request,
    RowEffect,
    Spent,
    admits,
    compose,
    costs,
    parse_delta,
    remaining,
    total,
)
from dpnb_columnar.core.budget.composition import BOUNDED_TOGETHER, PARALLEL_CLASSES
from dpnb_columnar.core.budget.costs import (
    LARGEST_TOTAL,
    concentrated_within,
    floor_digits,
    for_one_row,
    group_cost_within,
    implies,
    pure_within,
    to_concentrated,
)
from dpnb_columnar.errors import UsageError

EPSILONS = st.fractions(min_value=Fraction(1, 10**4), max_value=5)
DELTAS = st.fractions(min_value=Fraction(1, 10**9), max_value=Fraction(1, 1000))
RHOS = st.fractions(min_value=Fraction(1, 10**6), max_value=1)
LIMITS = st.builds(Approximate, EPSILONS, DELTAS)
PURE = st.builds(Pure, EPSILONS)
SUMMED = st.one_of(PURE, st.builds(Approximate, EPSILONS, DELTAS))
LOSSES = st.one_of(SUMMED, st.builds(Concentrated, RHOS))


def spent(*losses: PrivacyCost) -> Spent:
    return reduce(Spent.plus, losses, Spent())


# --- totals -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(st.lists(SUMMED, max_size=10))
def test_epsilons_and_deltas_of_many_releases_add_up_exactly(losses: list[PrivacyCost]) -> None:
    epsilon = sum((loss.epsilon for loss in losses), Fraction(0))  # type: ignore[union-attr]
    delta = sum((loss.delta for loss in losses if isinstance(loss, Approximate)), Fraction(0))
    total = spent(*losses)
    assert total == Spent(epsilon, delta, Fraction(0))
    assert admits(Approximate(epsilon, delta), total)
    if losses:
        assert not admits(Approximate(epsilon - Fraction(1, 10**30), delta), total)
    if delta:
        assert not admits(Approximate(epsilon, delta - Fraction(1, 10**30)), total)


@pytest.mark.slow
@given(st.lists(SUMMED, max_size=5), st.lists(st.one_of(PURE, st.builds(Concentrated, RHOS)), max_size=5), RHOS)
def test_from_the_first_concentrated_release_on_rhos_add_up(
    before: list[PrivacyCost], after: list[PrivacyCost], first: Fraction
) -> None:
    history = spent(*before)
    total = spent(*before, Concentrated(first), *after)
    costs = [loss.rho if isinstance(loss, Concentrated) else loss.epsilon**2 / 2 for loss in after]  # type: ignore[union-attr]
    assert total == Spent(history.epsilon, history.delta, first + sum(costs, Fraction(0)))


@pytest.mark.slow
@given(st.lists(SUMMED, max_size=5), RHOS, st.builds(Approximate, EPSILONS, DELTAS))
def test_no_approximate_release_follows_a_concentrated_one(
    before: list[PrivacyCost], rho: Fraction, late: Approximate
) -> None:
    total = spent(*before, Concentrated(rho))
    with pytest.raises(ValueError, match="cannot follow"):
        total.plus(late)


def test_totals_of_more_than_a_thousand_digits_are_refused() -> None:
    half = Pure(Fraction(1, 10**600 + 7))
    with pytest.raises(ValueError, match="digits"):
        spent(half, Pure(Fraction(1, 10**600 + 9)))
    assert spent(half, half).epsilon.denominator <= LARGEST_TOTAL


# --- limits -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(deadline=None)
@given(LIMITS)
def test_one_release_may_take_the_whole_limit_whatever_its_kind(limit: Approximate) -> None:
    for loss in (Pure(limit.epsilon), limit, concentrated_within(limit)):
        assert admits(limit, spent(loss))
        assert not admits(limit, spent(loss).plus(Pure(Fraction(1, 100))))


def test_limits_without_a_delta_admit_pure_releases_only() -> None:
    limit = Approximate(Fraction(1), Fraction(0))
    assert admits(limit, spent(Pure(Fraction(1))))
    assert not admits(limit, spent(Approximate(Fraction(1, 10), Fraction(1, 10**100))))
    assert not admits(limit, spent(Concentrated(Fraction(1, 10**100))))


def test_amounts_beyond_every_float_are_decided() -> None:
    limit = Approximate(Fraction(1), Fraction(1, 10**6))
    for huge in (Concentrated(Fraction(10**900)), Pure(Fraction(10**900)), Pure(Fraction(10**400))):
        assert not admits(limit, spent(huge))
    assert not admits(limit, spent(Concentrated(Fraction(1, 10**9)), Pure(Fraction(10**400))))
    assert admits(limit, spent(Concentrated(Fraction(1, 10**900))))
    nearly = Pure(1 - Fraction(1, 10**900))
    assert admits(limit, spent(nearly))
    assert not admits(limit, spent(nearly, Concentrated(Fraction(1, 100))))


def test_many_concentrated_releases_cost_less_than_the_sum_of_what_each_implies() -> None:
    limit = Approximate(Fraction(1), Fraction(1, 10**6))
    each = concentrated_within(Approximate(Fraction(1, 10), Fraction(1, 10**7)))
    total = Spent()
    releases = 0
    while admits(limit, total.plus(each)):
        total, releases = total.plus(each), releases + 1
    assert releases > 50


@pytest.mark.slow
@settings(deadline=None)
@given(LIMITS, st.lists(LOSSES, max_size=6))
def test_what_was_within_a_limit_stays_so_without_the_last_release(
    limit: Approximate, losses: list[PrivacyCost]
) -> None:
    totals = [Spent()]
    for loss in losses:
        if not (isinstance(loss, Approximate) and totals[-1].rho):
            totals.append(totals[-1].plus(loss))
    judged = [admits(limit, total) for total in totals]
    assert judged == sorted(judged, reverse=True)


@pytest.mark.slow
@settings(deadline=None)
@given(LIMITS, st.fractions(0, 1), st.fractions(0, 1), st.integers(1, 50))
def test_the_worst_mechanisms_of_a_full_account_lose_no_more_than_its_limit(
    limit: Approximate, used: Fraction, used_delta: Fraction, releases: int
) -> None:
    """Randomised response that tells all with probability delta', then Gaussian releases, in exact distribution."""
    first = Approximate(limit.epsilon * used, limit.delta * used_delta)
    history = Spent(first.epsilon, first.delta)
    left = remaining(limit, history)
    assume(left.rho > 0)
    total = reduce(Spent.plus, [Concentrated(left.rho / releases)] * releases, history)
    assert admits(limit, total)
    with mpmath.workdps(40):
        epsilon, rho, leak = precise(first.epsilon), precise(total.rho), precise(first.delta)
        likely = 1 / (1 + mpmath.exp(-epsilon))
        divergence = likely * gaussian_delta(precise(limit.epsilon) - epsilon, rho) + (1 - likely) * gaussian_delta(
            precise(limit.epsilon) + epsilon, rho
        )
        assert leak + (1 - leak) * divergence <= precise(limit.delta)


# --- what remains -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(deadline=None)
@given(LIMITS, st.lists(LOSSES, max_size=4))
def test_what_remains_is_admitted_and_hardly_more_is(limit: Approximate, losses: list[PrivacyCost]) -> None:
    total = Spent()
    for loss in losses:
        if not (isinstance(loss, Approximate) and total.rho) and admits(limit, total.plus(loss)):
            total = total.plus(loss)
    left = remaining(limit, total)
    assert min(left.epsilon, left.delta, left.rho) >= 0
    more = Fraction(1001, 1000)
    if left.epsilon:
        assert admits(limit, total.plus(Pure(left.epsilon)))
        assert not admits(limit, total.plus(Pure(left.epsilon * more)))
    if left.delta and left.epsilon:
        assert admits(limit, total.plus(Approximate(left.epsilon, left.delta)))
        assert not admits(limit, total.plus(Approximate(left.epsilon, left.delta * more)))
    if left.rho > Fraction(1, 10**5):
        assert admits(limit, total.plus(Concentrated(left.rho)))
    largest = (
        concentrated_within(Approximate(limit.epsilon - total.epsilon, limit.delta - total.delta)).rho
        if left.rho
        else 0
    )
    if left.rho:
        assert not admits(limit, Spent(total.epsilon, total.delta, largest * more))


def test_nothing_remains_of_a_limit_that_is_spent() -> None:
    limit = Approximate(Fraction(1), Fraction(1, 10**6))
    left = remaining(limit, spent(Approximate(Fraction(1), Fraction(1, 10**6))))
    assert (left.epsilon, left.delta, left.rho) == (0, 0, 0)
    left = remaining(limit, spent(concentrated_within(limit)))
    assert (left.epsilon, left.delta, left.rho) == (0, 0, 0)
    left = remaining(limit, spent(Pure(1 - Fraction(1, 10**30))))
    assert (left.epsilon, left.rho) == (Fraction(1, 10**30), 0)


# Conversion between ways of stating a loss: against more digits and against distributions, never past the truth.

ANY_EPSILONS = st.fractions(min_value=Fraction(1, 10**4), max_value=50)
ANY_DELTAS = st.fractions(min_value=Fraction(1, 10**12), max_value=Fraction(1, 20))
DELTA = Fraction(1, 10**6)
ANY_RHOS = st.fractions(min_value=Fraction(1, 10**12), max_value=100)


# --- concentrated losses ------------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(deadline=None)
@given(ANY_EPSILONS, ANY_DELTAS)
def test_the_converted_rho_is_safe_for_the_gaussian_mechanism(epsilon: Fraction, delta: Fraction) -> None:
    rho = concentrated_within(Approximate(epsilon, delta)).rho
    with mpmath.workdps(40):
        assert gaussian_delta(precise(epsilon), precise(rho)) <= precise(delta)


@pytest.mark.slow
@settings(deadline=None)
@given(ANY_EPSILONS, ANY_DELTAS)
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
@given(ANY_RHOS)
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
    return st.one_of(
        st.builds(Pure, ANY_EPSILONS),
        st.builds(Approximate, ANY_EPSILONS, ANY_DELTAS),
        st.builds(Concentrated, ANY_RHOS),
    )


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
@given(WEIGHTS, WEIGHTS, ANY_EPSILONS, ANY_DELTAS, st.sampled_from(Neighbours))
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
@given(WEIGHTS, WEIGHTS, ANY_EPSILONS, ANY_DELTAS, st.sampled_from(Neighbours))
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
    ("kinds", "delta"), [([Pure], Fraction(1, 100)), ([Approximate], Fraction(0)), ([Pure, Concentrated], Fraction(0))]
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
