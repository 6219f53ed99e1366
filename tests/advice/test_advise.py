"""Advice is a function of domain, budget and rows, and it is sensible where it is known what is sensible."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
from support.mechanisms import PRIVATE
from support.people import people_domain

from dpnb_columnar.advice import recommendation
from dpnb_columnar.advice.recommendation import Advice, Prospect, advise
from dpnb_columnar.advice.rehearsal import Outcome
from dpnb_columnar.budget import Budget, Neighbours, parse_division
from dpnb_columnar.errors import UsageError

DOMAIN = people_domain()


def advice(epsilon: str, rows: int = 20_000) -> Advice:
    return advise(DOMAIN, Budget(Fraction(epsilon)), rows)


def outcomes(found: Advice, mechanism: str) -> tuple[Outcome, Outcome]:
    (prospect,) = [each for each in found.prospects if each.mechanism == mechanism]
    return prospect.tight, prospect.wide


@pytest.mark.slow
def test_same_arguments_same_advice() -> None:
    first = advice("0.3")
    advise.cache_clear()
    second = advise(people_domain(), Budget(Fraction(3, 10)), 20_000)
    assert first is not second
    assert first == second
    assert advice("0.4") != first
    assert advice("0.3", 30_000) != first


def test_every_private_mechanism_is_rehearsed() -> None:
    found = advice("1")
    assert [each.mechanism for each in found.prospects] == PRIVATE
    assert sorted(each.mechanism for each in found.ranked) == sorted(PRIVATE)
    assert found.ranked[0].mechanism == found.recommended
    assert found.rows == 20_000


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["smooth", "trimmed-mean", "global-variance"])
def test_errors_fall_as_epsilon_or_the_rows_grow(mechanism: str) -> None:
    ladder = [outcomes(advice(epsilon), mechanism) for epsilon in ("0.03", "0.3", "3")]
    ladder.append(outcomes(advice("3", 2_000_000), mechanism))
    for less, more in pairwise(ladder):
        for worse, better in zip(less, more, strict=True):
            assert worse.mean_error is not None
            assert better.mean_error is not None
            assert worse.mean_error > better.mean_error > 0


def test_little_noise_loses_little_and_much_noise_much() -> None:
    precise, coarse = advice("10", 1_000_000), advice("0.01", 1000)
    for mechanism in ("smooth", "histogram", "adaptive-histogram", "global-variance"):
        for outcome in outcomes(precise, mechanism):
            assert abs(outcome.lost) < 0.01
            assert outcome.accuracy == pytest.approx(0.85, abs=0.03)
        for outcome in outcomes(coarse, mechanism):
            assert outcome.lost > 0.03
            assert outcome.ratio_error > 0.3


def test_majority_loses_all_that_the_attributes_tell() -> None:
    for outcome in outcomes(advice("1"), "majority"):
        assert outcome.accuracy == pytest.approx(0.75)
        assert outcome.lost == pytest.approx(0.1, abs=0.03)
        assert outcome.mean_error is outcome.variance_error is None
        assert outcome.ratio_error > 0.2


def test_worst_case_noise_suffers_from_wide_bounds() -> None:
    tight, wide = outcomes(advice("0.1"), "global-variance")
    assert tight.mean_error is not None
    assert wide.mean_error is not None
    assert wide.mean_error > 5 * tight.mean_error


@pytest.mark.slow
def test_a_relation_that_costs_more_has_larger_errors() -> None:
    budget = Budget(Fraction(1, 2))
    one = advise(DOMAIN, budget, 20_000)
    two = advise(DOMAIN, replace(budget, neighbours=Neighbours.REPLACE_ONE), 20_000)
    for less, more in zip(outcomes(one, "smooth"), outcomes(two, "smooth"), strict=True):
        assert less.mean_error is not None
        assert more.mean_error is not None
        assert less.mean_error < more.mean_error


def test_delta_is_left_aside() -> None:
    budget = Budget(Fraction(1))
    assert advise(DOMAIN, replace(budget, delta=Fraction(1, 10**6)), 5000) == advise(DOMAIN, budget, 5000)


def test_mechanisms_that_the_budget_is_too_small_for_are_left_out() -> None:
    starved = Budget(Fraction(1, 1000), division=parse_division("1:1000000000:1"))
    found = advise(DOMAIN, starved, 5000)
    names = [each.mechanism for each in found.prospects]
    assert "smooth" not in names
    assert {"histogram", "majority"} <= set(names)
    assert found.recommended in names


def test_no_mechanism_left_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recommendation, "rehearse", lambda *arguments: {})
    with pytest.raises(UsageError, match="too small"):
        advice("1", 12_345)


def prospect(mechanism: str, tight: float, wide: float) -> Prospect:
    return Prospect(mechanism, *(Outcome(0.85 - lost, lost, None, None, 0.1) for lost in (tight, wide)))


@pytest.mark.parametrize(
    ("losses", "recommended"),
    [
        ({"smooth": (0.01, 0.01), "histogram": (0.02, 0.02)}, "smooth"),
        ({"smooth": (0.02, 0.02), "histogram": (0.01, 0.01)}, "histogram"),
        ({"smooth": (0.0, 0.05), "histogram": (0.01, 0.01)}, "histogram"),  # the average decides
        ({"smooth": (0.01, 0.01), "histogram": (0.0115, 0.0115)}, "histogram"),  # a tie
        ({"histogram": (0.01, 0.01), "adaptive-histogram": (0.0115, 0.0115)}, "adaptive-histogram"),
        ({"global": (0.01, 0.01), "adaptive-histogram": (0.0115, 0.0115)}, "adaptive-histogram"),
        ({"paper": (0.0115, 0.0115), "global": (0.01, 0.01)}, "global"),  # no preference: the better one
        ({"smooth": (-0.01, -0.01), "histogram": (-0.02, -0.02)}, "histogram"),
    ],
)
def test_the_smallest_average_loss_is_recommended(losses: dict[str, tuple[float, float]], recommended: str) -> None:
    found = Advice(1000, tuple(prospect(name, *pair) for name, pair in losses.items()))
    assert found.recommended == recommended
    assert found.ranked[0].mechanism == recommended
    assert len(found.ranked) == len(losses)
