"""What is said about columns that do not fit the domain, and which kinds of column do."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from support.census_files import CENSUS, COLUMNS, parquet, refusal, with_condition

from dpnb_columnar.domain.column_kinds import Kind, kind_of, value_keys
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.parquet import open_parquet


def test_columns_that_differ_in_case_only(tmp_path: Path) -> None:
    """DuckDB would take one for the other."""
    text = refusal(parquet(tmp_path / "census.parquet", age=COLUMNS["AGE"]))
    assert "columns 'AGE', 'age' differ in upper and lower case only; rename or drop" in text
    assert open_parquet([parquet(tmp_path / "other.parquet", a=COLUMNS["AGE"], A=COLUMNS["AGE"])], CENSUS)


MOMENT = datetime(2020, 1, 1)
UNREADABLE = {
    "Null": pa.nulls(3),
    "List": pa.array([[1], [2], None]),
    "Struct": pa.array([{"x": 1}] * 3),
    "Map": pa.array([[("secret", 1)]] * 3, pa.map_(pa.string(), pa.int64())),
    "Binary": pa.array([b"secret"] * 3),
    "Time": pa.array([time(1)] * 3),
    "Datetime": pa.array([MOMENT] * 3),
    "Duration": pa.array([MOMENT - MOMENT] * 3),
    "Decimal(precision=50, scale=2)": pa.array([Decimal("1.00")] * 3, pa.decimal256(50, 2)),
}


@pytest.mark.parametrize("column", ["income", "AGE", "SEX"])
@pytest.mark.parametrize("type_", UNREADABLE)
def test_types_that_nothing_is_read_from(tmp_path: Path, type_: str, column: str) -> None:
    text = refusal(parquet(tmp_path / "census.parquet", **{column: UNREADABLE[type_]}))
    assert f"column {column!r} has type {type_}" in text
    assert ("holds no value at all" in text) == (type_ == "Null")
    assert "cast it to a number, a boolean, a date or text" in text


def test_wide_integers_are_refused(tmp_path: Path) -> None:
    """DuckDB reads Polars' 128-bit integers as bytes."""
    frame = pl.DataFrame({"AGE": pl.Series([1], dtype=pl.Int128), "SEX": ["f"], "income": ["low"]})
    frame.write_parquet(tmp_path / "census.parquet")
    assert "column 'AGE' has type Int128" in refusal(tmp_path / "census.parquet")


def test_numeric_attributes_are_read_from_text_as_well(tmp_path: Path) -> None:
    source = open_parquet([parquet(tmp_path / "census.parquet", AGE=pa.array(["041", "x", None]))], CENSUS)
    assert source.kinds["AGE"] is Kind.TEXT


def test_an_enums_categories_are_not_shown(tmp_path: Path) -> None:
    """Nor is the domain's: types alone are named."""
    column = pl.Series([["secret"]], dtype=pl.List(pl.Enum(["secret"])))
    frame = pl.DataFrame({"AGE": column, "SEX": ["f"], "income": ["low"]})
    frame.write_parquet(tmp_path / "census.parquet")
    text = refusal(tmp_path / "census.parquet")
    assert "column 'AGE' has type List" in text
    assert "secret" not in text


@pytest.mark.parametrize("type_", [pa.int64(), pa.uint64(), pa.float64(), pa.bool_(), pa.date32()])
def test_values_that_a_column_cannot_hold(tmp_path: Path, type_: pa.DataType) -> None:
    column = pa.nulls(3, type_)
    text = refusal(parquet(tmp_path / "census.parquet", SEX=column, income=column))
    assert "column 'SEX' has type" in text
    assert "which cannot hold the declared f, m: cast it to text, or take the values out of its declaration" in text
    assert "label column 'income' has type" in text
    assert "which cannot hold the declared low, high: cast it to text, or correct classes" in text


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        ("AGE > 40 OR AGE = 'old'", "column 'AGE' has type Int16 and cannot be compared with text old"),
        ("day > 2018", "column 'day' has type Date and cannot be compared with number 2018"),
        ("day = '2018-1-1'", "column 'day' has type Date and cannot be compared with text 2018-1-1"),
        ("owner = 'yes'", "column 'owner' has type Boolean and cannot be compared with text yes"),
        ("list = 1", "column 'list' has type List: cast it"),
    ],
)
def test_conditions_that_do_not_fit(tmp_path: Path, condition: str, problem: str) -> None:
    others = {"day": pa.array([date(2018, 1, 1)] * 3), "owner": pa.array([True] * 3), "list": pa.array([[1]] * 3)}
    text = refusal(parquet(tmp_path / "census.parquet", **others), with_condition(condition))
    assert problem in text
    assert "cast it" in text


def test_every_problem_is_told_at_once(tmp_path: Path) -> None:
    column = pa.array([True] * 3)
    day = pa.array([date(2020, 1, 1)] * 3)
    text = refusal(parquet(tmp_path / "census.parquet", AGE=day, SEX=column, income=column))
    assert len(text.splitlines()) == 4
    assert "does not fit the domain 'census'" in text


@pytest.mark.parametrize(
    ("column", "here", "there"),
    [
        (pa.array([1.5] * 3), "floating point", "integer"),
        (pa.array([1] * 3, pa.uint64()), "unsigned 64-bit integer", "integer"),
        (pa.array([Decimal("1.5")] * 3), "Decimal(precision=2, scale=1)", "integer"),
    ],
)
def test_files_of_different_kinds(tmp_path: Path, column: pa.Array, here: str, there: str) -> None:
    files = [parquet(tmp_path / "2018.parquet"), parquet(tmp_path / "2019.parquet", AGE=column)]
    with pytest.raises(DataError) as caught:
        open_parquet(files, CENSUS)
    assert str(caught.value) == (
        f"{files[1]}: column 'AGE' is {here} here and {there} in {files[0]}; cast it to one type in all files"
    )


def test_decimals_of_different_scales(tmp_path: Path) -> None:
    """Their text differs, and DuckDB would round one to the other."""
    columns = [pa.array([Decimal(text)] * 3) for text in ("1.5", "1.25")]
    files = [parquet(tmp_path / f"{column[0]}.parquet", AGE=column) for column in columns]
    with pytest.raises(DataError, match=r"scale=2\) here and Decimal\(precision=2, scale=1\) in"):
        open_parquet(files, CENSUS)


def test_kinds_are_those_of_the_columns(tmp_path: Path) -> None:
    files = [parquet(tmp_path / "a.parquet"), parquet(tmp_path / "b.parquet", AGE=pa.array([1] * 3, pa.uint32()))]
    source = open_parquet(files, CENSUS)
    assert source.files == tuple(files)
    assert source.kinds == {"income": Kind.TEXT, "AGE": Kind.INTEGER, "SEX": Kind.TEXT}


def test_source_names_three_files(tmp_path: Path) -> None:
    files = [parquet(tmp_path / f"{name}.parquet") for name in "abcd"]
    assert open_parquet(files, CENSUS).names == ", ".join(map(str, files[:3])) + " ..."
    assert open_parquet(files[:2], CENSUS).names == ", ".join(map(str, files[:2]))


WRITTEN = ["007", "0.50", "-0", "AB", "1E2", "true", "2018-12-31", "2018-W01-1", "9007199254740992", "٧", ""]


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (Kind.INTEGER, {7: 0, 0: 2}),
        (Kind.UNSIGNED, {7: 0, 0: 2}),
        (Kind.FLOAT, {7.0: 0, 0.5: 1, 0.0: 2}),
        (Kind.DECIMAL, {7.0: 0, 0.5: 1, 0.0: 2}),
        (Kind.BOOLEAN, {True: 5}),
        (Kind.DATE, {date(2018, 12, 31): 6}),
        (Kind.TEXT, {**{text: position for position, text in enumerate(WRITTEN)}, "True": 5, "TRUE": 5}),
    ],
)
def test_keys(kind: Kind, found: dict[Any, int]) -> None:
    """Numbers and truth values by value; a date by its one text."""
    assert value_keys(WRITTEN, kind) == found


@pytest.mark.parametrize(
    ("type_", "kind"),
    [
        (pl.UInt32(), Kind.INTEGER),
        (pl.UInt64(), Kind.UNSIGNED),
        (pl.Float16(), Kind.FLOAT),
        (pl.Decimal(38, 2), Kind.DECIMAL),
        (pl.Enum(["a"]), Kind.TEXT),
        (pl.Categorical(), Kind.TEXT),
        (pl.Int128(), None),
        (pl.Object(), None),
    ],
)
def test_kinds(type_: pl.DataType, kind: Kind | None) -> None:
    assert kind_of(type_) is kind
