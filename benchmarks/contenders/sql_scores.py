"""Scores rows by the query that ``dpnb-columnar sql`` has written for DuckDB.

Usage: python -m benchmarks.contenders.sql_scores QUERY.sql CENSUS.parquet OUTPUT.parquet

The query reads the table ``census``. Of its columns, those of ``dpnb-columnar predict`` are written as it writes them:
compressed by zstd's first level, and probabilities without a dictionary, which DuckDB would try to make of them.
"""

from __future__ import annotations

import sys
from pathlib import Path

WRITTEN = "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, DICTIONARY_SIZE_LIMIT 1000"


def score(query: str, census: str, output: str) -> None:
    """Write the scores of every row, in their order."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.read_parquet(census).create_view("census")
        written = Path(query).read_text(encoding="utf-8").strip().removesuffix(";")
        scores = f"SELECT COLUMNS('^(predicted|probability_.*|skipped)$') FROM ({written}\n)"
        connection.execute(f"COPY ({scores}) TO ? ({WRITTEN})", [output])


if __name__ == "__main__":
    score(*sys.argv[1:])
