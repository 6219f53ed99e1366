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
from support.people import FEW_VALUES, PEOPLE, TYPES, people, people_domain
from support.recorded_draws import Forced, total_loss

import dpnb_columnar as dpnb
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget, Neighbours, Pure
from dpnb_columnar.core.mechanisms import score_release
from dpnb_columnar.core.mechanisms.score_release import FINER, ScorePlan, model_scores, plan_scores, release_scores
from dpnb_columnar.core.noise import ExactSampler, SeededBits, SystemBits
from dpnb_columnar.core.queries.scores import UNITS, ScoreCounts, Scores, ScoreTable
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.domain import Weight
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.domain.editing import with_unit, with_weight
from dpnb_columnar.errors import UsageError
from dpnb_columnar.evaluation.released_scores import ReleasedScores, read_scores, scores_document
from dpnb_columnar.evaluation.score_values import EDGES
from dpnb_columnar.model.document import to_json
from dpnb_columnar.model.likelihood import class_terms

THREE = {**FEW_VALUES, "label": {"column": "income", "classes": ["low", "high", "none"]}}
ONE = Fraction(1)


def model_of(rows: pl.DataFrame, mechanism: str = "histogram", **options: object) -> Model:
    return dpnb.train(rows, epsilon=100, domain=people_domain(), mechanism=mechanism, **options)  # type: ignore[arg-type]


def counts_of(frame: pl.DataFrame, model: Model) -> ScoreCounts:
    return FrameInput(frame).check(model.domain).answer(model_scores(model))


@pytest.fixture(scope="module")
def small() -> Model:
    """A model of a domain whose every row can be listed, with the three ways to miss a value."""
    rows = [
        (age % 5, hours % 4, "fm"[age % 2], ("low", "high")[hours % 3 > 1])
        for age, hours in product(range(30), repeat=2)
    ]
    domain = read_domain("people", FEW_VALUES, "test")
    return dpnb.train(
        pl.DataFrame(rows, TYPES, orient="row"),
        epsilon=5,
        domain=domain,
        mechanism="histogram",
        attribute_weights="tempered",
    )


@pytest.fixture(scope="module")
def three() -> Model:
    """The same of three classes."""
    rows = [
        (age % 5, hours % 4, "fm"[age % 2], ("low", "high", "none")[(hours % 4 > 1) + (hours % 4 > 1 and age % 5 > 2)])
        for age, hours in product(range(30), repeat=2)
    ]
    frame = pl.DataFrame(rows, TYPES, orient="row")
    return dpnb.train(frame, epsilon=5, domain=read_domain("people", THREE, "test"), mechanism="histogram")


def three_classes(rows: int, seed: int = 2) -> pl.DataFrame:
    """Rows with a third class, of those who are old and work much."""
    old = (pl.col("age") > 60) & (pl.col("income") == "high")
    return people(rows, seed).with_columns(income=pl.when(old).then(pl.lit("none")).otherwise("income"))


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


@pytest.mark.parametrize("mechanism", ["histogram", "smooth", "global", "adaptive-histogram"])
@pytest.mark.parametrize("weights", ["none", "calibrated"])
def test_of_more_classes_a_bin_is_the_predicted_class(mechanism: str, weights: str) -> None:
    """Rounding to whole units may change it where two classes are equally likely, and nowhere else."""
    document = {**PEOPLE, "label": THREE["label"]}
    frame = three_classes(3000)
    model = dpnb.train(
        frame, epsilon=100, domain=people_domain(document), mechanism=mechanism, attribute_weights=weights
    )
    scored = model.predict(frame)
    chances = np.sort(scored.select(pl.col("^probability_.*$")).to_numpy(), axis=1)
    apart = chances[:, -1] > 1.01 * chances[:, -2]
    assert apart.sum() > 2500
    classes = list(model.domain.classes)
    expected = np.zeros((3, 3), dtype=np.int64)
    for predicted, own in zip(scored["predicted"].to_numpy()[apart], frame["income"].to_numpy()[apart], strict=True):
        expected[classes.index(predicted), classes.index(own)] += 1
    counted = counts_of(frame.filter(apart), model)
    np.testing.assert_array_equal(counted.counts, expected)
    assert (expected.sum(axis=1) > 0).sum() > 1


def test_of_equal_probabilities_the_first_class_is_predicted() -> None:
    tables = tuple((ScoreTable("sex", (0, 1), (place == 2, 0)),) for place in range(3))
    scores = Scores(people_domain({**PEOPLE, "label": THREE["label"]}), tables, (-3, -3, -3))
    frame = three_classes(300)
    counted = FrameInput(frame).check(scores.domain).answer(scores).counts.sum(axis=1).tolist()
    women = int((frame["sex"] == "f").sum())
    assert counted == [300 - women, 0, women]


def test_rows_without_a_label_are_in_no_bin(small: Model) -> None:
    rows = people(50).with_columns(income=pl.lit(None, pl.String))
    assert counts_of(rows, small).counts.sum() == 0


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_one_row_more_is_one_count_more_or_none(small: Model, three: Model, classes: int) -> None:
    """All rows of the domain, missing and undeclared values included, added to each of two data sets."""
    model = small if classes == 2 else three
    values = [[0, 1, 4, 9, None], [0, 3, -2, None], ["f", "m", "x", None], ["low", "high", "none", None]]
    before = [counts_of(frame, model).counts for frame in (people(0), three_classes(200))]
    for row in product(*values):
        added = pl.DataFrame([row], schema=TYPES, orient="row")
        more = [counts_of(pl.concat([frame, added]), model).counts for frame in (people(0), three_classes(200))]
        changes = [after - exact for after, exact in zip(more, before, strict=True)]
        counts = row[0] is not None and row[3] in model.domain.classes
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
@pytest.mark.parametrize("classes", [2, 3])
def test_neighbours_lose_epsilon_over_all_draws_and_no_more(
    small: Model, three: Model, classes: int, neighbours: Neighbours, steps: int
) -> None:
    model, frame = (small, people(100)) if classes == 2 else (three, three_classes(100))
    plan = plan_scores(model, Budget(Fraction(1, 2), neighbours), seeded=True)
    assert plan.total == Pure(Fraction(1, 2))
    whole = counts_of(frame, model)
    assert len(drawn(plan, whole).calls) == plan.shares[0].values == (2 * (len(EDGES) + 1) if classes == 2 else 9)
    losses = []
    for row in range(20):
        other = frame.filter(pl.int_range(pl.len()) != row)
        if neighbours is Neighbours.REPLACE_ONE:
            flipped = pl.when(pl.col("income") == "low").then(pl.lit("high")).otherwise(pl.lit("low"))
            other = pl.concat([other, frame[row].with_columns(flipped.alias("income"))])
        losses.append(total_loss(drawn(plan, whole).calls, drawn(plan, counts_of(other, model)).calls))
    assert max(losses) <= 0.5 + 1e-9
    assert max(losses) == pytest.approx(0.5)
    assert {float(call.noise.cost.epsilon) for call in drawn(plan, whole).calls} == {0.5 / steps}


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("label", [PEOPLE["label"], THREE["label"]], ids=["two classes", "three"])
def test_a_unit_moves_as_many_counts_as_rows_of_it_count(most: int, label: object) -> None:
    """Its share is divided by these: all rows of a household added or removed cost epsilon together."""
    domain = with_unit(people_domain({**PEOPLE, "label": label}), "SERIAL", most)
    frame = (
        three_classes(120)
        .filter(pl.col("income").is_in(domain.classes))[:100]
        .with_columns(SERIAL=pl.int_range(pl.len()) // 4)
    )
    model = dpnb.train(frame, epsilon=5, domain=domain, mechanism="histogram")
    plan = plan_scores(model, Budget(ONE))
    assert plan.shares[0].row_cost == Pure(Fraction(1, most))
    whole, moved = counts_of(frame, model).counts, []
    for serial in range(25):
        other = counts_of(frame.filter(pl.col("SERIAL") != serial), model).counts
        moved.append(int(np.abs(whole - other).sum()))
    assert set(moved) == {most}


def test_noise_of_weighted_scores_is_made_for_the_cap() -> None:
    half = Weight("w", Fraction(3, 2), Fraction(1, 2))
    domain = replace(with_unit(people_domain(), "SERIAL", 2), weight=half)
    frame = people(60).with_columns(SERIAL=pl.int_range(60) // 10, w=pl.int_range(60) % 2)
    model = dpnb.train(frame, epsilon=5, domain=domain, mechanism="histogram")
    plan = plan_scores(model, Budget(ONE))
    assert plan.shares[0].composition == "one row changes one of these counts by at most 3"
    whole = counts_of(frame, model)
    assert whole.counts.sum() == int(dpnb.aggregate(frame, domain=domain).weight_sums.sum())
    assert {call.scale for call in drawn(plan, whole).calls} == {3}


@pytest.mark.slow
@pytest.mark.parametrize(("neighbours", "steps"), [(Neighbours.ADD_REMOVE, 1), (Neighbours.REPLACE_ONE, 2)])
@pytest.mark.parametrize(("most", "cap"), [(None, 3), (1, 1), (1, 3), (2, 4)])
@pytest.mark.parametrize("label", [PEOPLE["label"], THREE["label"]], ids=["two classes", "three"])
def test_weighted_rows_and_units_lose_epsilon_in_scores_and_no_more(
    most: int | None, cap: int, label: object, neighbours: Neighbours, steps: int
) -> None:
    """Units of one to five rows, whose weight is their number, each removed, or exchanged for one of other classes."""
    domain = with_weight(people_domain({**PEOPLE, "label": label}), "persons", cap)
    domain = domain if most is None else with_unit(domain, "SERIAL", most)
    sizes = [place % 5 + 1 for place in range(30)]
    serials = [serial for serial, size in enumerate(sizes) for _ in range(size)]
    frame = three_classes(150).filter(pl.col("income").is_in(domain.classes))[: len(serials)]
    frame = frame.with_columns(SERIAL=pl.Series(serials[: len(frame)])).with_columns(persons=pl.len().over("SERIAL"))
    frame = frame if most is not None else frame.with_columns(SERIAL=pl.int_range(pl.len()))
    model = dpnb.train(frame, epsilon=5, domain=domain, mechanism="histogram")
    plan = plan_scores(model, Budget(Fraction(1, 2), neighbours), seeded=True)
    whole = counts_of(frame, model)
    flipped = pl.when(pl.col("income") == "low").then(pl.lit("high")).otherwise(pl.lit("low"))
    losses = []
    for serial in frame["SERIAL"].unique():
        own = pl.col("SERIAL") == serial
        other = frame.filter(~own)
        if neighbours is Neighbours.REPLACE_ONE:
            other = pl.concat([other, frame.filter(own).with_columns(income=flipped)])
        losses.append(total_loss(drawn(plan, whole).calls, drawn(plan, counts_of(other, model)).calls))
    assert max(losses) <= 0.5 + 1e-9
    assert max(losses) == pytest.approx(0.5)
    assert {float(call.noise.cost.epsilon) for call in drawn(plan, whole).calls} == {0.5 / steps / (most or 1)}
    assert {call.scale for call in drawn(plan, whole).calls} == {cap}


@pytest.mark.parametrize("classes", [2, 3])
def test_released_counts_are_functions_of_the_draws(small: Model, three: Model, classes: int) -> None:
    """Under the same answers of the sampler no rows and many rows give the same scores."""
    model, bins = (small, len(EDGES) + 1) if classes == 2 else (three, 3)
    plan = plan_scores(model, Budget(ONE), seeded=True)
    released = [
        ReleasedScores.of(release_scores(plan, counts_of(people(rows), model), Forced(3))) for rows in (0, 1, 400)
    ]
    assert released[0] == released[1] == released[2]
    assert released[0].counts == ((3,) * bins,) * classes


@pytest.mark.parametrize("probability", [(0.5, 0.5), (0.3, 0.7), (0.9999, 0.0001)])
def test_a_row_is_above_an_edge_if_its_log_odds_exceed_it(small: Model, probability: tuple[float, float]) -> None:
    """Not where they are equal: of even odds the first class is predicted."""
    model = replace(small, classes=replace(small.classes, probability=probability), attribute_weights=None)
    first, second = class_terms(model)
    for edge, least in zip(EDGES, model_scores(model).edges, strict=True):
        below, above = ((second - first) + score / (FINER * UNITS) for score in (least - 1, least))
        assert below <= edge < above


@pytest.mark.parametrize("answer", [-(10**30), -1, 0, 1, 10**30])
@pytest.mark.parametrize("classes", [2, 3])
def test_no_draw_makes_a_run_fail(small: Model, three: Model, classes: int, answer: int) -> None:
    """The release is charged by then, and a run that is begun again draws anew."""
    model = small if classes == 2 else three
    planned = plan_scores(model, Budget(ONE), seeded=True)
    scores = ReleasedScores.of(release_scores(planned, counts_of(people(9), model), Forced(answer)))
    document = json.loads(to_json(scores_document(scores)))
    assert read_scores(document, "test") == scores
    assert 0 <= scores.figures.accuracy.interval[0] <= scores.figures.accuracy.interval[1] <= 1


def absent(counts: Sequence[int], share: object, draw: Forced, sensitivity: Fraction = ONE) -> list[int]:
    """A fault: empty cells are released as they are."""
    return [int(draw(Fraction(int(count)), sensitivity, share)) if count else 0 for count in counts]  # type: ignore[arg-type]


@pytest.mark.parametrize("classes", [2, 3])
def test_a_fault_in_the_draws_is_found(
    small: Model, three: Model, classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score_release, "noisy_counts", absent)
    with pytest.raises(AssertionError):
        test_released_counts_are_functions_of_the_draws(small, three, classes)


def of_all_rows(counts: ScoreCounts) -> ScoreCounts:
    """A fault: the bins of all rows follow from how many there are."""
    return replace(counts, counts=np.roll(counts.counts, int(counts.counts.sum()) % 3, axis=0))


def test_a_bin_that_depends_on_other_rows_is_found(three: Model) -> None:
    frame = three_classes(50)
    whole, other = (of_all_rows(counts_of(rows, three)) for rows in (frame, frame[1:]))
    plan = plan_scores(three, Budget(ONE), seeded=True)
    assert total_loss(drawn(plan, whole).calls, drawn(plan, other).calls) > 1


# What is refused.


def test_only_models_of_few_classes_with_attributes_and_a_guarantee(three: Model) -> None:
    budget = Budget(ONE)
    model = model_of(people(200))
    seeded = replace(model, guarantee=replace(model.guarantee, seeded=True))
    with pytest.raises(UsageError, match="this one has no attributes"):
        plan_scores(model_of(people(200), "majority"), budget)
    with pytest.raises(UsageError, match="carries no guarantee"):
        plan_scores(model_of(people(200), "none"), budget)
    with pytest.raises(UsageError, match="carries no guarantee"):
        plan_scores(seeded, budget)
    label = {"column": "income", "classes": [str(place) for place in range(1025)]}
    many = replace(three, domain=read_domain("people", {**FEW_VALUES, "label": label}, "test"))
    with pytest.raises(UsageError, match="rows of 1025 classes, by predicted class, would be 1050625 counts; at most"):
        plan_scores(many, budget)


def test_counts_of_another_model_are_refused(small: Model) -> None:
    other = model_of(people(500))
    with pytest.raises(ValueError, match="not those that the model gives"):
        release_scores(plan_scores(other, Budget(ONE)), counts_of(people(10), small), ExactSampler(SystemBits()))


def test_scores_of_a_seed_carry_no_guarantee(small: Model) -> None:
    plan = plan_scores(small, Budget(ONE))
    counts = counts_of(people(100), small)
    assert release_scores(plan, counts, ExactSampler(SystemBits())).guarantee.private
    seeded = ReleasedScores.of(release_scores(plan, counts, ExactSampler(SeededBits(1))))
    assert not seeded.guarantee.private
    assert "NO GUARANTEE" in repr(seeded)
