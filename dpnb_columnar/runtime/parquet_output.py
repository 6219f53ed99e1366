"""Write Parquet files whose descriptors are closed even where there is no room to write."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


@contextmanager
def parquet_writer(path: Path, schema: pa.Schema, plain: Collection[str] = ()) -> Iterator[pq.ParquetWriter]:
    """Open a Parquet file for writing, and close it with the block. Every setting is fixed: equal rows, equal bytes.

    pyarrow keeps a file that it has opened by its name open, until it is collected as garbage, where its footer cannot
    be written; so the file is opened here.

    Args:
        path: File to write.
        schema: Its columns, and its metadata.
        plain: Columns whose values hardly repeat and that nobody searches: they get no dictionary and no statistics.

    Yields:
        The writer.

    Raises:
        OSError: if the file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    others: Any = [name for name in schema.names if name not in plain] if plain else True
    settings = {"version": "2.6", "compression": "zstd", "use_dictionary": others, "write_statistics": others}
    with pa.OSFile(str(path), "wb") as file, pq.ParquetWriter(file, schema, **settings) as writer:
        yield writer
