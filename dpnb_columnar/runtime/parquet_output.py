"""Write Parquet files whose descriptors are closed even where there is no room to write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


@contextmanager
def parquet_writer(path: Path, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """Open a Parquet file for writing, and close it with the block. Every setting is fixed: equal rows, equal bytes.

    pyarrow keeps a file that it has opened by its name open, until it is collected as garbage, where its footer cannot
    be written; so the file is opened here.

    Args:
        path: File to write.
        schema: Its columns, and its metadata.

    Yields:
        The writer.

    Raises:
        OSError: if the file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with (
        pa.OSFile(str(path), "wb") as file,
        pq.ParquetWriter(file, schema, version="2.6", compression="zstd") as writer,
    ):
        yield writer
