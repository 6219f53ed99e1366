"""The files that a lake table's log names are its own, each once; its live rows are read, whatever happened before."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.people import PEOPLE, TYPES, people_domain

import dpnb_columnar as dpnb
from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import DataError, MissingInputError, UsageError
from dpnb_columnar.rows.holdout import Split, split_outputs
from dpnb_columnar.rows.lake_tables import _checked_files, _iceberg_home, _place_of


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """The folder of a table with a data file; beside it another folder with one."""
    for name in ("t", "others"):
        (tmp_path / name / "data").mkdir(parents=True)
        (tmp_path / name / "data" / "a.parquet").write_bytes(b"1")
    return tmp_path / "t"


def test_a_data_file_is_listed_once_whatever_it_is_called(table: Path) -> None:
    file = table / "data" / "a.parquet"
    hard, link = file.with_name("hard.parquet"), file.with_name("link.parquet")
    hard.hardlink_to(file)
    link.symlink_to(file)
    assert _checked_files("t@1", [str(file)], [str(file), str(file)], table) == [file]
    for other in (str(file), file.as_uri(), str(hard), str(link)):
        with pytest.raises(DataError, match=r"t@1: .*a.parquet is listed twice.*: its rows would count twice; drop"):
            _checked_files("t@1", [str(file), other], home=table)


def test_a_file_outside_the_folder_is_refused(table: Path) -> None:
    other = table.parent / "others" / "data" / "a.parquet"
    (table / "link.parquet").symlink_to(other)
    (table / "folder").symlink_to(other.parent)
    for named in (
        other,
        table / "link.parquet",
        table / "folder" / "a.parquet",
        table / ".." / "t" / "data" / "a.parquet",
    ):
        for data, deletes in (([str(named)], []), ([], [str(named)])):
            with pytest.raises(DataError, match=r"t@1: .*a?.parquet lies outside the table's folder"):
                _checked_files("t@1", data, deletes, table)
    with pytest.raises(MissingInputError, match="files of this snapshot are gone"):
        _checked_files("t@1", [str(table / "b.parquet")], home=table)


@pytest.mark.parametrize(
    ("metadata_file", "inside", "outside"),
    [
        ("s3://b/lake/t/metadata/1.json", "s3a://b/lake/t/data/x", "s3://b/lake/other/data/x"),
        ("s3://b/lake/t/metadata/1.json", "s3://b/lake/t/x", "s3://c/lake/t/data/x"),
        ("s3://b/lake/t/metadata/1.json", "s3://b/lake/t/x", "gs://b/lake/t/data/x"),
        ("s3://b/lake/t/metadata/1.json", "s3://b/lake/t/x", "/lake/t/data/x"),
        ("s3://b/lake/t/metadata/1.json", "s3://b/lake/t/x", "s3://b/lake/t/data/../../other/x"),
        ("s3://b/meta/1.json", "s3://b/meta/x", "s3://b/x"),
        ("s3://metadata/1.json", "s3://metadata/x", "s3://b/x"),
        ("/nowhere/metadata/1.json", "file:///nowhere/x", "/nowhere%2Fmetadata/x"),
        ("file:///metadata/1.json", "/metadata/x", "/nowhere/x"),
        ("metadata/1.json", "t/x", "/nowhere/x"),
    ],
)
def test_the_folder_of_a_table_is_where_its_metadata_lie(metadata_file: str, inside: str, outside: str) -> None:
    home = _iceberg_home(metadata_file)
    assert _place_of(inside).is_relative_to(home)
    with pytest.raises(DataError, match="lies outside the table's folder"):
        _checked_files("t@1", [outside], home=home)


def test_a_remote_file_is_listed_once_by_its_address() -> None:
    home = _iceberg_home("s3://b/t/metadata/1.json")
    assert _checked_files("t@1", ["s3://b/t/x", "s3://b/t/y"], ["s3://b/t/d", "s3://b/t/d"], home) == []
    for other in ("s3://b/t/x", "s3a://b/t/x", "s3://b/t//x"):
        with pytest.raises(DataError, match=r"t@1: s3://b/t/x is listed twice"):
            _checked_files("t@1", ["s3://b/t/x", other], home=home)


def test_two_parts_of_a_split_are_two_files_whatever_they_are_called(table: Path) -> None:
    (table / "link").symlink_to(table / "data")
    named = {"train": table / "data" / "x.parquet", "test": table / "link" / "x.parquet"}
    with pytest.raises(UsageError, match="are one file; name two"):
        split_outputs(["a.parquet"], [], Split(Fraction(1, 5)), named, False)


HISTORIES = 200
GROUP = 10


def delta_history(folder: Path, seed: int) -> Any:
    pytest.importorskip("deltalake", reason="deltalake, which reads Delta tables, is not installed")
    from support.delta_histories import DeltaHistory

    return DeltaHistory(folder, seed, partitioned=seed % 2 == 0)


def iceberg_history(folder: Path, seed: int) -> Any:
    pytest.importorskip("pyiceberg.io.pyarrow", reason="pyiceberg, which reads Iceberg tables, is not installed")
    from support.iceberg_histories import IcebergHistory

    return IcebergHistory(folder, seed, partitioned=seed % 2 == 0)


def counted(data: str | Path | pl.DataFrame, domain: Domain) -> Statistics:
    """Exact counts, without what says where they come from."""
    return replace(dpnb.aggregate(data, domain=domain), parts=frozenset())


def domain_of(names: dict[str, str]) -> Domain:
    """The domain of people, with the names that columns have now."""
    attributes: Any = {names[name]: each for name, each in PEOPLE["attributes"].items()}
    return people_domain({**PEOPLE, "attributes": attributes})


@pytest.mark.lake
@pytest.mark.slow
@pytest.mark.parametrize("make", [delta_history, iceberg_history], ids=["Delta", "Iceberg"])
@pytest.mark.parametrize("first", range(0, HISTORIES, GROUP))
def test_the_rows_of_every_version_are_counted(first: int, make: Any, tmp_path: Path) -> None:
    for seed in range(first, first + GROUP):
        history = make(tmp_path / f"people{seed}", seed)
        happened = history.go_on(6)
        names = getattr(history, "names", {name: name for name in TYPES})
        file, domain = tmp_path / "rows.parquet", domain_of(names)
        for version, rows in history.versions.items():
            pl.DataFrame(rows, schema=TYPES).rename(names).write_parquet(file)
            assert counted(f"{history.folder}@{version}", domain) == counted(file, domain), (seed, happened, version)
        assert counted(history.folder, domain) == counted(file, domain), (seed, happened)
