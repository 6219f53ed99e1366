"""DuckDB and SQLite files that hold something else than rows: hostile values and views that are programs."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from random import Random

from hostile_values import hostile_text

COLUMNS = ("age", "hours", "sex", "income")
VALUES = (
    *("1", "-1", "NULL", "'x'", "1e308", "'NaN'::DOUBLE", "9223372036854775807", "[1, 2]", "{'a': 1}"),
    *("DATE '2020-01-01'", "INTERVAL 1 DAY", "'x'::BLOB", "1::HUGEINT", "1.5::DECIMAL(38, 3)"),
    *("TIMESTAMP '2020-01-01'", "gen_random_uuid()", "(SELECT content FROM read_text('/etc/passwd'))"),
    *("error('secret row')", "'abc'::INTEGER", "repeat('x', 1000000)", "map([1], [2])", "uuid()", "'101'::BIT"),
    *("true", "getenv('HOME')", "TIME '10:00:00'", "union_value(k := 1)"),
)
SOURCES = ("range(50)", "read_text('/etc/passwd')", "read_csv('/etc/passwd')", "glob('/etc/*')", "duckdb_settings()")


def mutated_duckdb(random: Random, content: bytes) -> bytes:
    import duckdb

    columns = []
    for name in COLUMNS:
        if random.random() < 0.9:
            named = hostile_text(random)[:200] if random.random() < 0.1 else name
            value = random.choice(VALUES) if random.random() < 0.4 else "'m'" if name in ("sex", "income") else "40"
            columns.append(
                f'{value} AS "{named.replace(chr(0), "").replace(chr(34), "")}x"'
                if named != name
                else f"{value} AS {name}"
            )
    made = (
        f"{random.choice(('VIEW', 'TABLE'))} person AS SELECT {', '.join(columns) or '1'} FROM {random.choice(SOURCES)}"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.duckdb"
        try:
            with duckdb.connect(path) as connection:
                connection.execute(f"CREATE {made}")
        except duckdb.Error:
            return content
        return path.read_bytes()


SQLITE_VALUES = (
    *("1", "-1", "NULL", "'x'", "1e308", "9e999", "-9e999", "9223372036854775807", "x'ff00'", "''", "'1e5'", "' 7 '"),
    *("zeroblob(1000)", "hex(zeroblob(1000))", "CAST(x'fffe' AS TEXT)", "char(0, 8238)", "1.5", "random()"),
    *("load_extension('/tmp/x.so')", "readfile('/etc/passwd')", "abs(-9223372036854775808)", "sqlite_version()"),
    *("(SELECT group_concat(name) FROM pragma_database_list)", "json('{')", "printf('%.*c', 100000, 'x')"),
)
TYPES = ("INTEGER", "TEXT", "REAL", "BLOB", "NUMERIC", "", "DECIMAL(38, 3)", "BOOLEAN", "anything at all")
SQLITE_SOURCES = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) SELECT {} FROM n",
    "SELECT {} FROM sqlite_master",
    "SELECT {} FROM pragma_function_list",
    "SELECT {} FROM person",
    "SELECT {} FROM gone",
    "SELECT {}",
)


def mutated_sqlite(random: Random, content: bytes) -> bytes:
    names, values = [], []
    for name in COLUMNS:
        if random.random() < 0.9:
            odd = random.random() < 0.1
            names.append(hostile_text(random)[:200].replace("\0", "") if odd else name)
            usual = "'m'" if name in ("sex", "income") else "40"
            values.append(random.choice(SQLITE_VALUES) if random.random() < 0.4 else usual)
    quoted = ['"' + name.replace('"', '""') + '"' for name in names] or ['"a"']
    select = random.choice(SQLITE_SOURCES).format(", ".join(values or ["1"]))
    declared = ", ".join(f"{name} {random.choice(TYPES)}" for name in quoted)
    made = (
        [f"CREATE VIEW person ({', '.join(quoted)}) AS {select}"]
        if random.random() < 0.5
        else [f"CREATE TABLE person ({declared})", f"INSERT INTO person {select}"]
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.sqlite"
        try:
            with closing(sqlite3.connect(path)) as connection:
                for statement in made:
                    connection.execute(statement)
                connection.commit()
        except (sqlite3.Error, UnicodeEncodeError):
            return content
        return path.read_bytes()
