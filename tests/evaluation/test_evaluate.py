"""Evaluation equals a plain computation over the rows that fit the domain."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from support.model_cases import declared, model_of, normal_of, table_of
from support.people import PEOPLE, people, write_people
from support.running import Run
from support.scored_rows import AGE, SEX, scored

from dpnb_columnar.domain import Weight
from dpnb_columnar.domain.groupings import divisions_of
from dpnb_columnar.errors import DataError, Error
from dpnb_columnar.evaluation import exact_evaluation
from dpnb_columnar.evaluation.exact_evaluation import (
    CALIBRATION_BINS,
    LARGEST_LOG_ODDS,
    LEAST_PROBABILITY,
    RESOLUTION,
    Ranking,
    bin_by_log_odds,
    evaluate,
    ranking,
)
from dpnb_columnar.model.query_noise import QUANTILE
from dpnb_columnar.model.scoring import PREDICTED

LABELLED = pl.DataFrame(
    {
        "age": [20, 35, None, 65, 80, 30, 45, None],
        "sex": ["f", "m", "f", "m", "x", "f", "m", "f"],
        "label": ["no", "no", "yes", "yes", "no", "no", "maybe", None],
    }
)
SMALL = model_of(
    declared({"age": AGE, "sex": SEX}),
    [normal_of("age", [30, 60], [10, 12]), table_of("sex", [0.7, 0.3], [0.4, 0.6])],
    [0.6, 0.4],
)


def test_files_may_hold_one_kind_of_column_in_several_types(tmp_path: Path) -> None:
    files = [tmp_path / f"{index}.parquet" for index in range(3)]
    for file, type_ in zip(files, (pl.Int64, pl.Int16, pl.UInt8), strict=True):
        LABELLED.with_columns(pl.col("age").cast(type_)).write_parquet(file)
    found, one = evaluate(SMALL, files), evaluate(SMALL, LABELLED)
    assert (found.rows, found.lacking) == (3 * 6, {"age": 3, "sex": 3})  # the others have no declared class
    assert np.array_equal(found.confusion, 3 * np.array(one.confusion))
    assert found.accuracy == one.accuracy
    assert found.calibration_error == pytest.approx(
        sum(part.rows * abs(part.mean_probability - part.accuracy) for part in one.calibration) / 6
    )


CROWDED = model_of(
    declared({"age": AGE, "sex": SEX}),
    [normal_of("age", [50, 50.001], [10, 10]), table_of("sex", [0.7, 0.3], [0.4, 0.6])],
    [0.6, 0.4],
)
"""A model whose log-odds lie closer together, within each sex, than bins are wide."""


@pytest.mark.parametrize(("most", "error"), [(400, 0.0), (399, 0.05)], ids=["exact", "in bins"])
def test_figures_of_groups_are_those_of_scikit_learn(most: int, error: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are ranked exactly, ties included; of more rows than that, areas are within the bounds that they have."""
    monkeypatch.setattr(exact_evaluation, "EXACT_ROWS", most)
    for seed in range(5):
        random = np.random.default_rng(seed)
        age, sex = random.integers(20, 81, 400), random.choice(["f", "m"], 400)
        label = np.where(random.random(400) < age / 100, "yes", "no")
        frame = pl.DataFrame({"age": age, "sex": sex, "label": label})
        found = evaluate(CROWDED, frame, divisions_of("sex", CROWDED.domain))
        table = scored(CROWDED, frame)
        probability, right = table["probability_yes"].to_numpy(), table[PREDICTED].to_numpy() == label
        for group, value in zip(found.groups[0].groups, "fm", strict=False):
            own = sex == value
            assert group.rows == own.sum()
            assert group.auc is not None
            assert group.auc_error is not None
            area = roc_auc_score(label[own] == "yes", probability[own])
            assert abs(group.auc.value - area) <= group.auc_error + 1e-12
            assert (group.auc_error > error) == (error > 0)
            assert group.accuracy.value == pytest.approx(right[own].mean())
            assert group.accuracy_difference.value == pytest.approx(right[own].mean() - right.mean())
            assert group.calibration is not None
            assert group.calibration.value == pytest.approx(probability[own].mean() - (label[own] == "yes").mean())
            assert group.recall[1].value == pytest.approx(right[own & (label == "yes")].mean())
            assert group.false_positives[1].value == pytest.approx(1 - right[own & (label == "no")].mean())
            assert group.majority.value == pytest.approx(max(np.mean(label[own] == each) for each in ("no", "yes")))


def test_a_model_below_the_largest_class_is_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    model = model_of(declared({"sex": SEX}), [table_of("sex", [0.9, 0.1], [0.1, 0.9])])
    pl.DataFrame({"sex": ["m"] * 40 + ["f"] * 60, "label": ["no"] * 95 + ["yes"] * 5}).write_parquet(file)
    found = evaluate(model, [file])
    assert (found.majority_class, found.majority, found.accuracy) == ("no", 0.95, 0.55)
    assert found.below_majority
    assert found.gain == pytest.approx(-0.4)
    lower, upper = found.intervals["gain"] or (0, 0)
    assert -0.52 < lower < -0.4 < upper < -0.28
    always = model_of(declared({"sex": SEX}), [table_of("sex", [0.5, 0.5], [0.5, 0.5])], [0.6, 0.4])
    found = evaluate(always, [file])
    assert (found.gain, found.below_majority, found.auc) == (0, False, 0.5)


def test_a_hopeless_row_has_a_finite_loss(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    pl.DataFrame({"age": [100], "label": ["no"]}).write_parquet(file)
    model = model_of(declared({"age": AGE}), [normal_of("age", [0, 100], [0.25, 0.25])])
    found = evaluate(model, [file])
    assert found.log_loss == pytest.approx(-math.log(LEAST_PROBABILITY))
    assert found.confusion == ((0, 1), (0, 0))
    (certain,) = found.calibration
    assert (certain.lower, certain.upper, certain.mean_probability) == (0.9, 1.0, 1.0)


def test_rows_of_which_none_fits_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    LABELLED[6:].write_parquet(file)
    with pytest.raises(DataError, match="no row fits the model's domain; compare its values"):
        evaluate(SMALL, [file])


def test_evaluation_of_a_damaged_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    frame = pl.concat([LABELLED] * 20_000).with_columns(age=pl.int_range(160_000) % 99)
    frame.write_parquet(file, row_group_size=10_000, compression="uncompressed")
    content = bytearray(file.read_bytes())
    content[: len(content) // 2] = bytes(len(content) // 2)
    file.write_bytes(content)
    with pytest.raises(Error, match=r"rows\.parquet.*(damaged)"):
        evaluate(SMALL, [file])


def test_columns_of_the_program_s_own_names_are_evaluated(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    domain = declared({"true": SEX, "true label": SEX})
    tables = [table_of(name, [0.9, 0.1], [0.2, 0.8]) for name in ("true", "true label")]
    pl.DataFrame({"true": ["f", "m"], "true label": ["f", "m"], "label": ["no", "yes"]}).write_parquet(file)
    assert evaluate(model_of(domain, tables), [file]).accuracy == 1


# Figures of a few labelled rows are those of their definitions, with and without weights.

LIKELIHOOD = {"a": (0.68, 0.2, 0.12), "b": (0.22, 0.32, 0.08), "c": (0.1, 0.48, 0.8)}
"""Per category, its probability within each class."""

ROWS = [
    # category, age, class, weight
    ("a", 20, 0, 1.0),
    ("a", 30, 1, 3.0),
    ("b", 40, 1, None),  # the one that a row without weight counts for
    ("b", None, 0, 5.0),
    ("c", 50, 1, 4.0),
    ("c", 60, 0, 0.0),
    ("c", 20, 1, 2.0),
    ("b", 70, 0, 900.0),  # at most 6
]


@pytest.mark.parametrize("classes", [["no", "yes"], ["no", "yes", "other"]], ids=["two", "three"])
def test_figures_of_a_few_rows(classes: list[str]) -> None:
    """Of the rows that training counts: one is dropped, as it lacks an age. The last of three classes has no row."""
    size = len(classes)
    document = {"age": {**AGE, "missing": "row"}, "job": {"values": list(LIKELIHOOD)}}
    domain = replace(declared(document, classes), weight=Weight("w", Fraction(6), Fraction(1), Fraction(1)))
    table = table_of("job", *([LIKELIHOOD[job][place] for job in LIKELIHOOD] for place in range(size)))
    model = model_of(domain, [table], [1 / size] * size)
    frame = pl.DataFrame(
        [(job, age, classes[true], weight) for job, age, true, weight in ROWS],
        schema={"job": pl.String, "age": pl.Int64, "label": pl.String, "w": pl.Float64},
        orient="row",
    )
    found = evaluate(model, frame)

    scored = []
    for job, age, true, weight in ROWS:
        if age is not None:
            whole = sum(LIKELIHOOD[job][:size])
            scored.append(
                ([each / whole for each in LIKELIHOOD[job][:size]], true, 1.0 if weight is None else min(weight, 6))
            )
    predicted = [max(range(size), key=lambda place: each[0][place]) for each in scored]
    assert found.rows == len(scored) == len(ROWS) - 1

    def figures(weights: list[float]) -> dict[str, float]:
        """By definition, every row counting for its weight."""
        rows = list(zip(scored, predicted, weights, strict=True))
        total = sum(weights)
        sizes = [sum(w for (_, true, _), _, w in rows if true == place) for place in range(size)]
        hits = [sum(w for (_, true, _), best, w in rows if true == best == place) for place in range(size)]
        recalls = [hit / all_ for hit, all_ in zip(hits, sizes, strict=True) if all_]
        squares = [sum((p - (place == true)) ** 2 for place, p in enumerate(ps)) for (ps, true, _), _, _ in rows]
        return {
            "accuracy": sum(hits) / total,
            "majority": max(sizes) / total,
            "balanced_accuracy": sum(recalls) / len(recalls),
            "log_loss": -sum(w * math.log(ps[true]) for (ps, true, _), _, w in rows) / total,
            "brier_score": sum(w * square for square, (_, _, w) in zip(squares, rows, strict=True))
            / total
            / (2 if size == 2 else 1),
        }

    for figure, value in figures([1.0] * len(scored)).items():
        assert getattr(found, figure) == pytest.approx(value), figure
    assert found.weighted is not None
    weights = [weight for _, _, weight in scored]
    for figure, value in figures(weights).items():
        assert getattr(found.weighted, figure) == pytest.approx(value), figure
    assert found.weighted.weight == sum(weights)
    counted = list(zip(scored, predicted, strict=True))
    by_cell = [
        [sum(w for (_, is_, w), best in counted if (is_, best) == (i, j)) for j in range(size)] for i in range(size)
    ]
    assert [list(row) for row in found.weighted.confusion] == by_cell
    areas = []
    for place, of_class in enumerate(found.classes):
        likely = [(ps[place], true == place, w) for ps, true, w in scored]
        assert of_class.mean_probability == pytest.approx(sum(p for p, _, _ in likely) / len(likely))
        assert of_class.brier_score == pytest.approx(sum((p - is_) ** 2 for p, is_, _ in likely) / len(likely))
        assert found.weighted.shares[place] == pytest.approx(sum(w for _, is_, w in likely if is_) / sum(weights))
        mean = sum(w * p for p, _, w in likely) / sum(weights)
        assert found.weighted.mean_probabilities[place] == pytest.approx(mean)
        won = [
            (mine > other) + (mine == other) / 2
            for mine, is_, _ in likely
            if is_
            for other, was, _ in likely
            if not was
        ]
        assert (of_class.auc is None) is (not won)
        if of_class.auc is not None and of_class.auc_error is not None:
            assert abs(of_class.auc - sum(won) / len(won)) <= of_class.auc_error + 1e-9
            areas.append(of_class.auc)
        own = [best for (_, true, _), best in zip(scored, predicted, strict=True) if true == place]
        chosen = [true for (_, true, _), best in zip(scored, predicted, strict=True) if best == place]
        assert of_class.recall == (pytest.approx(own.count(place) / len(own)) if own else None)
        assert of_class.precision == (pytest.approx(chosen.count(place) / len(chosen)) if chosen else None)
        whole = sum(w for (_, true, w) in scored if true == place)
        hit = sum(w for (_, true, w), best in zip(scored, predicted, strict=True) if true == best == place)
        assert (of_class.rows, of_class.predicted) == (len(own), len(chosen))
        assert found.weighted.recalls[place] == (pytest.approx(hit / whole) if whole else None)
    assert found.auc == pytest.approx(sum(areas) / len(areas))
    for part, pair in zip(found.calibration, found.weighted.calibration, strict=True):
        tops = [(max(ps), true == best, w) for (ps, true, w), best in counted]
        within = [each for each in tops if part.lower <= each[0] < part.upper]
        assert part.upper - part.lower == pytest.approx(1 / CALIBRATION_BINS)
        assert (part.rows, part.accuracy) == (len(within), pytest.approx(np.mean([hit for _, hit, _ in within])))
        assert part.mean_probability == pytest.approx(np.mean([top for top, *_ in within]))
        assert part.interval[0] <= part.accuracy <= part.interval[1]
        total = sum(w for *_, w in within)
        assert (pair is None) is (total == 0)
        if pair is not None:
            assert pair == pytest.approx(tuple(sum(each[i] * each[2] for each in within) / total for i in (0, 1)))


# Figures by weight are those of rows that stand there as often as they weigh.

CAP, STEP = 6, Fraction(1, 2)


@pytest.fixture
def weighted_model(folder: Path, run: Run) -> Path:
    document = {**PEOPLE, "weight": {"column": "w", "cap": 400}}
    rows = people(300).with_columns(w=pl.int_range(300) * 3)
    run("train", write_people("people.parquet", rows, document), "--mechanism", "histogram", "--output", "m.json")
    return Path("m.json")


def test_both_figures_are_told(weighted_model: Path, run: Run) -> None:
    out = run("evaluate", weighted_model, "people.parquet", "--html", "page.html").out
    assert "figure             by rows  by weight" in out
    assert "true \\ predicted, weighted" in out
    assert json.loads(run("evaluate", weighted_model, "people.parquet", "--json").out)["weighted"]["weight"] > 300
    assert "Every row counts with its w, at most 400" in Path("page.html").read_text()


def test_rows_without_the_weight_are_evaluated_unweighted(weighted_model: Path, run: Run) -> None:
    pl.read_parquet("people.parquet").drop("w").write_parquet("bare.parquet")
    out = run("evaluate", weighted_model, "bare.parquet", "--html", "page.html").out
    assert "not weighted: the rows have no numbers above 0 in a column 'w'" in out
    assert "Not weighted" in Path("page.html").read_text()
    assert "missing column 'age'" in run("evaluate", weighted_model, write_bare(), expected=65).err


def write_bare() -> Path:
    path = Path("ageless.parquet")
    pl.read_parquet("people.parquet").drop("age").write_parquet(path)
    return path


def test_released_scores_say_that_they_are_of_rows(weighted_model: Path, run: Run) -> None:
    ended = run("evaluate", weighted_model, "people.parquet", "--epsilon", "1")
    assert "released scores are of rows: the weight w does not enter them" in ended.out


# The area under the ROC curve from bins is that of the rows, to within the error that it states.


def ranked(odds: Sequence[float], own: Sequence[bool]) -> Ranking | None:
    """The ranking of rows with these log-odds."""
    frame = pl.LazyFrame({"own": own, "odds": odds}, schema={"own": pl.Boolean, "odds": pl.Float64})
    # Of both, the smaller is exact: 1 - probability would lose it.
    larger = 1 / (1 + (-pl.col("odds").abs()).exp())
    smaller = (-pl.col("odds").abs()).exp() * larger
    positive = pl.col("odds") >= 0
    frame = frame.with_columns(
        pl.when(positive).then(larger).otherwise(smaller).alias("p"),
        pl.when(positive).then(smaller).otherwise(larger).alias("q"),
    )
    return ranking(bin_by_log_odds(frame, pl.col("own"), pl.col("p"), [pl.col("q")]).collect())


# Whether probabilities show a difference of 1e-16 depends on which side of 0 it is on; so odds have nine digits.
odds_of_a_row = st.one_of(st.floats(-700, 700), st.floats(-3, 3), st.sampled_from([-1.0, 0.0, 2.5]))
rows = st.lists(st.tuples(odds_of_a_row.map(lambda odds: round(odds, 9)), st.booleans()), max_size=60)


@given(rows)
@example([(0.00001, True), (0.00002, False)])  # one bin
@example([(700.0, True), (699.9, False), (-700.0, False)])
def test_area_is_that_of_scikit_learn_within_the_stated_error(rows: list[tuple[float, bool]]) -> None:
    odds, own = [row[0] for row in rows], [row[1] for row in rows]
    found = ranked(odds, own)
    if len(set(own)) < 2:
        assert found is None
        return
    assert found is not None
    assert abs(found.area - roc_auc_score(own, odds)) <= found.error + 1e-9


def test_variance_of_a_few_rows_is_that_of_delong() -> None:
    """Both kinds of rows add to it, and the more the fewer they are."""
    for own, others in (([3, 1, -2], [2, 0, 0, -1, -4]), ([5, -1], [3, 1, 0, 0, -3, -3, -4])):
        rows = [*((odds, True) for odds in own), *((odds, False) for odds in others)]
        has_the_variance_of_delong(rows)
        has_the_variance_of_delong([(-odds, not kind) for odds, kind in rows])


def has_the_variance_of_delong(rows: list[tuple[int, bool]]) -> None:
    odds, own = np.array([row[0] for row in rows], dtype=float), np.array([row[1] for row in rows])
    found = ranked(list(odds), list(own))
    if min(own.sum(), (~own).sum()) < 2:
        assert found is None or found.interval is None
        return
    assert found is not None
    assert found.error == 0
    # The definition: every row of the class beside every other row.
    wins = np.sign(odds[own][:, None] - odds[~own][None, :]) / 2 + 0.5
    variance = wins.mean(axis=1).var(ddof=1) / own.sum() + wins.mean(axis=0).var(ddof=1) / (~own).sum()
    half = QUANTILE * math.sqrt(variance)
    assert found.area == pytest.approx(wins.mean())
    assert found.interval == pytest.approx((max(wins.mean() - half, 0), min(wins.mean() + half, 1)), abs=1e-9)


def test_there_are_no_more_bins_than_stated() -> None:
    probabilities = np.concatenate([np.geomspace(5e-324, 0.5, 200_000), [0.0]])
    frame = pl.LazyFrame({"p": np.concatenate([probabilities, 1 - probabilities])}).with_columns(q=1 - pl.col("p"))
    bins = bin_by_log_odds(frame, pl.lit(True), pl.col("p"), [pl.col("q")]).collect()
    most = math.asinh(LARGEST_LOG_ODDS) * RESOLUTION
    assert bins["bin"].is_between(-most - 1, most).all()
    assert bins["least"].is_finite().all()
    assert bins["rows"].sum() == 2 * len(probabilities)


def test_a_class_with_all_or_no_rows_has_no_area() -> None:
    assert ranked([0.5, 1.5], [True, True]) is None
    assert ranked([0.5, 1.5], [False, False]) is None
    assert ranked([], []) is None


def test_one_row_of_a_kind_gives_no_interval() -> None:
    assert ranked([0.5, 1.5, 2.5], [True, False, False]) == Ranking(0, 0, None)
