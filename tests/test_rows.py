"""Which files are read, and what is said about files and columns that cannot be."""

from __future__ import annotations

import os
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpnb_columnar.domain import Domain, read_domain
from dpnb_columnar.errors import DataError, MissingInputError
from dpnb_columnar.rows.kinds import Kind, keys, kind_of
from dpnb_columnar.rows.source import open_source, read_metadata, resolve
from dpnb_columnar.sql import Parameters, identifier, literal_pattern, sections

CENSUS = read_domain(
    "census",
    {
        "label": {"column": "income", "classes": ["low", "high"]},
        "attributes": {"AGE": {"lower": 0, "upper": 100, "step": 1}, "SEX": {"values": ["f", "m"]}},
    },
    "test",
)
COLUMNS: dict[str, pa.Array] = {
    "income": pa.array(["low", "high", None]),
    "AGE": pa.array([41, 42, None], pa.int16()),
    "SEX": pa.array(["f", "m", "secret"]),
}


def with_condition(condition: str) -> Domain:
    label = {"condition": condition, "classes": ["low", "high"]}
    return read_domain("census", {"label": label, "attributes": {"SEX": {"values": ["f", "m"]}}}, "test")


def parquet(path: Path, **columns: pa.Array | None) -> Path:
    """A census file with some columns replaced, added, or (None) left out."""
    found = {name: column for name, column in (COLUMNS | columns).items() if column is not None}
    pq.write_table(pa.table(found), path)
    return path


def refusal(file: Path, domain: Domain = CENSUS) -> str:
    with pytest.raises(DataError) as caught:
        open_source([file], domain)
    assert caught.value.exit_code == 65
    assert str(file) in str(caught.value)
    assert "secret" not in str(caught.value)
    return str(caught.value)


# Which files.


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.parquet", "a.parquet", "[c].parquet", "notes.txt", "sub/d.parquet", "part.parquet/e.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    return tmp_path


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (["b.parquet"], ["b.parquet"]),
        (["b.parquet", "a.parquet"], ["b.parquet", "a.parquet"]),
        (["[ab].parquet"], ["a.parquet", "b.parquet"]),
        (["?.parquet", "sub"], ["a.parquet", "b.parquet", "sub/d.parquet"]),
        (["[c].parquet"], ["[c].parquet"]),
        (["sub"], ["sub/d.parquet"]),
        (["part.parquet"], ["part.parquet/e.parquet"]),
        (["pa*.parquet"], ["part.parquet/e.parquet"]),
        (["**/d.parquet"], ["sub/d.parquet"]),
        (["notes.txt"], ["notes.txt"]),
        (["b.parquet", "*b.parquet", "./b.parquet", "sub/../b.parquet"], ["b.parquet"]),
    ],
)
def test_resolve(folder: Path, monkeypatch: pytest.MonkeyPatch, items: list[str], expected: list[str]) -> None:
    monkeypatch.chdir(folder)
    assert resolve(items) == tuple(map(Path, expected))
    assert resolve([folder / item for item in items]) == tuple(folder / name for name in expected)


def test_a_folder_stands_for_its_files_only(folder: Path) -> None:
    """Not for a folder in it, whatever its name."""
    assert [file.name for file in resolve([folder])] == ["[c].parquet", "a.parquet", "b.parquet"]


def test_links_to_one_file_count_once(folder: Path) -> None:
    (folder / "soft.parquet").symlink_to(folder / "a.parquet")
    os.link(folder / "a.parquet", folder / "hard.parquet")
    assert [file.name for file in resolve([folder])] == ["[c].parquet", "a.parquet", "b.parquet"]


@pytest.mark.parametrize("item", ["nothing.parquet", "x*.parquet", "empty", "", "x" * 300, "dangling.parquet"])
def test_nothing_to_resolve(folder: Path, monkeypatch: pytest.MonkeyPatch, item: str) -> None:
    monkeypatch.chdir(folder)
    (folder / "empty").mkdir()
    (folder / "dangling.parquet").symlink_to(folder / "gone.parquet")
    with pytest.raises(MissingInputError) as caught:
        resolve(["a.parquet", item])
    assert caught.value.exit_code == 66
    assert str(caught.value).startswith(f"{item}: ")


def test_nothing_at_all() -> None:
    with pytest.raises(MissingInputError, match="no input; give Parquet files"):
        resolve([])


# Files that are no Parquet files.


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: b"AGE,SEX\n41,secret\n" * 99,
        lambda content: content[:-20],
        lambda content: content[:9],
    ],
    ids=["empty", "text", "cut short", "cut very short"],
)
def test_files_that_are_not_parquet(tmp_path: Path, damage: Any) -> None:
    file = parquet(tmp_path / "census.parquet")
    file.write_bytes(damage(file.read_bytes()))
    assert "not a complete Parquet file (damaged or cut short); write or copy it again" in refusal(file)
    with pytest.raises(DataError, match="not a complete Parquet file"):
        read_metadata(file)


def test_damaged_footers(tmp_path: Path) -> None:
    """Whatever byte of the footer is damaged, the file opens or is refused; nothing else happens."""
    file = parquet(tmp_path / "census.parquet")
    content = file.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    refused = 0
    for position in range(len(content) - 8 - length, len(content), 7):
        damaged = bytearray(content)
        damaged[position : position + 8] = b"\xff" * 8
        file.write_bytes(damaged[: len(content)])
        try:
            open_source([file], CENSUS)
        except DataError:
            refused += 1
    assert refused > 0


@pytest.mark.parametrize(("name", "problem"), [("gone.parquet", "No such file"), ("folder.parquet", "Is a directory")])
def test_files_that_cannot_be_opened(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "folder.parquet").mkdir()
    for read in (lambda file: open_source([file], CENSUS), read_metadata):
        with pytest.raises(MissingInputError, match=f"{name}: cannot be opened: {problem}.*; check the path") as caught:
            read(tmp_path / name)
        assert caught.value.exit_code == 66


def test_metadata(tmp_path: Path) -> None:
    table = pa.table(COLUMNS).replace_schema_metadata({"key": "value é"})
    pq.write_table(table, tmp_path / "a[1].parquet")
    assert read_metadata(tmp_path / "a[1].parquet")["key"] == "value é"


# Columns that do not fit.


def test_missing_columns_name_candidates(tmp_path: Path) -> None:
    file = parquet(tmp_path / "census.parquet", AGE=None, SEX=None, AGEE=COLUMNS["AGE"], sector=COLUMNS["SEX"])
    text = refusal(file)
    assert "missing column 'AGE' (is it 'AGEE'?), 'SEX'" in text
    assert "its columns are income, AGEE, sector" in text
    assert "rename" in text


def test_columns_that_differ_in_case_only(tmp_path: Path) -> None:
    """DuckDB would take one for the other."""
    text = refusal(parquet(tmp_path / "census.parquet", age=COLUMNS["AGE"]))
    assert "columns 'AGE', 'age' differ in upper and lower case only; rename or drop" in text
    assert open_source([parquet(tmp_path / "other.parquet", a=COLUMNS["AGE"], A=COLUMNS["AGE"])], CENSUS)


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


@pytest.mark.parametrize(
    ("column", "type_"), [(pa.array(["41"] * 3), "String"), (pa.array([date(2020, 1, 1)] * 3), "Date")]
)
def test_numeric_attributes_need_numbers(tmp_path: Path, column: pa.Array, type_: str) -> None:
    text = refusal(parquet(tmp_path / "census.parquet", AGE=column))
    assert f"column 'AGE' has type {type_}, but is declared numeric: cast it, or declare it with values" in text


def test_an_enums_categories_are_not_shown(tmp_path: Path) -> None:
    frame = pl.DataFrame({"AGE": pl.Series(["secret"], dtype=pl.Enum(["secret"])), "SEX": ["f"], "income": ["low"]})
    frame.write_parquet(tmp_path / "census.parquet")
    assert "column 'AGE' has type Enum, but" in refusal(tmp_path / "census.parquet")


@pytest.mark.parametrize("type_", [pa.int64(), pa.uint64(), pa.float64(), pa.bool_(), pa.date32()])
def test_values_that_a_column_cannot_hold(tmp_path: Path, type_: pa.DataType) -> None:
    column = pa.nulls(3, type_)
    text = refusal(parquet(tmp_path / "census.parquet", SEX=column, income=column))
    assert "column 'SEX' has type" in text
    assert "no declared value can occur: cast it, or correct values" in text
    assert "label column 'income' has type" in text
    assert "no declared class can occur: cast it, or correct classes" in text


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        ("income > 1500", "column 'income' has type String and cannot be compared with number 1500"),
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


def test_a_missing_label_column(tmp_path: Path) -> None:
    assert "missing column 'INCOME'" in refusal(parquet(tmp_path / "census.parquet"), with_condition("INCOME > 1"))


def test_every_problem_is_told_at_once(tmp_path: Path) -> None:
    column = pa.array([True] * 3)
    text = refusal(parquet(tmp_path / "census.parquet", AGE=pa.array(["x"] * 3), SEX=column, income=column))
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
        open_source(files, CENSUS)
    assert str(caught.value) == (
        f"{files[1]}: column 'AGE' is {here} here and {there} in {files[0]}; cast it to one type in all files"
    )


def test_decimals_of_different_scales(tmp_path: Path) -> None:
    """Their text differs, and DuckDB would round one to the other."""
    columns = [pa.array([Decimal(text)] * 3) for text in ("1.5", "1.25")]
    files = [parquet(tmp_path / f"{column[0]}.parquet", AGE=column) for column in columns]
    with pytest.raises(DataError, match=r"scale=2\) here and Decimal\(precision=2, scale=1\) in"):
        open_source(files, CENSUS)


def test_kinds_are_those_of_the_columns(tmp_path: Path) -> None:
    files = [parquet(tmp_path / "a.parquet"), parquet(tmp_path / "b.parquet", AGE=pa.array([1] * 3, pa.uint32()))]
    source = open_source(files, CENSUS)
    assert source.files == tuple(files)
    assert source.kinds == {"income": Kind.TEXT, "AGE": Kind.INTEGER, "SEX": Kind.TEXT}


def test_source_names_three_files(tmp_path: Path) -> None:
    files = [parquet(tmp_path / f"{name}.parquet") for name in "abcd"]
    assert open_source(files, CENSUS).names == ", ".join(map(str, files[:3])) + " ..."
    assert open_source(files[:2], CENSUS).names == ", ".join(map(str, files[:2]))


# Keys.

WRITTEN = ["7", "07", "+7", "-0", "0", "7.0", "true", "True", "2018-12-31", "2018-W01-1", "9007199254740992", "٧", ""]


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (Kind.INTEGER, {7: 0, 0: 4}),
        (Kind.UNSIGNED, {7: 0, 0: 4}),
        (Kind.FLOAT, {7: 0, 0: 4}),
        (Kind.BOOLEAN, {True: 6}),
        (Kind.DATE, {date(2018, 12, 31): 8}),
        (Kind.DECIMAL, {text: position for position, text in enumerate(WRITTEN)}),
        (Kind.TEXT, {text: position for position, text in enumerate(WRITTEN)}),
    ],
)
def test_keys(kind: Kind, found: dict[Any, int]) -> None:
    """One value, one text: other ways to write it stand for nothing."""
    assert keys(WRITTEN, kind) == found


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


# Named SQL.


def test_slots_in_names_and_in_nested_sections_are_not_expanded() -> None:
    sql = sections("aggregate")
    inner = sql["key_of_text"].substitute(column=identifier('a "@fits" @@ $files @{value}'))
    assert inner == 'CAST("a ""@fits"" @@ $files @{value}" AS VARCHAR)'
    assert sql["fits_present"].substitute(value=inner) == f"{inner} IS NOT NULL"


def test_every_section_is_text_without_comments() -> None:
    for section in sections("aggregate").values():
        assert section.template
        assert section.is_valid()
        assert "--" not in section.template


def test_parameters_have_names_of_their_own() -> None:
    parameters = Parameters()
    assert [parameters.bind(value) for value in ("'; --", 1, "'; --")] == ["$constant_0", "$constant_1", "$constant_2"]
    assert list(parameters.values.values()) == ["'; --", 1, "'; --"]


def test_patterns_that_match_one_file() -> None:
    assert literal_pattern(Path("a[1]*?.parquet")) == "a[[]1][*][?].parquet"
