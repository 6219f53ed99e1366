"""DuckDB files that hold something else than rows."""

from __future__ import annotations

import tempfile
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
    """Another database: a view or table ``person`` of hostile columns."""
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
