"""Rows under the name that a user knows them by: as a lazy frame, or batch by batch in order. CONFIDENTIAL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

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
        file: The file, if they are of one.
    """

    name: str
    rows: pl.LazyFrame
    types: Mapping[str, pl.DataType]
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class Batches:
    """Rows in their order.

    Attributes:
        name: Name in messages.
        schema: Columns, and the metadata to keep with them.
        batches: The rows; they can be read once. Confidential.
    """

    name: str
    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
