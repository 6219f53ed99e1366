"""``dpnb-columnar check``."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from people import PEOPLE, people, write_people
from running import Run


def rows_of(text: str) -> dict[str, list[str]]:
    """Rows of the tables in a text, by their first cell."""
    return {cells[0]: cells[1:] for line in text.splitlines() if line.startswith("  ") and (cells := line.split())}


def test_rows_that_fit(people_file: Path, run: Run) -> None:
    ended = run("check", people_file)
    assert "domain people, from the metadata of the data\n1000 rows in 1 file(s), 1000 fit the domain" in ended.out
    found = rows_of(ended.out)
    assert found["age"] == found["sex"] == found["(label)"] == ["0"] * 4
    assert int(found["low"][0]) + int(found["high"][0]) == 1000


def test_every_misfit_is_counted_in_its_column(folder: Path, run: Run) -> None:
    frame = pl.DataFrame(
        {
            "age": [30, -1, 101, 102, None, 40],
            "hours": [40] * 6,
            "sex": ["f", "f", "m", "m", "m", "x"],
            "income": ["low", "low", "high", "high", "low", None],
        }
    )
    write_people(folder / "people.parquet", frame)
    ended = run("check", "people.parquet")
    found = rows_of(ended.out)
    assert "6 rows in 1 file(s), 4 fit the domain" in ended.out
    assert found["(label)"] == ["1", "0", "0", "0"]
    assert found["age"] == ["1", "0", "1", "2"]
    assert found["sex"] == ["0", "1", "0", "0"]
    assert (found["low"], found["high"]) == (["2"], ["2"])
    assert "note: age: values beyond the declared bounds count as the nearest bound" in ended.out
    assert "note: sex: rows with undeclared categories are dropped" in ended.out


def test_missing_values_that_are_a_category_fit(folder: Path, run: Run) -> None:
    attributes = {**PEOPLE["attributes"], "sex": {"values": ["f", "m"], "missing": "category"}}
    frame = people(100).with_columns(sex=pl.lit(None, pl.String))
    write_people(folder / "people.parquet", frame, {**PEOPLE, "attributes": attributes})
    assert "100 rows in 1 file(s), 100 fit the domain" in run("check", "people.parquet").out


def test_several_files_are_one_data_set(folder: Path, run: Run) -> None:
    write_people(folder / "low.parquet", people(30).with_columns(income=pl.lit("low")))
    write_people(folder / "high.parquet", people(20).with_columns(income=pl.lit("high")))
    run("check", "low.parquet", expected=65)
    ended = run("check", ".")
    assert "50 rows in 2 file(s)" in ended.out
    assert rows_of(ended.out)["high"] == ["20"]


def test_nothing_is_written(people_file: Path, run: Run) -> None:
    run("check", people_file)
    assert [path.name for path in Path().iterdir()] == ["people.parquet"]


def test_figures_are_told_before_the_refusal(folder: Path, run: Run) -> None:
    write_people(folder / "people.parquet", people(40).with_columns(income=pl.lit("low")))
    ended = run("check", "people.parquet", expected=65)
    assert "40 rows in 1 file(s)" in ended.out
    assert "people.parquet: not ready for a release" in ended.err
