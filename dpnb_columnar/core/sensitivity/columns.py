"""Sorted columns in run-length form: one, and many end to end, so that one numpy call works on all of them.

``public_size`` is the image of a column that has a public size (docs/privacy.md, section 3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.core.code_limits import LARGEST_CODE, LARGEST_SIZE

# One column, and its bounds.

Integers = NDArray[np.int64]

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


Floats = NDArray[np.float64]

MOST_COLUMNS = 2**16
"""Most columns end to end: 2**61 values together at most, so that ranks are counted through all of them."""

CHUNK_RUNS = 2**16
"""Runs that are worked on at a time. A search takes some 600 bytes for each, 40 MiB together."""

ONE_LIMB = 2**61
"""Sums over a column below this need no second limb."""


@dataclass(frozen=True, repr=False, eq=False)
class RunLengthColumns:
    """Sorted columns of codes end to end, every distinct code of a column once with its count. Confidential.

    Attributes:
        codes: Shape (runs,), int64, strictly increasing within a column, in ``0..cells`` of the column.
        counts: Shape (runs,), int64, positive, at most ``LARGEST_SIZE`` together in a column.
        starts: Shape (columns + 1,), int64: the first run of every column, and the number of runs. No column is empty.
        cells: Shape (columns,), int64: the largest code there may be in each column. Public.

    Raises:
        ValueError: if the arrays are not like that.
    """

    codes: Integers
    counts: Integers
    starts: Integers
    cells: Integers

    def __post_init__(self) -> None:
        if len(self) > MOST_COLUMNS or np.any(np.diff(self.starts) <= 0) or self.cells.max() > LARGEST_CODE:
            raise ValueError(f"1 to {MOST_COLUMNS} columns of codes up to {LARGEST_CODE}, none of them empty")
        rises = self.codes[1:] > self.codes[:-1]
        rises[self.starts[1:-1] - 1] = True  # from one column to the next
        first, last = self.codes[self.starts[:-1]], self.codes[self.starts[1:] - 1]
        if not rises.all() or np.any(first < 0) or np.any(last > self.cells):
            raise ValueError("a column's codes rise from 0 or more to its last cell or less")
        # In floats, which do not wrap around, and are exact up to ``LARGEST_SIZE``.
        sizes = np.add.reduceat(self.counts, self.starts[:-1], dtype=np.float64)
        if self.counts.min() <= 0 or sizes.max() > LARGEST_SIZE:
            raise ValueError(f"a column's counts are positive and add up to {LARGEST_SIZE} at most")

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, place: int) -> RunLengthColumn:
        runs = slice(self.starts[place], self.starts[place + 1])
        return RunLengthColumn(self.codes[runs], self.counts[runs])

    def __repr__(self) -> str:
        return "RunLengthColumns(confidential)"

    @cached_property
    def size(self) -> Integers:
        """Number of values of every column, n."""
        return np.add.reduceat(self.counts, self.starts[:-1])

    @cached_property
    def owner(self) -> Integers:
        """The column that every run belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def before(self) -> Integers:
        """Number of values in the columns before each."""
        return np.cumsum(self.size) - self.size

    @cached_property
    def ends(self) -> Integers:
        """Rank of the last value of every run, ranks counted from 1 through all columns."""
        return np.cumsum(self.counts)

    def run(self, rank: Integers, column: Integers | slice = slice(None)) -> Integers:
        """Find the run of the value of a rank, 1 to the column's size."""
        return np.searchsorted(self.ends, self.before[column] + rank)

    def value(self, rank: Integers, column: Integers | slice = slice(None)) -> Integers:
        """Look up x_rank; 0 before the first value of its column, the column's last cell after the last."""
        size = self.size[column]
        inside = self.codes[self.run(np.clip(rank, 1, size), column)]
        return np.where(rank < 1, 0, np.where(rank > size, self.cells[column], inside))

    def reflected(self) -> RunLengthColumns:
        """Return the columns read from above: every code is its distance from the last cell."""
        mirror = (self.starts[:-1] + self.starts[1:] - 1)[self.owner] - np.arange(len(self.codes))
        codes = self.cells[self.owner] - self.codes[mirror]
        return RunLengthColumns(codes, self.counts[mirror], self.starts, self.cells)


class RankSums:
    """Exact sums of a column's codes by rank: wide integers.

    A wide integer is shape (1, n), int64, or shape (2, n): ``high`` and ``low`` of ``high * 2**16 + low``. It is one
    part where sums over a whole column stay below ``ONE_LIMB``; else it is two, each at most 2**61, since a limb is
    at most 2**16 and a column has at most 2**45 values. Sums through many columns may wrap around. Differences between
    two ranks of one column do not: they are exact modulo 2**64, and smaller.
    """

    def __init__(self, columns: RunLengthColumns) -> None:
        self._columns = columns
        self._narrow = int(columns.cells.max()) * int(columns.size.max()) < ONE_LIMB
        self._parts = self.split(columns.codes)
        self._sums = np.zeros((len(self._parts), len(columns.codes) + 1), dtype=np.int64)
        np.cumsum(self._parts * columns.counts, axis=1, out=self._sums[:, 1:])

    def split(self, codes: Integers) -> Integers:
        """Make wide integers of codes."""
        return codes[None] if self._narrow else np.stack(limbs(codes))

    def prefix_sums(self, rank: Integers, column: Integers) -> Integers:
        """Add up the codes of ranks 1 to ``rank`` of a column, and those of all columns before it."""
        rank = np.maximum(rank, 0)
        run = self._columns.run(rank, column)
        beyond = rank + self._columns.before[column] - self._columns.ends[run]  # not above 0
        sums: Integers = self._sums[:, run + 1] + beyond * self._parts[:, run]
        return sums


def sums_between(columns: RunLengthColumns, numbers: Integers, first: Integers, last: Integers) -> list[int]:
    """Add up a number per value, from 0 to 2**32, of ranks ``first + 1`` to ``last`` of every column, exactly.

    Needed: 0 <= first < last <= size, or both 0. Numbers may be larger where a column's sum still fits into 63 bits.
    """
    start, end = columns.run(np.minimum(first + 1, columns.size)), columns.run(np.maximum(last, 1))
    before = first + columns.before - columns.ends[start] + columns.counts[start]
    after = columns.ends[end] - columns.before - last
    edges = zip(*(each.tolist() for each in (start, end, before, after, numbers[start], numbers[end])), strict=True)
    return [
        weighted_sum(numbers[low : high + 1], columns.counts[low : high + 1]) - under * lowest - over * highest
        for low, high, under, over, lowest, highest in edges
    ]


def to_floats(wide: Integers) -> Floats:
    """Turn wide integers that are not negative into floats: after the carry no part is, so nothing cancels."""
    if len(wide) == 1:
        exact: Floats = wide[0].astype(np.float64)
        return exact
    high, low = wide
    floats: Floats = (high + (low >> LIMB_BITS)).astype(np.float64) * 2.0**LIMB_BITS + (low & (2**LIMB_BITS - 1))
    return floats


def compact_runs(codes: Integers, counts: Integers, owner: Integers, cells: Integers) -> RunLengthColumns:
    """Make columns of runs whose codes do not fall: those of no values are left out, neighbours of one code joined."""
    kept = counts > 0
    if not kept.all():
        codes, counts, owner = codes[kept], counts[kept], owner[kept]
    joined = (codes[1:] == codes[:-1]) & (owner[1:] == owner[:-1])
    if joined.any():
        first = np.flatnonzero(np.append(True, ~joined))
        codes, counts, owner = codes[first], np.add.reduceat(counts, first), owner[first]
    return RunLengthColumns(codes, counts, np.searchsorted(owner, np.arange(len(cells) + 1)), cells)


def end_to_end(columns: Sequence[RunLengthColumn], cells: Sequence[int]) -> RunLengthColumns:
    """Put columns of at least one value each end to end."""
    starts = np.cumsum([0, *(len(column.codes) for column in columns)])
    codes, counts = (np.concatenate([getattr(column, part) for column in columns]) for part in ("codes", "counts"))
    return RunLengthColumns(codes, counts, starts, np.array(cells, dtype=np.int64))


def ranges(starts: Integers, lengths: Integers) -> Integers:
    """Write ``start``, ``start + 1``, ... for every start, as many as its length says, one after the other."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1]) + np.repeat(starts - ends + lengths, lengths)


def chunks(columns: Sequence[RunLengthColumn]) -> Iterator[slice]:
    """Divide columns into neighbours of about ``CHUNK_RUNS`` runs together; a longer one is alone."""
    start = runs = 0
    for place, column in enumerate(columns):
        longer = runs + len(column.codes) > CHUNK_RUNS or place - start == MOST_COLUMNS
        if longer and place > start:
            yield slice(start, place)
            start, runs = place, 0
        runs += len(column.codes)
    if columns:
        yield slice(start, len(columns))


def public_size(column: RunLengthColumn, size: int, cells: int) -> RunLengthColumn:
    """Map one column as ``public_sizes`` maps many."""
    return public_sizes([column], [size], [cells])[0]


def public_sizes(columns: Sequence[RunLengthColumn], sizes: Sequence[int], cells: Sequence[int]) -> RunLengthColumns:
    """Map columns of any size n to columns of exactly ``size`` values, N.

    Where n <= N, P = N - n pads are added: ceil(P/2) at code 0 and the rest at code ``cells``. Where n > N, j = n - N
    values are dropped: ceil(j/2) of the largest and floor(j/2) of the smallest. Only run lengths change. Sizes and
    cells are public.

    Lemma. Columns that differ by one added, removed or replaced value have images that differ in at most one place,
    as multisets. (Proof in docs/privacy.md; attacked exhaustively in tests/core/sensitivity/test_sensitivity.py.)
    """
    for size in sizes:
        if not 1 <= size <= LARGEST_SIZE:
            raise ValueError(f"a public size lies in 1..{LARGEST_SIZE}, found {size}")
    codes, counts = (np.concatenate([*(getattr(each, part) for each in columns), [0]]) for part in ("codes", "counts"))
    cell = np.array(cells, dtype=np.int64)
    values = np.array([column.size for column in columns], dtype=np.int64)
    missing = np.array(sizes, dtype=np.int64) - values
    low = (missing + 1) // 2  # pads; as many values fewer where it is below 0
    high = missing - low

    # The runs of the values that stay, after ``start`` of all columns' values and up to ``stop``.
    ends = np.cumsum(counts)
    start, stop = np.cumsum(values) - values - np.minimum(low, 0), np.cumsum(values) + np.minimum(high, 0)
    first, last = np.searchsorted(ends, start, side="right"), np.searchsorted(ends, stop)
    some = values > 0
    first, stay = np.where(some, first, 0), np.where(some, last + 1 - first, 0)

    # A run of pads before and after these, unless they join one of their code. What is in it is written below.
    join_low, join_high = some & (codes[first] == 0), some & (codes[last] == cell)
    make_low, make_high = (low > 0) & ~join_low, (high > 0) & ~join_high
    runs = np.stack([make_low, stay, make_high], axis=1)
    taken = ranges(np.stack([first, first, last], axis=1).ravel(), runs.ravel())
    new_codes, new_counts = codes[taken], counts[taken]
    begins = np.cumsum([0, *runs.sum(axis=1)])
    lowest, highest = begins[:-1] + make_low, begins[1:] - 1 - make_high  # of the values that stay
    new_counts[lowest[some]] -= (start - ends[first] + counts[first])[some]
    new_counts[highest[some]] -= (ends[last] - stop)[some]
    new_counts[lowest[join_low]] += np.maximum(low, 0)[join_low]
    new_counts[highest[join_high]] += np.maximum(high, 0)[join_high]
    for made, place, code, pads in ((make_low, begins[:-1], 0 * cell, low), (make_high, begins[1:] - 1, cell, high)):
        new_codes[place[made]], new_counts[place[made]] = code[made], pads[made]
    return RunLengthColumns(new_codes, new_counts, begins, cell)
