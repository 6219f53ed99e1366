"""CONFIDENTIAL. Numbers of rows per cell, added up part by part."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import polars as pl

from dpnb_columnar.aggregation.statistics import Integers

MOST_WAITING = 2**20
"""Cells that are kept apart, though some may be the same, before they are added up."""


class Counter(Protocol):
    """Counts the cells that rows fall into."""

    def add(self, places: pl.Series) -> None:
        """Count each of these cells once more; none is null."""

    def counted(self) -> tuple[Integers, Integers]:
        """The cells that were counted, each once, and how often."""


class DenseCounter:
    """A counter for every cell, for tables that are small or well filled.

    Args:
        cells: Number of cells.
    """

    def __init__(self, cells: int) -> None:
        self._counts: Integers = np.zeros(cells, dtype=np.int64)

    def add(self, places: pl.Series) -> None:
        """As ``Counter.add``."""
        self._counts += np.bincount(places.to_numpy(), minlength=len(self._counts))

    def counted(self) -> tuple[Integers, Integers]:
        """As ``Counter.counted``."""
        places = np.flatnonzero(self._counts)
        return places, self._counts[places]


class SparseCounter:
    """A counter for those cells alone that rows fall into."""

    def __init__(self) -> None:
        self._waiting: list[pl.DataFrame] = [pl.DataFrame(schema={"place": pl.UInt64, "count": pl.Int64})]

    def add(self, places: pl.Series) -> None:
        """As ``Counter.add``."""
        rows = places.cast(pl.UInt64).to_frame("place").group_by("place").agg(pl.len().cast(pl.Int64).alias("count"))
        self._waiting.append(rows)
        # What is added up must be outweighed by what has come, or most of the time would go into adding up again.
        if sum(map(len, self._waiting[1:])) > max(MOST_WAITING, len(self._waiting[0])):
            self._add_up()

    def counted(self) -> tuple[Integers, Integers]:
        """As ``Counter.counted``."""
        self._add_up()
        cells = self._waiting[0]
        return cells["place"].to_numpy().astype(np.int64), cells["count"].to_numpy()

    def _add_up(self) -> None:
        self._waiting = [pl.concat(self._waiting).group_by("place").agg(pl.col("count").sum())]
