"""Database files whose author is not trusted: a view in them may ask for all of memory, or for somebody's server."""

from __future__ import annotations

import socket
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from dpnb_columnar.rows.databases import CONFINED
from support.running import Run

from dpnb_columnar.rows import databases as sqlite_query

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
    monkeypatch.setattr(sqlite_query, "machine_memory", lambda: 2**30)
    sqlite_file(declared / "people.sqlite", view)
    ended = run("train", "people.sqlite", "--table", "large", *OPTIONS, expected=65)
    assert "people.sqlite: a value is longer than is read with the memory of this machine; read it on one" in ended.err


def test_columns_that_are_read_whole_share_a_sixteenth_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    for memory, longest in ((0, 10**9), (2**20, 2**20), (2**30, 2**26), (2**40, 10**9)):
        monkeypatch.setattr(sqlite_query, "machine_memory", lambda memory=memory: memory)
        assert [sqlite_query.longest_value(whole) for whole in (0, 1)] == [longest] * 2
    assert sqlite_query.longest_value(1000) == 2**36 // 1000


def test_large_rows_come_in_small_batches_and_count_as_others_do(tmp_path: Path) -> None:
    """16,384 rows of a megabyte are 16 GiB of objects, if they come at once."""
    sqlite_file(tmp_path / "people.sqlite", "zeroblob(1000000)")
    with closing(sqlite3.connect(tmp_path / "people.sqlite")) as connection:
        cursor, sizes = connection.execute("SELECT * FROM large"), []
        while rows := sqlite_query._rows_of_batch(cursor):
            sizes.append(len(rows))
    assert sum(sizes) == 200
    assert max(sizes) == -(-sqlite_query.BATCH_BYTES // 1_000_000)


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
