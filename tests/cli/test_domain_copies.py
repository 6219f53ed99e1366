"""``dpnb-columnar domain edit``: a copy of a Parquet file that carries another domain."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest
from support.memory import PEAK_MEBIBYTES
from support.people import people, people_domain, spoil_rows
from support.running import Run

from dpnb_columnar.domain import Declaration, digest, document_of
from dpnb_columnar.domain.declaration import DOMAIN_KEY, domain_from_metadata, domain_metadata
from dpnb_columnar.rows import parquet
from dpnb_columnar.rows.parquet import read_metadata
from dpnb_columnar.rows.parquet_footer import with_metadata

FILE = "people.parquet"


def carried(path: str | Path) -> Declaration:
    """The domain that a file carries."""
    found = domain_from_metadata(read_metadata(Path(path)), str(path))
    assert found is not None
    return found


def test_a_copy_carries_the_new_domain_and_the_same_rows(folder: Path, run: Run) -> None:
    table = people(1000).with_columns(
        sex=pl.col("sex").cast(pl.Categorical), more=pl.lit(7, pl.UInt32), day=pl.lit("2020-02-02").str.to_date()
    )
    schema = table.to_arrow().schema
    metadata = {**domain_metadata(people_domain()), "note": "kept"}
    arrow = table.to_arrow().cast(schema).replace_schema_metadata(metadata)
    pq.write_table(arrow, FILE, row_group_size=300)
    run("domain", "edit", FILE, "--output", "new.parquet", "--bounds", "age=0:90", "--label", "hours > 30")
    before, after = pq.ParquetFile(FILE), pq.ParquetFile("new.parquet")
    assert after.schema_arrow == before.schema_arrow
    assert after.read().equals(before.read())
    assert [after.metadata.row_group(group).num_rows for group in range(4)] == [300, 300, 300, 100]
    assert after.schema_arrow.metadata[b"note"] == b"kept"
    domain = carried("new.parquet")
    assert digest(domain) != digest(carried(FILE))
    assert stat.S_IMODE(Path("new.parquet").stat().st_mode) == 0o600
    run("train", "new.parquet", "--epsilon", "1")


def test_a_copy_has_the_bytes_of_the_file(people_file: Path, run: Run) -> None:
    """No row is read: pages, and even what is damaged in them, are copied as they are."""
    for path in (people_file, spoil_rows(people_file)):
        content = path.read_bytes()
        pages = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
        run("domain", "edit", path, "--output", "new.parquet", "--drop", "age", "--overwrite")
        assert Path("new.parquet").read_bytes()[:pages] == content[:pages]
        assert [attribute.name for attribute in carried("new.parquet").attributes] == ["hours", "sex"]


def write_by_arrow(metadata: dict[str, str]) -> None:
    """With a schema of Arrow's, which holds the metadata once more."""
    pq.write_table(people(100).to_arrow().replace_schema_metadata(metadata), FILE)


def write_by_polars(metadata: dict[str, str]) -> None:
    """With a schema of Arrow's without the metadata."""
    people(100).write_parquet(FILE, metadata=metadata)


def write_by_duckdb(metadata: dict[str, str]) -> None:
    """With the metadata alone."""
    pairs = ", ".join(f"'{key}': '{value}'" for key, value in metadata.items())
    rows = people(100)
    duckdb.sql(f"COPY (FROM rows) TO '{FILE}' (KV_METADATA {{{pairs}}})")
    assert len(rows) == 100


@pytest.mark.parametrize("write", [write_by_arrow, write_by_polars, write_by_duckdb])
@pytest.mark.parametrize("others", [0, 20])
def test_every_reader_finds_the_new_domain(
    write: Callable[[dict[str, str]], None], others: int, folder: Path, run: Run
) -> None:
    metadata = {f"key {number}": str(number) for number in range(others)}
    write({**domain_metadata(people_domain()), **metadata})
    run("domain", "edit", FILE, "--output", "new.parquet", "--drop", "age")
    expected = {**metadata, DOMAIN_KEY: json.dumps({"name": "people", **document_of(carried("new.parquet"))})}
    by_arrow = {key.decode(): value.decode() for key, value in pq.read_schema("new.parquet").metadata.items()}
    pairs = dict(duckdb.sql("SELECT key, value FROM parquet_kv_metadata('new.parquet')").fetchall())
    by_duckdb = {key.decode(): value.decode() for key, value in pairs.items()}
    by_polars = pl.read_parquet_metadata("new.parquet")
    for found in (by_polars, by_duckdb, by_arrow):
        found.pop("ARROW:schema", None)
    assert by_polars == by_duckdb == expected
    assert by_arrow[DOMAIN_KEY] == expected[DOMAIN_KEY]
    assert "age" not in carried("new.parquet").columns
    assert pl.read_parquet("new.parquet").equals(people(100))
    assert pq.read_table("new.parquet").equals(pq.read_table(FILE))


def test_a_file_cut_while_it_is_copied_leaves_no_copy(
    people_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cutting(*arguments: Any) -> bytes:
        people_file.write_bytes(people_file.read_bytes()[:500])
        return with_metadata(*arguments)

    monkeypatch.setattr(parquet, "with_metadata", cutting)
    ended = run("domain", "edit", people_file, "--output", "new.parquet", "--drop", "age", expected=65)
    assert "people.parquet: was cut while it was copied" in ended.err
    assert not list(Path().glob("*new*"))


def test_a_file_cut_short_leaves_no_copy(people_file: Path, run: Run) -> None:
    people_file.write_bytes(people_file.read_bytes()[:500])
    ended = run("domain", "edit", people_file, "--output", "new.parquet", "--drop", "age", expected=65)
    assert "people.parquet" in ended.err
    assert not list(Path().glob("*new*"))


@pytest.mark.slow
def test_a_long_text_is_copied_in_little_memory(folder: Path) -> None:
    """A text of 100 MB, which takes four times as much to be read."""
    table = people(1).with_columns(note=pl.lit("x" * 10**8)).to_arrow()
    pq.write_table(table.replace_schema_metadata(domain_metadata(people_domain())), FILE)
    program = f"""{PEAK_MEBIBYTES}
from dpnb_columnar.cli.main import exit_code
code = exit_code(["domain", "edit", "people.parquet", "--drop", "age", "--output", sys.argv[1]])
print(code, peak_mebibytes())
"""
    peaks = []
    for output in ("entry.toml", "copy.parquet"):  # the first reads the footer alone
        ended = subprocess.run([sys.executable, "-c", program, output], capture_output=True, text=True, check=True)
        code, peak = ended.stdout.split()[-2:]
        assert code == "0"
        peaks.append(float(peak))
    assert peaks[1] < peaks[0] + 100
    assert pq.read_metadata("copy.parquet").num_rows == 1
