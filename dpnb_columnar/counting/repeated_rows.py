"""Count the rows that repeat others, for the curator. CONFIDENTIAL: no release uses the number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import polars as pl

from dpnb_columnar.domain import Domain
from dpnb_columnar.rows.frames import Frame, is_frame, open_frame
from dpnb_columnar.rows.streaming import Source, stream
from dpnb_columnar.runtime.confinement import confined

MOST_ROWS = 2**22
"""Rows that are compared by 64-bit hashes in memory, some 200 MiB; of more rows, a fixed share of all hashes is."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """How many rows repeat others. Confidential.

    Attributes:
        rows: Rows less different rows: how many would go if each were kept once.
        exact: Whether the number is exact; of more than ``MOST_ROWS`` rows it is an estimate.
    """

    rows: int
    exact: bool


@confined()
def count_repeats(source: Source | Frame, domain: Domain, rows: int) -> Repeats:
    """Count the rows that are equal to another row in all columns of the domain; they are streamed once.

    Equal rows have equal hashes. Two of 2^22 different rows share a hash with a probability below one in a million.

    Args:
        source: Checked rows, or a frame.
        domain: The domain.
        rows: Number of all rows.

    Raises:
        DataError: if a file is damaged, or a frame does not fit the domain.
    """
    share = -(-rows // MOST_ROWS)
    opened = open_frame(source, domain) if is_frame(source) else source
    some, different = stream(opened, partial(_rows_and_hashes, share=share))
    return Repeats(rows * (some - different) // max(some, 1), share <= 1)


def _rows_and_hashes(rows: pl.LazyFrame, share: int) -> tuple[int, int]:
    """Count the rows that are compared, and their different hashes."""
    hashes = rows.select(hash=pl.struct(pl.all()).hash())
    compared = hashes if share <= 1 else hashes.filter(pl.col("hash") % share == 0)
    counted = compared.select(rows=pl.len(), different=pl.col("hash").n_unique()).collect(engine="streaming")
    some, different = counted.row(0)
    return some, different
