"""Rows under the name that a user knows them by: as a lazy frame, or batch by batch in order. CONFIDENTIAL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpnb_columnar.runtime.row_progress import Size

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

BATCH_ROWS = 2**16
"""Rows that are read at a time."""


@dataclass(frozen=True, slots=True)
class NamedRows:
    """Rows of a file, or of a table.

    Attributes:
        name: Name in messages.
        rows: The rows. Confidential.
        types: The type of each column.
        size: Returns how many rows there are, as far as that is public.
    """

    name: str
    rows: pl.LazyFrame
    types: Mapping[str, pl.DataType]
    size: Size


@dataclass(frozen=True, slots=True)
class Batches:
    """Rows in their order.

    Attributes:
        name: Name in messages.
        schema: Columns, and the metadata to keep with them.
        batches: The rows; they can be read once. Confidential.
        size: Returns how many rows there are, as far as that is public.
    """

    name: str
    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    size: Size


def size_of(rows: Sequence[NamedRows]) -> int | None:
    """Add up how many rows there are; None where one of them does not say."""
    total = 0
    for each in rows:
        if (size := each.size()) is None:
            return None
        total += size
    return total
