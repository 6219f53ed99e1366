"""Folders named ``COLUMN=VALUE`` are columns: the same rows, whether a column is in the files or in their folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from support.people import DECLARATION, people, write_people
from support.running import Run

from dpnb_columnar.counting import local
from dpnb_columnar.rows.input_files import folder_values, resolve_files, scan_file

NAMED = ("--dataset", "people")


@pytest.fixture
def hive(folder: Path) -> Path:
    """The rows of ``people.parquet`` as DuckDB partitions them, by sex and by age, some of neither."""
    Path("datasets.toml").write_text(DECLARATION)
    place = pl.int_range(60)
    rows = people(60).with_columns(
        sex=pl.when(place % 9 > 0).then(pl.col("sex")), age=pl.when(place % 7 > 0).then(pl.col("age"))
    )
    write_people(Path("people.parquet"), rows, None)
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        connection.execute("COPY (FROM rows) TO 'hive' (FORMAT parquet, PARTITION_BY (sex, age))")
    (Path("hive") / "_SUCCESS").touch()
    (Path("hive") / "_temporary").mkdir()
    (Path("hive") / "_temporary" / "half.parquet").touch()
    return Path("hive")


def test_the_values_of_a_path() -> None:
    assert folder_values("a/STATE=06/NAME=x%3Dy%2Fz/f.parquet") == {"STATE": "06", "NAME": "x=y/z"}
    assert folder_values("s3a://a/STATE=__HIVE_DEFAULT_PARTITION__/f.parquet") == {"STATE": None}
    assert folder_values("STATE=6/f.parquet", ["state"]) == {}
    assert folder_values("=6/x=y.parquet") == {}


@pytest.mark.slow
def test_every_verb_reads_the_columns_of_folders(hive: Path, run: Run) -> None:
    """A column of folders counts, is checked, evaluated, scored and split as one of a file is."""
    made: list[list[Any]] = []
    for data in ("people.parquet", "hive"):
        run("train", data, *NAMED, "--seed", 1, "--output", "m.json", "--overwrite")
        report = json.loads(run("check", data, *NAMED, "--json").out)
        del report["row_groups"], report["notes"]  # of many small files
        figures = json.loads(
            run("evaluate", "m.json", data, "--json").out, parse_float=lambda text: round(float(text), 9)
        )
        options = ("--key", "age", "--key", "hours", "--output", "s.parquet", "--overwrite")
        run("predict", "m.json", data, *options)
        scored = pl.read_parquet("s.parquet").with_columns(pl.col("age").cast(pl.Int64), pl.col(pl.Float64).round(9))
        made.append([Path("m.json").read_bytes(), report, figures, sorted(map(repr, scored.rows()))])
    for file, folder in zip(*made, strict=True):
        assert file == folder
    run("split", "hive", "--test-output", "test.parquet", "--train-output", "train.parquet")
    split = pl.concat([pl.read_parquet("test.parquet"), pl.read_parquet("train.parquet")])
    assert len(split) == 60
    assert {"sex", "age", "hours", "income"} == set(split.columns)
    assert "sex = {" in run("suggest-domain", "hive").out


@pytest.mark.slow
def test_large_files_are_counted_with_their_folders(hive: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB, which does not know the folders, does not count them."""
    monkeypatch.setattr(local, "SMALL", 0)
    run("train", "people.parquet", *NAMED, "--seed", 1, "--output", "file.json")
    run("train", "hive", *NAMED, "--seed", 1, "--output", "folder.json")
    assert Path("file.json").read_bytes() == Path("folder.json").read_bytes()


def test_equal_files_in_folders_of_other_values_are_no_copies(folder: Path, run: Run) -> None:
    Path("datasets.toml").write_text(DECLARATION)
    for sex in ("f", "m"):
        Path(f"hive/sex={sex}").mkdir(parents=True)
        write_people(Path(f"hive/sex={sex}/a.parquet"), people(50).drop("sex"), None)
    run("train", "hive", *NAMED, "--output", "m.json")
    Path("hive/sex=f/b.parquet").write_bytes(Path("hive/sex=f/a.parquet").read_bytes())
    assert "are copies" in run("train", "hive", *NAMED, "--output", "n.json", expected=65).err


def test_texts_that_are_not_utf8_stand_beside_columns_of_folders(folder: Path, run: Run) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    Path("datasets.toml").write_text(DECLARATION)
    rows = people(40)
    odd = pa.array([b"\xff", *([b"low"] * 39)], pa.binary())
    Path("hive/sex=f").mkdir(parents=True)
    table = rows.drop("sex", "income").to_arrow().append_column("income", odd.view(pa.string()))
    pq.write_table(table, "hive/sex=f/a.parquet")
    pq.write_table(table.append_column("sex", pa.array(["f"] * 40)), "people.parquet")
    for data, output in (("hive", "a.json"), ("people.parquet", "b.json")):
        run("train", data, *NAMED, "--seed", 1, "--output", output)
    assert Path("a.json").read_bytes() == Path("b.json").read_bytes()


def test_a_column_of_the_file_goes_before_one_of_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "AGE=9" / "year=2018"
    folder.mkdir(parents=True)
    pl.DataFrame({"age": [1]}).write_parquet(folder / "a.parquet")
    (file,) = resolve_files([tmp_path])
    assert scan_file(file).collect().to_dict(as_series=False) == {"age": [1], "year": ["2018"]}
    assert resolve_files([tmp_path / "*" / "year=*"]) == (file,)
