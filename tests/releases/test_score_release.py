"""Released scores, of all rows and by group: bins that the model fixes, and noise on every one (Lemmas 2.11, 2.14)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from support.engines import SQLite
from support.people import FEW_VALUES, PEOPLE, TYPES, Document, people, people_domain
from support.recorded_draws import Forced, total_loss
from support.tables import into_duckdb

import dpnb_columnar as dpnb
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget, Neighbours, Pure
from dpnb_columnar.core.code_limits import UNITS
from dpnb_columnar.core.noise import ExactSampler, SeededBits, SystemBits
from dpnb_columnar.core.queries.scores import ScoreCounts, Scores, ScoreTable
from dpnb_columnar.counting.answer_files import answer_of
from dpnb_columnar.counting.inputs import DatabaseInput, FrameInput
from dpnb_columnar.dialects.statistics_query import query_sql
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.domain.editing import with_unit
from dpnb_columnar.domain.groupings import divisions_of
from dpnb_columnar.errors import DataError, UsageError
from dpnb_columnar.evaluation.evaluation import EDGES
from dpnb_columnar.evaluation.released_scores import ReleasedScores, read_scores, scores_document
from dpnb_columnar.model.document import to_json
from dpnb_columnar.model.likelihood import class_terms
from dpnb_columnar.releases.score_plan import (
    FINER,
    GROUP_PROBABILITIES,
    ScorePlan,
    model_scores,
    plan_scores,
    release_scores,
)
from dpnb_columnar.rows.sources import parse_database

THREE = {**FEW_VALUES, "label": {"column": "income", "classes": ["low", "high", "none"]}}
ONE = Fraction(1)


def model_of(rows: pl.DataFrame, mechanism: str = "histogram", **options: object) -> Model:
    return dpnb.train(rows, epsilon=100, domain=people_domain(), mechanism=mechanism, **options)  # type: ignore[arg-type]


def counts_of(frame: pl.DataFrame, model: Model) -> ScoreCounts:
    return FrameInput(frame).check(model.domain).answer(model_scores(model))


@pytest.fixture(scope="module")
def small() -> Model:
    """A model of a domain whose every row can be listed, with the three ways to miss a value."""
    return of_few_values(FEW_VALUES, lambda age, hours: ("low", "high")[hours % 3 > 1], "tempered")


@pytest.fixture(scope="module")
def three() -> Model:
    """The same of three classes."""
    return of_few_values(
        THREE, lambda age, hours: ("low", "high", "none")[(hours % 4 > 1) * (1 + (age % 5 > 2))], "auto"
    )


def of_few_values(document: Document, income: Callable[[int, int], str], weights: str) -> Model:
    rows = [(age % 5, hours % 4, "fm"[age % 2], income(age, hours)) for age, hours in product(range(30), repeat=2)]
    frame = pl.DataFrame(rows, TYPES, orient="row")
    return dpnb.train(
        frame, epsilon=5, domain=people_domain(document), mechanism="histogram", attribute_weights=weights
    )


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


# Scores by group: groups that are declared, one row in one of them, and noise on every one (Lemma 2.14).

BY = ["sex,hours=2", "sex:hours", "region=n,s"]


def planned(model: Model, by: Sequence[str] = BY, budget: Budget | None = None) -> ScorePlan:
    return plan_scores(model, budget or Budget(ONE), seeded=True, divisions=divisions_of(by, model.domain))


def counted(plan: ScorePlan, frame: pl.DataFrame) -> ScoreCounts:
    return FrameInput(frame).check(plan.domain).answer(plan.scores)


def everyday(rows: int = 300) -> pl.DataFrame:
    frame = people(rows, 3)
    return frame.with_columns(
        age=pl.col("age") % 5,
        hours=pl.col("hours") % 4,
        region=pl.Series(["n", "s", "e", None] * (rows // 4 + 1))[:rows],
    )


# Which groups there are.


def test_groups_are_those_of_the_declaration_whatever_the_rows(small: Model) -> None:
    plan = planned(small, ["age,hours,sex:age", "region=n,s"])
    empty, many = (
        ReleasedScores.of(release_scores(plan, counted(plan, f), Forced(3))) for f in (everyday(0), everyday())
    )
    assert empty == many
    by_age, by_hours, crossed, by_region = empty.groups
    # A row without an age does not count, so that no group is for it; hours that are missing are a category.
    assert [values for (values,) in by_age.values] == ["0", "1", "2", "3", "4"]
    assert [values for (values,) in by_hours.values] == ["0", "1", "2", "3", None]
    assert [values for (values,) in by_region.values] == ["n", "s", None]
    assert crossed.columns == ("sex", "age")
    assert crossed.values == tuple(product(("f", "m", None), ("0", "1", "2", "3", "4")))
    assert by_region.counts == (((3, 3), (3, 3)),) * 3
    assert by_region.expected == (3, 3, 3)


def test_ranges_of_a_declared_range() -> None:
    domain = people_domain()
    divisions = divisions_of(["age", "age=18,65"], domain)
    assert divisions is not None
    (grouping,) = divisions.groupings
    assert grouping.values == ("0 to 17", "18 to 64", "65 to 100", None)
    plain = divisions_of("age", domain)
    assert plain is not None
    assert plain.groupings[0].starts == (0, 12, 25, 37, 50, 63, 75, 88)
    assert plain.groupings[0].values[:2] == ("0 to 11", "12 to 24")


@pytest.mark.parametrize(
    ("by", "problem"),
    [
        ("income", "the label is read from income"),
        ("income=low,high", "the label is read from income"),
        ("sexx", "sexx is no attribute of the model, .*did you mean sex"),
        ("region", r'add the values that make its groups, such as by="region=1,2,3"'),
        ("sex=f", "sex is declared with its values"),
        ("age=30,20", "name the first value of each group once, rising"),
        ("age=old", "'old' is not such a number"),
        ("age=1000", "'1000' is not such a number"),
        ("region=n,n", "name each of its values once"),
        ("region=n,", "name each of its values once"),
        ("region=", "name each of its values once"),
        (f"region={'n' * 8193}", "of at most 8192 characters"),
        ("=n", "is no name of a column"),
        ("sex:sex", "names each of its columns once, not sex, sex"),
        ([], "1 to 16 divisions into groups at once, not 0"),
        ([[]], "names each of its columns once"),
    ],
)
def test_columns_that_make_no_groups_are_refused(by: Any, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        divisions_of(by, people_domain())


def test_too_many_cells_are_refused(small: Model) -> None:
    regions = ",".join(map(str, range(9000)))
    with pytest.raises(UsageError, match="are counted at once"):
        planned(small, [f"region={regions}", "sex", "age"])
    with pytest.raises(UsageError, match="1 to 16 divisions"):
        planned(small, [f"r{place}=1" for place in range(17)])


def test_the_unit_and_the_weight_make_no_groups() -> None:
    with pytest.raises(UsageError, match="SERIAL is the unit of the rows"):
        divisions_of("SERIAL=1", with_unit(people_domain(), "SERIAL", 1))


# What is counted.


def marginals(plan: ScorePlan, counts: ScoreCounts) -> list[np.ndarray]:
    """The exact tables of each division, as noise finds them."""
    exact = Forced()
    release_scores(plan, counts, exact)
    tables, start = [], 0
    for share in plan.shares:
        tables.append(np.array([int(call.location) for call in exact.calls[start : start + share.values]]))
        start += share.values
    return tables


def test_the_tables_are_those_of_the_predictions(small: Model) -> None:
    """Compared with prediction row by row: rounding moves rows next to an edge alone."""
    frame = everyday(2000)
    plan = planned(small, ["sex", "region=n,s", "sex:region"])
    scored = small.predict(frame).with_columns(frame["sex", "income", "region"])
    released = ReleasedScores.of(release_scores(plan, counted(plan, frame), Forced()))
    for groups in released.groups:
        for values, counts, expected in zip(groups.values, groups.counts, groups.expected or (), strict=True):
            part = scored
            for column, value in zip(groups.columns, values, strict=True):
                declared = ["f", "m"] if column == "sex" else ["n", "s"]
                held = pl.col(column).is_in(declared).fill_null(False)
                part = part.filter(~held if value is None else pl.col(column) == value)
            found = [
                [part.filter(income=true, predicted=predicted).height for predicted in ("low", "high")]
                for true in ("low", "high")
            ]
            assert np.abs(np.array(counts) - found).sum() <= 0.01 * max(part.height, 100), values
            assert expected / 100 == pytest.approx(part["probability_high"].sum(), abs=0.004 * part.height + 1e-9)


def test_scores_of_all_rows_are_those_without_groups(small: Model) -> None:
    frame, plan = everyday(), planned(small)
    alone = plan_scores(small, Budget(ONE), seeded=True)
    assert marginals(alone, counted(alone, frame))[0].tolist() == marginals(plan, counted(plan, frame))[0].tolist()


def test_the_noise_of_sums_is_for_a_hundred_hundredths(small: Model) -> None:
    plan, start = planned(small), 0
    calls = drawn(plan, counted(plan, everyday(5))).calls
    for share in plan.shares:
        scales = {call.scale for call in calls[start : start + share.values]}
        assert scales == {Fraction(100 if share.query == GROUP_PROBABILITIES else 1)}, share.query
        start += share.values


@pytest.mark.slow
def test_every_engine_counts_the_same_groups(small: Model, tmp_path: Path) -> None:
    frame, plan = everyday(), planned(small)
    expected = counted(plan, frame)
    assert (expected.counts.sum(axis=1) > 0).sum() > 10
    into_duckdb(tmp_path / "people.duckdb", frame)
    address = parse_database(str(tmp_path / "people.duckdb"))
    assert address is not None
    assert DatabaseInput(address, "person").check(plan.domain).answer(plan.scores) == expected
    engine = SQLite()
    engine.load(frame.to_arrow())
    result = pl.DataFrame(engine.run(query_sql(plan.scores, {}, "rows", engine.dialect)))
    assert answer_of(result, plan.scores, "SQLite") == expected
    with pytest.raises(DataError, match="region"):
        FrameInput(frame.drop("region")).check(plan.domain)


# What is drawn.


@pytest.mark.parametrize("answer", [-(10**30), -1, 0, 1, 10**30])
@pytest.mark.parametrize("classes", [2, 3])
def test_no_draw_of_groups_makes_a_run_fail(small: Model, three: Model, classes: int, answer: int) -> None:
    plan = planned(small if classes == 2 else three)
    scores = ReleasedScores.of(release_scores(plan, counted(plan, everyday(9)), Forced(answer)))
    assert read_scores(json.loads(to_json(scores_document(scores))), "test") == scores
    for division in scores.figures.groups:
        for group in division.groups:
            assert 0 <= group.accuracy.interval[0] <= group.accuracy.interval[1] <= 1


# What is kept.


def test_files_with_and_without_groups_are_read(small: Model, tmp_path: Path) -> None:
    frame = everyday()
    plain = dpnb.release_scores(small, frame, epsilon=1)
    grouped = dpnb.release_scores(small, frame, epsilon=1, by=["sex", ("sex", "hours")])
    for scores in (plain, grouped):
        scores.save(tmp_path / "s.json", overwrite=True)
        assert dpnb.load_scores(tmp_path / "s.json") == scores
    assert "groups" not in scores_document(plain)
    assert [division.columns for division in grouped.figures.groups] == [("sex",), ("sex", "hours")]
    document = scores_document(grouped)
    for change in ({"counts": []}, {"values": [["f"], ["f"], [None]]}, {"columns": []}, {"expected": [1]}):
        broken = {**document, "groups": [{**document["groups"][0], **change}, document["groups"][1]]}
        with pytest.raises(DataError, match=r"groups\.0\."):
            read_scores(broken, "test")
    with pytest.raises(DataError, match="expected a query for each table"):
        read_scores({**document, "groups": document["groups"][:1]}, "test")
