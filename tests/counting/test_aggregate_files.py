"""Several files, damaged ones and many rows: counted alike, refused by name, in bounded memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.aggregation_cases import BOTH, ENGINES, FILES, LABEL, MIXED, check, declared, labelled, written
from support.memory import peak
from support.rows_in_python import counts_of, expected_counts

from dpnb_columnar.counting.engines import polars_units
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.parquet import open_parquet


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_several_files(tmp_path: Path, name: str) -> None:
    check(tmp_path, FILES[name], BOTH)


@pytest.mark.parametrize("cells", [1, 10, 23])
def test_passes_cross_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    """Down to one row a pass."""
    monkeypatch.setattr(polars_units, "PART_ROWS", cells)
    check(tmp_path, [MIXED, MIXED.slice(0, 0), MIXED.slice(1, 1), MIXED.slice(2)], BOTH)


def test_enums_of_different_files(tmp_path: Path) -> None:
    domain = declared({"label": LABEL, "attributes": {"x": {"values": ["a", "b"]}}})
    files = [tmp_path / "1.parquet", tmp_path / "2.parquet", tmp_path / "3.parquet"]
    for file, type_ in zip(files, [pl.Enum(["a"]), pl.Enum(["b", "a"]), pl.String], strict=True):
        pl.DataFrame({"x": pl.Series(["a"], dtype=type_), "y": ["no"]}).write_parquet(file)
    source = open_parquet(files, domain)
    for aggregate in ENGINES.values():
        assert counts_of(aggregate(source, domain)) == {(None, 0, 0): 3, ("x", 0, 0): 3}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["a[1]", "[", "a*", "a?", "a]b", "{x,y}", "it's", 'a"b', "a b", "日本", "a;b", "x%20y", "age=7", "a#b"]
)
def test_file_names(tmp_path: Path, name: str) -> None:
    """A name stands for one file, whatever else it would match as a pattern."""
    domain = declared(BOTH)
    folder = tmp_path / f"age=3,{name}"
    folder.mkdir()
    for decoy in ("a1", "ab", "x", "y"):
        pq.write_table(MIXED.slice(0, 1), folder / f"{decoy}.parquet")
    pq.write_table(MIXED, folder / f"{name}.parquet")
    source = open_parquet([folder / f"{name}.parquet"], domain)
    for aggregate in ENGINES.values():
        assert counts_of(aggregate(source, domain)) == expected_counts(MIXED.to_pylist(), domain)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("compression", ["zstd", "snappy", "none"])
def test_damaged_pages(tmp_path: Path, capfd: pytest.CaptureFixture[str], engine: str, compression: str) -> None:
    """A whole footer over damaged pages: an error that names the file and quotes nothing of it."""
    table = labelled(
        secret=pa.array([f"SECRET{position % 3}" for position in range(20_000)]),
        wage=pa.array([777.0 + position for position in range(20_000)]),
    )
    file = tmp_path / "census.parquet"
    pq.write_table(table, file, row_group_size=5000, compression=compression)
    content = bytearray(file.read_bytes())
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    content[footer // 4 : footer - 100] = b"\xa5" * (footer - 100 - footer // 4)
    file.write_bytes(content)
    domain = declared(
        {
            "label": LABEL,
            "attributes": {"secret": {"values": ["SECRET1"]}, "wage": {"lower": 0, "upper": 100, "step": 1}},
        }
    )
    with pytest.raises(DataError, match=r"census\.parquet: cannot be read to the end") as caught:
        ENGINES[engine](open_parquet([file], domain), domain)
    assert caught.value.exit_code == 65
    assert caught.value.__cause__ is None
    for text in (str(caught.value), *capfd.readouterr()):
        assert "SECRET" not in text
        assert "777" not in text


def test_a_file_that_vanishes(tmp_path: Path) -> None:
    domain = declared(BOTH)
    (file,) = written(tmp_path, [MIXED])
    source = open_parquet([file], domain)
    file.unlink()
    for aggregate in ENGINES.values():
        with pytest.raises(DataError, match="cannot be read to the end"):
            aggregate(source, domain)


MEMORY_SCRIPT = """
from dpnb_columnar.counting.engines import local
from dpnb_columnar.counting.statistics import CellQuery
from dpnb_columnar.domain import read_domain
from dpnb_columnar.rows.parquet import open_parquet

numeric = {f"n{position}": {"lower": 0, "upper": 100, "step": 1} for position in range(1, 4)}
categorical = {f"c{position}": {"values": list(range(9))} for position in range(3)}
label = {"condition": "n0 > 50", "classes": ["no", "yes"]}
domain = read_domain("memory", {"label": label, "attributes": numeric | categorical}, "")
local.answer(open_parquet([Path(sys.argv[1])], domain), CellQuery(domain))
"""
BLOCK_ROWS, FEW_BLOCKS, MANY_BLOCKS = 250_000, 30, 60  # few enough to be quick, enough to fill every buffer


@pytest.mark.slow
def test_memory_does_not_follow_rows(tmp_path: Path) -> None:
    """7.5 million rows more, of 56 bytes: held in memory they would be 400 MiB."""
    random = np.random.default_rng(1)
    columns = {f"n{position}": random.uniform(0, 100, BLOCK_ROWS) for position in range(4)}
    columns |= {f"c{position}": random.integers(0, 9, BLOCK_ROWS) for position in range(3)}
    block = pa.table(columns)
    files = [tmp_path / "few.parquet", tmp_path / "many.parquet"]
    for file, blocks in zip(files, (FEW_BLOCKS, MANY_BLOCKS), strict=True):
        with pq.ParquetWriter(file, block.schema, compression="lz4") as writer:
            for _ in range(blocks):
                writer.write_table(block)
    few, many = (peak(MEMORY_SCRIPT, file) for file in files)
    assert many - few < 250
