"""Files and batches of scores: the same rows, whatever is kept, in memory that does not grow with them."""

from __future__ import annotations

import pickle
import stat
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from support.model_cases import declared, model_of, normal_of, peak_of_scoring, table_of
from support.random_models import held, models_and_rows
from support.scored_rows import MIXED, ROW, scored, types

from dpnb_columnar.api.model import Model
from dpnb_columnar.errors import DataError, MissingInputError, OutputError
from dpnb_columnar.model import score_batches, scoring
from dpnb_columnar.model.likelihood import class_terms
from dpnb_columnar.model.parameters import AttributeWeights, CalibrationLine
from dpnb_columnar.model.score_batches import SKIPPED, attribute_terms
from dpnb_columnar.model.scoring import PREDICTED, write_scores
from dpnb_columnar.rows.parquet import scan_files


@pytest.fixture
def rows_file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.parquet"
    pl.DataFrame([ROW, ROW | {"sex": "x"}, ROW | {"age": 70}]).with_row_index("id").write_parquet(path)
    return path


def test_several_files_are_scored_one_after_the_other(rows_file: Path, tmp_path: Path) -> None:
    second, output = tmp_path / "second.parquet", tmp_path / "scored.parquet"
    # Another type of the same column is another file's business.
    pl.read_parquet(rows_file).with_columns(pl.col("age").cast(pl.Float64), pl.col("id") + 3).write_parquet(second)
    assert write_scores(MIXED, scan_files([rows_file, second]), output, ["id"]) == (6, 2)
    found = pl.read_parquet(output)
    assert found["id"].to_list() == list(range(6))
    assert found[3:].drop("id").equals(found[:3].drop("id"))
    expected = scored(MIXED, pl.read_parquet(rows_file), ["id"])
    assert found[:3].equals(expected)
    assert stat.S_IMODE(output.stat().st_mode) == 0o600  # it holds rows


def test_tables_and_expressions_are_made_once_for_all_files_and_frames(
    rows_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files whose types alternate keep their order, and a model that has predicted is pickled as one that has not."""
    model = replace(MIXED)
    fresh, counted = pickle.dumps(model), Mock(side_effect=attribute_terms)
    monkeypatch.setattr(scoring, "attribute_terms", counted)
    summed = Mock(side_effect=class_terms)
    monkeypatch.setattr(scoring, "class_terms", summed)
    floats = tmp_path / "floats.parquet"
    pl.read_parquet(rows_file).with_columns(pl.col("age").cast(pl.Float64), pl.col("id") + 3).write_parquet(floats)
    files = [rows_file, floats, floats, rows_file, rows_file]
    assert write_scores(model, scan_files(files), tmp_path / "scored.parquet", ["id"]) == (15, 5)
    assert pl.read_parquet(tmp_path / "scored.parquet")["id"].to_list() == [0, 1, 2, *[3, 4, 5] * 2, *[0, 1, 2] * 2]
    assert counted.call_count == 2 * len(model.attributes)
    scores = model.predict(pl.read_parquet(floats))
    assert model.predict(pl.read_parquet(floats), ["id"]).drop("id").equals(scores)
    assert counted.call_count == 2 * len(model.attributes)
    assert summed.call_count == 2
    assert pickle.dumps(model) == fresh
    assert pickle.loads(fresh) == model


def test_kept_columns_of_two_types_are_refused(rows_file: Path, tmp_path: Path) -> None:
    second = tmp_path / "second.parquet"
    pl.read_parquet(rows_file).with_columns(pl.col("id").cast(pl.String)).write_parquet(second)
    with pytest.raises(DataError, match=r"second\.parquet: column 'id' has type String here and UInt32 in .*rows"):
        write_scores(MIXED, scan_files([rows_file, second]), tmp_path / "scored.parquet", ["id"])


def test_a_file_may_be_replaced_by_its_scores(rows_file: Path) -> None:
    assert write_scores(MIXED, scan_files([rows_file]), rows_file, ["id"], overwrite=True) == (3, 1)
    assert pl.read_parquet(rows_file).columns[:2] == ["id", "predicted"]


def test_a_column_that_one_file_lacks_is_named_with_the_file(rows_file: Path, tmp_path: Path) -> None:
    second = tmp_path / "second.parquet"
    pl.read_parquet(rows_file).drop("age").write_parquet(second)
    with pytest.raises(DataError, match=r"second\.parquet: missing column 'age'"):
        write_scores(MIXED, scan_files([rows_file, second]), tmp_path / "scored.parquet", [])


def test_damaged_files_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    whole, damaged, output = (tmp_path / name for name in ("whole.parquet", "damaged.parquet", "scored.parquet"))
    frame = pl.DataFrame([ROW] * 50_000).with_columns(age=pl.int_range(50_000) % 97 + pl.int_range(50_000) / 50_000)
    frame.write_parquet(whole, row_group_size=10_000)
    content = bytearray(whole.read_bytes())
    content[20_000:60_000] = bytes(40_000)  # the footer is whole, the pages are not
    damaged.write_bytes(content)
    with pytest.raises(DataError, match=r"damaged\.parquet.*cannot be read to the end"):
        write_scores(MIXED, scan_files([whole, damaged]), output, [])
    damaged.write_bytes(content[:-100])
    with pytest.raises(DataError, match=r"damaged\.parquet: not a complete Parquet file"):
        write_scores(MIXED, scan_files([damaged]), output, [])
    with pytest.raises(MissingInputError, match=r"nowhere\.parquet"):
        write_scores(MIXED, scan_files([tmp_path / "nowhere.parquet"]), output, [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["damaged.parquet", "whole.parquet"]


def test_no_room_for_the_output_is_said_so(rows_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object, **options: object) -> None:
        raise pl.exceptions.ComputeError("No space left on device (os error 28)")

    monkeypatch.setattr(pl.LazyFrame, "sink_parquet", full)
    with pytest.raises(OutputError, match=r"scored\.parquet: cannot be written: No space left"):
        write_scores(MIXED, scan_files([rows_file]), tmp_path / "scored.parquet", [])
    assert list(tmp_path.iterdir()) == [rows_file]


@pytest.mark.slow
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
        peaks.append(peak_of_scoring(model, file, "id"))
    # Growth here is some 50 MB, of buffers that fill up, and 160 beside other work; where one step held its rows it was
    # above 300.
    assert peaks[1] - peaks[0] < 250, peaks


# Files of scores of more classes than ordinary row groups have room for: the same rows, whatever is kept.

CLASSES, ROWS = 70, 500


def wide_model(classes: int = CLASSES) -> Model:
    names = [str(klass) for klass in range(classes)]
    domain = declared({name: {"lower": 0, "upper": 100, "step": 1} for name in "xy"}, names)
    means = [100 * klass / classes for klass in range(classes)]
    return model_of(domain, [normal_of(name, means, [9.0] * classes) for name in "xy"])


def rows() -> pl.DataFrame:
    number = pl.int_range(ROWS, eager=True)
    kept = {
        "id": number,
        "text": pl.Series(["a", None, "long " * 9] * ROWS)[:ROWS],
        "category": pl.Series(["f", "m", None] * ROWS, dtype=pl.Categorical)[:ROWS],
        "choice": pl.Series(["no", None, "yes"] * ROWS, dtype=pl.Enum(["yes", "no"]))[:ROWS],
        "day": pl.repeat(date(2020, 2, 29), ROWS, eager=True),
        "amount": pl.repeat(Decimal("1.25"), ROWS, dtype=pl.Decimal(9, 2), eager=True),
        "several": pl.Series([[1, None], None] * ROWS)[:ROWS],
    }
    return pl.DataFrame({"x": number * 7 % 101, "y": [None, *(number[1:] * 3 % 101)], **kept})


@pytest.fixture
def wide_file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.parquet"
    rows().write_parquet(path, row_group_size=150)
    return path


def test_every_kept_column_and_every_number_is_that_of_predict(
    wide_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "GROUP_NUMBERS", 90 * CLASSES)
    model, output = wide_model(), tmp_path / "scored.parquet"
    keep = [name for name in rows().columns if name not in "xy"]
    assert write_scores(model, scan_files([wide_file, wide_file]), output, keep) == (2 * ROWS, 2)
    expected = model.predict(pl.concat([rows(), rows()]), keep)
    found = pl.read_parquet(output)
    assert found.schema == expected.schema
    assert found.equals(expected)
    footer = pq.read_metadata(output)
    assert footer.num_row_groups == -(-2 * ROWS // 90)
    assert write_scores(model, scan_files([wide_file]), output, [], overwrite=True) == (ROWS, 1)
    assert pl.read_parquet(output).equals(model.predict(rows()))
    # Row groups can be skipped by a key, not by a probability.
    chunks = {chunk.path_in_schema: chunk for chunk in map(footer.row_group(0).column, range(footer.num_columns))}
    assert chunks["id"].is_stats_set
    assert not chunks["probability_0"].is_stats_set


def test_no_rows_and_integers_of_128_bits_are_written_too(wide_file: Path, tmp_path: Path) -> None:
    model, output, none = wide_model(), tmp_path / "scored.parquet", tmp_path / "none.parquet"
    rows().clear().write_parquet(none)
    assert write_scores(model, scan_files([none]), output, ["id"]) == (0, 0)
    assert pl.read_parquet(output).equals(model.predict(rows(), ["id"]).clear())
    large = rows().with_columns(pl.col("id").cast(pl.Int128) * 2**70)
    large.write_parquet(wide_file)
    assert write_scores(model, scan_files([wide_file]), output, ["id"], overwrite=True) == (ROWS, 1)
    assert pl.read_parquet(output).equals(model.predict(large, ["id"]))


@pytest.mark.slow
def test_the_footer_takes_little_memory_while_a_file_is_written(tmp_path: Path) -> None:
    """Polars took 425 MiB for a hundred thousand columns of row groups: 2.7 kB each, and more to close the file."""
    model, file = tmp_path / "model.json", tmp_path / "rows.parquet"
    wide_model(1000).save(model)
    peaks = []
    for groups in (2, 102):
        number = pl.int_range(32 * groups, eager=True)
        pl.DataFrame({"x": number % 101, "y": number * 7 % 101}).write_parquet(file)
        peaks.append(peak_of_scoring(model, file, group=2**15))
    assert pq.read_metadata(tmp_path / "scored-rows.parquet").num_row_groups == 102
    assert peaks[1] - peaks[0] < 240, peaks


# Batches of rows: the same numbers whatever their size, in memory that grows with neither classes nor attributes.

MANY = [str(klass) for klass in range(40)]


def in_batches(model: Model, frame: pl.DataFrame, keep: tuple[str, ...] = ()) -> pl.DataFrame:
    """Predictions in batches of few rows, however few classes and attributes there are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(score_batches, "BATCH", 3 * len(model.domain.classes))
        return replace(model).predict(frame.lazy(), keep).collect()


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(models_and_rows())
def test_random_models_score_alike(case: tuple[Model, list[dict[str, Any]]]) -> None:
    model, rows = case
    kinds = types(model)
    values = [{name: held(model, name, row[name]) for name in kinds} for row in rows] * 20
    frame = pl.DataFrame(values, schema=kinds, strict=False) if kinds else pl.DataFrame({"other": values})
    at_once = model.predict(frame)
    assert in_batches(model, frame).equals(at_once)
    assert model.predict(frame.lazy()).collect().equals(at_once)


def test_classes_that_no_attribute_tells_apart_score_alike_under_a_line() -> None:
    priors = (1 / 6, 1 / 3, 1 / 3, 1 / 6)
    domain = declared({"x": {"values": ["a", "b"]}}, ("0", "1", "2", "3"))
    weights = AttributeWeights(
        "learned", (0.0,), (0.0,) * 4, None, CalibrationLine(0, (0.5, 1.5), (1.0, 2.0), (0.0, 0.5), 0.0)
    )
    model = replace(model_of(domain, [table_of("x", *[[0.5, 0.5]] * 4)], priors), attribute_weights=weights)
    frame = pl.DataFrame({"x": ["a"] * 20})
    assert in_batches(model, frame).equals(model.predict(frame.lazy()).collect())


def test_values_that_are_looked_up_computed_or_missing_score_alike() -> None:
    frame = pl.concat(
        [
            pl.DataFrame([ROW | {"age": age, "sex": sex} for age in (-3, 0, 41, 99, 250, None) for sex in "fmx"]),
            pl.DataFrame(
                [ROW | {"job": job, "money": money} for job in (1, 3, None) for money in (0.0, -1.5, 1e7, None)]
            ),
        ]
    ).with_row_index("id")
    found, expected = in_batches(MIXED, frame, ("id", "sex")), MIXED.predict(frame.lazy(), ["id", "sex"]).collect()
    assert found.equals(expected)
    assert MIXED.predict(frame, ["id", "sex"]).equals(expected)
    assert found[SKIPPED].n_unique() > 1
    assert in_batches(MIXED, frame.clear()).equals(expected.clear().drop("id", "sex"))


def test_the_first_of_equal_classes_is_predicted() -> None:
    tied = model_of(declared({"sex": {"values": ["f", "m"]}}, MANY), [table_of("sex", *[[0.5, 0.5]] * 40)])
    found = in_batches(tied, pl.DataFrame({"sex": ["f", None] * 40}))
    assert found[PREDICTED].unique().to_list() == ["0"]
    assert found["probability_39"].to_list() == [1 / 40] * 80


def test_a_row_alone_gets_the_numbers_that_it_gets_among_others() -> None:
    """Polars hands on some rows one by one, as few as there are or as many threads: sums are rounded alike."""
    classes = [str(klass) for klass in range(70)]
    normal = normal_of("x", [100 * place / 70 for place in range(70)], [9.0 + place % 7 for place in range(70)])
    model = model_of(declared({"x": {"lower": 0, "upper": 100, "step": 1}}, classes), [normal])
    frame = pl.DataFrame({"x": range(50)})
    assert pl.concat([model.predict(frame[place : place + 1]) for place in range(50)]).equals(model.predict(frame))


def test_few_rows_in_memory_and_many_score_alike() -> None:
    frame = pl.DataFrame([ROW] * 3)
    found = MIXED.predict(frame)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scoring, "FEW_ROWS", 2)
        assert MIXED.predict(frame).equals(found)


def test_a_query_may_ask_for_some_rows_or_columns_of_the_results() -> None:
    names = [f"x{index}" for index in range(70)]
    number = {"lower": 0, "upper": 9, "step": 1}
    wide = model_of(declared(dict.fromkeys(names, number)), [normal_of(name, [3, 6], [2, 1.5]) for name in names])
    frame = pl.DataFrame({name: [index % 13, None, 5, 9] for index, name in enumerate(names)})
    expected, query = wide.predict(frame), wide.predict(frame.lazy())
    assert expected[SKIPPED].to_list() == [0, 70, 0, 0]
    assert query.select(PREDICTED).collect().equals(expected.select(PREDICTED))
    assert query.filter(pl.col(SKIPPED) > 0).collect().equals(expected[1:2])
    assert query.tail(2).collect().equals(expected[2:])


def _peak(folder: Path, attributes: Mapping[str, Any], classes: int, rows: int) -> int:
    """Peak in MiB of a process that scores so many rows."""
    domain = declared(attributes, [str(klass) for klass in range(classes)])
    means = [10 + 80 * klass / classes for klass in range(classes)]
    model, file = folder / "model.json", folder / "rows.parquet"
    model_of(domain, [normal_of(name, means, [9.0] * classes) for name in attributes]).save(model)
    numbers = pl.int_range(rows, eager=True)
    pl.DataFrame(
        {name: (numbers * (index + 3) % 101).cast(pl.Int16) for index, name in enumerate(attributes)}
    ).write_parquet(file, row_group_size=100_000)
    return peak_of_scoring(model, file)


@pytest.mark.slow
def test_memory_is_bounded_for_many_classes(tmp_path: Path) -> None:
    """By expressions, these rows took 1.5 GiB: their probabilities alone are 800 MB. Now some 450 MiB."""
    attributes = {f"x{index}": {"lower": 0, "upper": 100, "step": 1} for index in range(3)}
    assert _peak(tmp_path, attributes, 500, 200_000) < 700


@pytest.mark.slow
def test_memory_is_bounded_for_many_texts(tmp_path: Path) -> None:
    """Polars holds whole row groups of all columns, and several: 1.4 GiB of these rows. Now some 300 MiB."""
    names, values = [f"t{index}" for index in range(400)], [f"value {index:04d}" for index in range(20)]
    model, file = tmp_path / "model.json", tmp_path / "rows.parquet"
    tables = [table_of(name, [0.05] * 20, [0.05] * 20) for name in names]
    model_of(declared({name: {"values": values} for name in names}), tables).save(model)
    numbers, texts = pl.int_range(200_000, eager=True), pl.Series(values)
    columns = {name: texts.gather(numbers * (index + 3) % 20) for index, name in enumerate(names)}
    pl.DataFrame(columns).write_parquet(file, row_group_size=200_000)
    assert peak_of_scoring(model, file) < 500
