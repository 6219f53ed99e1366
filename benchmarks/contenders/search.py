"""Both smooth sensitivities of one column: of the trimmed mean, and the bound for the trimmed variance.

Usage: python -m benchmarks.contenders.search SIZE GRID runs|distances

``runs`` is this program's search. ``distances`` goes by the definitions (docs/privacy.md, section 4): every distance k
from 0 to n, and for each every way to divide it between the two ends, or every value within the window. That is the
search the paper describes, O(n^2) from a sorted column, written with arrays so that the time of Python's loops does
not count.
"""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt

from benchmarks.contenders.inside import print_seconds
from dpnb_columnar.core.sensitivity import RunLengthColumn, mean_smooth_sensitivity, variance_smooth_bound

BETA = 0.1
REPETITIONS = 5

Codes = npt.NDArray[np.int64]


def mean_by_distances(codes: Codes, trim: int, cells: int, beta: float) -> float:
    """Search the smooth sensitivity of the trimmed mean: max over k and l of exp(-beta k) (b - a) / w."""
    size, window = len(codes), len(codes) - 2 * trim
    value = _Ranks(codes, cells)
    largest = 0.0
    for distance in range(size + 1):
        left = trim + 1 - np.arange(distance + 2)
        widths = value(left + size - 2 * trim + distance) - value(left)
        largest = max(largest, float(np.exp(-beta * distance) * widths.max()))
    return largest / window


def variance_by_distances(codes: Codes, trim: int, cells: int, beta: float) -> float:
    """Search the smooth bound of the trimmed variance.

    It is the max over k of exp(-beta k) (w-1)/w^2 max((B - M-)^2, (M+ - A)^2).
    """
    size, window = len(codes), len(codes) - 2 * trim
    value = _Ranks(codes, cells)
    others = np.arange(trim + 1, size - trim)
    largest = 0.0
    for distance in range(size + 1):
        lower, upper = value(others - distance).mean(), value(others + 1 + distance).mean()
        above = value(np.array([size - trim + 1 + distance]))[0] - lower
        below = upper - value(np.array([trim - distance]))[0]
        largest = max(largest, float(np.exp(-beta * distance) * max(above, below) ** 2))
    return largest * (window - 1) / window**2


class _Ranks:
    """Sorted values by rank, counted from 1, with the domain's bounds beyond the ends."""

    def __init__(self, codes: Codes, cells: int) -> None:
        self._codes = np.concatenate([[0], codes, [cells]])

    def __call__(self, ranks: Codes) -> Codes:
        return self._codes[np.clip(ranks, 0, len(self._codes) - 1)]


def main(size: int, grid: int, method: str) -> None:
    """Search the column of ``size`` values in a bell on the grid, a twentieth trimmed from each end."""
    generator = np.random.default_rng(size)
    drawn = np.sort(np.clip(np.rint(generator.normal(0.5, 0.15, size) * grid), 0, grid).astype(np.int64))
    trim = size // 20
    if method == "distances":
        print_seconds(
            lambda: [search(drawn, trim, grid, BETA) for search in (mean_by_distances, variance_by_distances)]
        )
        return
    column = RunLengthColumn(*np.unique(drawn, return_counts=True))
    searches = (mean_smooth_sensitivity, variance_smooth_bound)
    print_seconds(lambda: [search(column, trim, grid, BETA) for search in searches], REPETITIONS)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
