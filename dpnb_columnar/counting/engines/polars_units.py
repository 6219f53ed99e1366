"""Choose with Polars which rows of each unit count, in one scan of the rows where they are in order. CONFIDENTIAL.

Rows in the order of their units are chosen from as they stream by: a unit is complete once the next one begins, so that
memory does not grow with the rows. Publishers write files this way. Where some unit comes after a larger one, the rows
are scanned again, once for each of as many shares of the units as keep a scan's rows few enough, however the rows lie.
Either way the same rows are chosen (``rows.unit_order``), and nothing but time tells which it was, or the share of
progress, which is a clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpnb_columnar.domain import Domain
from dpnb_columnar.rows.unit_order import (
    CLASS,
    ORDER,
    code_names,
    counted_rows,
    unit_names,
    unit_values,
)
from dpnb_columnar.runtime.row_progress import report_rows, rows_once

PART_ROWS = 2**16
"""Rows that are handed on at a time. Four times as many took 30 MiB more at 100 million rows, and no less time."""

SHARE_ROWS = 2**21
"""Rows of the units that are looked at together, about, where the rows are in no order of the units."""

MOST_WAITING = 2**18
"""Rows that wait, where they are in no order, until those of one unit beyond the number that counts are dropped."""

Integers = NDArray[np.int64]


def stream_counted_rows(
    rows: pl.LazyFrame,
    types: Mapping[str, pl.DataType],
    domain: Domain,
    columns: Mapping[str, pl.Expr],
    more: Sequence[str],
    use: Callable[[pl.DataFrame], None],
    reset: Callable[[], None],
) -> None:
    """Hand on the rows that count, which have a class, part by part: of each unit, if there is one, the first in order.

    Args:
        rows: Rows with all of the domain's columns. Confidential.
    """
    names = [CLASS, *columns, *more]

    def query(rows: pl.LazyFrame, selected: Sequence[str | pl.Expr]) -> pl.LazyFrame:
        return counted_rows(rows, domain, types, columns).select(selected)

    def use_classed(part: pl.DataFrame) -> None:
        use(part.drop_nulls(CLASS) if part[CLASS].null_count() else part)

    if domain.unit is None:
        # Not collect_batches: it ends as if all were well where a thread of the query panics, and rows would be
        # missing.
        query(rows, names).sink_batches(use_classed, chunk_size=PART_ROWS, maintain_order=False, engine="streaming")
        return
    codes = code_names(domain)
    choice = _Choice(unit_names(domain), codes, domain.unit.rows)
    kept = [*dict.fromkeys([*names, *choice.units, ORDER, *codes])]
    in_order = _InOrder(choice, use)
    once = rows_once()
    read = rows if once is None else report_rows(rows, once.add)
    query(read, kept).sink_batches(in_order.add, chunk_size=PART_ROWS, maintain_order=True, engine="streaming")
    if in_order.end():
        return
    reset()
    number_of_rows = rows.select(pl.len()).collect(engine="streaming").item()
    shares = number_of_rows // SHARE_ROWS + 1
    share = pl.struct(unit_values(domain, types)).hash() % shares
    if once is not None:
        once.rest(number_of_rows, shares)
    for number in range(shares):
        in_any_order = _InAnyOrder(choice)
        query(read.filter(share == number), kept).sink_batches(
            in_any_order.add, chunk_size=PART_ROWS, maintain_order=False, engine="streaming"
        )
        for part in in_any_order.end():
            use(part)


@dataclass(frozen=True, slots=True)
class _Choice:
    """How the rows of a unit are chosen.

    Attributes:
        units: Columns that together tell the unit of a row.
        codes: Columns that break ties of ``order``.
        most: Rows of a unit that count.
    """

    units: Sequence[str]
    codes: Sequence[str]
    most: int

    def first_rows(self, rows: pl.DataFrame, units: Integers) -> tuple[pl.DataFrame, Integers]:
        """Choose the rows of each unit that count.

        Args:
            rows: The rows. Confidential.
            units: Shape (rows,): the number of each row's unit, below 2^32.

        Returns:
            The chosen rows, by rising number of the unit, and these numbers. Confidential.
        """
        keys = units << 31 | rows[ORDER].to_numpy()
        places = np.argsort(keys)
        keys = keys[places]
        equal = np.flatnonzero(keys[1:] == keys[:-1])
        if len(equal) and not rows[places[equal], self.codes].equals(rows[places[equal + 1], self.codes]):
            places = (
                rows.select(ORDER, *self.codes, pl.lit(pl.Series("unit", units)))
                .select(pl.arg_sort_by("unit", ORDER, *self.codes))
                .to_series()
                .to_numpy()
            )
        units = units[places]
        is_first = np.ones(len(places), dtype=bool)
        is_first[self.most :] = units[self.most :] != units[: -self.most]
        return rows[places[is_first]], units[is_first]

    def differs(self, rows: pl.DataFrame) -> NDArray[np.bool_]:
        """Test whether a row is of another unit than the one before, shape (rows - 1,)."""
        pairs = [(column[1:], column[:-1]) for column in rows[self.units]]
        return reduce(or_, [after != before for after, before in pairs]).to_numpy()

    def falls(self, rows: pl.DataFrame) -> bool:
        """Test whether a row's unit is smaller than that of the one before, by its columns in order."""
        falls = pl.Series([False])
        for column in reversed(rows[self.units].get_columns()):
            after, before = column[1:], column[:-1]
            falls = (after < before) | ((after == before) & falls)
        return bool(falls.any())


class _InOrder:
    """Rows that stream by in the order of their units, whose last unit is still to be completed.

    Args:
        choice: What rows are chosen by.
        use: Takes the rows that count.
    """

    def __init__(self, choice: _Choice, use: Callable[[pl.DataFrame], None]) -> None:
        self._choice, self._use = choice, use
        self._last: pl.DataFrame | None = None
        self._is_ordered = True

    def add(self, part: pl.DataFrame) -> bool:
        """Use the rows of complete units that count; return whether a unit came after a larger one."""
        rows = part if self._last is None else pl.concat([self._last, part])
        if not self._is_ordered or rows.is_empty() or self._choice.falls(rows):
            self._is_ordered = rows.is_empty() and self._is_ordered
            return not self._is_ordered
        units = np.cumsum(np.append(False, self._choice.differs(rows)))
        chosen, numbers = self._choice.first_rows(rows, units)
        complete = int(np.searchsorted(numbers, units[-1]))
        self._last = chosen[complete:]
        self._use(chosen[:complete])
        return False

    def end(self) -> bool:
        """Use the rows of the last unit; return whether all units were in order."""
        if self._is_ordered and self._last is not None:
            self._use(self._last)
        return self._is_ordered


class _InAnyOrder:
    """Rows in any order: of each unit seen so far, the first.

    Args:
        choice: What rows are chosen by.
    """

    def __init__(self, choice: _Choice) -> None:
        self._choice = choice
        self._waiting: list[pl.DataFrame] = []
        self._first = 0

    def add(self, part: pl.DataFrame) -> None:
        """Keep the rows, and drop some once too many wait."""
        self._waiting.append(part)
        if sum(map(len, self._waiting)) - self._first > max(MOST_WAITING, self._first):
            self._reduce()

    def end(self) -> list[pl.DataFrame]:
        """Return the rows that count."""
        self._reduce()
        return self._waiting

    def _reduce(self) -> None:
        if self._waiting:
            rows = pl.concat(self._waiting)
            self._waiting = [self._choice.first_rows(rows, self._numbers(rows))[0]]
            self._first = len(self._waiting[0])

    def _numbers(self, rows: pl.DataFrame) -> Integers:
        """Number the units of the rows, shape (rows,)."""
        places = rows.select(pl.arg_sort_by(*self._choice.units)).to_series()
        numbers = np.empty(len(rows), dtype=np.int64)
        differs = self._choice.differs(rows[places, self._choice.units])
        numbers[places.to_numpy()] = np.cumsum(np.append(False, differs))
        return numbers
