"""Trimmed mean and variance of a column of codes, as exact rational numbers (docs/privacy.md, section 4)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpnb_columnar.sensitivity.column import RunLengthColumn, between_ranks

EXACT_BITS = 62
"""Sums proven to stay below 2**62 are taken in 64-bit integers; beyond that, in Python's unbounded ones."""


def trimmed_mean(column: RunLengthColumn, trim: int) -> Fraction:
    """Mean of the window that is left when ``trim`` values are cut from each end, in codes."""
    window = between_ranks(column, trim, column.size - trim)
    return Fraction(_power_sum(window, 1), window.size)


def trimmed_variance(column: RunLengthColumn, trim: int) -> Fraction:
    """Variance of the same window (divisor w, its size), in squared codes: (w * sum(q^2) - sum(q)^2) / w^2."""
    window = between_ranks(column, trim, column.size - trim)
    size = window.size
    return Fraction(size * _power_sum(window, 2) - _power_sum(window, 1) ** 2, size * size)


def _power_sum(column: RunLengthColumn, power: int) -> int:
    """Exact sum of count * code**power."""
    largest = int(column.codes[-1]) if len(column.codes) else 0
    # Every partial sum is at most n * largest**power, so this bound rules out overflow.
    if (column.size * largest**power).bit_length() <= EXACT_BITS:
        return int(np.dot(column.codes**power, column.counts))
    return int(np.dot(column.codes.astype(object) ** power, column.counts.astype(object)))
