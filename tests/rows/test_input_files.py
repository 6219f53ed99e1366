"""Which files are read, which columns fit a domain, and what is said about those that cannot be or do not."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import sqlite3
from contextlib import closing
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.unknown_types import UNKNOWN, write_unknown

from dpnb_columnar.counting.suggestion import profile
from dpnb_columnar.domain import Domain, read_domain
from dpnb_columnar.domain.column_kinds import Kind, kind_of, value_keys
from dpnb_columnar.errors import DataError, MissingInputError
from dpnb_columnar.rows.holdout import batches_of_files
from dpnb_columnar.rows.input_files import open_error, resolve_files
from dpnb_columnar.rows.parquet import number_of_rows, open_parquet, read_metadata, scan_files

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
        open_parquet([file], domain)
    assert caught.value.exit_code == 65
    assert str(file) in str(caught.value)
    assert "secret" not in str(caught.value)
    return str(caught.value)


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
    assert resolve_files(items) == tuple(map(Path, expected))
    assert resolve_files([folder / item for item in items]) == tuple(folder / name for name in expected)


def test_a_folder_stands_for_its_files_only(folder: Path) -> None:
    """Not for a folder in it, whatever its name."""
    assert [file.name for file in resolve_files([folder])] == ["[c].parquet", "a.parquet", "b.parquet"]


def test_links_to_one_file_count_once(folder: Path) -> None:
    (folder / "soft.parquet").symlink_to(folder / "a.parquet")
    os.link(folder / "a.parquet", folder / "hard.parquet")
    assert [file.name for file in resolve_files([folder])] == ["[c].parquet", "a.parquet", "b.parquet"]


@pytest.mark.parametrize("item", ["nothing.parquet", "x*.parquet", "empty", "", "x" * 300, "dangling.parquet"])
def test_nothing_to_resolve(folder: Path, monkeypatch: pytest.MonkeyPatch, item: str) -> None:
    monkeypatch.chdir(folder)
    (folder / "empty").mkdir()
    (folder / "dangling.parquet").symlink_to(folder / "gone.parquet")
    with pytest.raises(MissingInputError) as caught:
        resolve_files(["a.parquet", item])
    assert caught.value.exit_code == 66
    assert str(caught.value).startswith(f"{item}: ")


def test_nothing_at_all() -> None:
    with pytest.raises(MissingInputError, match="no input; give Parquet files"):
        resolve_files([])


@pytest.mark.parametrize(
    "damage", [lambda content: content[:-20], lambda content: content[:9]], ids=["cut short", "cut very short"]
)
def test_files_that_are_not_parquet(tmp_path: Path, damage: Any) -> None:
    file = parquet(tmp_path / "census.parquet")
    file.write_bytes(damage(file.read_bytes()))
    assert "not a complete Parquet file (damaged or cut short); write or copy it again" in refusal(file)
    with pytest.raises(DataError, match="not a complete Parquet file"):
        read_metadata(file)


def write_database(file: Path, library: Any) -> None:
    with closing(library.connect(file)) as connection:
        connection.execute("CREATE TABLE people (age INTEGER)")
        connection.commit()


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (
            lambda file: file.write_bytes(b"AGE,SEX\n41,secret\n" * 99),
            "text, such as CSV or fixed width, not Parquet; ",
        ),
        (lambda file: file.write_bytes("AGE,NAME\n41,José\n".encode("latin-1")), "text, such as CSV"),
        (lambda file: file.write_bytes(gzip.compress(b"AGE\n41\n")), "a gzip archive, not Parquet; if it is an"),
        (lambda file: shutil.make_archive(str(file), "zip", file.parent) and Path(f"{file}.zip").rename(file), "a ZIP"),
        (lambda file: pl.DataFrame({"AGE": [41]}).write_ipc(file), "an Arrow file, not Parquet; read it"),
        (lambda file: pl.DataFrame({"AGE": [41]}).write_ipc_stream(file), "an Arrow stream, not Parquet"),
        (lambda file: write_database(file, sqlite3), "a SQLite database, not Parquet"),
        (lambda file: write_database(file, duckdb), "a DuckDB database, not Parquet"),
    ],
    ids=["text", "Latin-1", "gzip", "ZIP", "Arrow", "Arrow stream", "SQLite", "DuckDB"],
)
def test_files_of_other_formats_are_called_by_their_names(tmp_path: Path, write: Any, message: str) -> None:
    file = tmp_path / "census.data"
    write(file)
    with pytest.raises(DataError) as profiled:
        profile(scan_files([file]), 10)
    for told in (refusal(file), str(profiled.value)):
        assert told.startswith(f"{file}: {message}")
        assert "secret" not in told


@pytest.mark.parametrize(
    ("held", "message"),
    [
        ([], "it holds nothing; check the path"),
        (["a.csv", "b.dat", "README"], "it holds files with .csv, .dat, no suffix; make Parquet of an extract with"),
        (["one/a.parquet", "two/a.parquet"], "folders such as one, two; for the files of its folders"),
    ],
)
def test_a_folder_without_parquet_files_says_what_it_holds(tmp_path: Path, held: list[str], message: str) -> None:
    for name in held:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    with pytest.raises(MissingInputError, match=r"a folder without files named \*\.parquet; .*" + re.escape(message)):
        resolve_files([tmp_path])


def test_a_database_is_no_file() -> None:
    with pytest.raises(MissingInputError, match='read with table="NAME" by train') as refused:
        resolve_files(["postgresql://me:secret@host/census"])
    assert "secret" not in str(refused.value)


def test_names_of_columns_that_are_no_text(tmp_path: Path) -> None:
    file = parquet(tmp_path / "census.parquet")
    file.write_bytes(file.read_bytes().replace(b"income", b"inc\xffme"))
    assert "not a complete Parquet file" in refusal(file)
    with pytest.raises(DataError, match="not a complete Parquet file"):
        batches_of_files([file])


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
            open_parquet([file], CENSUS)
        except DataError:
            refused += 1
    assert refused > 0


@pytest.mark.parametrize(("name", "problem"), [("gone.parquet", "No such file"), ("folder.parquet", "Is a directory")])
def test_files_that_cannot_be_opened(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "folder.parquet").mkdir()
    for read in (lambda file: open_parquet([file], CENSUS), read_metadata):
        with pytest.raises(MissingInputError, match=f"{name}: cannot be opened: {problem}.*; check the path") as caught:
            read(tmp_path / name)
        assert caught.value.exit_code == 66


def test_metadata(tmp_path: Path) -> None:
    table = pa.table(COLUMNS).replace_schema_metadata({"key": "value é"})
    pq.write_table(table, tmp_path / "a[1].parquet")
    assert read_metadata(tmp_path / "a[1].parquet")["key"] == "value é"


def test_what_the_system_says_of_an_input_is_told_though_an_engine_says_it_in_its_text_alone() -> None:
    said = OSError("Stale file handle (os error 116): rows.parquet")
    assert str(open_error(Path("rows.parquet"), said)).startswith("rows.parquet: cannot be opened: Stale file handle;")


@pytest.mark.parametrize("kind", UNKNOWN)
def test_a_column_of_a_type_that_polars_does_not_know_is_named_and_others_are_read(tmp_path: Path, kind: str) -> None:
    """Polars refuses the footer as a whole."""
    file = tmp_path / "STATE=06" / "places.parquet"
    file.parent.mkdir()
    write_unknown(file, pa.table({"shape": ["x"] * 3, "age": [30, None, 31], "sex": ["f", "m", "f"]}), kind)
    (rows,) = scan_files([file], ["age", "sex"])
    assert rows.types == {"shape": pl.Unknown(), "age": pl.Int64, "sex": pl.String, "STATE": pl.String}
    assert rows.rows.collect().to_dict(as_series=False) == {
        "age": [30, None, 31],
        "sex": ["f", "m", "f"],
        "STATE": ["06"] * 3,
    }
    assert rows.rows.filter(pl.col("age") > 30).select("sex").collect().rows() == [("f",)]
    assert rows.rows.select(pl.len()).collect().item() == number_of_rows(file) == 3
    with pytest.raises(DataError, match=r"places\.parquet: column 'shape' is of a type that cannot be read; cast it"):
        scan_files([file], ["age", "shape"])


@pytest.mark.parametrize("kind", UNKNOWN)
def test_a_file_without_any_column_that_can_be_read_is_refused(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "places.parquet"
    write_unknown(file, pa.table({"shape": ["x"]}), kind)
    with pytest.raises(DataError, match=r"places\.parquet: 'shape': of a type, or in a time zone, that cannot be read"):
        scan_files([file])


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
