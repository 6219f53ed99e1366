"""Files of scores of more classes than ordinary row groups have room for: the same rows, whatever is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from support.model_cases import declared, model_of, normal_of, peak_of_scoring

from dpnb_columnar.api.model import Model
from dpnb_columnar.errors import DataError, OutputError
from dpnb_columnar.model import scored_files
from dpnb_columnar.model.scored_files import write_scores
from dpnb_columnar.rows.parquet import scan_files

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
def rows_file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.parquet"
    rows().write_parquet(path, row_group_size=150)
    return path


def test_every_kept_column_and_every_number_is_that_of_predict(
    rows_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scored_files, "GROUP_NUMBERS", 90 * CLASSES)
    model, output = wide_model(), tmp_path / "scored.parquet"
    keep = [name for name in rows().columns if name not in "xy"]
    assert write_scores(model, scan_files([rows_file, rows_file]), output, keep) == (2 * ROWS, 2)
    expected = model.predict(pl.concat([rows(), rows()]), keep)
    found = pl.read_parquet(output)
    assert found.schema == expected.schema
    assert found.equals(expected)
    footer = pq.read_metadata(output)
    assert footer.num_row_groups == -(-2 * ROWS // 90)
    assert write_scores(model, scan_files([rows_file]), output, [], overwrite=True) == (ROWS, 1)
    assert pl.read_parquet(output).equals(model.predict(rows()))
    # Row groups can be skipped by a key, not by a probability.
    chunks = {chunk.path_in_schema: chunk for chunk in map(footer.row_group(0).column, range(footer.num_columns))}
    assert chunks["id"].is_stats_set
    assert not chunks["probability_0"].is_stats_set


def test_no_rows_and_integers_of_128_bits_are_written_too(rows_file: Path, tmp_path: Path) -> None:
    model, output, none = wide_model(), tmp_path / "scored.parquet", tmp_path / "none.parquet"
    rows().clear().write_parquet(none)
    assert write_scores(model, scan_files([none]), output, ["id"]) == (0, 0)
    assert pl.read_parquet(output).equals(model.predict(rows(), ["id"]).clear())
    large = rows().with_columns(pl.col("id").cast(pl.Int128) * 2**70)
    large.write_parquet(rows_file)
    assert write_scores(model, scan_files([rows_file]), output, ["id"], overwrite=True) == (ROWS, 1)
    assert pl.read_parquet(output).equals(model.predict(large, ["id"]))


def test_a_damaged_file_is_refused_and_leaves_nothing(rows_file: Path, tmp_path: Path) -> None:
    content = bytearray(rows_file.read_bytes())
    content[2000:6000] = bytes(4000)
    rows_file.write_bytes(content)
    with pytest.raises(DataError, match=r"rows\.parquet.*cannot be read to the end"):
        write_scores(wide_model(), scan_files([rows_file]), tmp_path / "scored.parquet", ["text"])
    assert list(tmp_path.iterdir()) == [rows_file]


def test_no_room_for_the_output_is_said_so(rows_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def full(*arguments: object) -> Iterator[None]:
        raise OSError(28, "No space left on device")
        yield

    monkeypatch.setattr(scored_files, "parquet_writer", full)
    with pytest.raises(OutputError, match=r"scored\.parquet: cannot be written: No space left"):
        write_scores(wide_model(), scan_files([rows_file]), tmp_path / "scored.parquet", [])
    assert list(tmp_path.iterdir()) == [rows_file]


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
