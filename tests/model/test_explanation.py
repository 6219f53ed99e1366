"""What an attribute said of a row: parts that add up to the odds of ``predict``, each by its definition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from support.model_cases import declared, histogram_of, model_of, normal_of, table_of
from support.random_models import held, models_and_rows
from support.reference_scorer import reference_bits
from support.running import Run

from dpnb_columnar.api.model import Model
from dpnb_columnar.errors import DataError, UsageError
from dpnb_columnar.model.likelihood import Pieces, class_terms, population_line
from dpnb_columnar.model.parameters import AttributeWeights, CalibrationLine
from dpnb_columnar.model.score_batches import SKIPPED
from dpnb_columnar.model.scoring import LOG_ODDS, OTHER, PREDICTED, PRIOR, REST, bits_column, probability_column


def frame_of(model: Model, rows: list[dict[str, Any]]) -> pl.DataFrame:
    """The rows as columns; one that no attribute needs keeps those of a model without attributes."""
    columns = {name: [held(model, name, row[name]) for row in rows] for name in (rows[0] if rows else {})}
    types = {
        name: pl.String if name in {each.name for each in model.domain.categorical} else pl.Float64 for name in columns
    }
    return pl.DataFrame({"id": range(len(rows)), **columns}, schema={"id": pl.Int64, **types}, strict=False)


def small_model(**others: Any) -> Model:
    domain = declared(
        {
            "age": {"lower": 0, "upper": 100, "step": 1},
            "sex": {"values": ["f", "m"]},
            "hours": {"lower": 0, "upper": 99, "step": 1},
        }
    )
    parameters = [
        normal_of("age", [30.0, 50.0], [9.0, 12.0]),
        table_of("sex", [0.25, 0.75], [0.5, 0.5]),
        histogram_of("hours", [0, 40, 100], [0.8, 0.2], [0.1, 0.9]),
    ]
    return model_of(domain, parameters, **others)


ROWS = pl.DataFrame(
    {"age": [20, 70, None, 45], "sex": ["f", "m", "x", None], "hours": [10, 50, 60, None], "id": [1, 2, 3, 4]}
)


@pytest.mark.slow
@given(models_and_rows())
def test_the_parts_add_up_to_the_odds_of_predict(case: tuple[Model, list[dict[str, Any]]]) -> None:
    model, rows = case
    frame = frame_of(model, rows)
    scored = model.predict(frame, ["id"]).to_dicts()
    names = [bits_column(parameters.attribute) for parameters in model.attributes]
    priors = dict(zip(model.domain.classes, class_terms(model), strict=True))
    for lazy in (False, True):
        explained = model.explain(frame.lazy(), ["id"]).collect() if lazy else model.explain(frame, ["id"])
        for row, score in zip(explained.to_dicts(), scored, strict=True):
            assert [row[each] for each in ("id", PREDICTED, SKIPPED)] == [
                score[each] for each in ("id", PREDICTED, SKIPPED)
            ]
            parts = [row[PRIOR], *(row[name] for name in names)]
            size = 1 + sum(map(abs, parts))
            assert math.fsum(parts) == pytest.approx(row[LOG_ODDS], abs=1e-12 * size)
            shares = {name: score[probability_column(name)] for name in model.domain.classes}
            first, second = shares.pop(row[PREDICTED]), shares[row[OTHER]]
            line = None if model.attribute_weights is None else model.attribute_weights.line
            if line is None or len(shares) == 1:
                assert second >= max(shares.values()) * (1 - 1e-9)
            if second > 1e-290:
                assert row[LOG_ODDS] == pytest.approx(math.log2(first / second), abs=1e-12 * size)
            # No explanation contradicts its prediction: where the prior is not for it, the attributes together are.
            assert row[LOG_ODDS] >= -1e-12
            assert row[PRIOR] > 0 or math.fsum(parts[1:]) >= -1e-12 * size
            if line is None:
                prior = priors[row[PREDICTED]] - priors[row[OTHER]]
                assert row[PRIOR] == pytest.approx(prior / math.log(2), abs=1e-12)


@pytest.mark.slow
@given(models_and_rows())
def test_every_part_is_the_weighted_logarithm_of_its_likelihoods(case: tuple[Model, list[dict[str, Any]]]) -> None:
    """Under a line all are multiplied by one factor, no less than 0 and at most the steepest slope."""
    model, rows = case
    classes, line = list(model.domain.classes), population_line(model)
    steepest = 1.0 if line is None else max(Pieces.through(line.margins, line.log_odds).slopes)
    for row, explained in zip(rows, model.explain(frame_of(model, rows)).to_dicts(), strict=True):
        expected = reference_bits(model, row, classes.index(explained[PREDICTED]), classes.index(explained[OTHER]))
        parts = [explained[bits_column(parameters.attribute)] for parameters in model.attributes]
        factor = 1.0
        if line is not None:
            factor = max(
                ((part / bits, abs(bits)) for part, (bits, _) in zip(parts, expected, strict=True) if bits),
                key=lambda pair: pair[1],
                default=(0.0, 0.0),
            )[0]
        assert -1e-9 * steepest <= factor <= steepest * (1 + 1e-9)
        for part, (bits, tolerance) in zip(parts, expected, strict=True):
            assert part == pytest.approx(factor * bits, abs=2 * (steepest + 1) * tolerance)


def calibrated_model(line: CalibrationLine, priors: Sequence[float] = (0.8, 0.2)) -> Model:
    """Two attributes whose values say 3, 1 or -1 bits for the second class."""
    domain = declared({"a": {"values": ["x", "y"]}, "b": {"values": ["x", "y"]}})
    parts = [table_of("a", [0.5, 0.1], [0.5, 0.8]), table_of("b", [0.5, 0.4], [0.25, 0.8])]
    model = model_of(domain, parts, priors)
    return replace(model, attribute_weights=AttributeWeights("calibrated", (1.0, 1.0), (0.0, 0.0), line=line))


BIT = math.log(2)
HALVED = CalibrationLine(0, (-2 * BIT, 0.0, 4 * BIT), (-3 * BIT, BIT, 2 * BIT))
"""From the -2 bits of the prior: two calibrated bits for each up to 0, and a quarter beyond; flat below."""


@pytest.mark.parametrize(
    ("values", "predicted", "parts"),
    [
        # 3 + 1 bits above the prior: from -3 to 1.5 calibrated bits, 9/8 for each.
        (("y", "y"), "yes", (-3.0, 27 / 8, 9 / 8)),
        # 1 bit, of one piece: two calibrated ones. One against it is beyond the line's end, and silent.
        ((None, "y"), "no", (3.0, 0.0, -2.0)),
        ((None, "x"), "no", (3.0, 0.0, 0.0)),
        # 3 - 1 bits: from -3 to 1, two for each.
        (("y", "x"), "yes", (-3.0, 6.0, -2.0)),
        # Nothing is said: the prior is all.
        ((None, None), "no", (3.0, 0.0, 0.0)),
    ],
)
def test_what_a_line_changes_is_shared_out_by_hand(
    values: tuple[str | None, str | None], predicted: str, parts: tuple[float, ...]
) -> None:
    model = calibrated_model(HALVED)
    frame = pl.DataFrame({"a": [values[0]], "b": [values[1]]}, schema={"a": pl.String, "b": pl.String})
    (row,) = model.explain(frame).to_dicts()
    assert row[PREDICTED] == predicted
    assert (row[PRIOR], row["bits_a"], row["bits_b"]) == pytest.approx(parts, abs=1e-12)
    assert row[LOG_ODDS] == pytest.approx(sum(parts), abs=1e-12)


def test_terms_that_cancel_are_shown_by_the_slope_where_they_do() -> None:
    line = CalibrationLine(0, (-9.0, 9.0), (-3.0, 1.5))
    domain = declared({"a": {"values": ["x", "y"]}, "b": {"values": ["x", "y"]}})
    parts = [table_of("a", [0.25, 0.75], [0.5, 0.5]), table_of("b", [0.5, 0.5], [0.25, 0.75])]
    model = model_of(domain, parts, [0.5, 0.5])
    model = replace(model, attribute_weights=AttributeWeights("calibrated", (1.0, 1.0), (0.0, 0.0), line=line))
    (row,) = model.explain(pl.DataFrame({"a": ["x"], "b": ["x"]})).to_dicts()
    assert (row["bits_a"], row["bits_b"]) == pytest.approx((-0.25, 0.25), abs=1e-12)


def test_bits_by_hand() -> None:
    first, *_, last = small_model().explain(ROWS).to_dicts()
    assert (first[PREDICTED], first[OTHER]) == ("no", "yes")
    assert [first["bits_sex"], first["bits_hours"]] == pytest.approx([-1, 3], abs=1e-12)
    assert (last["bits_sex"], last["bits_hours"], last[SKIPPED]) == (0.0, 0.0, 2)


def test_the_attributes_that_said_most_are_named() -> None:
    model = small_model()
    every, most = model.explain(ROWS).to_dicts(), model.explain(ROWS, ["id"], top=2).to_dicts()
    for row, top in zip(every, most, strict=True):
        said = {name: row[bits_column(name)] for name in ("age", "sex", "hours")}
        ranked = sorted(said, key=lambda name: -abs(said[name]))
        assert [top["attribute_1"], top["attribute_2"]] == ranked[:2]
        assert [top["bits_1"], top["bits_2"], top[REST]] == [said[name] for name in ranked]
        assert row[LOG_ODDS] == top[LOG_ODDS]
    assert list(most[0]) == [
        *("id", PREDICTED, OTHER, LOG_ODDS, PRIOR, "attribute_1", "bits_1", "attribute_2", "bits_2", REST),
        SKIPPED,
    ]


def test_a_model_of_many_classes_names_the_next_one() -> None:
    names = [f"c{klass}" for klass in range(70)]
    model = model_of(
        declared({"x": {"lower": 0, "upper": 100, "step": 1}}, names),
        [normal_of("x", [100 * klass / 70 for klass in range(70)], [9.0] * 70)],
    )
    frame = pl.DataFrame({"x": range(101)})
    explained, scored = model.explain(frame), model.predict(frame)
    for row, score in zip(explained.to_dicts(), scored.to_dicts(), strict=True):
        ranked = sorted(names, key=lambda name: -score[probability_column(name)])
        assert [row[PREDICTED], row[OTHER]] == ranked[:2]
    assert model.explain(frame.lazy(), top=1).collect()["attribute_1"].unique().to_list() == ["x"]


def test_a_line_decides_between_the_largest_class_and_the_best_other_one() -> None:
    """So these are compared, whether or not the line gives a third one more than the one that it decided against."""
    classes = [f"class {index}" for index in range(5)]
    margins = tuple(-4 + place / 2 for place in range(18))
    line = CalibrationLine(
        2,
        margins,
        tuple(-5 + place / 2 for place in range(18)),
        others=tuple(-3 + place % 5 for place in range(18)),
        evidence=0.6,
    )
    domain = declared({"x": {"lower": 0, "upper": 100, "step": 1}}, classes)
    model = model_of(domain, [normal_of("x", [20.0 * k for k in range(5)], [20 + k / 7 for k in range(5)])])
    model = replace(model, attribute_weights=AttributeWeights("calibrated", (0.9,), (0.0,) * 5, line=line))
    frame = pl.DataFrame({"x": range(101)})
    third = []
    for row, score in zip(model.explain(frame).to_dicts(), model.predict(frame).to_dicts(), strict=True):
        ranked = sorted(classes, key=lambda name: -score[probability_column(name)])
        assert row[PREDICTED] == ranked[0]
        assert (row[PREDICTED] == "class 2") is (row[OTHER] != "class 2")
        odds = math.log2(score[probability_column(row[PREDICTED])] / score[probability_column(row[OTHER])])
        assert row[LOG_ODDS] == pytest.approx(odds, abs=1e-9)
        assert row[PRIOR] + row["bits_x"] == pytest.approx(odds, abs=1e-9)
        third.append(row[OTHER] != ranked[1])
    assert {True, False} == set(third)


def test_without_attributes_the_prior_is_all_there_is() -> None:
    model = model_of(small_model().domain, [])
    explained = model.explain(ROWS, ["id"])
    assert explained.columns == ["id", PREDICTED, OTHER, LOG_ODDS, PRIOR, SKIPPED]
    assert explained[LOG_ODDS].to_list() == explained[PRIOR].to_list()
    assert model.explain(ROWS.lazy()).collect().height == ROWS.height


def test_what_cannot_be_explained() -> None:
    model = small_model()
    for top in (0, 4):
        with pytest.raises(UsageError, match="name 1 to 3 of them"):
            model.explain(ROWS, top=top)
    with pytest.raises(DataError, match="column prior would stand beside a result of that name"):
        model.explain(ROWS.rename({"id": PRIOR}), [PRIOR])
    with pytest.raises(DataError, match="missing column 'age'"):
        model.explain(ROWS.drop("age"))


@pytest.mark.usefixtures("invented_models")
def test_predict_writes_explanations_of_files(folder: Path, run: Run) -> None:
    model = small_model()
    model.save("model.json")
    for name, part in (("a.parquet", ROWS[:3]), ("b.parquet", ROWS[3:].cast({"age": pl.Float32}))):
        part.write_parquet(name)
    written = ("predict", "model.json", "a.parquet", "b.parquet", "--explain", "--key", "id")
    assert "wrote all.parquet" in run(*written, "--output", "all.parquet").out
    assert pl.read_parquet("all.parquet").equals(model.explain(ROWS, ["id"]))
    assert Path("all.parquet").stat().st_mode & 0o777 == 0o600
    run(*written, "--top", "3", "--output", "top.parquet")
    assert pl.read_parquet("top.parquet").equals(model.explain(ROWS, ["id"], top=3))
