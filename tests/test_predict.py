"""What a model predicts: against scores by the definition in fifty digits, for every type of column, in every row."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import mpmath
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_cases import declared, histogram_of, model_of, models, normal_of, table_of
from reference_scorer import bin_of, log_density, reference

from dpnb_columnar.domain import Attribute, Categorical
from dpnb_columnar.errors import DataError, Error, MissingInputError, OutputError
from dpnb_columnar.model.evaluate import CALIBRATION_BINS, LEAST_PROBABILITY, evaluate
from dpnb_columnar.model.likelihood import log_normalisation
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.predict import PREDICTED, SKIPPED, probability_column
from dpnb_columnar.model.scored_files import write_scores
from dpnb_columnar.model.terms import thresholds

AGE = {"lower": 0, "upper": 100, "step": 1}
MONEY = {"lower": 0, "upper": 1_000_000, "step": 1, "transform": "log1p"}
SEX = {"values": ["f", "m"]}
MIXED = model_of(
    declared({"age": AGE, "money": MONEY, "hours": AGE, "sex": SEX, "job": {"values": [1, 2], "missing": "category"}}),
    [
        normal_of("age", [30, 45.5], [11, 12.25]),
        normal_of("money", [6.5, 9.25], [1.75, 1.75]),
        histogram_of("hours", [0, 10, 40, 101], [0.3, 0.5, 0.2], [0.05, 0.45, 0.5]),
        table_of("sex", [0.6, 0.4], [0.35, 0.65]),
        table_of("job", [0.5, 0.3, 0.2], [0.1, 0.2, 0.7]),
    ],
    [0.75, 0.25],
)
ROW = {"age": 33, "money": 1234.5, "hours": 38, "sex": "m", "job": 2}


def scored(model: Model, rows: Sequence[Mapping[str, Any]] | pl.DataFrame, keep: Sequence[str] = ()) -> pl.DataFrame:
    """Predictions of a few rows."""
    frame = rows if isinstance(rows, pl.DataFrame) else pl.DataFrame(rows, schema=types(model), strict=False)
    return model.predict(frame.lazy(), keep).collect()


def types(model: Model) -> dict[str, pl.DataType | type[pl.DataType]]:
    """Column types that hold any value of a test."""
    attributes = [model.domain[parameters.attribute] for parameters in model.attributes]
    return {attribute.name: pl.String if isinstance(attribute, Categorical) else pl.Float64 for attribute in attributes}


def probabilities_of(model: Model, frame: pl.DataFrame) -> list[list[float]]:
    """Rows of class probabilities."""
    return frame.select(probability_column(name) for name in model.domain.classes).to_numpy().tolist()


def check_against_reference(model: Model, rows: Sequence[Mapping[str, Any]]) -> float:
    """Compare every row with the reference; returns the largest deviation."""
    if not model.attributes:
        frame = model.predict(pl.DataFrame({"other": range(len(rows))}).lazy()).collect()
    else:
        frame = scored(model, [{name: _held(model, name, row[name]) for name in types(model)} for row in rows])
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


def _held(model: Model, name: str, value: Any) -> Any:
    """The value as the column of the test holds it."""
    return value if value is None or not isinstance(model.domain[name], Categorical) else str(value)


def values_for(attribute: Attribute) -> st.SearchStrategy[Any]:
    """Values of a column: in the domain, at its edges, beyond, missing."""
    if isinstance(attribute, Categorical):
        return st.none() | st.sampled_from(attribute.values) | st.just("a stranger")
    lower, upper = float(attribute.lower), float(attribute.upper)
    edges = [lower, upper, lower - 1, upper + 1, -0.0, math.inf, -math.inf, math.nan, 999999.0, None]
    on_grid = st.integers(0, attribute.cells).map(lambda code: lower + code * float(attribute.step))
    return st.one_of(st.floats(lower, upper), on_grid, st.sampled_from(edges))


@st.composite
def models_and_rows(draw: st.DrawFn) -> tuple[Model, list[dict[str, Any]]]:
    """A model and rows to score; no value so near the edge of a bin that a logarithm's last digit decides."""
    model = draw(models())
    attributes = [model.domain[parameters.attribute] for parameters in model.attributes]
    row = st.fixed_dictionaries({attribute.name: values_for(attribute) for attribute in attributes})
    return model, draw(st.lists(row, min_size=1, max_size=6))


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


def test_many_classes() -> None:
    classes = [f"class {index}" for index in range(60)]
    domain = declared({"age": AGE, "sex": SEX}, classes)
    model = model_of(
        domain,
        [
            normal_of("age", [index * 1.5 for index in range(60)], [5 + index / 7 for index in range(60)]),
            table_of("sex", *([(index + 1) / 70, 1 - (index + 1) / 70] for index in range(60))),
        ],
    )
    rows = [{"age": age, "sex": sex} for age in range(0, 101, 9) for sex in ("f", "m", None)]
    assert check_against_reference(model, rows) <= 1e-12


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**24), st.integers(1, 2**20), st.sets(st.integers(1, 2**16), max_size=30))
def test_bins_of_a_logarithm_are_found_by_whole_numbers(lower: int, cells: int, inner: set[int]) -> None:
    (attribute,) = declared(
        {"x": {"lower": lower, "upper": lower + 40 * cells, "step": 40, "transform": "log1p"}}
    ).numeric
    edges = (0, *sorted(inner), 2**16 + 1)
    for position, threshold in enumerate(thresholds(attribute, edges), start=1):
        before, reached = (lower + 40.0 * code for code in (threshold - 1, threshold))
        assert threshold == 0 or bin_of(attribute, edges, before) < position
        assert threshold > attribute.cells or bin_of(attribute, edges, reached) >= position


def test_ties_go_to_the_first_class() -> None:
    model = model_of(declared({"sex": SEX}, ["z", "a", "m"]), [table_of("sex", *[[0.5, 0.5]] * 3)])
    assert scored(model, [{"sex": "f"}])[PREDICTED].to_list() == ["z"]


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
    assert found[SKIPPED].to_list() == [0, 1]
    assert probabilities_of(model, found)[0] == pytest.approx([0.25, 0.75], abs=1e-15)


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


@pytest.mark.parametrize("values", [[1, 2, 9], [1.0, 2.0, 2.5], ["1", "2", "02"]], ids=["whole", "float", "text"])
def test_whole_number_categories_of_any_type(values: list[Any]) -> None:
    found = scored(MIXED, pl.DataFrame([ROW] * 3).with_columns(pl.Series("job", values)))
    assert found[SKIPPED].to_list() == [0, 0, 1]
    expected = scored(MIXED, pl.DataFrame([ROW | {"job": 1}, ROW | {"job": 2}]))
    assert found[:2].equals(expected)


def test_decimals_match_by_all_their_places() -> None:
    model = model_of(declared({"rate": {"values": ["1.50", "2.00"]}}), [table_of("rate", [0.5, 0.5], [0.1, 0.9])])
    found = scored(model, pl.DataFrame({"rate": [Decimal("1.50"), Decimal("2.25")]}))
    assert found[SKIPPED].to_list() == [0, 1]


@pytest.mark.parametrize(
    ("name", "values"),
    [("age", ["a"]), ("age", [None]), ("sex", [1.5]), ("sex", [[1]]), ("age", [b"x"])],
    ids=["text for a number", "nulls only", "number for text", "list", "bytes"],
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


# Files.


@pytest.fixture
def rows_file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.parquet"
    pl.DataFrame([ROW, ROW | {"sex": "x"}, ROW | {"age": 70}]).with_row_index("id").write_parquet(path)
    return path


def test_several_files_are_scored_one_after_the_other(rows_file: Path, tmp_path: Path) -> None:
    second, output = tmp_path / "second.parquet", tmp_path / "scored.parquet"
    # Another type of the same column is another file's business.
    pl.read_parquet(rows_file).with_columns(pl.col("age").cast(pl.Float64), pl.col("id") + 3).write_parquet(second)
    assert write_scores(MIXED, [rows_file, second], output, ["id"]) == (6, 2)
    found = pl.read_parquet(output)
    assert found["id"].to_list() == list(range(6))
    assert found[3:].drop("id").equals(found[:3].drop("id"))
    expected = scored(MIXED, pl.read_parquet(rows_file), ["id"])
    assert found[:3].equals(expected)


def test_kept_columns_of_two_types_are_refused(rows_file: Path, tmp_path: Path) -> None:
    second = tmp_path / "second.parquet"
    pl.read_parquet(rows_file).with_columns(pl.col("id").cast(pl.String)).write_parquet(second)
    with pytest.raises(DataError, match=r"second\.parquet: column 'id' has type String here and UInt32 in .*rows"):
        write_scores(MIXED, [rows_file, second], tmp_path / "scored.parquet", ["id"])


def test_an_existing_output_is_kept(rows_file: Path, tmp_path: Path) -> None:
    output = tmp_path / "scored.parquet"
    output.write_text("precious")
    with pytest.raises(OutputError, match="exists already"):
        write_scores(MIXED, [rows_file], output, [])
    assert output.read_text() == "precious"
    assert write_scores(MIXED, [rows_file], output, [], overwrite=True) == (3, 1)


def test_a_file_may_be_replaced_by_its_scores(rows_file: Path) -> None:
    assert write_scores(MIXED, [rows_file], rows_file, ["id"], overwrite=True) == (3, 1)
    assert pl.read_parquet(rows_file).columns[:2] == ["id", "predicted"]


def test_a_column_that_one_file_lacks_is_named_with_the_file(rows_file: Path, tmp_path: Path) -> None:
    second = tmp_path / "second.parquet"
    pl.read_parquet(rows_file).drop("age").write_parquet(second)
    with pytest.raises(DataError, match=r"second\.parquet: missing column 'age'"):
        write_scores(MIXED, [rows_file, second], tmp_path / "scored.parquet", [])


def test_damaged_files_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    whole, damaged, output = (tmp_path / name for name in ("whole.parquet", "damaged.parquet", "scored.parquet"))
    frame = pl.DataFrame([ROW] * 50_000).with_columns(age=pl.int_range(50_000) % 97 + pl.int_range(50_000) / 50_000)
    frame.write_parquet(whole, row_group_size=10_000)
    content = bytearray(whole.read_bytes())
    content[20_000:60_000] = bytes(40_000)  # the footer is whole, the pages are not
    damaged.write_bytes(content)
    with pytest.raises(DataError, match=r"damaged\.parquet.*cannot be read to the end"):
        write_scores(MIXED, [whole, damaged], output, [])
    damaged.write_bytes(content[:-100])
    with pytest.raises(DataError, match=r"damaged\.parquet: not a complete Parquet file"):
        write_scores(MIXED, [damaged], output, [])
    with pytest.raises(MissingInputError, match=r"nowhere\.parquet"):
        write_scores(MIXED, [tmp_path / "nowhere.parquet"], output, [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["damaged.parquet", "whole.parquet"]


def test_no_room_for_the_output_is_said_so(rows_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object, **options: object) -> None:
        raise pl.exceptions.ComputeError("No space left on device (os error 28)")

    monkeypatch.setattr(pl.LazyFrame, "sink_parquet", full)
    with pytest.raises(OutputError, match=r"scored\.parquet: cannot be written: No space left"):
        write_scores(MIXED, [rows_file], tmp_path / "scored.parquet", [])
    assert list(tmp_path.iterdir()) == [rows_file]


MEMORY_PROBE = """
import resource, sys
from pathlib import Path
from dpnb_columnar.model.files import load_model
from dpnb_columnar.model.scored_files import write_scores
model, rows, output = map(Path, sys.argv[1:])
write_scores(load_model(model), [rows], output, ["id"])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    MIXED.save(model)
    peaks = []
    for rows in (200_000, 2_000_000):
        file = tmp_path / f"{rows}.parquet"
        index = pl.int_range(rows, eager=True).alias("id")
        repeated = pl.DataFrame([ROW]).drop("age", "hours").join(pl.DataFrame(index), how="cross")
        numbers = repeated.with_columns(age=pl.col("id") % 101, hours=pl.col("id") % 89)
        numbers.write_parquet(file, row_group_size=100_000)
        command = [sys.executable, "-c", MEMORY_PROBE, str(model), str(file), str(tmp_path / f"scored {rows}.parquet")]
        peaks.append(int(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    # Growth here is some 50 MB, of buffers that fill up; where one step held its rows it was above 300.
    assert peaks[1] - peaks[0] < 150 * 1024, peaks


# Evaluation.


LABELLED = pl.DataFrame(
    {
        "age": [20, 35, 50, 65, 80, 30, 40, None, 45],
        "sex": ["f", "m", "f", "m", "m", "f", "x", "f", "m"],
        "label": ["no", "no", "yes", "yes", "no", "no", "yes", "no", "maybe"],
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
    fitting = LABELLED[:6]  # the rest has a stranger, a null, a class that is not declared
    table = scored(SMALL, fitting)
    true = fitting["label"].to_list()
    rows = list(zip(true, table[PREDICTED], table["probability_no"], table["probability_yes"], strict=True))
    assert found.rows == 6 * copies
    assert found.accuracy == pytest.approx(sum(row[0] == row[1] for row in rows) / 6)
    assert found.majority == pytest.approx(4 / 6)
    losses = [-math.log(row[2] if row[0] == "no" else row[3]) for row in rows]
    assert found.log_loss == pytest.approx(sum(losses) / 6)
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
    with pytest.raises(DataError, match="no row fits the model's domain; run dpnb-columnar check"):
        evaluate(SMALL, [file])


def test_evaluation_of_a_damaged_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    frame = pl.concat([LABELLED] * 20_000).with_columns(age=pl.int_range(180_000) % 99)
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
