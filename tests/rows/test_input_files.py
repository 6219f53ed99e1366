"""Which files are read, and what is said about files that cannot be."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.census_files import CENSUS, COLUMNS, parquet, refusal
from support.unknown_types import UNKNOWN, write_unknown

from dpnb_columnar.counting.suggestion import profile
from dpnb_columnar.errors import DataError, MissingInputError
from dpnb_columnar.rows.holdout import batches_of_files
from dpnb_columnar.rows.input_files import open_error, resolve_files
from dpnb_columnar.rows.parquet import number_of_rows, open_parquet, read_metadata, scan_files


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
