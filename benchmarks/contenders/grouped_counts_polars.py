"""The least that counting costs in Polars: rows by class and value of every attribute, streamed and collected together.

Usage: python -m benchmarks.contenders.grouped_counts_polars CENSUS

No row is left out and no code checked.
"""

from __future__ import annotations

import sys

import polars as pl

LABEL, THRESHOLD = "INCWAGE", 1000

if __name__ == "__main__":
    rows = pl.scan_parquet(sys.argv[1])
    over = (pl.col(LABEL) > THRESHOLD).alias("class")
    attributes = [name for name in rows.collect_schema().names() if name != LABEL]
    pl.collect_all([rows.group_by(over, name).len() for name in attributes], engine="streaming")
