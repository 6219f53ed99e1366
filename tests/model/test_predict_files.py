"""Files of scores: several inputs, kept columns, refusals, and memory that does not grow with the rows."""

from __future__ import annotations

import pickle
import stat
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import polars as pl
import pytest
from support.model_cases import peak_of_scoring
from support.scored_rows import MIXED, ROW, scored

from dpnb_columnar.errors import DataError, MissingInputError, OutputError
from dpnb_columnar.model import scoring
from dpnb_columnar.model.likelihood import class_terms
from dpnb_columnar.model.polars_terms import attribute_terms
from dpnb_columnar.model.scored_files import write_scores
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


def test_an_existing_output_is_kept(rows_file: Path, tmp_path: Path) -> None:
    output = tmp_path / "scored.parquet"
    output.write_text("precious")
    with pytest.raises(OutputError, match="exists already"):
        write_scores(MIXED, scan_files([rows_file]), output, [])
    assert output.read_text() == "precious"
    assert write_scores(MIXED, scan_files([rows_file]), output, [], overwrite=True) == (3, 1)


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
