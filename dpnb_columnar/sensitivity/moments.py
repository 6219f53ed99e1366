"""Exact moments of a column of codes, trimmed and not, with the global sensitivities of the latter.

Proofs in docs/privacy.md, section 4.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np

from dpnb_columnar.sensitivity.column import LARGEST_CODE, LIMB_BITS, Integers, RunLengthColumn, limbs, weighted_sum


def trimmed_mean(column: RunLengthColumn, trim: int) -> Fraction:
    """Mean of the window that is left when ``trim`` values are cut from each end, in codes."""
    cut = sum(weighted_sum(*end) for end in _ends(column, trim))
    return Fraction(column.total - cut, column.size - 2 * trim)


def trimmed_variance(column: RunLengthColumn, trim: int) -> Fraction:
    """Variance of the same window (divisor w, its size), in squared codes: (w * sum(q^2) - sum(q)^2) / w^2.

    The sums have up to 2 * 32 + 45 bits, the products 154: they are Python's integers, which have no end.
    """
    size, ends = column.size - 2 * trim, _ends(column, trim)
    total = column.total - sum(weighted_sum(*end) for end in ends)
    squares = _sum_of_squares(column.codes, column.counts) - sum(_sum_of_squares(*end) for end in ends)
    return Fraction(size * squares - total**2, size * size)


def _ends(column: RunLengthColumn, trim: int) -> tuple[tuple[Integers, Integers], tuple[Integers, Integers]]:
    """Codes and counts of the ``trim`` smallest values, and of the ``trim`` largest."""
    ends, counts = column.ends, column.counts
    low = int(np.searchsorted(ends, trim))
    high = int(np.searchsorted(ends, column.size - trim, side="right"))
    smallest, largest = counts[: low + 1].copy(), counts[high:].copy()
    smallest[low:] -= ends[low : low + 1] - trim
    largest[:1] = ends[high : high + 1] - (column.size - trim)
    return (column.codes[: low + 1], smallest), (column.codes[high:], largest)


def _sum_of_squares(codes: Integers, counts: Integers) -> int:
    """Exact sum of count * code**2.

    At once where it fits into 63 bits. Else a code is high * 2**16 + low, its square
    high^2 * 2**32 + high * low * 2**17 + low^2: three numbers up to 2**32, as codes are.
    """
    if not len(codes) or int(codes[-1]) ** 2 * int(counts.sum()) < 2**63:
        return int(np.dot(codes * counts, codes))
    high, low = limbs(codes)
    squares, mixed, rest = (weighted_sum(part, counts) for part in (high * high, high * low, low * low))
    return (squares << 2 * LIMB_BITS) + (mixed << LIMB_BITS + 1) + rest


# The column of squares: another sorted column of codes.


def squares_shift(cells: int) -> int:
    """Low bits that squares are rounded by so that none exceeds ``LARGEST_CODE``: 0 to 32, public."""
    shift = max(0, (cells**2).bit_length() - LARGEST_CODE.bit_length())
    return shift if _rounded(cells**2, shift) <= LARGEST_CODE else shift + 1


def squared_cells(cells: int) -> int:
    """Largest code of the squares of codes 0..cells."""
    return _rounded(cells**2, squares_shift(cells))


def squared(column: RunLengthColumn, cells: int) -> RunLengthColumn:
    """Squares of codes 0..cells, in units of 2**squares_shift(cells), rounded to the nearest (half a unit up).

    A public map of each value that never falls: order, ranks and neighbours stay what they are. Exact: q = high * 2**16
    + low has the square high^2 2**32 + (high low 2**17 + low^2), and the first part is a multiple of every unit.
    """
    shift = squares_shift(cells)
    high, low = limbs(column.codes)
    rest = (high * low << (LIMB_BITS + 1)) + low * low
    codes = (high * high << (2 * LIMB_BITS - shift)) + ((rest + (1 << shift) // 2) >> shift)
    distinct, first = np.unique(codes, return_index=True)
    counts = np.add.reduceat(column.counts, first) if len(first) else column.counts
    return RunLengthColumn(distinct, counts)


def _rounded(square: int, shift: int) -> int:
    return (square + (1 << shift) // 2) >> shift


# Global sensitivities of the moments of all values, public constants: a sample has N >= 1 values with codes in
# 0..cells, and none is trimmed (docs/privacy.md, section 4).

ROOT_BITS = 64
"""A deviation is rounded down to a multiple of 2**-64 codes: finer than the smallest sensitivity there is, that of a
sample of 2**45 values with codes 0 and 1, by a factor of 2**41."""


def mean_sensitivity(size: int, cells: int) -> Fraction:
    """Bound the change of a mean by one substitution, in codes: cells/N. Attained from bound to bound."""
    return Fraction(cells, size)


def variance_sensitivity(size: int, cells: int) -> Fraction:
    """Bound the change of a variance (divisor N), in squared codes: (N-1)/N^2 cells^2.

    Attained by a sample that lies at one bound, one value of which moves to the other.
    """
    return Fraction((size - 1) * cells**2, size**2)


def deviation_sensitivity(size: int, cells: int) -> Fraction:
    """Bound the change of ``rounded_deviation``: sqrt(N-1)/N cells and the rounding, at most 2**-63 too large.

    The root is attained where the variance's sensitivity is. Numbers that are d apart differ by less than d + 2**-64
    once both are rounded down to multiples of 2**-64.
    """
    root = isqrt((size - 1) * cells**2 << 2 * ROOT_BITS) + 1
    return Fraction(root, size << ROOT_BITS) + Fraction(1, 1 << ROOT_BITS)


def rounded_deviation(column: RunLengthColumn) -> Fraction:
    """Compute the square root of the variance (divisor N) in codes, rounded down to a multiple of 2**-64, exactly.

    floor(sqrt(y)) = floor(sqrt(floor(y))) for every y >= 0, so no digit of the irrational root is ever needed.
    """
    variance = trimmed_variance(column, 0)
    return Fraction(isqrt((variance.numerator << 2 * ROOT_BITS) // variance.denominator), 1 << ROOT_BITS)
