"""The column of squares of a column: another sorted column of codes."""

from __future__ import annotations

import numpy as np

from dpnb_columnar.sensitivity.column import LARGEST_CODE, LIMB_BITS, RunLengthColumn, limbs


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
