"""The prior of a population: one query more, calibrated to the cap, which changes the prior of the score alone."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from support.mechanisms import PRIVATE
from support.people import PEOPLE, people, people_domain
from support.recorded_draws import Forced
from support.releases import plan_and_release
from support.weights import weighted_domain, weighted_people

import dpnb_columnar as dpnb
from dpnb_columnar.advice.expected_error import expected_error
from dpnb_columnar.api import load_model
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget
from dpnb_columnar.core.mechanisms.mechanism import CLASS_COUNTS, WEIGHTED_COUNTS
from dpnb_columnar.core.mechanisms.plan import plan
from dpnb_columnar.core.noise import ExactSampler, SeededBits
from dpnb_columnar.core.queries.statistics import Statistics
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.editing import with_unit, with_weight
from dpnb_columnar.errors import DataError
from dpnb_columnar.model.document import to_document
from dpnb_columnar.model.document_reader import read_document
from dpnb_columnar.model.postprocessing import class_counts

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
    from dpnb_columnar.counting.inputs import FrameInput
    from dpnb_columnar.training import train

    planned = plan(domain, budget, "histogram", None, weights)
    shares = plan(replace(domain, weight=None), budget, "histogram", None, weights).shares
    planned = replace(planned, shares=(*shares[:1], planned.shares[1], *shares[1:]))
    return Model.of(train(planned, FrameInput(rows), draw=Forced()))


def test_engines_score_by_the_weighted_prior() -> None:
    rows = weighted_people()
    model = plan_and_release(counted(weighted_domain()), Budget(Fraction(1)), draw=ExactSampler(SeededBits(1)))
    predicted = model.predict(rows)["probability_high"]
    with duckdb.connect() as connection:
        connection.register("people", rows.to_arrow())
        found = connection.execute(model.to_sql("duckdb")).fetchnumpy()
    assert np.array(found["probability_high"]) == pytest.approx(predicted.to_numpy())
    unweighted = Model.of(replace(model, weighted_classes=None)).predict(rows)["probability_high"]
    assert (unweighted < predicted).all()


def test_no_privacy_has_exact_sums() -> None:
    model = plan_and_release(counted(weighted_domain()), Budget(Fraction(1)), "none")
    assert model.weighted_classes is not None
    sums = counted(weighted_domain()).weight_sums
    assert sums is not None
    assert model.weighted_classes.released == tuple(sums.tolist())


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_a_model_file_holds_the_sums(tmp_path: Path, suffix: str) -> None:
    model = plan_and_release(counted(weighted_domain()), Budget(Fraction(1)))
    model.save(tmp_path / f"model{suffix}")
    assert load_model(tmp_path / f"model{suffix}") == model
    assert "weighted_classes" not in to_document(plan_and_release(counted(people_domain()), Budget(Fraction(1))))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"weighted_classes": None}, "weighted_classes"),
        ({"weighted_classes": {"released": [1], "probability": [1.0]}}, "weighted_classes.released"),
        ({"weighted_classes": {"released": [1, 2], "probability": [0.5, 0.4]}}, "do not add up to 1"),
    ],
)
def test_a_model_without_the_sums_of_its_domain_is_refused(change: dict[str, Any], words: str) -> None:
    document = to_document(plan_and_release(counted(weighted_domain()), Budget(Fraction(1))))
    with pytest.raises(DataError, match=words):
        read_document({**document, **change}, "model.json")
    plain = to_document(plan_and_release(counted(people_domain()), Budget(Fraction(1))))
    with pytest.raises(DataError, match="the domain declares no weight"):
        read_document({**plain, "weighted_classes": document["weighted_classes"]}, "model.json")


def test_priors_do_not_depend_on_the_step() -> None:
    """What is added to each sum is the weight of one row, whatever the unit of the sums."""
    by_step = [class_counts([steps * 90, -5 * steps], steps).probability for steps in (1, 400)]
    assert by_step[0] == pytest.approx(by_step[1])
    assert by_step[0] == pytest.approx((91 / 92, 1 / 92))


def test_the_expected_error_is_in_the_unit_of_the_weight() -> None:
    for domain in (weighted_domain(400), weighted_domain(400, 8)):
        counts, sums = plan(domain, Budget(Fraction(1))).shares[:2]
        assert expected_error(domain, sums, 1000) == pytest.approx(400 * expected_error(domain, counts, 1000))


def test_the_prior_of_all_rows_of_units_is_drawn_towards_that_of_the_rows_that_count() -> None:
    """By the rule of weights, noise of the sums being the cap's; a file that holds another is refused."""
    domain = with_weight(with_unit(people_domain(), "SERIAL", 1), "persons", 4)
    frame = people(1200).with_columns(SERIAL=pl.int_range(1200) // 3, persons=3)
    statistics = dpnb.aggregate(frame, domain=domain)
    model = plan_and_release(statistics, Budget(Fraction(1)), "histogram", None, ExactSampler(SeededBits(3)))
    assert model.weighted_classes is not None
    alone = class_counts(model.weighted_classes.released, 4).probability
    for drawn, rows, persons in zip(model.weighted_classes.probability, model.classes.probability, alone, strict=True):
        assert min(rows, persons) < drawn < max(rows, persons)
    document = to_document(model)
    assert read_document(document, "test").weighted_classes == model.weighted_classes
    document["weighted_classes"]["probability"] = list(alone)
    with pytest.raises(DataError, match=r"weighted_classes\.probability"):
        read_document(document, "test")
