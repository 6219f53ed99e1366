"""Sorted columns in run-length form, and their image of public size (docs/privacy.md, section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

LARGEST_SIZE = 2**45
"""Most values of a column (3.5e13), and the largest public size: times a limb of at most 2**16, sums stay at or below
2**61, within 63 bits."""

LARGEST_CODE = 2**32
"""Largest code there may be: codes, and their differences, are exact in a 64-bit float and have two limbs."""

LIMB_BITS = 16


def limbs(codes: Integers) -> tuple[Integers, Integers]:
    """Split codes into ``high * 2**16 + low``, ``0 <= high <= 2**16``, ``0 <= low < 2**16``.

    Sums of either over a whole column are at most 2**61.
    """
    return codes >> LIMB_BITS, codes & (2**LIMB_BITS - 1)


@dataclass(frozen=True, repr=False, eq=False)
class RunLengthColumn:
    """A sorted column of codes, each distinct code once with its count.

    Confidential: it is the column itself, written shorter. Its repr shows no value, and neither does an error.

    Attributes:
        codes: Shape (runs,), int64, strictly increasing, in ``0..cells``, cells at most ``LARGEST_CODE``.
        counts: Shape (runs,), int64, positive, at most ``LARGEST_SIZE`` together.

    Raises:
        ValueError: if the arrays are not like that. Every column keeps these bounds, so no sum over a column wraps
            around.
    """

    codes: Integers
    counts: Integers

    def __post_init__(self) -> None:
        codes, counts = self.codes, self.counts
        if {codes.dtype, counts.dtype} != {np.dtype(np.int64)} or codes.shape != counts.shape:
            raise ValueError("a column's codes and counts are 64-bit integers, as many of one as of the other")
        if len(codes) and (codes[0] < 0 or codes[-1] > LARGEST_CODE or np.any(codes[1:] <= codes[:-1])):
            raise ValueError(f"a column's codes rise from 0 or more to {LARGEST_CODE} or less")
        if len(counts) and (counts.min() <= 0 or _more_than(counts, LARGEST_SIZE)):
            raise ValueError(f"a column's counts are positive and add up to {LARGEST_SIZE} at most")

    @cached_property
    def size(self) -> int:
        """Number of values, n."""
        return int(self.counts.sum())

    @cached_property
    def ends(self) -> Integers:
        """Rank of the last value of every run, ranks counted from 1."""
        return np.cumsum(self.counts)

    @cached_property
    def total(self) -> int:
        """Exact sum of all values."""
        return weighted_sum(self.codes, self.counts)

    def __repr__(self) -> str:
        return "RunLengthColumn(confidential)"


def between_ranks(column: RunLengthColumn, first: int, last: int) -> RunLengthColumn:
    """Return the values of ranks ``first <= rank < last`` of the sorted column, ranks counted from 0."""
    if last <= first:
        return RunLengthColumn(column.codes[:0], column.counts[:0])
    ends = np.cumsum(column.counts)  # not the column's own, which would hold them for good
    low, high = int(np.searchsorted(ends, first, side="right")), int(np.searchsorted(ends, last))
    counts = column.counts[low : high + 1].copy()
    counts[-1] -= ends[high] - last
    counts[0] -= first - (ends[low] - column.counts[low])
    return RunLengthColumn(column.codes[low : high + 1], counts)


def _more_than(counts: Integers, most: int) -> bool:
    """Decide whether positive counts add up to more than ``most``."""
    # Positive numbers add up exactly in a float as long as the sum is below 2**53, and to no less from there on.
    return int(counts.max()) * len(counts) > most and bool(counts.sum(dtype=np.float64) > most)


def weighted_sum(values: Integers, counts: Integers) -> int:
    """Add up counts * values exactly, values from 0 to 2**32, counts at most ``LARGEST_SIZE`` together.

    At once where it fits into 63 bits; else the sums of both limbs, each at most 2**61.
    """
    if not len(values) or int(values.max()) * int(counts.sum()) < 2**63:
        return int(np.dot(values, counts))
    high, low = limbs(values)
    return (int(np.dot(high, counts)) << LIMB_BITS) + int(np.dot(low, counts))


def public_size(column: RunLengthColumn, size: int, cells: int) -> RunLengthColumn:
    """Map a column of any size n to one of exactly ``size`` values, N.

    Where n <= N, P = N - n pads are added: ceil(P/2) at code 0 and the rest at code ``cells``. Where n > N, j = n - N
    values are dropped: ceil(j/2) of the largest and floor(j/2) of the smallest. Only run lengths change.

    Lemma. Columns that differ by one added, removed or replaced value have images that differ in at most one place,
    as multisets. (Proof in docs/privacy.md; attacked exhaustively in tests/sensitivity/test_sensitivity.py.)

    Args:
        column: Sorted column, confidential.
        size: N, 1 to ``LARGEST_SIZE``. Public.
        cells: Largest code of the grid, 1 to ``LARGEST_CODE``. Public.

    Raises:
        ValueError: if ``size`` is out of its range, a public fact.
    """
    if not 1 <= size <= LARGEST_SIZE:
        raise ValueError(f"a public size lies in 1..{LARGEST_SIZE}, found {size}")
    missing = size - column.size
    if missing >= 0:
        low = (missing + 1) // 2
        return _padded(column, low, missing - low, cells)
    surplus = -missing
    return between_ranks(column, surplus // 2, column.size - (surplus + 1) // 2)


def _padded(column: RunLengthColumn, low: int, high: int, cells: int) -> RunLengthColumn:
    """Return the column with ``low`` more values at code 0 and ``high`` more at code ``cells``."""
    codes, counts = column.codes, column.counts
    for code, pads, place in ((0, low, 0), (cells, high, -1)):
        if not pads:
            continue
        if len(codes) and codes[place] == code:
            counts = counts.copy()
            counts[place] += pads
        else:
            end = len(codes) if place else 0
            codes, counts = np.insert(codes, end, code), np.insert(counts, end, pads)
    return RunLengthColumn(codes, counts)
