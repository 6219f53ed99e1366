"""Parts of this program, timed inside a process after all libraries are loaded.

Usage:
    python -m benchmarks.contenders.inside count DATA.parquet all|lookups|counters|polars|duckdb|categories|numbers
    python -m benchmarks.contenders.inside pass DATA.parquet counts|scores|gradients
    python -m benchmarks.contenders.inside release STATISTICS.parquet

``count`` counts the rows of a file as ``train`` does (``all``), without one of the steps that make it fast, or by the
engine alone that ``train`` has for ``categories``, or for ``numbers``.
``pass`` reads the rows once: to count them, to count the scores by which weights are calibrated, or for a round of
learned weights. ``release`` goes from statistics in memory to the text of a model: sensitivities, noise, and
post-processing.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from dpnb_columnar.core.queries.statistics import CellQuery

if TYPE_CHECKING:
    from dpnb_columnar.core.queries.statistics import Cells, Statistics
    from dpnb_columnar.domain import Domain
    from dpnb_columnar.rows.parquet import ParquetSource

LOADING = {
    "label": {"column": "class", "classes": ["0", "1"]},
    "attributes": {"number": {"lower": 0, "upper": 1, "step": 1}, "kind": {"values": ["0", "1"]}},
}
"""Domain of the rows that are released first, so that every library is loaded."""


def print_seconds(part: Callable[[], object], repetitions: int = 1) -> None:
    """Run a part and print its wall and processor seconds as JSON, medians if it is repeated."""
    seconds, cpu_seconds = [], []
    for _ in range(repetitions):
        start, cpu_start = time.perf_counter(), time.process_time()
        part()
        seconds.append(time.perf_counter() - start)
        cpu_seconds.append(time.process_time() - cpu_start)
    print(json.dumps({"seconds": statistics.median(seconds), "cpu_seconds": statistics.median(cpu_seconds)}))


def time_count(data: str, step: str) -> None:
    """Time counting."""
    from dpnb_columnar.counting import local
    from dpnb_columnar.counting.find_domain import find_domain
    from dpnb_columnar.rows import row_rules
    from dpnb_columnar.rows.input_files import resolve_files
    from dpnb_columnar.rows.parquet import open_parquet

    files = resolve_files([data])
    domain = find_domain(files).domain
    source = open_parquet(files, domain)
    if step == "lookups":
        row_rules.MOST_LOOKED_UP = -1  # codes are computed for each row
    elif step == "counters":
        local.MOST_COUNTERS = -1  # each part of the rows is grouped
    counts = {
        **{"polars": polars_alone, "duckdb": duckdb_alone},
        **{"categories": categories_in_duckdb, "numbers": numbers_in_polars},
    }
    count = counts.get(step, as_it_is)
    print_seconds(lambda: count(source, domain))


def as_it_is(source: ParquetSource, domain: Domain) -> Statistics:
    """Count as the program does."""
    from dpnb_columnar.counting import local

    return local.answer(source, CellQuery(domain))


def polars_alone(source: ParquetSource, domain: Domain) -> Statistics:
    """Scan once in Polars, with a counter for each cell."""
    from dpnb_columnar.core.queries.statistics import assemble
    from dpnb_columnar.counting import local

    return assemble(domain, local.count_cells(source, domain, domain.attributes, classes=True))


def duckdb_alone(source: ParquetSource, domain: Domain) -> Statistics:
    """Scan once in DuckDB, with a grouping set for each attribute."""
    from dpnb_columnar.core.queries.statistics import assemble
    from dpnb_columnar.counting import local

    return assemble(domain, local.count_by_duckdb(source, domain, domain.attributes))


def categories_in_duckdb(source: ParquetSource, domain: Domain) -> list[Cells]:
    """Count classes and categories as ``train`` does with large files."""
    from dpnb_columnar.counting import local

    return local.count_by_duckdb(source, domain, domain.categorical)


def numbers_in_polars(source: ParquetSource, domain: Domain) -> list[Cells]:
    """Count what ``categories_in_duckdb`` does not."""
    from dpnb_columnar.counting import local

    return local.count_cells(source, domain, domain.numeric, classes=False)


def time_pass(data: str, kind: str) -> None:
    """Time one pass over the rows, those after the first by a model of the rows."""
    from dpnb_columnar.core.budget import Budget
    from dpnb_columnar.core.noise import ExactSampler, SystemBits
    from dpnb_columnar.counting import local
    from dpnb_columnar.counting.find_domain import find_domain
    from dpnb_columnar.model.score_calibration import margins_given
    from dpnb_columnar.model.weight_rounds import start_rounds
    from dpnb_columnar.releases.model_plan import release
    from dpnb_columnar.releases.plan import plan
    from dpnb_columnar.rows.input_files import resolve_files
    from dpnb_columnar.rows.parquet import open_parquet

    files = resolve_files([data])
    domain = find_domain(files).domain
    source = open_parquet(files, domain)
    if kind == "counts":
        print_seconds(lambda: local.answer(source, CellQuery(domain)))
        return
    model = release(
        local.answer(source, CellQuery(domain)), plan(domain, Budget(Fraction(1))), ExactSampler(SystemBits())
    )
    if kind == "scores":
        scores = margins_given(model)
        print_seconds(lambda: local.answer(source, scores))
    else:
        query = start_rounds(model).query
        print_seconds(lambda: local.answer(source, query))


def time_release(statistics_file: str) -> None:
    """Time a release, after one of three rows whose shares of epsilon are others: nothing depends on them."""
    from dpnb_columnar.counting.answer_files import load_statistics

    counted = load_statistics(Path(statistics_file))
    released(three_rows(), Fraction(7, 3))
    print_seconds(lambda: released(counted, Fraction(1)))


def released(counted: Statistics, epsilon: Fraction) -> str:
    """Release the text of a model."""
    from dpnb_columnar.core.budget import Budget
    from dpnb_columnar.core.noise import ExactSampler, SystemBits
    from dpnb_columnar.model.document import to_document, to_json
    from dpnb_columnar.releases.model_plan import release
    from dpnb_columnar.releases.plan import plan

    return to_json(to_document(release(counted, plan(counted.domain, Budget(epsilon)), ExactSampler(SystemBits()))))


def three_rows() -> Statistics:
    """Count one row of the first class, two of the second."""
    import numpy as np

    from dpnb_columnar.core.queries.statistics import Cells, assemble
    from dpnb_columnar.domain.declaration import read_domain

    classes, codes, counts = (np.array(values, np.int64) for values in ([0, 1], [0, 1], [1, 2]))
    cells = [Cells(None, classes, np.zeros_like(codes), counts)]
    cells += [Cells(name, classes, codes, counts) for name in ("number", "kind")]
    return assemble(read_domain("loading", LOADING, "inside"), cells)


if __name__ == "__main__":
    part, *arguments = sys.argv[1:]
    {"count": time_count, "pass": time_pass, "release": time_release}[part](*arguments)
