"""Trimmed mean and variance of a column of codes, as exact rational numbers (docs/privacy.md, section 4)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpnb_columnar.sensitivity.column import LIMB_BITS, Integers, RunLengthColumn, between_ranks, limbs


def trimmed_mean(column: RunLengthColumn, trim: int) -> Fraction:
    """Mean of the window that is left when ``trim`` values are cut from each end, in codes."""
    window = between_ranks(column, trim, column.size - trim)
    return Fraction(_power_sum(window, 1), window.size)


def trimmed_variance(column: RunLengthColumn, trim: int) -> Fraction:
    """Variance of the same window (divisor w, its size), in squared codes: (w * sum(q^2) - sum(q)^2) / w^2.

    The sums have up to 2 * 32 + 45 bits, the products 154: they are Python's integers, which have no end.
    """
    window = between_ranks(column, trim, column.size - trim)
    size = window.size
    return Fraction(size * _power_sum(window, 2) - _power_sum(window, 1) ** 2, size * size)


def _power_sum(column: RunLengthColumn, power: int) -> int:
    """Exact sum of count * code**power, power 1 or 2.

    A code is high * 2**16 + low, its square high^2 * 2**32 + high * low * 2**17 + low^2: three numbers up to 2**32, as
    codes are.
    """
    if power == 1:
        return _weighted_sum(column.codes, column.counts)
    high, low = limbs(column.codes)
    squares, mixed, rest = (_weighted_sum(part, column.counts) for part in (high * high, high * low, low * low))
    return (squares << 2 * LIMB_BITS) + (mixed << LIMB_BITS + 1) + rest


def _weighted_sum(values: Integers, counts: Integers) -> int:
    """Exact sum of counts * values, values up to 2**32: the sums of both limbs are at most 2**61 (``LARGEST_SIZE``)."""
    high, low = limbs(values)
    return (int(np.dot(high, counts)) << LIMB_BITS) + int(np.dot(low, counts))
