"""Priors: the classes' sizes from all released counts, and a population's, as far as noise lets weights change them."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from support.mechanisms import PRIVATE
from support.model_cases import declared, from_document, measurement
from support.people import PEOPLE, people, people_domain
from support.recorded_draws import Forced
from support.releases import plan_and_release
from support.weights import weighted_domain, weighted_people

import dpnb_columnar as dpnb
from dpnb_columnar.advice.expected_error import expected_error
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget, Pure, Share
from dpnb_columnar.core.budget.composition import PARALLEL_CELLS
from dpnb_columnar.core.measurement import CLASS_COUNTS, COUNTS, WEIGHTED_COUNTS, by_key
from dpnb_columnar.core.noise import ExactSampler, SeededBits
from dpnb_columnar.core.queries.statistics import Statistics
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.editing import with_unit, with_weight
from dpnb_columnar.errors import DataError
from dpnb_columnar.model.document import to_document
from dpnb_columnar.model.postprocessing import (
    USUAL_TILT,
    ClassSizes,
    class_shares,
    class_sizes,
    population_shares,
    priors,
)
from dpnb_columnar.releases.plan import plan

DRAWS = 400
ROWS = 20_000
MEAN = 100
"""Mean weight of a row."""

PRIORS = (0.5, 0.25, 0.03)
TILTS = (0.0, 0.03, 0.05, 0.1, 0.15, 0.2, 0.3, 0.6, 1.5)
"""Of the log-odds of the second class."""

CAPS = ((100, 0.1), (400, 0.05), (400, 0.01), (1000, 0.02), (1000, 0.002))
"""The most that one row weighs, with the epsilon of the sums."""


SUMS = next(each for each in plan(weighted_domain(), Budget(Fraction(1))).shares if each.query == WEIGHTED_COUNTS)


def squared_errors(prior: float, tilt: float, cap: int, epsilon: float) -> tuple[float, float, float]:
    """Mean squared errors of the second class's prior: of rows; of weights, and of both, three deviations aside."""
    generator = np.random.default_rng(7)
    odds = prior / (1 - prior) * math.exp(tilt)
    truth = odds / (1 + odds)
    sums = np.array([1 - truth, truth]) * ROWS * MEAN
    noise = generator.laplace(scale=cap / epsilon, size=(DRAWS, 2))
    sizes = ClassSizes(((1 - prior) * ROWS, prior * ROWS), 1.0)
    share = replace(SUMS, row_cost=Pure(Fraction(str(epsilon))))
    errors = []
    for drawn in np.rint(sums + noise).astype(int).tolist():
        alone = priors(drawn, cap)
        both = population_shares((1 - prior, prior), sizes, drawn, cap, share).probability
        assert math.fsum(both) == pytest.approx(1)
        assert min(both) > 0
        errors.append([alone.probability[1] - truth, both[1] - truth])
    squared = np.array(errors) ** 2
    off = 3 * squared.std(axis=0) / math.sqrt(DRAWS)
    return (prior - truth) ** 2, float(squared[:, 0].mean() + off[0]), float(squared[:, 1].mean() - off[1])


@pytest.mark.slow
@pytest.mark.parametrize("prior", PRIORS)
def test_a_weight_makes_no_prior_worse_than_that_of_the_rows(prior: float) -> None:
    """At the usual tilt and above not at all, below by half of its square; up to three, 2.5 times that of weights."""
    usual = (USUAL_TILT * prior * (1 - prior)) ** 2
    for tilt, (cap, epsilon) in product(TILTS, CAPS):
        rows, weights, both = squared_errors(prior, tilt, cap, epsilon)
        spare = usual / 2 if tilt < USUAL_TILT else 0.1 * usual  # the shares of a tilt are not quite linear in it
        assert both <= rows + spare, (tilt, cap, epsilon)
        if tilt <= 3 * USUAL_TILT:
            assert both <= 2.5 * weights, (tilt, cap, epsilon)


def test_on_average_over_usual_tilts_both_priors_are_worse() -> None:
    """By rows and by weights alone, where each of them is about as good as the other."""
    found = np.mean([squared_errors(0.3, sign * USUAL_TILT, 400, 0.01) for sign in (-1, 1)], axis=0)
    rows, weights, both = found
    assert 0.5 < rows / weights < 2
    assert both < 0.8 * min(rows, weights)


def test_a_difference_beyond_all_noise_is_kept_and_one_within_it_is_not() -> None:
    sizes = ClassSizes((500.0, 500.0), 1.0)

    def moved(epsilon: int | str, sums: list[int]) -> float:
        share = replace(SUMS, row_cost=Pure(Fraction(epsilon)))
        return population_shares((0.5, 0.5), sizes, sums, 400, share).probability[1]

    assert moved(10, [200_000, 800_000]) == pytest.approx(0.8, abs=1e-3)
    assert moved("0.01", [200_000, 800_000]) == pytest.approx(0.794, abs=5e-3)  # noise of .04, a usual tilt of .025
    assert moved("0.01", [20_000, 80_000]) == pytest.approx(0.5, abs=2e-3)
    assert moved("0.01", [-900, 80_000]) == pytest.approx(0.5, abs=2e-3)
    assert moved("0.01", [-900, -80_000]) == pytest.approx(0.5, abs=2e-3)


def test_a_rare_class_keeps_its_share_of_the_rows_where_a_large_one_is_moved() -> None:
    """Each class by its own noise: the sums say much of the large classes, and nothing of one in ten thousand."""
    shares, drawn = (0.6, 0.3999, 0.0001), [1_300_000, 700_000, 30_000]
    sizes, share = (
        ClassSizes(tuple(20_000 * each for each in shares), 1.0),
        replace(SUMS, row_cost=Pure(Fraction(1, 50))),
    )
    alone = priors(drawn, 400)
    found = population_shares(shares, sizes, drawn, 400, share).probability
    assert found[0] == pytest.approx(0.645, abs=0.005)  # .6 by rows, .65 by weights
    assert found[2] < 0.00011 < 0.01 < alone.probability[2]


def test_the_noise_of_the_sums_decides_how_far_a_trained_model_follows_the_weights() -> None:
    rows = weighted_people()
    share = float((rows["income"] == "high").mean() or 0)
    much, little = (
        plan_and_release(
            dpnb.aggregate(rows, domain=weighted_domain()), Budget(epsilon), draw=ExactSampler(SeededBits(4))
        )
        for epsilon in (Fraction(1000), Fraction(1, 2))
    )
    persons = 200 * share / (200 * share + 20 * (1 - share))
    assert much.priors[1] == pytest.approx(persons, abs=0.01)
    alone = priors(little.weighted_counts, 400).probability
    assert abs(little.priors[1] - little.classes.probability[1]) < 0.2 * abs(alone[1] - little.classes.probability[1])
    assert little.priors != little.classes.probability


def weighted_model() -> Model:
    statistics = dpnb.aggregate(weighted_people(), domain=weighted_domain())
    return plan_and_release(statistics, Budget(Fraction(5)), "histogram", draw=ExactSampler(SeededBits(4)))


def test_a_reader_computes_the_shares_of_weights_again() -> None:
    document = to_document(weighted_model())
    sums = document["weighted_classes"]
    read = from_document(document, "model.json")
    assert read.priors == tuple(sums["probability"])
    alone = list(priors(read.weighted_counts, 400).probability)
    assert alone != pytest.approx(sums["probability"], abs=0.001)
    other = {**document, "weighted_classes": {**sums, "probability": alone}}
    with pytest.raises(DataError, match=r"weighted_classes\.probability\.0.*follows from the measurements"):
        from_document(other, "model.json")


@pytest.mark.parametrize("mechanism", ["paper", "none"])
def test_what_truncates_and_nothing_else_has_the_shares_of_the_weights_alone(mechanism: str) -> None:
    model = plan_and_release(
        dpnb.aggregate(weighted_people(), domain=weighted_domain()),
        Budget(Fraction(1)),
        mechanism,
        draw=ExactSampler(SeededBits(4)),
    )
    assert model.weighted_classes is not None
    assert model.priors == priors(model.weighted_counts, 400).probability
    assert from_document(to_document(model), "model.json").priors == model.priors


# The classes' sizes from all released counts: unbiased, with the noise that is stated, and less of it.

DOMAIN = declared(
    {
        "every": {"values": [1, 2, 3, 4], "missing": "row"},
        "some": {"values": [1, 2]},
        "all": {"values": [1], "missing": "category"},
    },
    ["a", "b"],
)


def share(query: str, attribute: str | None, epsilon: Fraction) -> Share:
    cost = Pure(epsilon)
    return Share(query, attribute, 2, PARALLEL_CELLS.reason, "laplace", cost, cost)


def test_sizes_are_unbiased_and_as_noisy_as_they_say() -> None:
    exact, generator, draws = (1000, 40), np.random.default_rng(5), 4000
    shares = {
        (CLASS_COUNTS, None): share(CLASS_COUNTS, None, Fraction(1, 50)),
        (COUNTS, "every"): share(COUNTS, "every", Fraction(1, 10)),
        (COUNTS, "some"): share(COUNTS, "some", Fraction(1, 10)),
        (COUNTS, "all"): share(COUNTS, "all", Fraction(1, 20)),
    }
    found = []
    for _ in range(draws):
        released = [round(size + generator.laplace(0, 50)) for size in exact]
        every = tuple(tuple(round(size / 4 + generator.laplace(0, 10)) for _ in range(4)) for size in exact)
        both = tuple(tuple(round(size / 2 + generator.laplace(0, 20)) for _ in range(2)) for size in exact)
        some = ((7, 7), (7, 7))  # of few rows: says nothing of the classes' sizes
        values = {"every": every, "some": some, "all": both, None: [[size] for size in released]}
        measured = [measurement(*key, *values[key[1]], share=each) for key, each in shares.items()]
        found.append(class_sizes(DOMAIN, by_key(measured)))
    rows, deviation = np.array([each.rows for each in found]), found[0].deviation
    assert deviation == pytest.approx((1 / 5000 + 1 / 800 + 1 / 1600) ** -0.5)
    assert deviation**2 < 0.15 * 2 * 50**2
    np.testing.assert_allclose(rows.mean(axis=0), exact, atol=4 * deviation / draws**0.5)
    np.testing.assert_allclose(rows.std(axis=0), deviation, rtol=0.1)


def test_no_class_is_thought_impossible() -> None:
    shares = class_shares(ClassSizes((900.0, -300.0), 30.0))
    assert sum(shares) == pytest.approx(1)
    assert shares[1] == pytest.approx(11 / 922)


def test_a_release_makes_its_priors_of_all_counts() -> None:
    import dpnb_columnar as dpnb

    rows = pl.DataFrame({"label": ["a"] * 300 + ["b"] * 100, "every": [1, 2, 3, 4] * 100})
    domain = declared({"every": {"values": [1, 2, 3, 4], "missing": "row"}}, ["a", "b"])
    model = dpnb.train(rows, epsilon=1, domain=domain, attribute_weights="none")
    sizes = class_sizes(model.domain, model.measured)
    assert model.classes.probability == class_shares(sizes)
    assert sizes.rows != tuple(map(float, model.class_counts))


# The prior of a population: one query more, calibrated to the cap, which changes the prior of the score alone.

ATTRIBUTES = {**PEOPLE["attributes"], **{f"a{place}": {"values": ["x", "y"]} for place in range(6)}}


def counted(domain: Domain) -> Statistics:
    return dpnb.aggregate(weighted_people(), domain=domain)


@pytest.mark.parametrize("mechanism", PRIVATE)
def test_the_sums_are_one_query_more_with_noise_of_the_cap(mechanism: str) -> None:
    shares = plan(weighted_domain(400, 2), Budget(Fraction(1)), mechanism).shares
    first, second = shares[:2]
    assert (first.query, second.query) == (CLASS_COUNTS, WEIGHTED_COUNTS)
    assert (first.cost, first.row_cost, first.noise, first.values) == (
        second.cost,
        second.row_cost,
        second.noise,
        second.values,
    )
    assert second.composition == "one row changes one of these sums by at most 400"
    forced = Forced(500)
    statistics = counted(weighted_domain(400, 2))
    plan_and_release(statistics, Budget(Fraction(1)), mechanism, None, forced)
    sums = statistics.weight_sums
    assert sums is not None
    assert [(call.location, call.scale) for call in forced.calls[2:4]] == [(int(each), 200) for each in sums]
    assert {call.noise for call in forced.calls[:4]} == {forced.calls[0].noise}


@pytest.mark.parametrize("weights", ["none", "tempered", "calibrated", "learned"])
def test_weights_change_the_prior_of_the_score_and_nothing_else(weights: str) -> None:
    """With equal draws a model is that of the domain without a weight, but for its prior."""
    rows, budget = weighted_people(), Budget(Fraction(1000))
    models = [
        released(rows, people_domain({**PEOPLE, "attributes": ATTRIBUTES, **more}), budget, weights)
        for more in ({}, {"weight": {"column": "w", "cap": 400}})
    ]
    plain, model = models
    assert (plain.classes, plain.attributes) == (model.classes, model.attributes)
    assert model.weighted_classes is not None
    assert plain.weighted_classes is None
    low, high = (plain.predict(rows)[f"probability_{name}"] for name in ("low", "high"))
    shift = [math.log(after / before) for before, after in zip(plain.priors, model.priors, strict=True)]
    assert shift[1] > 0.9
    moved = shift[1] - shift[0]
    odds = (high / low).log() + moved
    again = model.predict(rows)
    before, after = (each.attribute_weights for each in models)
    off = 1e-6
    if before is not None and after is not None and before.line is not None and after.line is not None:
        # A line is moved along with the margins, which the priors are part of; its numbers have three digits.
        margins = np.array(after.line.margins) - np.array(before.line.margins)
        assert margins == pytest.approx(moved * (1 if model.classes.probability[0] > 0.5 else -1), abs=0.006)
        before, after = (replace(each, line=None) for each in (before, after))
        off = 0.03
    assert before == after
    assert (again["probability_high"] / again["probability_low"]).log().to_numpy() == pytest.approx(
        odds.to_numpy(), abs=off
    )


def released(rows: pl.DataFrame, domain: Domain, budget: Budget, weights: str) -> Model:
    """Release with noise that is the exact number: every answer is right, whatever the order of the queries."""
    from support.releases import train

    from dpnb_columnar.counting.inputs import FrameInput

    planned = plan(domain, budget, "histogram", None, weights)
    shares = plan(replace(domain, weight=None), budget, "histogram", None, weights).shares
    planned = replace(planned, shares=(*shares[:1], planned.shares[1], *shares[1:]))
    return train(planned, FrameInput(rows), draw=Forced())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"weighted_classes": None}, "weighted_classes"),
        ({"weighted_classes": {"probability": [1.0]}}, "weighted_classes.probability"),
        ({"weighted_classes": {"probability": [0.5, 0.4]}}, "do not add up to 1"),
    ],
)
def test_a_model_without_the_sums_of_its_domain_is_refused(change: dict[str, Any], words: str) -> None:
    document = to_document(plan_and_release(counted(weighted_domain()), Budget(Fraction(1))))
    with pytest.raises(DataError, match=words):
        from_document({**document, **change}, "model.json")
    plain = to_document(plan_and_release(counted(people_domain()), Budget(Fraction(1))))
    with pytest.raises(DataError, match="the domain declares no weight"):
        from_document({**plain, "weighted_classes": document["weighted_classes"]}, "model.json")


def test_priors_do_not_depend_on_the_step() -> None:
    """What is added to each sum is the weight of one row, whatever the unit of the sums."""
    by_step = [priors([steps * 90, -5 * steps], steps).probability for steps in (1, 400)]
    assert by_step[0] == pytest.approx(by_step[1])
    assert by_step[0] == pytest.approx((91 / 92, 1 / 92))


def test_the_expected_error_is_in_the_unit_of_the_weight() -> None:
    for domain in (weighted_domain(400), weighted_domain(400, 8)):
        counts, sums = plan(domain, Budget(Fraction(1))).shares[:2]
        assert expected_error(domain, sums, 1000) == pytest.approx(400 * expected_error(domain, counts, 1000))


def test_the_prior_of_all_rows_of_units_is_drawn_towards_that_of_the_rows_that_count() -> None:
    """By the rule of weights, noise of the sums being the cap's."""
    domain = with_weight(with_unit(people_domain(), "SERIAL", 1), "persons", 4)
    frame = people(1200).with_columns(SERIAL=pl.int_range(1200) // 3, persons=3)
    statistics = dpnb.aggregate(frame, domain=domain)
    model = plan_and_release(statistics, Budget(Fraction(1)), "histogram", None, ExactSampler(SeededBits(3)))
    assert model.weighted_classes is not None
    alone = priors(model.weighted_counts, 4).probability
    for drawn, rows, persons in zip(model.weighted_classes.probability, model.classes.probability, alone, strict=True):
        assert min(rows, persons) < drawn < max(rows, persons)
    assert from_document(to_document(model), "test").weighted_classes == model.weighted_classes
