"""Training times against the number of rows: this program's two searches, and the paper's direct one."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from fractions import Fraction
from pathlib import Path

from dpnb_columnar.budget import Budget
from dpnb_columnar.counting.engines.local import aggregate
from dpnb_columnar.counting.find_domain import find_domain
from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.mechanisms.release import release
from dpnb_columnar.noise import ExactSampler, SeededBits
from dpnb_columnar.rows.parquet import open_parquet
from dpnb_columnar.simulate import simulate_census
from dpnb_columnar.study.reproduce.direct_search import direct_sensitivities
from dpnb_columnar.study.reproduce.plan import Runtime
from dpnb_columnar.study.reproduce.work import Row

Timing = tuple[str, int, int]
"""Method, number of rows, and repetition."""

BUDGET = Budget(Fraction(1))
SEED = 1940
TIMED = ("smooth", "global")
"""Mechanisms that are timed."""

DIRECT = "direct search"
"""The sensitivities of ``smooth`` by the paper's direct search. What else a release does is not counted."""


def timings(runtime: Runtime) -> list[Timing]:
    """Everything that is timed, in order."""
    pairs = [(method, rows) for rows in runtime.rows for method in TIMED]
    pairs += [(DIRECT, rows) for rows in runtime.rows if rows <= runtime.largest_direct]
    return [(*pair, repetition) for pair in pairs for repetition in range(runtime.repetitions)]


def measure(wanted: Collection[Timing]) -> Iterator[Row]:
    """Time some of the ``timings`` on simulated censuses.

    Yields:
        Besides method, rows and repetition: ``seconds`` from the Parquet file to the model (or the sensitivities), and
        ``release_seconds`` from the counts on.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "census.parquet"
        for number in sorted({rows for _, rows, _ in wanted}):
            simulate_census(file, rows=number, seed=SEED, overwrite=True)
            here = [timing for timing in wanted if timing[1] == number]
            for method in dict.fromkeys(method for method, _, _ in here):
                _timed(file, method)  # what is loaded and calibrated once is not counted
            for method, rows, repetition in here:
                seconds, release_seconds = _timed(file, method)
                yield {
                    "rows": rows,
                    "method": method,
                    "repetition": repetition,
                    "seconds": seconds,
                    "release_seconds": release_seconds,
                }


def _timed(file: Path, method: str) -> tuple[float, float]:
    """Seconds from the file, and from the counts."""
    domain = find_domain([file]).domain
    start = time.perf_counter()
    statistics = aggregate(open_parquet([file], domain), domain)
    counted = time.perf_counter()
    _work(method)(statistics)
    end = time.perf_counter()
    return end - start, end - counted


def _work(method: str) -> Callable[[Statistics], object]:
    if method == DIRECT:
        return lambda statistics: direct_sensitivities(statistics, BUDGET)
    return lambda statistics: release(statistics, BUDGET, method, None, ExactSampler(SeededBits(SEED)))
