"""The least that reading costs: the sum of every column, streamed.

Usage: python -m benchmarks.contenders.scan CENSUS
"""

from __future__ import annotations

import sys

import polars as pl

if __name__ == "__main__":
    pl.scan_parquet(sys.argv[1]).select(pl.all().sum()).collect(engine="streaming")
