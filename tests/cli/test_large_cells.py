"""A text of any length fits into a file of a few kilobytes: what would take the memory of the machine is refused."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.memory import PEAK_MEBIBYTES
from support.patience import patience
from support.people import people, write_people
from support.running import Run
from support.writing_verbs import child

from dpnb_columnar.rows import parquet
from dpnb_columnar.runtime import resources as machine_memory

MEBIBYTE = 2**20
MEMORY = 64 * MEBIBYTE

ON_A_MACHINE = """
from dpnb_columnar.cli.main import exit_code
from dpnb_columnar.rows import parquet
memory = int(sys.argv.pop(1))
parquet.machine_memory = lambda: memory
code = exit_code(sys.argv[1:])
print(round(peak_mebibytes()))
sys.exit(code)
"""

READING = {
    "train": "train large.parquet --seed 1 --output new.json --overwrite",
    "aggregate": "aggregate large.parquet --output new.parquet --overwrite",
    "check": "check large.parquet",
    "evaluate": "evaluate people.model.json large.parquet",
    "predict": "predict people.model.json large.parquet --output new.parquet --overwrite",
    "suggest-domain": "suggest-domain large.parquet --output new.toml --overwrite",
    "split": "split large.parquet --train-output new.parquet --test-output test.parquet --overwrite",
}


def write_large(path: Path, *columns: str, size: int, groups: int = 1) -> None:
    """Write rows of people with one text of some bytes in each row group, in each of some columns."""
    large = pl.lit(pl.Series(["x" * size, *["f"] * 2999]))
    table = people(3000).with_columns(large.alias(column) for column in columns).to_arrow()
    table = table.replace_schema_metadata(pq.read_metadata(write_people(path)).metadata)
    with pq.ParquetWriter(path, table.schema, compression="zstd", write_statistics=False) as writer:
        for _ in range(groups):
            writer.write_table(table)


@pytest.fixture
def small(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a model, on a machine of 64 MiB."""
    write_people(folder / "people.parquet", people(3000))
    run("train", "people.parquet", "--seed", 7)
    monkeypatch.setattr(parquet, "machine_memory", lambda: MEMORY)
    return folder


@pytest.mark.parametrize("verb", READING)
def test_texts_that_would_take_the_memory_are_refused(verb: str, small: Path, run: Run) -> None:
    write_large(small / "large.parquet", "sex", size=9 * MEBIBYTE)
    assert (small / "large.parquet").stat().st_size < 2**14
    ended = run(*READING[verb].split(), expected=65)
    limit = MEMORY // 2 // (8 if verb == "split" else 4)
    assert re.search(r"large\.parquet: the texts of a row group \(.*'sex'.*\) are unpacked at once", ended.err)
    assert f"more than {limit} bytes, the most that is read with the memory of this machine" in ended.err
    assert ended.err.count("\n") == 1
    assert not [*small.glob("new.*")]


def test_many_row_groups_of_usual_texts_are_read(small: Path, run: Run) -> None:
    write_large(small / "large.parquet", "sex", size=3 * MEBIBYTE, groups=4)
    for verb in READING:
        run(*READING[verb].split())


@pytest.mark.slow
def test_a_refused_text_takes_no_memory_and_another_what_is_told(folder: Path) -> None:
    """One text of 300 MB, on machines on which it is more, and less, than is read."""
    write_large(folder / "large.parquet", "sex", size=300_000_000)
    for memory, code, most in ((2 * 2**30, 65, 300), (4 * 2**30, 0, 2048)):
        with child("-c", PEAK_MEBIBYTES + ON_A_MACHINE, str(memory), *READING["train"].split()) as process:
            out, err = process.communicate(timeout=patience())
        assert process.returncode == code, err
        assert int(out.splitlines()[-1]) < most


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["suggest-domain", "split"])
def test_a_text_that_rows_share_is_held_once(verb: str, folder: Path) -> None:
    """In the file one of 300 kB stands once for each of 3,000 rows; written out these are 900 MB."""
    shared = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 1500, pa.int8()), ["x" * 300_000, "y" * 300_000])
    with pq.ParquetWriter(
        "large.parquet", pa.schema({"a": shared.type, "b": pa.int64()}), store_schema=False
    ) as writer:
        writer.write_table(pa.table({"a": shared, "b": range(3000)}))
    with child("-c", PEAK_MEBIBYTES + ON_A_MACHINE, str(2**34), *READING[verb].split()) as process:
        out, err = process.communicate(timeout=patience())
    assert process.returncode == 0, err
    assert int(out.splitlines()[-1]) < 450
    if verb == "split":
        assert pq.read_metadata("new.parquet").num_rows + pq.read_metadata("test.parquet").num_rows == 3000


def test_a_column_that_is_not_read_may_have_any_texts(small: Path, run: Run) -> None:
    write_large(small / "large.parquet", "remarks", size=9 * MEBIBYTE)
    for verb in ("train", "aggregate", "check", "evaluate", "predict"):
        run(*READING[verb].split())
    assert "'remarks'" in run(*READING["split"].split(), expected=65).err


def test_texts_of_many_columns_count_together(small: Path, run: Run) -> None:
    write_large(small / "large.parquet", "sex", "income", size=5 * MEBIBYTE)
    run(*READING["train"].split(), expected=65)


def test_a_refusal_does_not_tell_which_column_is_long(small: Path, run: Run) -> None:
    told = set()
    for column in ("sex", "remarks"):
        write_large(small / "large.parquet", column, size=9 * MEBIBYTE)
        rows = pl.read_parquet(small / "large.parquet")
        if "remarks" not in rows.columns:
            rows = rows.with_columns(remarks=pl.lit("f"))
        rows.write_parquet(small / "large.parquet", compression="zstd")
        told.add(run(*READING["split"].split(), expected=65).err)
    assert len(told) == 1


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({"own": "0::/job", "v2/memory.max": "max\n", "v2/job/memory.max": "4194304\n"}, 4194304),
        ({"own": "0::/job", "v2/memory.max": "max\n"}, None),
        ({"own": "4:memory:/job\n0::/", "v2/memory/memory.limit_in_bytes": "9223372036854771712\n"}, None),
        ({"own": "4:memory:/job\n0::/", "v2/memory/memory.limit_in_bytes": "8192\n"}, 8192),
        ({"own": "4:cpu,memory:/a/b\n0::/", "v2/memory/a/memory.limit_in_bytes": "4096\n"}, 4096),
        ({}, None),
    ],
)
def test_the_memory_is_that_of_the_control_group(
    files: dict[str, str], limit: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(machine_memory, "GROUPS", tmp_path / "v2")
    monkeypatch.setattr(machine_memory, "OWN_GROUP", tmp_path / "none")
    machine = machine_memory.machine_memory.__wrapped__()
    monkeypatch.setattr(machine_memory, "OWN_GROUP", tmp_path / "own")
    assert machine_memory.machine_memory.__wrapped__() == (limit or machine)
