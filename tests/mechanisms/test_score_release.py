"""Released scores: bins that the model fixes, one row in one of them, and noise on every one (Lemma 2.11)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest
from support.people import TYPES, people, people_domain
from support.recorded_draws import Forced, total_loss

import dpnb_columnar as dpnb
from dpnb_columnar.budget import Budget, Neighbours, Pure
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.counting.scores import ScoreCounts
from dpnb_columnar.domain import Missing, read_domain
from dpnb_columnar.domain.units import with_unit
from dpnb_columnar.errors import UsageError
from dpnb_columnar.mechanisms import score_release
from dpnb_columnar.mechanisms.score_release import ScorePlan, model_scores, plan_scores, release_scores
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.model_document import to_json
from dpnb_columnar.model.released_scores import EDGES, read_scores, scores_document
from dpnb_columnar.noise import ExactSampler, SeededBits

DECLARED = {
    "label": {"column": "income", "classes": ["low", "high"]},
    "attributes": {
        "age": {"lower": 0, "upper": 4, "step": 1, "missing": str(Missing.ROW)},
        "hours": {"lower": 0, "upper": 3, "step": 1, "missing": str(Missing.CATEGORY)},
        "sex": {"values": ["f", "m"]},
    },
}
ONE = Fraction(1)


def model_of(rows: pl.DataFrame, mechanism: str = "histogram", **options: object) -> Model:
    return dpnb.train(rows, epsilon=100, domain=people_domain(), mechanism=mechanism, **options)  # type: ignore[arg-type]


def counts_of(frame: pl.DataFrame, model: Model) -> ScoreCounts:
    return FrameInput(frame).check(model.domain).count_scores(model_scores(model))


@pytest.fixture(scope="module")
def small() -> Model:
    """A model of a domain whose every row can be listed, with the three ways to miss a value."""
    rows = [
        (age % 5, hours % 4, "fm"[age % 2], ("low", "high")[hours % 3 > 1])
        for age, hours in product(range(30), repeat=2)
    ]
    domain = read_domain("people", DECLARED, "test")
    return dpnb.train(
        pl.DataFrame(rows, TYPES, orient="row"),
        epsilon=5,
        domain=domain,
        mechanism="histogram",
        attribute_weights="tempered",
    )


# What is counted.


@pytest.mark.parametrize("mechanism", ["histogram", "smooth", "global", "adaptive-histogram"])
@pytest.mark.parametrize("weights", ["none", "calibrated"])
def test_a_bin_is_that_of_the_predicted_probability(mechanism: str, weights: str) -> None:
    """Rounding to whole units moves a row by one bin at most, and next to an edge alone."""
    frame = people(3000)
    model = model_of(frame, mechanism, attribute_weights=weights)
    scored = model.predict(frame).with_columns(
        odds=pl.col("probability_high").log() - pl.col("probability_low").log(), own=frame["income"] == "high"
    )
    away = (np.abs(scored["odds"].to_numpy()[:, None] - np.array(EDGES)) > 0.005).all(axis=1)
    frame, scored = frame.filter(away), scored.filter(away)
    assert len(frame) > 2000
    bins = np.searchsorted(EDGES, scored["odds"].to_numpy(), side="left")
    expected = [np.bincount(bins[scored["own"].to_numpy() == own], minlength=len(EDGES) + 1) for own in (False, True)]
    np.testing.assert_array_equal(counts_of(frame, model).counts.T, expected)


def test_rows_without_a_label_are_in_no_bin(small: Model) -> None:
    rows = people(50).with_columns(income=pl.lit(None, pl.String))
    assert counts_of(rows, small).counts.sum() == 0


@pytest.mark.slow
def test_one_row_more_is_one_count_more_or_none(small: Model) -> None:
    """All rows of the domain, missing and undeclared values included, added to each of two data sets."""
    values = [[0, 1, 4, 9, None], [0, 3, -2, None], ["f", "m", "x", None], ["low", "high", "none", None]]
    before = [counts_of(frame, small).counts for frame in (people(0), people(200))]
    for row in product(*values):
        added = pl.DataFrame([row], schema=TYPES, orient="row")
        more = [counts_of(pl.concat([frame, added]), small).counts for frame in (people(0), people(200))]
        changes = [after - exact for after, exact in zip(more, before, strict=True)]
        counts = row[0] is not None and row[3] in ("low", "high")
        for change in changes:
            assert (change.min(), change.sum(), np.abs(change).sum()) == (0, counts, counts), row
        # The cell does not depend on the other rows.
        np.testing.assert_array_equal(changes[0], changes[1])


# What is drawn.


def drawn(plan: ScorePlan, counts: ScoreCounts, answer: int = 7) -> Forced:
    forced = Forced(answer)
    release_scores(plan, counts, forced)
    return forced


@pytest.mark.parametrize(("neighbours", "steps"), [(Neighbours.ADD_REMOVE, 1), (Neighbours.REPLACE_ONE, 2)])
def test_neighbours_lose_epsilon_over_all_draws_and_no_more(small: Model, neighbours: Neighbours, steps: int) -> None:
    plan = plan_scores(small, Budget(Fraction(1, 2), neighbours), seeded=True)
    assert plan.total == Pure(Fraction(1, 2))
    frame = people(100)
    whole = counts_of(frame, small)
    assert len(drawn(plan, whole).calls) == plan.shares[0].values == 2 * (len(EDGES) + 1)
    losses = []
    for row in range(20):
        other = frame.filter(pl.int_range(pl.len()) != row)
        if neighbours is Neighbours.REPLACE_ONE:
            flipped = pl.when(pl.col("income") == "low").then(pl.lit("high")).otherwise(pl.lit("low"))
            other = pl.concat([other, frame[row].with_columns(flipped.alias("income"))])
        losses.append(total_loss(drawn(plan, whole).calls, drawn(plan, counts_of(other, small)).calls))
    assert max(losses) <= 0.5 + 1e-9
    assert max(losses) == pytest.approx(0.5)
    assert {float(call.noise.cost.epsilon) for call in drawn(plan, whole).calls} == {0.5 / steps}


@pytest.mark.parametrize("most", [1, 2])
def test_a_unit_moves_as_many_counts_as_rows_of_it_count(most: int) -> None:
    """Its share is divided by these: all rows of a household added or removed cost epsilon together."""
    domain = with_unit(people_domain(), "SERIAL", most)
    frame = people(120).with_columns(SERIAL=pl.int_range(pl.len()) // 4)
    model = dpnb.train(frame, epsilon=5, domain=domain, mechanism="histogram")
    plan = plan_scores(model, Budget(ONE))
    assert plan.shares[0].row_cost == Pure(Fraction(1, most))
    whole, moved = counts_of(frame, model).counts, []
    for serial in range(30):
        other = counts_of(frame.filter(pl.col("SERIAL") != serial), model).counts
        moved.append(int(np.abs(whole - other).sum()))
    assert set(moved) == {most}


def test_released_counts_are_functions_of_the_draws(small: Model) -> None:
    """Under the same answers of the sampler no rows and many rows give the same scores."""
    plan = plan_scores(small, Budget(ONE), seeded=True)
    released = [release_scores(plan, counts_of(people(rows), small), Forced(3)) for rows in (0, 1, 400)]
    assert released[0] == released[1] == released[2]
    assert released[0].counts == ((3,) * (len(EDGES) + 1),) * 2


@pytest.mark.parametrize("answer", [-(10**30), -1, 0, 1, 10**30])
def test_no_draw_makes_a_run_fail(small: Model, answer: int) -> None:
    """The release is charged by then, and a run that is begun again draws anew."""
    scores = release_scores(plan_scores(small, Budget(ONE), seeded=True), counts_of(people(9), small), Forced(answer))
    document = json.loads(to_json(scores_document(scores)))
    assert read_scores(document, "test") == scores
    assert 0 <= scores.figures.accuracy.interval[0] <= scores.figures.accuracy.interval[1] <= 1


def absent(counts: Sequence[int], share: object, draw: Forced) -> list[int]:
    """A fault: empty cells are released as they are."""
    return [int(draw(Fraction(int(count)), ONE, share)) if count else 0 for count in counts]  # type: ignore[arg-type]


def test_a_fault_in_the_draws_is_found(small: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_release, "noisy_counts", absent)
    with pytest.raises(AssertionError):
        test_released_counts_are_functions_of_the_draws(small)


# What is refused.


def test_only_models_of_two_classes_with_attributes_and_a_guarantee() -> None:
    budget = Budget(ONE)
    model = model_of(people(200))
    seeded = replace(model, guarantee=replace(model.guarantee, seeded=True))
    with pytest.raises(UsageError, match="this one has no attributes"):
        plan_scores(model_of(people(200), "majority"), budget)
    with pytest.raises(UsageError, match="carries no guarantee"):
        plan_scores(model_of(people(200), "none"), budget)
    with pytest.raises(UsageError, match="carries no guarantee"):
        plan_scores(seeded, budget)
    three = read_domain("people", {**DECLARED, "label": {"column": "income", "classes": ["low", "high", "x"]}}, "test")
    with pytest.raises(UsageError, match="this one has 3 classes"):
        plan_scores(dpnb.train(people(200), epsilon=1, domain=three), budget)


def test_counts_of_another_model_are_refused(small: Model) -> None:
    other = model_of(people(500))
    with pytest.raises(ValueError, match="not those that the model gives"):
        release_scores(plan_scores(other, Budget(ONE)), counts_of(people(10), small))


def test_scores_of_a_seed_carry_no_guarantee(small: Model) -> None:
    plan = plan_scores(small, Budget(ONE))
    counts = counts_of(people(100), small)
    assert release_scores(plan, counts).guarantee.private
    seeded = release_scores(plan, counts, ExactSampler(SeededBits(1)))
    assert not seeded.guarantee.private
    assert "NO GUARANTEE" in repr(seeded)
