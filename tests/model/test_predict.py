"""Predictions: of every type of column, against the definition in fifty digits, and alike however values are read."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from math import inf, nan, nextafter
from pathlib import Path
from typing import Any

import mpmath
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.model_cases import (
    UNCHECKED,
    declared,
    histogram_of,
    model_of,
    normal_of,
    numeric_declarations,
    parameters_for,
    presence_of,
    table_of,
)
from support.random_models import held, models_and_rows, values_for
from support.reference_scorer import log_density, reference
from support.scored_rows import AGE, MIXED, ROW, SEX, probabilities_of, scored, types

from dpnb_columnar.api.model import Model
from dpnb_columnar.errors import DataError
from dpnb_columnar.model import score_batches as polars_terms
from dpnb_columnar.model.likelihood import log_normalisation
from dpnb_columnar.model.parameters import AttributeWeights
from dpnb_columnar.model.score_batches import SKIPPED
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
    smaller = replace(MIXED, attributes=tuple(others))
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


# What a model predicts, against scores by the definition in fifty digits.


def check_against_reference(model: Model, rows: Sequence[Mapping[str, Any]]) -> float:
    """Compare every row with the reference; returns the largest deviation."""
    if not model.attributes:
        frame = model.predict(pl.DataFrame({"other": range(len(rows))}).lazy()).collect()
    else:
        frame = scored(model, [{name: held(model, name, row[name]) for name in types(model)} for row in rows])
    assert frame.height == len(rows)
    worst = 0.0
    for row, found, skipped, predicted in zip(
        rows, probabilities_of(model, frame), frame[SKIPPED], frame[PREDICTED], strict=True
    ):
        expected = reference(model, row)
        assert skipped == expected.skipped
        assert sum(found) == pytest.approx(1, abs=1e-12)
        assert all(0 <= probability <= 1 for probability in found)
        assert predicted == model.domain.classes[found.index(max(found))]
        deviation = max(abs(one - other) for one, other in zip(found, expected.probabilities, strict=True))
        assert deviation <= expected.tolerance, (row, found, expected)
        worst = max(worst, deviation)
    return worst


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(models_and_rows())
def test_random_models_agree_with_the_definition(case: tuple[Model, list[dict[str, Any]]]) -> None:
    check_against_reference(*case)


def test_ordinary_rows_agree_with_the_definition_to_twelve_digits() -> None:
    rows = [
        {"age": age, "money": money, "hours": hours, "sex": sex, "job": job}
        for age in (0, 0.5, 33, 100, 250, -3, None)
        for money in (0, -0.0, 1, 999.5, 1e6, math.inf, math.nan)
        for hours, sex, job in ((0, "f", 1), (9.5, "m", None), (40, "x", 2), (math.inf, None, 3), (-math.inf, "f", 2))
    ]
    assert check_against_reference(MIXED, rows) <= 1e-12


@pytest.mark.parametrize("priors", [[1e-300, 1.0], [1.0, 1e-300], [0.5, 0.5]])
@pytest.mark.parametrize(
    ("means", "deviations"),
    [
        ([0.0, 100.0], [0.25, 0.25]),  # both at a bound, as narrow as can be
        ([0.0, 100.0], [100.0, 100.0]),  # as wide as can be
        ([50.0, 50.0], [0.25, 100.0]),
        ([0.0, 0.0], [0.25, 0.25]),  # nothing to tell apart, infinitely far out
        ([99.9, 100.0], [0.3, 0.3]),
    ],
)
def test_extreme_parameters(means: list[float], deviations: list[float], priors: list[float]) -> None:
    model = model_of(declared({"age": AGE}), [normal_of("age", means, deviations)], priors)
    rows = [{"age": age} for age in (0, 1e-9, 49.75, 50, 50.25, 99.95, 100, math.inf, -math.inf)]
    assert check_against_reference(model, rows) <= 1e-12


def test_far_outliers_of_a_pooled_variance_keep_twelve_digits() -> None:
    wide = {"lower": 0, "upper": 2**32, "step": 1}
    domain = declared({"age": wide, "hours": wide, "sex": SEX}, ["a", "b", "c"])
    model = model_of(
        domain,
        [
            normal_of("age", [10, 10.000001, 9.999999], [1, 1, 1]),  # log-likelihoods of -1e19
            normal_of("hours", [7, 7, 7], [0.25, 0.25, 0.25]),
            table_of("sex", [0.5, 0.5], [0.25, 0.75], [0.125, 0.875]),
        ],
    )
    rows = [{"age": age, "hours": hours, "sex": "f"} for age in (0, 10, 1e3, 1e6) for hours in (0, 1e6, 2**32)]
    assert check_against_reference(model, rows) <= 1e-12


def test_weights_are_powers_of_likelihoods_and_intercepts_are_factors_of_priors() -> None:
    domain = declared({"sex": SEX, "job": {"values": [1, 2], "missing": "category"}})
    tables = [table_of("sex", [0.8, 0.2], [0.4, 0.6]), table_of("job", [0.5, 0.1, 0.4], [0.2, 0.5, 0.3])]
    model = replace(
        model_of(domain, tables, [0.75, 0.25]),
        attribute_weights=AttributeWeights("fitted", (0.5, 2.0), (0.0, math.log(3))),
    )
    factors = {"f": math.sqrt(0.8 / 0.4), "m": math.sqrt(0.2 / 0.6), None: 1.0}  # without a value, no weight counts
    squares = {"1": (0.5 / 0.2) ** 2, "2": (0.1 / 0.5) ** 2, None: (0.4 / 0.3) ** 2}
    rows = [{"sex": sex, "job": job} for sex in factors for job in squares]
    for row, (no, yes) in zip(rows, probabilities_of(model, scored(model, rows)), strict=True):
        assert no / yes == pytest.approx(factors[row["sex"]] * squares[row["job"]], rel=1e-12)
    assert scored(model, rows)[SKIPPED].to_list() == [0] * 6 + [1] * 3


def test_ties_go_to_the_first_class() -> None:
    model = model_of(declared({"sex": SEX}, ["z", "a", "m"]), [table_of("sex", *[[0.5, 0.5]] * 3)])
    assert scored(model, [{"sex": "f"}])[PREDICTED].to_list() == ["z"]


# The normalisation of a truncated normal distribution.


def test_the_normalisation_agrees_with_fifty_digits() -> None:
    worst = 0.0
    for width in (1e-300, 1e-3, 1.0, 100.0, 4.3e9, 1e300):
        for part in (0.0, 1e-9, 0.1, 0.5, 0.9, 1.0):
            for narrowness in (1.0, 1.5, 3.0, 10.0, 1e3, 1e9):
                lower, upper = -width / 3, width - width / 3
                mean = min(max(lower + part * width, lower), upper)
                deviation = min(width / narrowness, upper - lower)
                found = log_normalisation(mean, deviation, lower, upper)
                with mpmath.workdps(50):
                    numbers = [mpmath.mpf(number) for number in (mean, mean, deviation, lower, upper)]
                    exact = float(log_density(*numbers))
                assert found == pytest.approx(exact, rel=1e-13, abs=1e-15)
                worst = max(worst, abs(found - exact) / max(abs(exact), 1))
    assert worst < 1e-15


@pytest.mark.parametrize("weight", [0.5, 1.0, 2.0])
def test_a_bound_caps_what_one_value_says(weight: float) -> None:
    """Beyond it a value far out says no more than the bound times the weight; a row without a value says nothing."""
    domain = declared({"age": AGE})
    parameters = replace(normal_of("age", (20.0, 60.0), (4.0, 5.0)), bound=3.0)
    weights = AttributeWeights("by hand", (weight,), (0.0, 0.0))
    model = replace(model_of(domain, [parameters]), attribute_weights=weights)
    rows = [{"age": age} for age in (0, 20, 30, 38, 39, 45, 60, 100, None)]
    check_against_reference(model, rows)
    odds = [math.log(yes / no) for no, yes in probabilities_of(model, scored(model, rows))]
    assert odds[0] == odds[1] == pytest.approx(-3 * weight)
    assert odds[6] == odds[7] == pytest.approx(3 * weight)
    assert -3 * weight < odds[3] < odds[4] < 3 * weight
    assert odds[8] == 0


# Values that are looked up give the very numbers that the expressions give row by row, whatever a column can hold.

SIGNED, UNSIGNED = (pl.Int8, pl.Int16, pl.Int32, pl.Int64), (pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
LIMITS: dict[Any, tuple[int, int]] = {
    pl.Boolean: (0, 1),
    **{type_: (-(2**bits), 2**bits - 1) for type_, bits in zip(SIGNED, (7, 15, 31, 63), strict=True)},
    **{type_: (0, 2**bits - 1) for type_, bits in zip(UNSIGNED, (8, 16, 32, 64), strict=True)},
}
CODES = {
    "age": {"lower": 0, "upper": 100, "step": 1, "missing_values": [99, 120]},
    "below": {"lower": -40, "upper": "-20.5", "step": "0.5", "missing_values": [-41]},
    "wage": {"lower": 0, "upper": 200, "step": 1, "transform": "log1p", "missing_values": [0]},
    "hours": {"lower": "0.5", "upper": "99.25", "step": "0.25"},
    "far": {"lower": 70_000, "upper": 70_100, "step": 1},
    "beyond": {"lower": 3_000_000_000, "upper": 3_000_000_100, "step": 1},
    "inexact": {"lower": 2**60, "upper": 2**60 + 2**12, "step": 2**10, "missing_values": [2**60 + 2**12]},
    "job": {"values": [1, 2, 5, 6], "missing": "category"},
    "place": {"values": [10, 11, 13], "missing_values": [12, 15]},
    "group": {"values": ["Young", "Old"], "groups": {"Young": ["0-39"], "Old": ["60-90"]}},
    "true": {"values": ["true", "1"]},
}


def by_rows(model: Model, frame: pl.DataFrame) -> pl.DataFrame:
    """Predictions by the expressions, none looked up."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(polars_terms, "MOST_CELLS", 0)
        query = replace(model).predict(frame.lazy())  # without what the model has kept
    return query.collect()


def reads_rows(model: Model, type_: Any) -> bool:
    """Whether a query takes logarithms of its rows."""
    name = model.attributes[0].attribute
    return "log1p" in model.predict(pl.LazyFrame(schema={name: type_})).explain()


def around(marks: Sequence[int], type_: Any) -> list[int | None]:
    """Numbers of a type: the marks, those beside them, and the extremes."""
    low, high = LIMITS[type_]
    near = {mark + step for mark in (*marks, low, high, 0, 2**31, 2**53, -(2**53)) for step in range(-2, 3)}
    return [*sorted(number for number in near if low <= number <= high), None]


def coded(type_: Any) -> Model:
    """A model of the attributes above that can be read from columns of this type."""
    three = {"job": 5, "place": 3, "group": 2, "true": 2}
    chosen = {name: entry for name, entry in CODES.items() if (type_ == pl.Boolean) is (name == "true")}
    if type_ == pl.Boolean:
        chosen["age"] = CODES["age"]
    parameters: list[Any] = []
    for name in chosen:
        if name in three:
            cells = range(1, three[name] + 1)
            total = sum(cells)
            parameters.append(
                table_of(name, [cell / total for cell in cells], [cell / total for cell in reversed(cells)])
            )
        elif name == "hours":
            parameters.append(histogram_of(name, [0, 10, 150, 396], [0.25, 0.25, 0.5], [0.5, 0.125, 0.375]))
        else:
            scale = declared({name: CODES[name]})[name].scale  # type: ignore[union-attr]
            width = scale.end - scale.origin
            means = [scale.origin + width / 3, scale.origin + width / 1.7]
            parameters.append(normal_of(name, means, [width / 7, width / 3]))
    return model_of(declared(chosen), parameters, [0.3, 0.7])


@pytest.mark.parametrize("type_", LIMITS, ids=str)
def test_every_kind_of_attribute_in_every_type_of_whole_numbers(type_: Any) -> None:
    model = coded(type_)
    names = [parameters.attribute for parameters in model.attributes]
    marks = [0, 12, 39, 60, 90, 99, 100, 120, 200, -20, -41, 70_000, 70_100, 3_000_000_050, 2**60, 2**60 + 2**12]
    marks += [2**60 + 2**12 + 2**power for power in range(6, 10)]
    values = pl.Series(around(marks, type_), dtype=pl.Int128).cast(type_)
    frame = pl.DataFrame({name: values.shuffle(seed) for seed, name in enumerate(names)})
    found, expected = model.predict(frame), by_rows(model, frame)
    assert found.equals(expected)
    assert found[SKIPPED].n_unique() > 1


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_few_floats_score_by_numpy_as_by_polars(data: st.DataObject) -> None:
    """Whatever rounds, overflows, vanishes or is missing; and a row alone scores as among others."""
    domain = declared({"x": data.draw(numeric_declarations())})
    (attribute,) = domain.numeric
    lower, step = float(attribute.lower), float(attribute.step)
    halves = [lower + (code + 0.5) * step for code in (0, 1, attribute.cells // 2, attribute.cells - 1)]
    hard = [*halves, *(nextafter(half, side) for half in halves for side in (-inf, inf))]
    hard += [-0.0, 5e-324, -5e-324, 1e-200, 1.7e308, -1.7e308, inf, -inf, nan, float(attribute.upper), lower, None]
    values = hard + data.draw(st.lists(values_for(attribute), max_size=6))
    model = model_of(domain, [data.draw(parameters_for(attribute, 2))])
    for type_ in (pl.Float64, pl.Float32):
        frame = pl.DataFrame({"x": pl.Series(values, dtype=pl.Float64).cast(type_)})
        found = model.predict(frame)
        assert found.equals(by_rows(model, frame))
        place = data.draw(st.integers(0, len(values) - 1))
        assert model.predict(frame[place : place + 1]).equals(found[place : place + 1])


def test_what_is_looked_up_is_bounded() -> None:
    """A wide grid, or many classes, would make tables that no cache holds: these rows are read one by one."""
    wage = {"lower": 0, "upper": 60_000, "step": 1, "transform": "log1p"}
    two = model_of(declared({"wage": wage}), [normal_of("wage", [2, 3], [1, 1])])
    assert not reads_rows(two, pl.Int32)
    assert not reads_rows(two, pl.UInt64)
    assert reads_rows(two, pl.Float64)
    three = model_of(declared({"wage": wage}, ["a", "b", "c"]), [normal_of("wage", [2, 3, 4], [1, 1, 1])])
    assert reads_rows(three, pl.Int32)
    wide = model_of(declared({"wage": wage | {"missing_values": [999_999]}}), [normal_of("wage", [2, 3], [1, 1])])
    assert reads_rows(wide, pl.Int32)
    assert not reads_rows(wide, pl.Int8)


MODULES_PROBE = f"""{UNCHECKED}
import sys
from dpnb_columnar.cli.main import exit_code
code = exit_code(sys.argv[2:])
found = set(sys.argv[1].split()).intersection(sys.modules)
sys.exit(f"{{code}} {{sorted(found)}}" if code or found else 0)
"""


def test_predict_loads_no_library_that_it_does_not_use(tmp_path: Path) -> None:
    MIXED.save(tmp_path / "model.json")
    pl.DataFrame({"age": [30], "money": [12], "hours": [40], "sex": ["m"], "job": [1]}).write_parquet(
        tmp_path / "rows.parquet"
    )
    heavy = "pyarrow duckdb scipy sqlglot flint sqlite3 rich pydantic sklearn pyspark jinja2"
    drawing = ("ledger", "core.noise", *(f"core.mechanisms.{name}" for name in ("mechanism", "smooth", "later")))
    rooms = " ".join(f"dpnb_columnar.{room}" for room in drawing)
    words = ["predict", "model.json", "rows.parquet", "--output", "scored.parquet"]
    ended = subprocess.run(
        [sys.executable, "-c", MODULES_PROBE, f"{heavy} {rooms}", *words],
        cwd=tmp_path,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
