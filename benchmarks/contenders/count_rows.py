"""Counting the rows of a file as ``train`` does, or without one of the steps that make it fast.

Usage: python -m benchmarks.contenders.count_rows DATA STEP
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from benchmarks.contenders.timed import print_seconds
from dpnb_columnar.counting.engines import duckdb, local, polars
from dpnb_columnar.counting.find_domain import find_domain
from dpnb_columnar.counting.statistics import Statistics, assemble
from dpnb_columnar.domain import Domain
from dpnb_columnar.rows import cell_codes
from dpnb_columnar.rows.parquet import ParquetSource, open_parquet, resolve_files

Count = Callable[[ParquetSource, Domain], Statistics]


def two_engines(source: ParquetSource, domain: Domain) -> Statistics:
    """A scan for numbers in Polars, and one for categories in DuckDB; each filters by all attributes."""
    tables = duckdb.count_cells(source, domain, domain.categorical, classes=True)
    return assemble(domain, [*tables, *polars.count_cells(source, domain, domain.numeric, classes=False)])


def duckdb_alone(source: ParquetSource, domain: Domain) -> Statistics:
    """One scan in DuckDB, with a grouping set for each attribute."""
    return assemble(domain, duckdb.count_cells(source, domain, domain.attributes, classes=True))


def rules_for_each_row() -> Count:
    """Codes are computed, not looked up."""
    cell_codes.MOST_LOOKED_UP = -1
    return local.aggregate


def groups_of_parts() -> Count:
    """Each part of the rows is grouped, no cell has a counter."""
    polars.MOST_COUNTERS = -1
    return local.aggregate


STEPS: dict[str, Callable[[], Count]] = {
    "all": lambda: local.aggregate,
    "lookups": rules_for_each_row,
    "counters": groups_of_parts,
    "one-engine": lambda: two_engines,
    "polars": lambda: duckdb_alone,
}


def main(data: str, step: str) -> None:
    """Time counting, libraries loaded before."""
    files = resolve_files([data])
    domain = find_domain(files).domain
    source, count = open_parquet(files, domain), STEPS[step]()
    print_seconds(lambda: count(source, domain))


if __name__ == "__main__":
    main(*sys.argv[1:])
