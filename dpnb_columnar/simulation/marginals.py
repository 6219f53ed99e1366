"""Shares of the population, rounded from general knowledge of the published tables of the 1940 census.

Codes are those of the IPUMS codebook. Weights are relative; each distribution is scaled to one in its lookup table.

*Draws*: a 16-bit draw is the index into a lookup table where each value has its share of the slots. Only the raw output
of the bit generator is used, whose stream NumPy promises to keep (NEP 19), and only whole numbers follow from it. So a
seed gives the same rows on every machine and with every version of NumPy; ``Generator.choice`` promises neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

OLDEST = 120
WORKING_AGE = 14
"""Years; younger children were not asked about work, wages or marriage."""

FIVE_YEAR_AGES = (
    *(10542, 10685, 11746, 12334, 11588, 11097, 10242, 9545, 8788, 8255, 7257, 5844, 4728, 3807, 2570),
    *(1504, 774, 279, 72, 14, 3, 1),
)
"""Thousands of persons aged 0 to 4, 5 to 9, and so on."""

DIGIT_PREFERENCE = (1.16, 0.92, 1.02, 0.97, 0.97, 1.06, 0.98, 0.96, 1.01, 0.95)
"""How much more often adults gave an age ending in 0, 1, ... 9."""

SEX = {1: 50.2, 2: 49.8}
RACE = {1: 89.8, 2: 9.75, 3: 0.25, 4: 0.06, 5: 0.1, 6: 0.04}
"""Codes 7 to 9 were not used in 1940, though the codebook has them."""

NO_PLACE = 0.1
"""Percent of persons whose place is neither urban nor rural (code 0)."""
URBAN_BY_RACE = (57.8, 48.6, 8.0, 91.0, 55.0, 60.0)
"""Percent living in urban places, by race code 1 to 6."""

BAND_STARTS = (0, 14, 18, 20, 25, 30, 35, 45, 55, 65, 75)
"""First ages of the bands used for nativity, marriage and work."""
STAGE_STARTS = (0, 14, 25, 45, 65)
"""First ages of the coarser stages of life."""

FOREIGN_BORN = (0.5, 1.0, 1.5, 2.5, 4.5, 8.0, 14.0, 21.0, 22.0, 23.0, 25.0)
"""Percent of whites born abroad, by age band."""
FOREIGN_PARENTS = (13.0, 19.0, 21.0, 23.0, 24.0, 22.0, 19.0, 16.0, 16.0, 16.0, 15.0)
"""Percent of whites born here with a parent born abroad, by age band."""
URBAN_FOREIGN_FACTOR = {False: 0.6, True: 1.3}
"""How the two shares above differ between rural and urban places."""
PARENTS_SPLIT = {2: 0.28, 3: 0.14, 4: 0.58}
"""Father, mother, or both born abroad."""
NO_NATIVITY = 0.2
"""Percent without an answer (code 0)."""

MARRIED_MEN = (0, 0.5, 4.0, 27.4, 62.7, 77.0, 82.5, 82.0, 78.0, 70.0, 52.0)
WIDOWED_MEN = (0, 0, 0, 0.2, 0.5, 0.9, 1.9, 4.6, 9.5, 18.6, 37.0)
DIVORCED_MEN = (0, 0, 0.1, 0.3, 0.9, 1.3, 1.7, 2.0, 1.8, 1.5, 1.0)
MARRIED_WOMEN = (0, 4.5, 22.0, 51.3, 74.1, 80.4, 80.8, 75.1, 62.5, 43.5, 20.0)
WIDOWED_WOMEN = (0, 0, 0.2, 0.6, 1.3, 2.5, 5.8, 14.5, 27.0, 46.5, 70.0)
DIVORCED_WOMEN = (0, 0.1, 0.3, 1.0, 1.8, 2.2, 2.4, 1.9, 1.3, 0.9, 0.5)
"""Percent of persons, by age band; the rest is single."""
SPOUSE_ABSENT = 0.045
"""Share of the married whose spouse was elsewhere; separation (code 3) was not asked."""

CHILDREN: dict[int, float] = {3: 88.0, 9: 7.5, 10: 2.5, 7: 0.5, 12: 1.0, 13: 0.5}
"""Relationship to the head of the household, of persons under 14."""
RELATIONS: dict[tuple[str, int], tuple[dict[int, float], ...]] = {
    ("spouse present", 1): (
        {1: 72, 3: 11, 4: 11, 7: 1, 8: 2, 10: 0.7, 12: 2.3},
        {1: 90.5, 3: 2.8, 4: 3.4, 7: 0.5, 8: 0.9, 10: 0.3, 12: 1.6},
        {1: 95.5, 5: 0.9, 6: 1.0, 7: 0.4, 8: 0.4, 10: 0.3, 12: 1.5},
        {1: 90.0, 5: 4.0, 6: 4.0, 7: 0.3, 8: 0.3, 10: 0.4, 12: 1.0},
    ),
    ("spouse present", 2): (
        {2: 74, 3: 12, 4: 9, 7: 1, 8: 1.2, 10: 0.6, 12: 2.2},
        {2: 91.5, 3: 3.2, 4: 2.5, 7: 0.5, 8: 0.6, 10: 0.3, 12: 1.4},
        {2: 95.0, 5: 1.0, 6: 1.2, 7: 0.4, 8: 0.5, 10: 0.4, 12: 1.5},
        {2: 88.5, 5: 4.6, 6: 4.7, 7: 0.4, 8: 0.4, 10: 0.4, 12: 1.0},
    ),
    ("alone again", 1): (
        {1: 18, 3: 36, 7: 5, 8: 3, 10: 4, 11: 2, 12: 26, 13: 6},
        {1: 33, 3: 22, 7: 6, 8: 4, 10: 2, 11: 2, 12: 26, 13: 5},
        {1: 51, 5: 6, 6: 4, 7: 6, 8: 4, 10: 2, 11: 2, 12: 21, 13: 4},
        {1: 47, 5: 20, 6: 12, 7: 4, 8: 2, 10: 2, 11: 1, 12: 8, 13: 4},
    ),
    ("alone again", 2): (
        {1: 14, 3: 48, 4: 3, 7: 6, 8: 3, 10: 4, 11: 2, 12: 18, 13: 2},
        {1: 42, 3: 24, 4: 1, 7: 6, 8: 3, 10: 3, 11: 2, 12: 17, 13: 2},
        {1: 60, 5: 9, 6: 7, 7: 5, 8: 3, 10: 2, 11: 1, 12: 11, 13: 2},
        {1: 45, 5: 24, 6: 16, 7: 4, 8: 3, 10: 2, 11: 1, 12: 3, 13: 2},
    ),
    ("never married", 1): (
        {1: 1.5, 3: 80, 7: 3, 8: 2, 9: 3, 10: 3, 11: 0.5, 12: 6, 13: 1},
        {1: 12, 3: 50, 7: 7, 8: 4, 9: 0.6, 10: 3, 11: 2, 12: 17, 13: 4.4},
        {1: 36, 3: 11, 7: 13, 8: 5, 10: 3, 11: 2, 12: 23, 13: 7},
        {1: 45, 3: 1, 7: 14, 8: 5, 10: 3, 11: 2, 12: 21, 13: 9},
    ),
    ("never married", 2): (
        {1: 1, 3: 80.5, 7: 3.5, 8: 2.5, 9: 3, 10: 3, 11: 0.5, 12: 5, 13: 1},
        {1: 12, 3: 50, 7: 9, 8: 4, 9: 0.6, 10: 3, 11: 2, 12: 16, 13: 3.4},
        {1: 34, 3: 15, 7: 20, 8: 5, 10: 4, 11: 2, 12: 15, 13: 5},
        {1: 45, 3: 1, 7: 27, 8: 6, 10: 5, 11: 2, 12: 9, 13: 5},
    ),
}
"""Relationship by marriage and sex: one distribution for each stage of life from 14 on."""

EDUCATION = {0: 3.4, 1: 9.5, 2: 46, 3: 6.5, 4: 6, 5: 4, 6: 14.5, 7: 2.2, 8: 2.3, 9: 1.1, 10: 3.3, 11: 1.3}
"""Percent of whites in towns, at 35 to 44. Code 2 holds the eighth grade, where most left school."""
SCHOOL_STARTS = (*range(25), 25, 35, 45, 55, 65)
"""Ages told apart by schooling: single years while at school, then cohorts."""
SCHOOL_CAPS = (*[0] * 6, *[1] * 5, *[2] * 4, 3, 4, 5, 6, 7, 8, 9, 10, 11, 11, *[11] * 5)
"""Most schooling within reach, for each of those ages."""
SCHOOL_TILTS = (*[0.14] * 25, 0.1, 0.0, -0.08, -0.14, -0.2)
"""Log odds for one more code, against those aged 35 to 44."""
AT_CAP = 0.7
"""Of those still at school, the share not behind their age."""
SCHOOL_TILT_NOT_WHITE = -0.45
SCHOOL_TILT_RURAL = -0.12


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

    Returns:
        Shape (length,), intp.
    """
    return np.searchsorted(np.asarray(starts), np.arange(length), side="right") - 1
