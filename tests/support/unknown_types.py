"""Parquet files with a column of a logical type that Polars does not know: its footer is refused as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

TEXT = b"\x1c\0\0"
"""The logical type of a column of texts in a footer."""

UNKNOWN = {"geometry": b"\x0c\x22\0\0", "of a later format": b"\x0c\x3c\0\0"}
"""Logical types by what they are."""


def write_unknown(path: Path, table: pa.Table, kind: str, metadata: Mapping[bytes, bytes] | None = None) -> None:
    """Write a table whose first column of texts is of such a type, with the metadata of another file."""
    with pq.ParquetWriter(path, table.schema, store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({key: each for key, each in (metadata or {}).items() if key != b"ARROW:schema"})
    content = path.read_bytes()
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    before, found, others = content[start:-8].partition(TEXT)
    assert found
    footer = before + UNKNOWN[kind] + others
    path.write_bytes(content[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
