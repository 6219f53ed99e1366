"""Files of an author who is not trusted: views, and texts of any length, take no memory and reach no server."""

from __future__ import annotations

import re
import socket
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
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

from dpnb_columnar.rows import databases, parquet
from dpnb_columnar.rows.databases import CONFINED
from dpnb_columnar.runtime import resources

CATALOGUE = """[people]
title = "People"
[people.label]
column = "income"
classes = ["low", "high"]
[people.attributes.age]
lower = 0
upper = 90
[people.attributes.job]
values = ["clerk", "farmer"]
"""

OPTIONS = ("--dataset", "people", "--epsilon", "1", "--mechanism", "histogram", "--attribute-weights", "none")


@pytest.fixture
def declared(folder: Path) -> Path:
    """A working directory with the catalogue."""
    (folder / "datasets.toml").write_text(CATALOGUE, encoding="utf-8")
    return folder


def sqlite_file(path: Path, view: str = "") -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE people (age INTEGER, job TEXT, income TEXT)")
        rows = [(each % 90, "clerk", ("low", "high")[each % 2]) for each in range(200)]
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
        if view:
            connection.execute(f"CREATE VIEW large AS SELECT age, {view} AS job, income FROM people")
        connection.commit()


@pytest.mark.parametrize("view", ["zeroblob(90000000)", "hex(zeroblob(40000000))"])
def test_a_value_of_a_sqlite_view_is_not_made_larger_than_the_machine_bears(
    view: str, declared: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "machine_memory", lambda: 2**30)
    sqlite_file(declared / "people.sqlite", view)
    ended = run("train", "people.sqlite", "--table", "large", *OPTIONS, expected=65)
    assert "people.sqlite: a value is longer than is read with the memory of this machine; read it on one" in ended.err


def test_columns_that_are_read_whole_share_a_sixteenth_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    for memory, longest in ((0, 10**9), (2**20, 2**20), (2**30, 2**26), (2**40, 10**9)):
        monkeypatch.setattr(databases, "machine_memory", lambda memory=memory: memory)
        assert [databases.longest_value(whole) for whole in (0, 1)] == [longest] * 2
    assert databases.longest_value(1000) == 2**36 // 1000


def test_large_rows_come_in_small_batches_and_count_as_others_do(tmp_path: Path) -> None:
    """16,384 rows of a megabyte are 16 GiB of objects, if they come at once."""
    sqlite_file(tmp_path / "people.sqlite", "zeroblob(1000000)")
    with closing(sqlite3.connect(tmp_path / "people.sqlite")) as connection:
        cursor, sizes = connection.execute("SELECT * FROM large"), []
        while rows := databases._rows_of_batch(cursor):
            sizes.append(len(rows))
    assert sum(sizes) == 200
    assert max(sizes) == -(-databases.BATCH_BYTES // 1_000_000)


@pytest.mark.parametrize(
    ("was", "becomes"), [(b"job TEXT", b"j\xf6b TEXT"), (b"CREATE TABLE people", b"CREATE TABLE peop\xffe")]
)
def test_a_sqlite_schema_that_is_not_utf8_is_a_fault_of_the_file(
    was: bytes, becomes: bytes, declared: Path, run: Run
) -> None:
    sqlite_file(declared / "people.sqlite")
    content = (declared / "people.sqlite").read_bytes()
    (declared / "people.sqlite").write_bytes(content.replace(was, becomes))
    ended = run("train", "people.sqlite", "--table", "people", *OPTIONS, expected=65)
    assert ended.err.startswith("dpnb-columnar: people.sqlite: ")


def test_duckdb_has_a_part_of_the_memory_alone(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")

    def limit(config: dict[str, object]) -> float:
        with duckdb.connect(":memory:", config=config) as connection:
            number, unit = connection.execute("SELECT current_setting('max_memory')").fetchone()[0].split()
            return float(number) * {"MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40}[unit]

    assert limit({"max_memory": CONFINED["max_memory"]}) < limit({}) / 3  # by itself it takes 80 %


@pytest.mark.slow
def test_a_list_of_a_duckdb_view_does_not_fill_the_machine(declared: Path, run: Run) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(declared / "people.duckdb") as connection:
        connection.execute(
            "CREATE VIEW large AS SELECT 1 AS age, list(number)::TEXT AS job, 'low' AS income "
            "FROM range(3000000000) AS numbers (number)"
        )
    ended = run("train", "people.duckdb", "--table", "large", *OPTIONS, expected=71)
    assert "memory does not suffice" in ended.err


@pytest.fixture
def server() -> Iterator[tuple[str, list[str]]]:
    """An address on this machine, and who has connected to it."""
    connected: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            while True:
                try:
                    client, address = listening.accept()
                except OSError:
                    return
                connected.append(address[0])
                client.close()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}", connected
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(10)


@pytest.mark.parametrize(
    "reads",
    [
        "read_csv('http://{}/rows.csv')",
        "read_parquet('http://{}/rows.parquet')",
        "'http://{}/rows.parquet'",
        "read_text('http://{}/rows')",
        "read_csv('s3://bucket/rows.csv')",
    ],
)
def test_a_duckdb_file_connects_to_nobody(
    reads: str, server: tuple[str, list[str]], declared: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by httpfs nor to fetch it. Without the settings DuckDB asks for the extension: it may not even be stored
    in a view of a file while it is missing, so the query reads what such a view would."""
    duckdb = pytest.importorskip("duckdb")
    address, connected = server
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, f"http://{address}")  # whatever asks any server asks this one
    with duckdb.connect(declared / "people.duckdb") as connection:
        connection.execute("CREATE TABLE people AS SELECT 1 AS age, 'clerk' AS job, 'low' AS income")
    query = f"SELECT * FROM {reads.format(address)}"
    (declared / "far.sql").write_text(query, encoding="utf-8")
    ended = run("release", "people.duckdb", "--query", "far.sql", "--output", "m.json", *OPTIONS, expected=65)
    assert "people.duckdb: " in ended.err
    assert connected == []
    with duckdb.connect(declared / "people.duckdb", config={"extension_directory": str(declared)}) as connection:
        connection.execute("SET autoinstall_known_extensions = true; SET autoload_known_extensions = true")
        with pytest.raises(duckdb.Error):
            connection.execute(query)
    assert connected  # so this test would notice


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
    monkeypatch.setattr(resources, "GROUPS", tmp_path / "v2")
    monkeypatch.setattr(resources, "OWN_GROUP", tmp_path / "none")
    machine = resources.machine_memory.__wrapped__()
    monkeypatch.setattr(resources, "OWN_GROUP", tmp_path / "own")
    assert resources.machine_memory.__wrapped__() == (limit or machine)
