"""Exact moments of columns of codes, trimmed and not, with the global sensitivities of the latter.

Proofs in docs/privacy.md, section 4.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np

from dpnb_columnar.core.code_limits import rounded_square, squares_shift
from dpnb_columnar.core.sensitivity.columns import (
    LIMB_BITS,
    Integers,
    RunLengthColumn,
    RunLengthColumns,
    compact_runs,
    end_to_end,
    limbs,
    sums_between,
)


def trimmed_mean(column: RunLengthColumn, trim: int) -> Fraction:
    """Compute one column's mean as ``trimmed_means`` computes many."""
    return trimmed_means(_as_columns(column), np.array([trim]))[0]


def trimmed_variance(column: RunLengthColumn, trim: int) -> Fraction:
    """Compute one column's variance as ``trimmed_variances`` computes many."""
    return trimmed_variances(_as_columns(column), np.array([trim]))[0]


def trimmed_means(columns: RunLengthColumns, trim: Integers) -> list[Fraction]:
    """Mean of the window that is left of every column when ``trim`` values are cut from each end, in codes."""
    totals = sums_between(columns, columns.codes, trim, columns.size - trim)
    return list(map(Fraction, totals, (columns.size - 2 * trim).tolist()))


def trimmed_variances(columns: RunLengthColumns, trim: Integers) -> list[Fraction]:
    """Variance of the same windows (divisor w, the size), in squared codes: (w * sum(q^2) - sum(q)^2) / w^2.

    The sums have up to 2 * 32 + 45 bits, the products 154: they are Python's integers, which have no end.
    """
    first, last = trim, columns.size - trim
    sums = zip(
        (last - first).tolist(),
        sums_between(columns, columns.codes, first, last),
        _squares_between(columns, first, last),
        strict=True,
    )
    return [Fraction(size * squares - total**2, size * size) for size, total, squares in sums]


def _as_columns(column: RunLengthColumn) -> RunLengthColumns:
    return end_to_end([column], [int(column.codes[-1])])


def _squares_between(columns: RunLengthColumns, first: Integers, last: Integers) -> list[int]:
    """Add up the squares of the values of ranks ``first + 1`` to ``last`` of every column, exactly.

    At once where they fit. Else a code is high * 2**16 + low, its square high^2 * 2**32 + high * low * 2**17 + low^2:
    three numbers up to 2**32, as codes are.
    """
    if int(columns.cells.max()) ** 2 * int(columns.size.max()) < 2**63:
        return sums_between(columns, columns.codes**2, first, last)
    high, low = limbs(columns.codes)
    parts = ((high * high, 2 * LIMB_BITS), (high * low, LIMB_BITS + 1), (low * low, 0))
    sums = [[total << shift for total in sums_between(columns, numbers, first, last)] for numbers, shift in parts]
    return list(map(sum, zip(*sums, strict=True)))


# The column of squares: another sorted column of codes.


def squared_cells(cells: int) -> int:
    """Largest code of the squares of codes 0..cells."""
    return rounded_square(cells, squares_shift(cells))


def squared_codes(columns: RunLengthColumns) -> RunLengthColumns:
    """Squares of codes 0..cells, in units of 2**squares_shift(cells), rounded to the nearest (half a unit up).

    A public map of each value that never falls: order, ranks and neighbours stay what they are. Exact: q = high * 2**16
    + low has the square high^2 2**32 + (high low 2**17 + low^2), and the first part is a multiple of every unit.
    """
    cells = columns.cells.tolist()
    shift = np.array(list(map(squares_shift, cells)))[columns.owner]
    high, low = limbs(columns.codes)
    rest = (high * low << (LIMB_BITS + 1)) + low * low
    codes = (high * high << (2 * LIMB_BITS - shift)) + ((rest + (1 << shift) // 2) >> shift)
    return compact_runs(codes, columns.counts, columns.owner, np.array(list(map(squared_cells, cells))))


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
    """Bound the change of ``rounded_deviations``: sqrt(N-1)/N cells and the rounding, at most 2**-63 too large.

    The root is attained where the variance's sensitivity is. Numbers that are d apart differ by less than d + 2**-64
    once both are rounded down to multiples of 2**-64.
    """
    root = isqrt((size - 1) * cells**2 << 2 * ROOT_BITS) + 1
    return Fraction(root, size << ROOT_BITS) + Fraction(1, 1 << ROOT_BITS)


def rounded_deviations(columns: RunLengthColumns) -> list[Fraction]:
    """Compute the square roots of variances (divisor N) in codes, rounded down to multiples of 2**-64, exactly.

    floor(sqrt(y)) = floor(sqrt(floor(y))) for every y >= 0, so no digit of the irrational root is ever needed.
    """
    variances = trimmed_variances(columns, np.zeros_like(columns.size))
    return [
        Fraction(isqrt((variance.numerator << 2 * ROOT_BITS) // variance.denominator), 1 << ROOT_BITS)
        for variance in variances
    ]
