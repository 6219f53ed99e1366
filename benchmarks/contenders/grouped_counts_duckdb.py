"""The least that counting costs in DuckDB: rows by class and value of every attribute, as grouping sets.

Usage: python -m benchmarks.contenders.grouped_counts_duckdb CENSUS

No row is left out and no code checked. A union of one query per attribute took longer from ten million rows on.
"""

from __future__ import annotations

import sys

import duckdb

LABEL, THRESHOLD = "INCWAGE", 1000

if __name__ == "__main__":
    rows = duckdb.read_parquet(sys.argv[1])
    attributes = [name for name in rows.columns if name != LABEL]
    sets = ", ".join(f"(class, {name})" for name in attributes)
    counted = rows.aggregate(
        f"{LABEL} > {THRESHOLD} AS class, {', '.join(attributes)}, count(*)", f"GROUPING SETS ({sets})"
    )
    counted.fetchall()
