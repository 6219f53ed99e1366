"""Training times against the number of rows: this program's two searches, and the paper's direct search.

The direct search for smooth sensitivities works on sorted values, in time quadratic in their number. It exists to be
timed and to be compared with: its sensitivities are those of ``dpnb_columnar.core.sensitivity``.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Collection, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.core.budget import Budget, SharesRule
from dpnb_columnar.core.mechanisms.mechanism import on_scale
from dpnb_columnar.core.mechanisms.smooth_noise import smooth_noise
from dpnb_columnar.core.mechanisms.tuning import SMALLEST_SAMPLE, trim
from dpnb_columnar.core.noise import ExactSampler, SeededBits
from dpnb_columnar.core.queries.statistics import CellQuery, Statistics
from dpnb_columnar.core.sensitivity import RunLengthColumn, public_size, search_beta
from dpnb_columnar.counting import local
from dpnb_columnar.counting.find_domain import find_domain
from dpnb_columnar.releases.model_plan import ReleasePlan, release
from dpnb_columnar.releases.plan import plan
from dpnb_columnar.rows.parquet import open_parquet
from dpnb_columnar.simulation import simulate_census
from studies.paper.accuracy import Row
from studies.paper.experiments import Runtime

Floats = NDArray[np.float64]

Timing = tuple[str, int, int]
"""Method, number of rows, and repetition."""

BUDGET = Budget(Fraction(1), division=SharesRule.EQUAL)
SEED = 1940
TIMED = ("smooth", "global")
"""Mechanisms that are timed."""

DIRECT = "direct search"
"""The sensitivities of ``smooth`` by the paper's direct search. What else a release does is not counted."""


def timings(runtime: Runtime) -> list[Timing]:
    """List everything that is timed, in order."""
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
    statistics = local.answer(open_parquet([file], domain), CellQuery(domain))
    counted = time.perf_counter()
    if method == DIRECT:
        direct_sensitivities(statistics, plan(domain, BUDGET, "smooth"))
    else:
        release(statistics, plan(domain, BUDGET, method), ExactSampler(SeededBits(SEED)))
    end = time.perf_counter()
    return end - start, end - counted


def direct_sensitivities(statistics: Statistics, plan: ReleasePlan) -> dict[tuple[str, str], list[float]]:
    """Search for all sensitivities that a release by ``smooth`` needs, were the class counts released without noise.

    Args:
        statistics: Exact counts. Confidential.

    Returns:
        Per query and numeric attribute, one sensitivity per class, in codes or squared codes. Confidential.
    """
    shares = {(share.query, share.attribute): share for share in plan.shares}
    by_query = {}
    for attribute in statistics.domain.numeric:
        cells = attribute.scale.cells
        for query, search in (("mean", direct_mean_sensitivity), ("variance", direct_variance_bound)):
            share = shares[query, attribute.name]
            noise = smooth_noise(share.noise, share.row_cost)
            sensitivities, columns = [], statistics.columns[attribute.name]
            sizes = [max(column.size, SMALLEST_SAMPLE) for column in columns]
            for column, size in zip(columns, sizes, strict=True):
                values = sorted_values(public_size(on_scale(attribute, column), size, cells))
                cut = trim(size, noise, min(sizes))
                sensitivities.append(search(values, cut, cells, search_beta(noise.beta)))
            by_query[query, attribute.name] = sensitivities
    return by_query


def sorted_values(column: RunLengthColumn) -> Floats:
    """Expand a run-length column: one number per value, rising; shape (size,). Confidential."""
    return np.repeat(column.codes, column.counts).astype(np.float64)


def direct_mean_sensitivity(values: Floats, trim: int, cells: int, beta: float) -> float:
    """Search for the smooth sensitivity of the trimmed mean, over every distance k and every l in 0..k+1.

    Args:
        values: Shape (N,), rising, codes in ``0..cells``. Confidential.
        beta: Smoothness, positive.

    Returns:
        The maximum over k of exp(-beta k) max over l of (x_{N-m+1+k-l} - x_{m+1-l}) / (N - 2m), in codes, where x_i is
        0 for i < 1 and ``cells`` for i > N. Confidential.
    """
    size = len(values)
    # Position p of x holds x_{p - size}, so that every rank from -N - m to 2N has a place.
    x = np.concatenate([np.zeros(size + 1), values, np.full(size + 1, float(cells))])
    rank = size
    best = 0.0
    for distance in range(size + 1):
        first = rank + trim + 1 - distance - 1  # l = k + 1
        left = x[max(first, 0) : rank + trim + 2]  # x_{m-k} .. x_{m+1}
        right = x[rank + size - trim : rank + size - trim + len(left)]  # x_{N-m} .. x_{N-m+1+k}
        widest = float(np.max(right - left))
        best = max(best, math.exp(-beta * distance) * widest)
    return best / (size - 2 * trim)


def direct_variance_bound(values: Floats, trim: int, cells: int, beta: float) -> float:
    """Compute the smooth bound on the sensitivity of the trimmed variance, every mean summed up anew.

    Args:
        values: Shape (N,), rising, codes in ``0..cells``. Confidential.
        beta: Smoothness, positive.

    Returns:
        The maximum over k of exp(-beta k) times the bound that ``variance_smooth_bound`` states, in squared codes.
        Confidential.
    """
    size, window = len(values), len(values) - 2 * trim
    x = np.concatenate([np.zeros(size + 1), values, np.full(size + 1, float(cells))])
    rank = size
    best = 0.0
    for distance in range(size + 1):
        low, high = x[max(rank + trim - distance, 0)], x[min(rank + size - trim + 1 + distance, len(x) - 1)]
        smallest = _mean(x, rank + trim + 1 - distance, window - 1)
        largest = _mean(x, rank + trim + 2 + distance, window - 1)
        widest = max(high - smallest, largest - low)
        best = max(best, math.exp(-beta * distance) * widest * widest)
    return best * (window - 1) / window**2


def _mean(x: Floats, first: int, count: int) -> float:
    """Mean of ``count`` values from a position on; before the first there are zeros, beyond the last the bound."""
    start, end = max(first, 0), min(first + count, len(x))
    beyond = max(first + count - max(first, len(x)), 0)
    return float(x[start:end].sum() + beyond * x[-1]) / count
