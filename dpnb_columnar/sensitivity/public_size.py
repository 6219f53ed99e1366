"""The image of a column that has a public size (docs/privacy.md, section 3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpnb_columnar.code_limits import LARGEST_SIZE
from dpnb_columnar.sensitivity.columns import RunLengthColumn, RunLengthColumns, ranges


def public_size(column: RunLengthColumn, size: int, cells: int) -> RunLengthColumn:
    """Map one column as ``public_sizes`` maps many."""
    return public_sizes([column], [size], [cells])[0]


def public_sizes(columns: Sequence[RunLengthColumn], sizes: Sequence[int], cells: Sequence[int]) -> RunLengthColumns:
    """Map columns of any size n to columns of exactly ``size`` values, N.

    Where n <= N, P = N - n pads are added: ceil(P/2) at code 0 and the rest at code ``cells``. Where n > N, j = n - N
    values are dropped: ceil(j/2) of the largest and floor(j/2) of the smallest. Only run lengths change.

    Lemma. Columns that differ by one added, removed or replaced value have images that differ in at most one place,
    as multisets. (Proof in docs/privacy.md; attacked exhaustively in tests/sensitivity/test_sensitivity.py.)

    Args:
        columns: Sorted columns, which may be empty. Confidential.
        sizes: N of every column, 1 to ``LARGEST_SIZE``. Public.
        cells: Largest code of every column's grid, 1 to ``LARGEST_CODE``. Public.

    Raises:
        ValueError: if a size is out of its range, a public fact.
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
