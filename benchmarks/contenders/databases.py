"""A simulated census as a table of a database: the least that counting it there costs, and what a server's part is.

Usage:
    python -m benchmarks.contenders.databases duckdb CENSUS.parquet TABLE.duckdb
    python -m benchmarks.contenders.databases bare TABLE.duckdb
    python -m benchmarks.contenders.databases served CENSUS.parquet train OPTION...
    python -m benchmarks.contenders.databases served CENSUS.parquet bare

``duckdb`` writes the table. ``bare`` counts rows by class and value of every attribute in one query. ``served`` starts
a PostgreSQL server of its own on loopback, writes the table, and runs this program, or the bare query by the server's
own client. It prints the seconds of that alone as JSON, processor seconds of the client and of all processes of the
server, and the client's memory. The server is the one of the tests, and so needs their extra, and Linux.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from benchmarks.contenders.bare_counts import LABEL, THRESHOLD
from benchmarks.processes import PROGRAM, ROOT, contender, measured

TABLE = "census"
TICK = os.sysconf("SC_CLK_TCK")


def write_duckdb(census: str, output: str) -> None:
    """Write the rows of a Parquet file as a table of a DuckDB file."""
    import duckdb

    partial = Path(f"{output}.partial")
    partial.unlink(missing_ok=True)
    with duckdb.connect(partial) as connection:
        connection.read_parquet(census).create(TABLE)
    partial.replace(output)


def bare_query(columns: Sequence[str]) -> str:
    """Write the query that counts rows by class and value of every attribute."""
    attributes = [f'"{name}"' for name in columns if name != LABEL]
    sets = ", ".join(f"(class, {name})" for name in attributes)
    rows = f'SELECT *, "{LABEL}" > {THRESHOLD} AS class FROM {TABLE}'
    return f"SELECT class, {', '.join(attributes)}, count(*) FROM ({rows}) AS rows GROUP BY GROUPING SETS ({sets})"


def count_in_duckdb(file: str) -> None:
    """Count the table of a DuckDB file."""
    import duckdb

    with duckdb.connect(file, read_only=True) as connection:
        connection.execute(bare_query(connection.table(TABLE).columns)).fetchall()


def serve(census: str, what: str, *options: str) -> None:
    """Run a client of a server that has the table, and print its seconds and the server's."""
    sys.path.insert(0, str(ROOT / "tests"))
    from support.servers import binaries, postgres_server

    with postgres_server() as server:
        os.environ["PGPASSWORD"] = server.password
        loaded = json.loads(measured(contender("databases", "load", census, server.uri)).printed)
        command: Sequence[str] = (*PROGRAM, "train", server.uri, "--table", TABLE, *options)
        if what == "bare":
            query = bare_query(loaded["columns"])
            command = (f"{binaries()}/psql", server.uri, "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--command", query)
        before = _served(loaded["postmaster"])
        client = measured(command)
        while (after := _served(loaded["postmaster"])).children - before.children:  # what served it has not ended yet
            time.sleep(0.01)
    served = after.seconds - before.seconds
    cpu_seconds = client.cpu_seconds + served
    print(json.dumps({"seconds": client.seconds, "cpu_seconds": cpu_seconds, "peak_mib": client.peak_mib}))


def load(census: str, uri: str) -> None:
    """Write the rows of a Parquet file as a table of a server; print its columns and the server's first process."""
    import pyarrow.parquet as pq
    from adbc_driver_postgresql import dbapi

    rows = pq.read_table(census)
    with dbapi.connect(uri, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest(TABLE, rows)
        cursor.execute(f"VACUUM (FREEZE, ANALYZE) {TABLE}")  # or the first to read it would write it
        cursor.execute("SELECT pg_backend_pid()")
        (backend,) = cursor.fetchall()[0]
        print(json.dumps({"columns": rows.column_names, "postmaster": _status(backend)[1]}))


class _Served(NamedTuple):
    """Processor seconds that a server has used so far, and its processes that have not ended.

    Those that have are counted by the one that started them.
    """

    seconds: float
    children: frozenset[int]


def _served(postmaster: int) -> _Served:
    seconds, children = 0, set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # has ended
            status = _status(int(process.name))
            if status[1] == postmaster:
                seconds += sum(status[11:13])
                children.add(int(process.name))
    seconds += sum(_status(postmaster)[11:15])  # last, or what ends in between would be missed
    return _Served(seconds / TICK, frozenset(children))


def _status(process: int) -> list[int]:
    """The fields of /proc/PID/stat behind the name: the second is the parent, the 12th to 15th are processor time."""
    state, *fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    return [ord(state), *map(int, fields)]


if __name__ == "__main__":
    part, *arguments = sys.argv[1:]
    {"duckdb": write_duckdb, "bare": count_in_duckdb, "served": serve, "load": load}[part](*arguments)
