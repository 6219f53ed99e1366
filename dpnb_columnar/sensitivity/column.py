"""Sorted columns in run-length form."""

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

    def __repr__(self) -> str:
        return "RunLengthColumn(confidential)"


def _more_than(counts: Integers, most: int) -> bool:
    """Decide whether positive counts add up to more than ``most``."""
    # Positive numbers add up exactly in a float as long as the sum is below 2**53, and to no less from there on.
    return int(counts.max()) * len(counts) > most and bool(counts.sum(dtype=np.float64) > most)


def weighted_sum(values: Integers, counts: Integers) -> int:
    """Add up counts * values exactly, values from 0 to 2**32, counts at most ``LARGEST_SIZE`` together.

    At once where it fits into 63 bits; else the sums of both limbs, each at most 2**61.
    """
    if int(values.max()) * int(counts.sum()) < 2**63:
        return int(np.dot(values, counts))
    high, low = limbs(values)
    return (int(np.dot(high, counts)) << LIMB_BITS) + int(np.dot(low, counts))
