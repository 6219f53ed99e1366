"""Evaluation equals a plain computation over the rows that fit the domain."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from dpnb_columnar.evaluation import exact_evaluation
from dpnb_columnar.evaluation.exact_evaluation import CALIBRATION_BINS, LEAST_PROBABILITY, evaluate
from sklearn.metrics import roc_auc_score
from support.model_cases import declared, model_of, normal_of, table_of
from support.scored_rows import AGE, SEX, scored

from dpnb_columnar.domain.groupings import divisions_of
from dpnb_columnar.errors import DataError, Error
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


@pytest.mark.parametrize("copies", [1, 3])
def test_evaluation_equals_a_plain_computation(copies: int, tmp_path: Path) -> None:
    files = [tmp_path / f"{index}.parquet" for index in range(copies)]
    for index, file in enumerate(files):  # files may hold one kind of column in several types
        LABELLED.with_columns(pl.col("age").cast([pl.Int64, pl.Int16, pl.UInt8][index])).write_parquet(file)
    found = evaluate(SMALL, files)
    fitting = LABELLED[:6]  # the others have no declared class
    table = scored(SMALL, fitting)
    true = fitting["label"].to_list()
    rows = list(zip(true, table[PREDICTED], table["probability_no"], table["probability_yes"], strict=True))
    assert found.rows == 6 * copies
    assert found.lacking == {"age": copies, "sex": copies}
    assert found.confusion == tuple(
        tuple(copies * sum(row[:2] == (one, other) for row in rows) for other in ("no", "yes")) for one in ("no", "yes")
    )
    tops = [(max(row[2:]), row[0] == row[1]) for row in rows]
    assert sum(part.rows for part in found.calibration) == found.rows
    for part in found.calibration:
        members = [pair for pair in tops if part.lower <= pair[0] < part.upper]
        assert part.upper - part.lower == pytest.approx(1 / CALIBRATION_BINS)
        assert part.rows == copies * len(members)
        assert part.mean_probability == pytest.approx(sum(pair[0] for pair in members) / len(members))
        assert part.accuracy == pytest.approx(sum(pair[1] for pair in members) / len(members))
        assert part.interval[0] <= part.accuracy <= part.interval[1]
    gaps = [part.rows * abs(part.mean_probability - part.accuracy) for part in found.calibration]
    assert found.calibration_error == pytest.approx(sum(gaps) / found.rows)


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
