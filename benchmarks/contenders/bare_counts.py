"""The least that reading and counting cost: no row is left out and no code checked.

Usage: python -m benchmarks.contenders.bare_counts scan|polars|duckdb CENSUS.parquet

``scan`` sums every column, streamed by Polars. ``polars`` and ``duckdb`` count rows by class and value of every
attribute. Each loads its own library alone.
"""

from __future__ import annotations

import sys

LABEL, THRESHOLD = "INCWAGE", 1000


def scan(census: str) -> None:
    """Sum every column in Polars, streamed."""
    import polars as pl

    pl.scan_parquet(census).select(pl.all().sum()).collect(engine="streaming")


def count_in_polars(census: str) -> None:
    """Count in Polars, streamed, one query per attribute, collected together."""
    import polars as pl

    rows = pl.scan_parquet(census)
    over = (pl.col(LABEL) > THRESHOLD).alias("class")
    attributes = [name for name in rows.collect_schema().names() if name != LABEL]
    pl.collect_all([rows.group_by(over, name).len() for name in attributes], engine="streaming")


def count_in_duckdb(census: str) -> None:
    """Count in DuckDB with grouping sets; a union of one query per attribute took longer from ten million rows on."""
    import duckdb

    rows = duckdb.read_parquet(census)
    attributes = [name for name in rows.columns if name != LABEL]
    sets = ", ".join(f"(class, {name})" for name in attributes)
    counted = rows.aggregate(
        f"{LABEL} > {THRESHOLD} AS class, {', '.join(attributes)}, count(*)", f"GROUPING SETS ({sets})"
    )
    counted.fetchall()


if __name__ == "__main__":
    {"scan": scan, "polars": count_in_polars, "duckdb": count_in_duckdb}[sys.argv[1]](sys.argv[2])
