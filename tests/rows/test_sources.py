"""What a name stands for is parsed once; what reads it may be an extension, which is named where it is absent."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar import registry
from dpnb_columnar.errors import UnavailableError, UsageError
from dpnb_columnar.rows.frames import parse_data
from dpnb_columnar.rows.sources import DataSource, Dialect, SourceKind, parse_names


@pytest.fixture(autouse=True)
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a folder that is a Delta table by its log, and one that is Iceberg's."""
    monkeypatch.chdir(tmp_path)
    for log in ("people/_delta_log", "persons/metadata"):
        Path(log).mkdir(parents=True)
    Path("persons/metadata/v1.metadata.json").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("name", "kind", "address", "snapshot"),
    [
        ("census.parquet", SourceKind.FILES, "census.parquet", None),
        ("state-*.parquet", SourceKind.FILES, "state-*.parquet", None),
        ("absent@3", SourceKind.FILES, "absent@3", None),
        ("s3://census/2018/", SourceKind.OBJECTS, "s3://census/2018/", None),
        ("HTTPS://host/census.parquet", SourceKind.OBJECTS, "HTTPS://host/census.parquet", None),
        ("hdfs://census/2018", SourceKind.FILES, "hdfs://census/2018", None),
        ("people", SourceKind.DELTA, "people", None),
        ("people@12", SourceKind.DELTA, "people", 12),
        ("people@x", SourceKind.FILES, "people@x", None),
        ("persons@7", SourceKind.ICEBERG, "persons", 7),
        ("persons/metadata/v1.metadata.json", SourceKind.ICEBERG, "persons/metadata/v1.metadata.json", None),
        ("iceberg:census.people@4", SourceKind.ICEBERG, "iceberg:census.people", 4),
    ],
)
def test_a_name_is_parsed_into_its_kind_address_and_snapshot(
    name: str, kind: SourceKind, address: str, snapshot: int | None
) -> None:
    assert parse_names([name]) == parse_data(name) == (DataSource(kind, address, snapshot),)
    assert parse_names([name], spark=True) == (DataSource(SourceKind.SPARK, name),)


def test_a_database_is_parsed_with_its_dialect_and_a_frame_is_kept_as_it_is() -> None:
    (found,) = parse_data(Path("census.duckdb"))
    assert (found.kind, found.address.dialect, str(found.address)) == (
        SourceKind.DATABASE,
        Dialect.DUCKDB,
        "census.duckdb",
    )
    frame = pl.DataFrame({"age": [1]})
    (held,) = parse_data(frame)
    assert held.kind is SourceKind.FRAME
    assert held.address is frame


def test_a_source_shows_no_row_and_no_password() -> None:
    assert "1732050807" not in repr(parse_data(pl.DataFrame({"age": [1732050807]})))
    with pytest.raises(UsageError, match="leave it out") as refused:
        parse_names(["https://me:secret@host/census.parquet"])
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("words", "extension"),
    [
        (["people"], "lakes"),
        (["iceberg:census.people"], "lakes"),
        (["s3://census/2018/"], "stores"),
        (["--engine", "spark", "hdfs://census"], "spark"),
        (["--engine", "spark", "--table", "census"], "spark"),
    ],
)
def test_where_the_extension_that_reads_an_address_is_absent_it_is_named(
    words: list[str], extension: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_package", lambda name: None)
    assert f"this needs the extension {extension}, which is not installed" in run("train", *words, expected=69).err
    if "--engine" not in words:
        with pytest.raises(UnavailableError, match=f"the extension {extension}"):
            dpnb.train(words[0], epsilon=1)
