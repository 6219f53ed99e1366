"""Attacks on one model: exact ones are broken, private ones keep their bound, and a tenth of the noise is noticed."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import nchypergeom_fisher
from support.attacked import tenth_of_the_noise, wide_domain, wide_rows
from support.people import PEOPLE, people, people_domain

import dpnb_columnar as dpnb
from dpnb_columnar.api.model import Model
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.errors import DataError, UsageError
from dpnb_columnar.extensions.attack import model_attack
from dpnb_columnar.extensions.attack.model_attack import (
    attack,
    batches_of_frame,
    contradicted,
    largest_advantage,
    largest_area,
    largest_rate,
    shown_guesses,
    surprise,
    to_document,
    verdict,
)

SMALL = {"attributes": 40, "categories": 6}


@pytest.fixture(scope="module")
def members() -> pl.DataFrame:
    return wide_rows(60, **SMALL, seed=1)


@pytest.fixture(scope="module")
def others() -> pl.DataFrame:
    return wide_rows(200, **SMALL, seed=2)


@pytest.fixture(scope="module")
def exact(members: pl.DataFrame) -> Model:
    return dpnb.train(members, domain=wide_domain(**SMALL), epsilon=1, mechanism="none")


@pytest.mark.slow
def test_an_exact_model_of_sixty_rows_is_broken(exact: Model, members: pl.DataFrame, others: pl.DataFrame) -> None:
    report = dpnb.attack(exact, members, others)
    assert report.best.auc > 0.9
    assert report.best.interval is not None
    assert report.best.interval[0] > 0.8
    assert report.advantage_interval[0] > largest_advantage(1.0)
    assert report.contradicted > 1
    assert report.implied is None
    assert report.exceeded == ()
    assert "rules out any epsilon below" in verdict(report)
    assert np.mean([each.difference for each in report.guessed]) > 0.08
    assert report.flagged[0].surprise is None


@pytest.mark.slow
def test_it_would_exceed_the_bound_of_epsilon_1(exact: Model, members: pl.DataFrame, others: pl.DataFrame) -> None:
    private = dpnb.train(members, domain=wide_domain(**SMALL), epsilon=1, mechanism="histogram")
    report = dpnb.attack(replace(exact, guarantee=private.guarantee), members, others)
    assert report.exceeded
    assert verdict(report).startswith("EXCEEDED: ")
    assert any("rows flagged by log P(x, y) (FPR 0.01) are members" in each for each in report.exceeded)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["histogram", "smooth", "paper"])
def test_private_models_stay_within_their_bound(mechanism: str) -> None:
    """Over six models the claim allows one that exceeds its bound with probability 0.0006."""
    for seed in range(6):
        members, others = wide_rows(120, 8, 20, 10 + seed), wide_rows(120, 8, 20, 90 + seed)
        model = dpnb.train(members, domain=wide_domain(8, 20), epsilon=1, mechanism=mechanism)
        report = attack(model, batches_of_frame(members), batches_of_frame(others), error=1e-4)
        assert report.exceeded == ()
        assert report.contradicted < 1
        assert report.advantage < 0.4621
        assert report.best.auc < 0.7311


@pytest.mark.slow
def test_a_tenth_of_the_noise_is_noticed() -> None:
    for seed in range(3):
        members, others = wide_rows(400, 4, 400, 20 + seed), wide_rows(400, 4, 400, 50 + seed)
        report = dpnb.attack(tenth_of_the_noise(members, wide_domain(4, 400)), members, others)
        assert report.exceeded, report
        assert report.contradicted > 1


def test_the_tables_are_those_of_the_model() -> None:
    """Sums of their logarithms are the joint probabilities of a row and each class, whose shares predict gives."""
    document = {
        **PEOPLE,
        "attributes": {
            "age": {"lower": 0, "upper": 100, "step": 1, "missing": "category"},
            "hours": {"lower": 0, "upper": 98, "step": 1},
            "sex": {"values": ["f"], "missing": "category"},
        },
    }
    rows = people(300).with_columns(age=pl.when(pl.col("hours") > 12).then("age"))
    domain = read_domain("people", document, "test")
    for mechanism, precision in (("histogram", 1e-9), ("smooth", 0.02)):
        model = dpnb.train(rows, domain=domain, epsilon=50, mechanism=mechanism, attribute_weights="none")
        model = replace(
            model,
            attributes=tuple(
                replace(each, bound=None) if hasattr(each, "bound") else each for each in model.attributes
            ),
        )
        tables = [model_attack._table(model, place) for place in range(3)]
        read = model_attack._read(model, tables, batches_of_frame(rows), ("age",))
        joint = np.log(model.priors)[:, None] + sum(table.logs[:, table.cells_of(read).astype(int)] for table in tables)
        shares = np.exp(joint - joint.max(axis=0))
        shares /= shares.sum(axis=0)
        predicted = model.predict(rows)["probability_high"].to_numpy()
        assert shares[1] == pytest.approx(predicted, abs=precision)
        own = read["class"].to_numpy() == 1
        odds = np.where(own, np.log(predicted / (1 - predicted)), np.log((1 - predicted) / predicted))
        assert read["confidence of the true class"].to_numpy() == pytest.approx(odds)


def test_scores_of_a_hand_made_model_are_ranked_by_hand() -> None:
    probabilities = np.array([[0.7, 0.2], [0.1, 0.5], [0.2, 0.3]])
    scores = model_attack._confidences(probabilities, np.array([0, 2], np.int16))
    assert scores["confidence of the true class"] == pytest.approx(np.log([0.7 / 0.3, 0.3 / 0.7]))
    assert scores["margin of the true class"] == pytest.approx([0.5, -0.2])
    assert scores["entropy of the prediction, reversed"] == pytest.approx(
        [sum(p * np.log(p) for p in column) for column in probabilities.T]
    )
    assert scores["modified entropy, reversed"][0] == pytest.approx(
        0.3 * np.log(0.7) + 0.1 * np.log(0.9) + 0.2 * np.log(0.8)
    )


def test_areas_thresholds_and_curves_by_hand() -> None:
    members, others = np.array([3.0, 2.0, 2.0]), np.array([2.0, 1.0, 0.0, 0.0])
    area = model_attack._ranking(members, others).area
    assert area == pytest.approx(np.mean([(one > two) + (one == two) / 2 for one in members for two in others]))
    assert model_attack._threshold(members, others, 0.25) == 1.0  # one of four others is above
    assert model_attack._threshold(members, others, 0.001) == 2.0
    assert model_attack._threshold(members, others, None) == 1.0
    curve = np.array(model_attack._curve(members, others))
    assert curve == pytest.approx(np.array([(0, 0), (0, 1 / 3), (0.25, 1), (0.5, 1), (1, 1)]))


def test_one_half_chooses_and_the_other_measures(exact: Model, members: pl.DataFrame, others: pl.DataFrame) -> None:
    report = dpnb.attack(exact, members, others)
    for each in report.flagged:
        assert each.members.rows + report.chosen_on[0] == report.members == 60
        assert each.others.rows + report.chosen_on[1] == report.others == 200
    assert {each.members.rows for each in report.guessed} == {60}
    assert min(report.chosen_on) >= model_attack.LEAST


def test_others_who_are_the_reference_do_not_speak_for_themselves(exact: Model, others: pl.DataFrame) -> None:
    """Without their own row, others of both halves have ratios alike: a threshold for an FPR of 0.1 keeps it."""
    report = dpnb.attack(exact, wide_rows(60, **SMALL, seed=1), wide_rows(2000, **SMALL, seed=4))
    kept = next(each for each in report.flagged if each.score == "likelihood ratio" and each.aim == 0.1)
    assert 0.06 < kept.others.share < 0.15


def test_rows_of_both_are_refused(exact: Model, members: pl.DataFrame, others: pl.DataFrame) -> None:
    with pytest.raises(DataError, match=r"CONFIDENTIAL: the frame of others: rows equal rows of the frame of members"):
        dpnb.attack(exact, members, pl.concat([others, members.head(7)]))
    numbered = [each.with_row_index("person", offset) for each, offset in ((members, 0), (others, 1000))]
    twins = pl.concat([numbered[1], numbered[0].head(7).with_columns(person=pl.lit(5000, pl.UInt32))])
    assert dpnb.attack(exact, numbered[0], twins).others == 207  # equal rows of different persons


def test_equal_rows_are_left_out(exact: Model, members: pl.DataFrame, others: pl.DataFrame) -> None:
    report = dpnb.attack(exact, members, pl.concat([others, others.head(5)]))
    assert (report.members, report.others, report.left_out) == (60, 195, 10)


def test_one_row_of_each_unit_is_attacked() -> None:
    domain = read_domain("people", {**PEOPLE, "unit": {"columns": ["home"], "rows": 2}}, "test")
    rows = people(400).with_columns(home=pl.int_range(400) // 2)
    model = dpnb.train(rows, domain=domain, epsilon=1, mechanism="histogram")
    others = people(300, seed=2).with_columns(home=pl.int_range(1000, 1300) // 3)
    report = dpnb.attack(model, rows, others)
    assert (report.members, report.others) == (200, len(others["home"].unique()))
    assert report.relation.startswith("one whole unit")
    with pytest.raises(DataError, match="others: rows are of units of the frame of members"):
        dpnb.attack(model, rows, others.with_columns(home=pl.when(pl.col("home") == 340).then(1).otherwise("home")))
    with pytest.raises(DataError, match="'home', which names the unit"):
        dpnb.attack(model, rows, others.drop("home"))


def test_what_cannot_be_attacked_is_refused(exact: Model, members: pl.DataFrame, others: pl.DataFrame) -> None:
    with pytest.raises(DataError, match=r"the frame of others: too few rows .* number the rows before they are split"):
        dpnb.attack(exact, members, others.head(30))
    with pytest.raises(DataError, match="the frame of members: missing column 'a0'"):
        dpnb.attack(exact, members.drop("a0"), others)
    with pytest.raises(DataError, match="the frame of others: no row fits"):
        dpnb.attack(exact, members, others.with_columns(income=pl.lit("none")))
    with pytest.raises(UsageError, match="sensitive: 'b' is no attribute of the model"):
        dpnb.attack(exact, members, others, sensitive=["a0", "b"])
    with pytest.raises(DataError, match="its query fails"):
        dpnb.attack(exact, members, others.lazy().with_columns(a0=pl.col("income").cast(pl.Int64)))


def test_sensitive_attributes_alone_are_guessed(exact: Model, members: pl.DataFrame, others: pl.DataFrame) -> None:
    report = dpnb.attack(exact, members, others, sensitive=["a3", "a7"])
    assert [each.attribute for each in report.guessed] == ["a3", "a7"]
    table = exact.attributes[3].probability  # type: ignore[union-attr]
    guess = {klass: int(np.argmax(row)) for klass, row in zip(("low", "high"), table, strict=True)}
    right = sum(guess[klass] == value for klass, value in members.select("income", "a3").rows())
    assert report.guessed[0].members.hits == right
    assert len(shown_guesses(dpnb.attack(exact, members, others))) == 20


def test_rows_without_a_value_are_not_guessed() -> None:
    rows, fresh = people(200).with_row_index("person"), people(300, seed=3).with_row_index("person", 200)
    model = dpnb.train(rows, domain=people_domain(), epsilon=1, mechanism="smooth")
    with_none = fresh.with_columns(hours=pl.when(pl.int_range(300) >= 40).then("hours"))
    report = dpnb.attack(model, rows, with_none, sensitive=["hours"])
    assert report.guessed[0].others.rows == report.others - with_none["hours"].null_count()


def test_files_and_frames_are_attacked_alike(
    folder: object, members: pl.DataFrame, others: pl.DataFrame, exact: Model
) -> None:
    members.write_parquet("members.parquet")
    others.head(90).write_parquet("one.parquet")
    others.tail(110).write_parquet("two.parquet")
    expected = dpnb.attack(exact, members, others)
    assert dpnb.attack(exact, "members.parquet", ["one.parquet", "two.parquet"]) == expected
    assert dpnb.attack(exact, members.to_arrow(), others.lazy()) == expected
    assert "CONFIDENTIAL" in repr(expected)
    assert next(iter(to_document(expected, "").items())) == ("confidential", True)
    with pytest.raises(UsageError, match="others: reads files; write the table to Parquet first"):
        dpnb.attack(exact, members, "census.duckdb")


# Bounds on attacks that follow from a guarantee: mechanisms that reach them, and mechanisms that try to pass them.

EPSILONS = st.floats(0.01, 6)
DELTAS = st.sampled_from([0.0, 1e-6, 0.01, 0.2])


@given(EPSILONS, DELTAS)
def test_the_release_that_is_as_revealing_as_allowed_reaches_every_bound(epsilon: float, delta: float) -> None:
    """With probability delta it tells the truth for sure, and else by randomised response."""
    right = math.exp(epsilon) / (1 + math.exp(epsilon))
    inside = [delta, 0.0, (1 - delta) * right, (1 - delta) * (1 - right)]
    outside = [0.0, delta, (1 - delta) * (1 - right), (1 - delta) * right]
    order = sorted(range(4), key=lambda answer: -(inside[answer] / max(outside[answer], 1e-300)))
    points = [(0.0, 0.0)]
    for answer in order:
        points.append((points[-1][0] + outside[answer], points[-1][1] + inside[answer]))
    for false, true in points:
        assert true <= largest_rate(false, epsilon, delta) + 1e-9
    assert max(true - false for false, true in points) == pytest.approx(largest_advantage(epsilon, delta))
    for (false, true), (more_false, more_true) in pairwise(points[1:]):  # and what lies between, by lot
        assert largest_rate((false + more_false) / 2, epsilon, delta) == pytest.approx((true + more_true) / 2)
    area = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(points))
    assert area == pytest.approx(largest_area(epsilon, delta))


@given(st.lists(st.floats(0.001, 1), min_size=4, max_size=4), st.lists(st.floats(0.001, 1), min_size=4, max_size=4))
def test_no_event_of_any_two_laws_passes_the_rates(one: list[float], two: list[float]) -> None:
    inside, outside = np.array(one) / sum(one), np.array(two) / sum(two)
    epsilon = float(np.abs(np.log(inside / outside)).max()) / 2
    delta = max(
        float(np.maximum(p - math.exp(epsilon) * q, 0).sum()) for p, q in ((inside, outside), (outside, inside))
    )
    for event in product([False, True], repeat=4):
        false, true = (float(law[list(event)].sum()) for law in (outside, inside))
        assert true <= largest_rate(false, epsilon, delta) + 1e-9


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 0.9), st.floats(0.1, 2), st.floats(0, 1))
def test_the_surprise_of_one_model_is_as_rare_as_it_says(seed: int, part: float, spread: float, pure: float) -> None:
    """Mechanisms on three rows, exactly: P(surprise <= s) <= s, whatever they say together of the rows, and to whom."""
    generator, rows, models = np.random.default_rng(seed), 3, 5
    sets = list(product([0, 1], repeat=rows))
    laws = np.exp(generator.uniform(-spread, spread, (len(sets), models)))
    laws /= laws.sum(axis=1, keepdims=True)
    pairs = [
        (laws[one], laws[two])
        for one, first in enumerate(sets)
        for two, second in enumerate(sets)
        if sum(abs(a - b) for a, b in zip(first, second, strict=True)) == 1
    ]
    largest = max(float(np.log(one / two).max()) for one, two in pairs)
    epsilon = largest * (0.5 + pure / 2)  # the rest is delta
    delta = max(float(np.maximum(one - math.exp(epsilon) * two, 0).sum()) for one, two in pairs)
    prior = [part ** sum(members) * (1 - part) ** (rows - sum(members)) for members in sets]
    # The worst flags: for each model the set of rows that makes members the likeliest, or any other one.
    flags = generator.integers(0, 2, (models, rows)).astype(bool)
    for model in range(0, models, 2):
        weights = np.array(prior) * laws[:, model]
        flags[model] = (weights @ np.array(sets)) / weights.sum() >= part
    found = []
    for chance, members, law in zip(prior, sets, laws, strict=True):
        for model in range(models):
            flagged = flags[model]
            hits = int(np.array(members)[flagged].sum())
            found.append((surprise(hits, int(flagged.sum()), rows, part, epsilon, delta), chance * law[model]))
    for value, _ in found:
        assert sum(chance for other, chance in found if other <= value) <= value + 1e-9


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_randomised_response_is_hardly_ever_called_broken(epsilon: float) -> None:
    """The part of members is estimated by the rows themselves; 4 of 4,000 at 0.001 would be as claimed."""
    generator, error, tries = np.random.default_rng(5), 0.01, 1000
    for rows, part in ((60, 0.5), (400, 0.2)):
        broken = 0
        for _ in range(tries):
            members = generator.random(rows) < part
            flags = members ^ (generator.random(rows) > math.exp(epsilon) / (1 + math.exp(epsilon)))
            hits, flagged = int((members & flags).sum()), int(flags.sum())
            broken += surprise(hits, flagged, rows, float(members.mean()), epsilon) < error
        assert broken <= 20  # of 10 expected at most: more than that with probability 0.002


@pytest.mark.parametrize(("rows", "members", "flagged"), [(40, 20, 13), (90, 30, 60), (200, 20, 5)])
def test_replaced_rows_are_within_the_same_tail(rows: int, members: int, flagged: int) -> None:
    for epsilon in (0.2, 1.0, 4.0):
        law = nchypergeom_fisher(rows, members, flagged, math.exp(epsilon))
        odds = math.exp(epsilon) * members / (rows - members)
        mean = flagged * odds / (1 + odds)
        for hits in range(math.ceil(mean + 1), min(flagged, members) + 1):
            assert law.sf(hits - 1) <= surprise(hits, flagged, rows, members / rows, epsilon) + 1e-9


def test_what_a_tail_says_by_hand() -> None:
    assert surprise(3, 3, 10, 0.5, 0.0) == pytest.approx(1 / 8)
    assert surprise(2, 2, 10, 0.5, math.log(3)) == pytest.approx(9 / 16)
    assert surprise(0, 7, 10, 0.5, 1.0) == 1.0
    assert surprise(0, 0, 10, 0.5, 1.0) == 1.0
    # delta: 10 q (1 - q') delta = 10/2 * 1/2 * 0.01, in full for i = 0
    assert surprise(8, 8, 10, 0.5, 0.0, 0.01) == pytest.approx(
        min(sum(math.comb(8, hit) for hit in range(8 - i, 9)) / 256 + 0.025 / (i + 1) for i in range(9))
    )


@given(st.integers(1, 60), st.integers(0, 60), st.floats(0.05, 0.95))
def test_an_epsilon_is_contradicted_up_to_where_it_is_no_surprise(members: int, others: int, part: float) -> None:
    bound = contradicted(members, members + others, 200, part, 0.01)
    if bound:
        assert surprise(members, members + others, 200, part, bound) <= 0.01
    assert surprise(members, members + others, 200, part, bound + 2e-4) >= 0.01
