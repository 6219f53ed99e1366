"""Predictions of every type of column, of missing values, and the columns and rows of the result."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.model_cases import declared, histogram_of, model_of, normal_of, presence_of, table_of
from support.scored_rows import AGE, MIXED, ROW, SEX, probabilities_of, scored

from dpnb_columnar.api.model import Model
from dpnb_columnar.errors import DataError
from dpnb_columnar.model.polars_terms import SKIPPED
from dpnb_columnar.model.scoring import PREDICTED

# Missing values and strangers.


@pytest.mark.parametrize("name", ["age", "money", "hours", "sex"])
@pytest.mark.parametrize("value", [None, math.nan, "stranger"])
def test_a_value_left_out_is_counted_and_leaves_the_rest(name: str, value: Any) -> None:
    numeric = name != "sex"
    if numeric is (value == "stranger") or (not numeric and value is not None and value != "stranger"):
        return
    found = scored(MIXED, [ROW | {name: value}])
    others = [parameters for parameters in MIXED.attributes if parameters.attribute != name]
    smaller = Model(MIXED.domain, MIXED.guarantee, MIXED.classes, tuple(others), {})
    assert found[SKIPPED].to_list() == [1]
    assert found.drop(SKIPPED).equals(scored(smaller, pl.DataFrame([ROW])).drop(SKIPPED))


def test_declared_missing_values_are_left_out() -> None:
    domain = declared({"age": AGE | {"missing_values": [99]}, "sex": SEX | {"missing_values": ["?"]}})
    model = model_of(domain, [normal_of("age", [30, 40], [5, 6]), table_of("sex", [0.5, 0.5], [0.1, 0.9])], [0.3, 0.7])
    found = scored(model, [{"age": 99, "sex": "?"}])
    assert found[SKIPPED].to_list() == [2]
    assert probabilities_of(model, found)[0] == pytest.approx([0.3, 0.7], abs=1e-15)


def test_missing_as_a_category_uses_its_own_probability() -> None:
    model = model_of(
        declared({"job": {"values": ["x"], "missing": "category"}}), [table_of("job", [0.8, 0.2], [0.4, 0.6])]
    )
    found = scored(model, [{"job": None}, {"job": "stranger"}])
    assert found[SKIPPED].to_list() == [0, 0]
    for row in probabilities_of(model, found):
        assert row == pytest.approx([0.25, 0.75], abs=1e-15)


@pytest.mark.parametrize("type_", [pl.Float64, pl.Int8, pl.Int64], ids=str)
@pytest.mark.parametrize("values", ["normal", "histogram"])
def test_a_missing_number_uses_the_probability_of_missing_ones(values: str, type_: Any) -> None:
    """P(missing) within the classes is 0.2 and 0.6, P(present) 0.8 and 0.4, and a value tells nothing itself."""
    alike = normal_of("age", [30, 30], [9, 9]) if values == "normal" else histogram_of("age", [0, 101], [1.0], [1.0])
    parameters = replace(alike, presence=presence_of([0.8, 0.2], [0.4, 0.6]))
    model = model_of(declared({"age": AGE | {"missing": "category", "missing_values": [99]}}), [parameters])
    found = scored(model, pl.DataFrame({"age": pl.Series([None, 99, 30, -1], dtype=type_)}))
    assert found[SKIPPED].to_list() == [0, 0, 0, 0]
    for row, expected in zip(probabilities_of(model, found), [[1 / 4, 3 / 4]] * 2 + [[2 / 3, 1 / 3]] * 2, strict=True):
        assert row == pytest.approx(expected, abs=1e-15)


def test_a_number_that_rows_skip_is_left_out_of_them() -> None:
    parameters = replace(normal_of("age", [30, 50], [9, 9]), presence=presence_of([1.0], [1.0]))
    model = model_of(declared({"age": AGE | {"missing": "skip"}}), [parameters])
    plain = model_of(declared({"age": AGE}), [replace(parameters, presence=None)])
    rows = pl.DataFrame({"age": [None, 30.0, 50.0]})
    assert scored(model, rows).equals(scored(plain, rows))
    assert scored(model, rows)[SKIPPED].to_list() == [1, 0, 0]


# Types of columns.


@pytest.mark.parametrize(
    "type_", [pl.Int8, pl.UInt16, pl.Int64, pl.UInt64, pl.Float32, pl.Float64, pl.Decimal(10, 2)], ids=str
)
def test_numbers_of_any_type(type_: Any) -> None:
    frame = pl.DataFrame([ROW | {"money": 12}])
    expected = scored(MIXED, frame)
    assert scored(MIXED, frame.with_columns(pl.col("age", "money", "hours").cast(type_))).equals(expected)


def test_booleans_count_as_numbers_and_as_categories() -> None:
    domain = declared({"flag": {"lower": 0, "upper": 1, "step": 1}, "old": {"values": ["true", "false"]}})
    model = model_of(
        domain, [normal_of("flag", [0.2, 0.9], [0.5, 0.25]), table_of("old", [0.5, 0.5], [0.2, 0.8])], [0.5, 0.5]
    )
    found = scored(model, pl.DataFrame({"flag": [True, False], "old": [False, True]}))
    same = scored(model, pl.DataFrame({"flag": [1, 0], "old": ["false", "true"]}))
    assert found.equals(same)


@pytest.mark.parametrize(
    "type_", [pl.String, pl.Categorical, pl.Enum(["m", "f", "other"])], ids=["text", "cat", "enum"]
)
def test_text_of_any_type(type_: Any) -> None:
    frame = pl.DataFrame([ROW, ROW | {"sex": "f"}, ROW | {"sex": "other"}])
    expected = scored(MIXED, frame)
    assert scored(MIXED, frame.with_columns(pl.col("sex").cast(type_))).equals(expected)
    assert expected[SKIPPED].to_list() == [0, 0, 1]


@pytest.mark.parametrize("values", [[1, 2, 9], [1.0, 2.0, 2.5], ["001", "2.0", "2x"]], ids=["whole", "float", "text"])
def test_whole_number_categories_of_any_type(values: list[Any]) -> None:
    found = scored(MIXED, pl.DataFrame([ROW] * 3).with_columns(pl.Series("job", values)))
    assert found[SKIPPED].to_list() == [0, 0, 0]
    expected = scored(MIXED, pl.DataFrame([ROW | {"job": 1}, ROW | {"job": 2}, ROW | {"job": None}]))
    assert found.equals(expected)


def test_decimals_match_by_value() -> None:
    model = model_of(declared({"rate": {"values": ["1.5", "2.00"]}}), [table_of("rate", [0.5, 0.5], [0.1, 0.9])])
    found = scored(model, pl.DataFrame({"rate": [Decimal("1.50"), Decimal("2.25")]}))
    assert found[SKIPPED].to_list() == [0, 1]


@pytest.mark.parametrize(
    ("name", "values"),
    [("age", [date(2018, 1, 1)]), ("age", [None]), ("sex", [1.5]), ("sex", [[1]]), ("age", [b"x"])],
    ids=["date for a number", "nulls only", "number for text", "list", "bytes"],
)
def test_a_type_that_does_not_fit_is_refused(name: str, values: list[Any]) -> None:
    frame = pl.DataFrame([ROW]).with_columns(pl.Series(name, values))
    with pytest.raises(DataError, match=f"column '{name}' has type .*cast it"):
        MIXED.predict(frame.lazy())


# Columns and rows of the result.


def test_columns_come_in_the_documented_order_with_their_types() -> None:
    frame = pl.DataFrame([ROW]).with_columns(pl.lit("k").alias("key"), pl.lit(7).alias("id"))
    assert dict(scored(MIXED, frame, ["id", "key", "id"]).schema) == {
        "id": pl.Int32(),
        "key": pl.String(),
        "predicted": pl.String(),
        "probability_no": pl.Float64(),
        "probability_yes": pl.Float64(),
        "skipped": pl.UInt16(),
    }


def test_rows_keep_their_order() -> None:
    frame = pl.DataFrame([ROW]).select(pl.exclude("age")).join(pl.DataFrame({"age": range(100)}), how="cross")
    found = scored(MIXED, frame.with_row_index("id").with_columns(pl.col("id").reverse()), ["id", "age"])
    assert found["age"].to_list() == list(range(100))
    assert found["id"].to_list() == list(range(99, -1, -1))


@pytest.mark.parametrize("name", ["*", "^.*$", "__kept_0", "__value_0", "__joint_0", "__largest", "__total", "^a", ""])
def test_kept_columns_and_attributes_may_have_any_name(name: str) -> None:
    model = model_of(declared({name or "x": SEX}), [table_of(name or "x", [0.5, 0.5], [0.2, 0.8])])
    found = model.predict(pl.DataFrame({name or "x": ["m", "f"], "other": [1, 2]}).lazy(), ["other", name or "x"])
    assert found.collect().select(pl.nth(0, 1)).rows() == [(1, "m"), (2, "f")]
    assert found.collect()[PREDICTED].to_list() == ["yes", "no"]
    whole = model_of(declared({name or "x": {"values": [1, 2]}}), [table_of(name or "x", [0.5, 0.5], [0.2, 0.8])])
    assert whole.predict(pl.DataFrame({name or "x": [2, 1]}))[PREDICTED].to_list() == ["yes", "no"]
    plain = MIXED.predict(pl.DataFrame([ROW | {name: "kept"}]).lazy(), [name]).collect()
    assert plain.to_series(0).to_list() == ["kept"]
    assert plain[:, 1:].equals(scored(MIXED, pl.DataFrame([ROW])))


@pytest.mark.parametrize("name", [PREDICTED, SKIPPED, "probability_no"])
def test_a_kept_column_named_like_a_result_is_refused(name: str) -> None:
    with pytest.raises(DataError, match=f"column {name} would stand beside a result of that name"):
        MIXED.predict(pl.DataFrame([ROW | {name: 1}]).lazy(), [name])


def test_missing_columns_are_named_together() -> None:
    with pytest.raises(DataError, match=r"missing column 'id', 'age', 'job'; the columns are money, hours, sex"):
        MIXED.predict(pl.DataFrame([ROW]).drop("age", "job").lazy(), ["id"])


@pytest.mark.parametrize("keep", [[], ["age"]])
def test_a_model_of_the_classes_alone_scores_every_row(keep: list[str], tmp_path: Path) -> None:
    model = model_of(declared({"age": AGE}), [], [0.25, 0.75])
    frame = pl.DataFrame({"age": range(5)})
    file = tmp_path / "rows.parquet"
    frame.write_parquet(file)
    for rows in (frame.lazy(), pl.scan_parquet(file)):
        for engine in ("in-memory", "streaming"):
            found = model.predict(rows, keep).collect(engine=engine)
            assert found[PREDICTED].to_list() == ["yes"] * 5
            assert found["probability_yes"].to_list() == pytest.approx([0.75] * 5, abs=1e-15)
            assert found[SKIPPED].to_list() == [0] * 5


def test_an_empty_frame_gives_an_empty_frame() -> None:
    empty = pl.DataFrame([ROW]).clear()
    assert scored(MIXED, empty, ["age"]).height == 0
    assert scored(MIXED, empty).columns == ["predicted", "probability_no", "probability_yes", "skipped"]


def test_any_class_name_is_a_column_name() -> None:
    classes = ["*", "^.*$", "é\"'", "predicted"]
    model = model_of(declared({"sex": SEX}, classes), [table_of("sex", *[[0.5, 0.5]] * 4)], [0.1, 0.2, 0.3, 0.4])
    found = scored(model, [{"sex": "f"}])
    assert found.columns == ["predicted", *(f"probability_{name}" for name in classes), "skipped"]
    assert found.row(0)[1:5] == pytest.approx([0.1, 0.2, 0.3, 0.4])
