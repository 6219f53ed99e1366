"""The paper's direct search for smooth sensitivities: over sorted values, in time quadratic in their number.

It is kept to be timed, and to be compared with: the sensitivities are those of ``dpnb_columnar.sensitivity``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.budget import Budget
from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.mechanisms.moments import on_scale
from dpnb_columnar.mechanisms.release import plan
from dpnb_columnar.mechanisms.smooth_noise import smooth_noise
from dpnb_columnar.mechanisms.tuning import SMALLEST_SAMPLE, trim
from dpnb_columnar.sensitivity import RunLengthColumn, public_size, searched_beta

Floats = NDArray[np.float64]


def direct_sensitivities(statistics: Statistics, budget: Budget) -> dict[tuple[str, str], list[float]]:
    """All sensitivities that a release by ``smooth`` needs, were the class counts released as they are.

    Args:
        statistics: Exact counts. Confidential.
        budget: What the release may spend.

    Returns:
        Per query and numeric attribute, one sensitivity per class, in codes or squared codes. Confidential.
    """
    shares = {(share.query, share.attribute): share for share in plan(statistics.domain, budget, "smooth")}
    found = {}
    for attribute in statistics.domain.numeric:
        cells = attribute.scale.cells
        for query, search in (("mean", direct_mean_sensitivity), ("variance", direct_variance_bound)):
            share = shares[query, attribute.name]
            noise = smooth_noise(share.noise, share.row_loss)
            sensitivities, columns = [], statistics.columns[attribute.name]
            sizes = [max(column.size, SMALLEST_SAMPLE) for column in columns]
            for column, size in zip(columns, sizes, strict=True):
                values = sorted_values(public_size(on_scale(attribute, column), size, cells))
                cut = trim(size, noise, min(sizes))
                sensitivities.append(search(values, cut, cells, searched_beta(noise.beta)))
            found[query, attribute.name] = sensitivities
    return found


def sorted_values(column: RunLengthColumn) -> Floats:
    """The column written out, one number per value, rising; shape (size,). Confidential."""
    return np.repeat(column.codes, column.counts).astype(np.float64)


def direct_mean_sensitivity(values: Floats, trim: int, cells: int, beta: float) -> float:
    """Smooth sensitivity of the trimmed mean: the maximum over every distance k and every l in 0..k+1.

    Args:
        values: Shape (N,), rising, codes in ``0..cells``. Confidential.
        trim: m values are cut from each end, N - 2m >= 1.
        cells: Largest code.
        beta: Smoothness, positive.

    Returns:
        The maximum over k of exp(-beta k) max over l of (x_{N-m+1+k-l} - x_{m+1-l}) / (N - 2m), in codes, where x_i is
        0 for i < 1 and ``cells`` for i > N.
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
    """The smooth bound on the sensitivity of the trimmed variance, every mean summed up anew.

    Args:
        values, trim, cells, beta: As above; N - 2m >= 2.

    Returns:
        The maximum over k of exp(-beta k) times the bound that ``variance_smooth_bound`` states, in squared codes.
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
