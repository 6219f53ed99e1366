"""Batches of rows to one Parquet file, in row groups that are neither many nor large."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from dpnb_columnar.runtime.outputs import atomic_output

# MERGED FROM dpnb_columnar/extracts/writer.py: Work that is done ahead, in a thread of its own, while what was done
# before is being used.

T = TypeVar("T")


def ahead(items: Generator[T], depth: int) -> Generator[T]:
    """The same items, made by a thread of their own.

    Errors appear where the item would have. The generator is closed in the end, however that comes.

    Args:
        items: None of them is None.
        depth: How many are made at most while one is used, and held.
    """
    pool = ThreadPoolExecutor(max_workers=1)
    waiting: deque[Future[T | None]] = deque()
    try:
        while True:
            while len(waiting) <= depth:
                waiting.append(pool.submit(next, items, None))
            item = waiting.popleft().result()
            if item is None:
                return
            yield item
    finally:
        pool.shutdown(cancel_futures=True)
        items.close()


GROUP_ROWS = 2**19
"""Rows of a row group."""

GROUP_BYTES = 2**26
"""Bytes of a row group in memory; wide rows make shorter groups."""


def row_groups(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Generator[pa.Table]:
    """The rows of batches, in groups of the size that is written at once; none for no rows."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= GROUP_ROWS or size >= GROUP_BYTES:
            yield pa.Table.from_batches(waiting, schema)
            waiting, rows, size = [], 0, 0
    if rows:
        yield pa.Table.from_batches(waiting, schema)


def write_parquet(
    groups: Iterable[pa.Table], schema: pa.Schema, metadata: Mapping[str, str], output: Path, *, overwrite: bool
) -> None:
    """Write rows in their order. The file is confidential, and readable by its owner alone.

    Args:
        groups: Row groups, confidential.
        schema: Their columns.
        metadata: Key-value pairs for the file.
        output: Parquet file; it appears complete or not at all.
        overwrite: Replace an existing file.

    Raises:
        OutputError: The output exists, or cannot be written.
    """
    with (
        atomic_output(output, overwrite=overwrite, confidential=True) as partial,
        pq.ParquetWriter(partial, schema.with_metadata(dict(metadata)), version="2.6", compression="zstd") as writer,
    ):
        for group in groups:
            writer.write_table(group, row_group_size=group.num_rows)
