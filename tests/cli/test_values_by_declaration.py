"""A value is read by its declaration: no row, and no writer of files, changes how other rows are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.people import spoil_rows
from support.running import Run

from dpnb_columnar.api import load_model
from dpnb_columnar.counting.engines import local

ENTRY = """
[town]
label = { column = "KIND", classes = ["001", "002"] }
[town.attributes]
AGE = { lower = 0, upper = 90, step = 1 }
RATE = { values = ["0.5", "1", "-2"] }
"""
ROWS = 2000


@pytest.fixture
def declared(folder: Path) -> Path:
    (folder / "datasets.toml").write_text(ENTRY)
    return folder


def extract(path: Path, *more: str) -> None:
    lines = [f"00{1 + row % 2},{row % 90:03d},{('.50', '1.0', '-2')[row % 3]}" for row in range(ROWS)]
    path.write_text("\n".join(["KIND,AGE,RATE", *lines, *more]) + "\n")


def trained(run: Run, file: str, *more: str) -> Any:
    ended = run("train", file, "--dataset", "town", "--seed", 3, "--output", "town.json", "--overwrite", *more)
    model = load_model(Path("town.json"))
    return ended.out, model.classes, model.attributes, model.attribute_weights


@pytest.mark.parametrize("more", ["AB,7,1", "001,old,1", "001,7,AB", "1e2,1e2,1e2", ",,"])
def test_one_row_changes_the_reading_of_no_other(declared: Path, run: Run, more: str) -> None:
    """As an extract without a codebook: 001 is 1 with that row and without it."""
    counts = []
    for name, rows in (("plain", []), ("more", [more])):
        extract(declared / f"{name}.csv", *rows)
        run("ingest", f"{name}.csv", "--output", f"{name}.parquet")
        run("aggregate", f"{name}.parquet", "--dataset", "town", "--output", f"{name}.statistics.parquet")
        counts.append(pl.read_parquet(f"{name}.statistics.parquet").filter(pl.col("attribute").is_null())["count"])
        trained(run, f"{name}.parquet")
    assert counts[1].sum() - counts[0].sum() in (0, 1)
    assert counts[0].to_list() == [ROWS // 2, ROWS // 2]


def test_files_of_every_type_are_counted_alike(declared: Path, run: Run) -> None:
    """pandas writes whole numbers, floats where there is a blank, and text where there is a word."""
    extract(declared / "town.csv")
    texts = pl.read_csv("town.csv", infer_schema=False)
    models = []
    for name, types in {
        "texts": {},
        "numbers": {"KIND": pl.Int64, "AGE": pl.Int16, "RATE": pl.Float64},
        "floats": {"KIND": pl.Float64, "AGE": pl.Float64, "RATE": pl.Decimal(10, 3)},
        "categories": {"KIND": pl.Categorical, "AGE": pl.Categorical, "RATE": pl.Categorical},
    }.items():
        texts.with_columns(pl.col(column).cast(type_) for column, type_ in types.items()).write_parquet(
            f"{name}.parquet"
        )
        models.append(trained(run, f"{name}.parquet"))
    assert all(model == models[0] for model in models)


@pytest.mark.slow
@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize("small", [2**22, 0], ids=["Polars", "DuckDB"])
@pytest.mark.parametrize("columns", [["KIND"], ["AGE"], ["RATE"], ["KIND", "AGE", "RATE"]], ids=str)
def test_a_text_that_is_not_utf_8_is_in_no_category(
    declared: Path, run: Run, monkeypatch: pytest.MonkeyPatch, columns: list[str], small: int, dictionary: bool
) -> None:
    """As if that row had no value there: the same counts, exit code and text."""
    monkeypatch.setattr(local, "SMALL", small)
    table = pa.table({"KIND": ["1", "2"] * 50, "AGE": ["7", "8"] * 50, "RATE": ["1", ".5"] * 50})
    spoilt = missing = table
    for column in columns:
        place, values = table.column_names.index(column), table[column].to_pylist()
        binary = pa.array([b"\xff\xfe", *(value.encode() for value in values[1:])])
        missing = missing.set_column(place, column, pa.array([None, *values[1:]]))
        spoilt = spoilt.set_column(place, column, pa.Array.from_buffers(pa.string(), len(binary), binary.buffers()))
    pq.write_table(missing, "missing.parquet", row_group_size=30)
    pq.write_table(spoilt, "spoilt.parquet", row_group_size=30, use_dictionary=dictionary)
    out, *model = trained(run, "missing.parquet")
    found, *other = trained(run, "spoilt.parquet")
    assert model == other
    assert found == out
    second = ("--attribute-weights", "calibrated")
    assert trained(run, "missing.parquet", *second)[1:] == trained(run, "spoilt.parquet", *second)[1:]
    for reading in (("check", "--dataset", "town"), ("evaluate", "town.json")):
        assert run(*reading, "spoilt.parquet").out == run(*reading, "missing.parquet").out


def test_a_damaged_file_of_texts_is_still_called_damaged(declared: Path, run: Run) -> None:
    extract(declared / "town.csv")
    run("ingest", "town.csv", "--output", "town.parquet")
    spoil_rows(declared / "town.parquet")
    ended = run("train", "town.parquet", "--dataset", "town", expected=65)
    assert "town.parquet: cannot be read to the end (damaged, cut short or encrypted)" in ended.err


def test_a_declared_value_that_the_column_cannot_hold(declared: Path, run: Run) -> None:
    (declared / "datasets.toml").write_text(ENTRY.replace('["001", "002"]', '["1", "AB"]').replace('"-2"', '"low"'))
    pl.DataFrame({"KIND": [1, 2], "AGE": [1, 2], "RATE": [1, 2]}).write_parquet("town.parquet")
    ended = run("train", "town.parquet", "--dataset", "town", expected=65)
    assert ended.err.splitlines() == [
        "dpnb-columnar: town.parquet: does not fit the domain 'town'",
        "  column 'RATE' has type Int64, which cannot hold the declared 0.5, low: cast it to text, or take the values "
        "out of its declaration",
        "  label column 'KIND' has type Int64, which cannot hold the declared AB: cast it to text, or correct classes",
    ]
