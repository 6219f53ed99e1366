"""Advice and expectations are functions of domain, budget and rows, and sensible where it is known what is sensible."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
from support.people import people_domain

import dpnb_columnar as dpnb
from dpnb_columnar.advice import rehearsal
from dpnb_columnar.advice.rehearsal import (
    Advice,
    Automatic,
    Errors,
    Expectation,
    Prospect,
    RehearsalOutcome,
    advise,
    expect,
    releases,
    remedies,
    what_auto_takes,
    worst,
)
from dpnb_columnar.core.budget import Budget, Neighbours, parse_division
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.errors import UsageError
from dpnb_columnar.releases.plan import plan

DOMAIN = people_domain()


def census(attributes: int = 40) -> Domain:
    """Many attributes, a few of them numeric."""
    declared = {f"n{number}": {"lower": 0, "upper": 99, "step": 1} for number in range(attributes // 6)}
    declared |= {f"c{number}": {"values": list("abcdef")} for number in range(attributes - len(declared))}
    document = {"label": {"column": "y", "classes": ["no", "yes"]}, "attributes": declared}
    return read_domain("census", document, "test")


def advice(epsilon: str, rows: int = 20_000) -> Advice:
    return advise(DOMAIN, Budget(Fraction(epsilon)), rows)


def prospect(found: Advice, mechanism: str, weights: str = "none") -> Prospect:
    (wanted,) = [each for each in found.prospects if (each.mechanism, each.weights) == (mechanism, weights)]
    return wanted


@pytest.mark.slow
def test_same_arguments_same_advice() -> None:
    first = advice("0.3")
    advise.cache_clear()
    rehearsal.stage.cache_clear()
    second = advise(people_domain(), Budget(Fraction(3, 10)), 20_000)
    assert first is not second
    assert first == second
    assert advice("0.4") != first
    assert advice("0.3", 30_000) != first


def test_candidates_are_rehearsed_with_every_weights_that_suit_them() -> None:
    found = advice("1")
    assert [(each.mechanism, each.weights) for each in found.prospects] == [
        *(("smooth", weights) for weights in ("none", "calibrated")),
        *(("histogram", weights) for weights in ("none", "tempered", "calibrated")),
        *(("adaptive-histogram", weights) for weights in ("none", "tempered", "calibrated")),
        ("majority", "none"),
    ]
    assert found.ranked[0].mechanism == found.best.mechanism
    assert len(found.ranked) == 4
    assert found.rows == 20_000


@pytest.mark.slow
def test_errors_fall_as_epsilon_or_the_rows_grow() -> None:
    ladder = [prospect(advice(epsilon), "smooth").errors for epsilon in ("0.03", "0.3", "3")]
    ladder.append(prospect(advice("3", 2_000_000), "smooth").errors)
    for less, more in pairwise(ladder):
        for worse, better in zip(less, more, strict=True):
            assert worse.mean is not None
            assert better.mean is not None
            assert worse.mean > better.mean > 0


@pytest.mark.slow
def test_little_noise_loses_little_and_much_noise_much() -> None:
    precise, coarse = advice("10", 1_000_000), advice("0.01", 1000)
    for mechanism in ("smooth", "histogram", "adaptive-histogram"):
        for outcome in prospect(precise, mechanism).outcomes:
            assert abs(outcome.lost) < 0.01
            assert outcome.accuracy == pytest.approx(0.85, abs=0.03)
            assert outcome.low <= outcome.accuracy
        for outcome, errors in zip(*_both(prospect(coarse, mechanism)), strict=True):
            assert outcome.lost > 0.03
            assert errors.ratio > 0.3


def _both(one: Prospect) -> tuple[tuple[RehearsalOutcome, ...], tuple[Errors, ...]]:
    return one.outcomes, one.errors


def test_majority_loses_all_that_the_attributes_tell() -> None:
    for outcome, errors in zip(*_both(prospect(advice("1"), "majority")), strict=True):
        assert outcome.accuracy == outcome.largest_class == pytest.approx(0.75)
        assert outcome.lost == pytest.approx(0.1, abs=0.03)
        assert errors.mean is errors.variance is None
        assert errors.ratio > 0.2


@pytest.mark.slow
def test_a_relation_that_costs_more_has_larger_errors() -> None:
    budget = Budget(Fraction(1, 2))
    one = advise(DOMAIN, budget, 20_000)
    two = advise(DOMAIN, replace(budget, neighbours=Neighbours.REPLACE_ONE), 20_000)
    for less, more in zip(prospect(one, "smooth").errors, prospect(two, "smooth").errors, strict=True):
        assert less.mean is not None
        assert more.mean is not None
        assert less.mean < more.mean


def test_delta_is_left_aside() -> None:
    budget = Budget(Fraction(1))
    assert advise(DOMAIN, replace(budget, delta=Fraction(1, 10**6)), 5000) == advise(DOMAIN, budget, 5000)


def test_mechanisms_that_the_budget_is_too_small_for_are_left_out() -> None:
    starved = Budget(Fraction(1, 1000), division=parse_division("1:1000000000:1"))
    names = {each.mechanism for each in advise(DOMAIN, starved, 5000).prospects}
    assert "smooth" not in names
    assert {"histogram", "majority"} <= names


def test_no_mechanism_left_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpnb_columnar.advice.rehearsal.CANDIDATES", ())
    monkeypatch.setattr("dpnb_columnar.advice.rehearsal.METHODS", ())
    with pytest.raises(UsageError, match="too small"):
        advice("1", 12_345)


AUTOMATIC = "adaptive-histogram none"
TAKEN = Automatic("adaptive-histogram", "none")


def loses(name: str, tight: float, wide: float) -> Prospect:
    mechanism, _, weights = name.partition(" ")
    outcomes = tuple(RehearsalOutcome(2, (0.85 - lost,), 0.85, 0.75) for lost in (tight, wide))
    return Prospect(mechanism, weights or "none", (Errors(None, None, 0.1),) * 2, outcomes)


@pytest.mark.parametrize(
    ("losses", "recommended"),
    [
        ({"smooth": (0.01, 0.01), "histogram": (0.02, 0.02)}, "smooth none"),
        ({"smooth": (0.02, 0.02), "histogram": (0.01, 0.01)}, "histogram none"),
        ({"smooth": (0.0, 0.05), "histogram": (0.01, 0.01)}, "histogram none"),  # the average decides
        ({"smooth": (0.0125, 0.0125), "histogram": (0.01, 0.01)}, "smooth none"),  # a tie
        ({"histogram": (0.01, 0.01), "smooth calibrated": (0.0125, 0.0125)}, "smooth calibrated"),
        ({"histogram tempered": (0.01, 0.01), "histogram calibrated": (0.012, 0.012)}, "histogram calibrated"),
        ({"histogram tempered": (0.01, 0.01), "histogram calibrated": (0.014, 0.014)}, "histogram tempered"),
        ({"majority": (0.01, 0.01), "smooth": (0.02, 0.02)}, "majority none"),
        # What auto takes is recommended, even where another mechanism loses less.
        ({"adaptive-histogram": (0.02, 0.03), "histogram": (0.0, 0.0), "smooth": (0.0, 0.0)}, AUTOMATIC),
        ({"adaptive-histogram": (0.02, 0.101), "histogram": (0.1, 0.1), "smooth": (0.0, 0.2)}, AUTOMATIC),
        ({"adaptive-histogram": (0.01, 0.01), "adaptive-histogram calibrated": (0.0, 0.0)}, AUTOMATIC),
        # Where its weights are below the largest class, .75, others are recommended.
        (
            {"adaptive-histogram": (0.11, 0.11), "adaptive-histogram calibrated": (0.1, 0.1), "smooth": (0.0, 0.0)},
            "adaptive-histogram calibrated",
        ),
        # Where that is below the largest class, .75, on any bounds, another one is that is not.
        ({"adaptive-histogram": (0.0, 0.11), "histogram": (0.09, 0.09), "smooth": (0.0, 0.11)}, "histogram none"),
        ({"adaptive-histogram": (0.11, 0.11), "histogram": (0.12, 0.12)}, AUTOMATIC),  # nothing is better
    ],
)
def test_what_auto_takes_is_recommended_else_what_loses_least(
    losses: dict[str, tuple[float, float]], recommended: str
) -> None:
    found = Advice(1000, tuple(loses(name, *pair) for name, pair in losses.items()), TAKEN)
    assert f"{found.best.mechanism} {found.best.weights}" == recommended
    assert found.ranked[0].mechanism == found.best.mechanism
    assert len(found.ranked) == len({name.split()[0] for name in losses})


def test_where_the_budget_is_too_small_for_what_auto_takes_it_is_not_recommended() -> None:
    starved = Budget(Fraction(1, 1000), division=parse_division("1:1000000000:1"))
    found = advise(DOMAIN, starved, 5000, automatic=Automatic("smooth", "none"))
    assert found.automatic.mechanism not in {each.mechanism for each in found.prospects}
    assert found.best.mechanism in {each.mechanism for each in found.prospects}


@pytest.mark.parametrize("mechanism", ["auto", "smooth", "histogram", "paper"])
def test_plan_recommends_what_auto_takes_whatever_is_planned(mechanism: str) -> None:
    ahead = dpnb.plan(domain=DOMAIN, epsilon=1, rows=20_000, mechanism=mechanism)
    assert ahead.rehearsal is not None
    advised = ahead.rehearsal.advice
    planned = plan(DOMAIN, Budget(Fraction(1)), attribute_weights="auto", rows=20_000)
    taken, weights = planned.mechanism.name, planned.attribute_weights
    assert advised.automatic == Automatic(taken, weights or "none")
    assert (advised.best.mechanism, advised.best.weights) == (taken, weights or "none")
    assert f"recommended: {taken} with" in repr(ahead)
    assert (f"mechanism {taken}: chosen by auto, since" in repr(ahead)) is (mechanism == "auto")


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "weights"), [(9_000, "none"), (20_000, "calibrated"), (2_000_000, "learned")])
def test_the_weights_that_auto_takes_are_rehearsed_and_recommended(rows: int, weights: str) -> None:
    domain, budget = census(12), Budget(Fraction(1, 10))
    assert what_auto_takes(domain, budget, rows).weights == weights
    found = advise(domain, budget, rows)
    assert (found.best.mechanism, found.best.weights) == (found.automatic.mechanism, weights)
    rehearsed = {each.weights for each in found.prospects if each.mechanism == found.automatic.mechanism}
    assert rehearsed == {"none", "tempered", "calibrated", weights}


def below(expectations: tuple[Expectation, ...]) -> list[bool]:
    return [each.outcome.worse for each in expectations]


@pytest.mark.slow
def test_more_epsilon_does_not_help_where_attributes_are_correlated_and_weights_do() -> None:
    """What happens on Census-Income: 40 attributes, 6 % positives."""
    sizes = (Fraction(94), Fraction(6))
    for epsilon in (1, 10):
        for mechanism in ("histogram", "smooth"):
            planned = plan(census(), Budget(Fraction(epsilon)), mechanism)
            found = expect(planned, 50_000, sizes)
            assert [each.outcome.family for each in found] == [1, 4, 4]
            assert below(found)[:2] == [False, True]
            furthest = worst(found)
            assert furthest is not None
            assert furthest.outcome.family == 4
            own, other = remedies(planned, furthest, 50_000)
            assert (own.mechanism, other.mechanism != mechanism) == (mechanism, True)
            assert "none" not in {own.weights, other.weights}
    calibrated = plan(census(), Budget(Fraction(1)), "histogram", attribute_weights="calibrated")
    assert below(expect(calibrated, 50_000, sizes)) == [False] * 3
    assert worst(expect(calibrated, 50_000, sizes)) is None


@pytest.mark.slow
def test_more_epsilon_is_named_where_noise_is_what_is_wrong() -> None:
    planned = plan(DOMAIN, Budget(Fraction(1, 20)), "smooth")
    furthest = worst(expect(planned, 400))
    assert furthest is not None
    found = remedies(planned, furthest, 400)
    assert all(each.accuracy >= furthest.outcome.largest_class - 0.002 for each in found)


def test_an_expectation_is_repeatable_and_has_a_low_quantile() -> None:
    planned = plan(DOMAIN, Budget(Fraction(1, 10)), "histogram")
    first = expect(planned, 20_000)
    rehearsal.stage.cache_clear()
    assert expect(planned, 20_000) == first
    for each in first:
        assert len(each.outcome.accuracies) == 20
        assert min(each.outcome.accuracies) <= each.outcome.low <= each.outcome.accuracy
    scenarios = [(each.scenario.looseness, each.scenario.class_sizes[0], each.outcome.family) for each in first]
    assert scenarios == [(1, 3, 1), (10, 3, 1), (1, 15, 1)]


def test_wide_domains_are_rehearsed_less_often() -> None:
    assert [releases(census(attributes)) for attributes in (1, 40, 80, 137, 1000)] == [20, 20, 10, 8, 8]


def test_many_classes_are_rehearsed_less_often() -> None:
    """Releases times classes, and so the time, stay below a bound until two releases are left."""
    number = {}
    for classes in (2, 100, 101, 300, 1000, 5000):
        label = {"column": "y", "classes": [str(each) for each in range(classes)]}
        domain = read_domain("many", {"label": label, "attributes": {"a": {"values": ["0", "1"]}}}, "test")
        number[classes] = releases(domain), rehearsal.draws_to_compare(domain)
    assert number == {2: (20, 4), 100: (20, 4), 101: (19, 3), 300: (6, 1), 1000: (2, 1), 5000: (2, 1)}
