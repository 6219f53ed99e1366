"""Accounting of many releases: exact where it adds up, proven where it converts, and never past the truth."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

import mpmath
import pytest
from dpnb_columnar.core.budget import Approximate, Concentrated, PrivacyCost, Pure, Spent, admits, remaining
from dpnb_columnar.core.budget.accounting import LARGEST_TOTAL
from dpnb_columnar.core.budget.costs import concentrated_within
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.noise_cases import gaussian_delta, precise

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
