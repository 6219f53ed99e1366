"""Random draws by lookup table: a 16-bit draw is the index into a table where each value has its share of the slots.

Only the raw output of the bit generator is used, whose stream NumPy promises to keep (NEP 19), and only whole numbers
follow from it. So a seed gives the same rows on every machine and with every version of NumPy; ``Generator.choice``
promises neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

SLOT_BITS = 16
"""Width of a draw: shares are honoured to 1 in 65,536."""

SLOTS_PER_WORD = 4
"""Draws cut from one 64-bit word of the generator."""

Codes = NDArray[np.int8]
Groups = NDArray[np.intp]


class Draws:
    """The random source of one block.

    Args:
        seed: Seed of the whole file, not negative.
        block: Index of the block; each block has a stream of its own.
        rows: Draws given at a time, a multiple of four.
    """

    def __init__(self, seed: int, block: int, rows: int) -> None:
        """Start the stream of the block."""
        # A child's key written out: the same stream as SeedSequence(seed).spawn(block + 1)[block], at once.
        self._bits = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(block,)))
        self.rows = rows

    def slots(self) -> NDArray[np.uint16]:
        """Draw one slot per row.

        Returns:
            Shape (rows,), uint16, independent and uniform on 0..65535.
        """
        words = np.asarray(self._bits.random_raw(self.rows // SLOTS_PER_WORD))
        return words.astype("<u8", copy=False).view("<u2")


class Lookup:
    """A discrete distribution for each of several groups, laid out for drawing by table.

    Args:
        distributions: For each group, in order, the relative weight of each value; values fit in 8 bits.
        bits: Resolution of the shares, at most 16; fewer bits keep a table of many groups within the processor's cache.
    """

    def __init__(self, distributions: Sequence[Mapping[int, float]], bits: int = SLOT_BITS) -> None:
        """Fill the table."""
        self._bits = bits
        self._table = np.concatenate([_fill_slots(weights, 1 << bits) for weights in distributions])

    def draw(self, draws: Draws, group: Groups | None = None) -> Codes:
        """Draw one value per row.

        Args:
            draws: The random source.
            group: Group of each row, shape (rows,), intp; ``None`` when there is one group only.

        Returns:
            Shape (rows,), int8.
        """
        slots = (draws.slots() >> (SLOT_BITS - self._bits)).astype(np.intp)
        return self._table.take(slots if group is None else (group << self._bits) + slots)


def _fill_slots(weights: Mapping[int, float], slots: int) -> Codes:
    """Repeat each value by its share of the slots; rounding the cumulative shares always fills the table exactly."""
    ends = np.cumsum(list(weights.values()))
    bounds = np.rint(ends / ends[-1] * slots).astype(np.int64)
    return np.repeat(np.array(list(weights), dtype=np.int8), np.diff(bounds, prepend=0))


def interval_indices(starts: Sequence[int], length: int) -> Groups:
    """Compute the index of the interval that each of ``0..length - 1`` falls in.

    Args:
        starts: Start of each interval, increasing, the first 0.
        length: Number of values.

    Returns:
        Shape (length,), intp.
    """
    return np.searchsorted(np.asarray(starts), np.arange(length), side="right") - 1
