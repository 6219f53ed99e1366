"""A column without what a search for its smooth sensitivity cannot meet: the work no longer grows with the column.

Such a search maximises a logarithm minus ``beta * k`` over what a statistic's neighbours k substitutions away look at:
values of ranks at most k beyond both ends of the window. Where one candidate at k = 0 is known, everything at a k from
which on even the widest deviation there is cannot beat it may be replaced by anything that no search takes for a wider
one.
"""

from __future__ import annotations

import math

import numpy as np

from dpnb_columnar.sensitivity.accuracy import DEEPEST
from dpnb_columnar.sensitivity.column import Integers, RunLengthColumn, weighted_sum

SPARE = 2
"""Added to a reach. One is for rounding: beta is 2**-25 or more, and no logarithm is off by more than 2**-40
(``accuracy``). The other is for the mean's search, whose candidates with j = -1 are at l = k + 1."""


def farthest(column: RunLengthColumn, ranks: tuple[int, int], part: float, cells: int, beta: float) -> int:
    """Largest k that a search need look at, at most the column's size.

    Args:
        column: The column. Confidential.
        ranks: Two ranks, counted from 1; beyond the first and the last value lie the domain's bounds.
        part: What is known of the widest candidate at k = 0: its score is at least the one of this part of the values'
            distance, squared or not, and so is the widest score there is of ``cells``.
        cells: Largest code.
        beta: What a score loses with every k, for a distance that is not squared.

    Returns:
        Confidential.
    """
    low, high = (_value(column, rank, cells) for rank in ranks)
    lead = math.log(cells / (part * (high - low))) if high > low else math.inf
    return min(math.ceil(min(lead, DEEPEST) / beta) + SPARE, column.size)


def _value(column: RunLengthColumn, rank: int, cells: int) -> int:
    if rank < 1:
        return 0
    return cells if rank > column.size else int(column.codes[np.searchsorted(column.ends, rank)])


def shortened(column: RunLengthColumn, trim: int, cells: int, reach: int) -> RunLengthColumn:
    """A column of the same size that is the same to a search that looks no further than ``reach``.

    Kept are all values at most ``reach`` ranks from the ends of the window, and a few more, with their ranks. Values
    below and above these come to lie at the domain's bounds, values between them at one or two neighbouring codes, as
    many as there were and with the same sum.

    Args:
        column: N values, codes in ``0..cells``. Confidential.
        trim: Values cut from each end, N - 2 * trim of them left.
        cells: Largest code.
        reach: From ``farthest``. Confidential.
    """
    codes, counts, ends, size = column.codes, column.counts, column.ends, column.size
    near, far = trim + SPARE + reach + 1, trim - reach - 1
    ranks = np.clip([far, near, size + 1 - near, size + 1 - far], 1, size)
    first, low, high, last = map(int, np.searchsorted(ends, ranks))
    if high - low > SPARE:
        outside = weighted_sum(codes[: low + 1], counts[: low + 1]) + weighted_sum(codes[high:], counts[high:])
        middle = _same_sum(column.total - outside, int(ends[high - 1] - ends[low]))
        kept = [
            (codes[first : low + 1], counts[first : low + 1]),
            middle,
            (codes[high : last + 1], counts[high : last + 1]),
        ]
    else:  # nothing worth while lies between
        kept = [(codes[first : last + 1], counts[first : last + 1])]
    if first:
        kept.insert(0, _runs((0, int(ends[first - 1]))))
    if last + 1 < len(codes):
        kept.append(_runs((cells, size - int(ends[last]))))
    return RunLengthColumn(*map(np.concatenate, zip(*kept, strict=True)))


def _same_sum(total: int, count: int) -> tuple[Integers, Integers]:
    """As many values of the same sum, none further from their mean than need be."""
    code, above = divmod(total, count)
    return _runs((code, count - above), *([(code + 1, above)] if above else []))


def _runs(*runs: tuple[int, int]) -> tuple[Integers, Integers]:
    """Codes and counts."""
    codes, counts = np.array(runs, dtype=np.int64).T
    return codes, counts
