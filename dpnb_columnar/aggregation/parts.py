"""Which rows some statistics have counted, as digests: so that none are counted twice when statistics are added.

A digest tells nothing that the statistics beside it do not tell; both are confidential.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpnb_columnar.errors import DataError

if TYPE_CHECKING:
    from dpnb_columnar.aggregation.statistics import Cells

MAGIC = b"PAR1"
TRAILER = 8
"""Bytes at the end of a Parquet file: the length of its footer, and the magic."""


def parts_of(files: Iterable[Path]) -> frozenset[str]:
    """Digests of some Parquet files. Files without rows have none: they may be counted any number of times.

    Raises:
        DataError: One is not a whole Parquet file.
        OSError: One cannot be read.
    """
    import polars as pl

    return frozenset(
        _file_part(file) for file in files if pl.scan_parquet(file, glob=False).select(pl.len()).collect().item()
    )


def cells_part(cells: Sequence[Cells]) -> frozenset[str]:
    """Digest of counts whose origin is not known, such as the result of a query; none of no rows."""
    written = []
    for cell in cells:
        written.append(repr(cell.attribute).encode())
        written += [array.tobytes() for array in (cell.classes, cell.codes, cell.counts)]
    return frozenset([_digest("cells", written)] if any(cell.counts.any() for cell in cells) else [])


def _file_part(file: Path) -> str:
    """Digest of a Parquet file: of its length and its footer, which holds the place and size of every column chunk.

    A copy has the same digest under any name. Two files of different rows have different ones, unless every column of
    every row group takes the same room and shows the same extremes.

    Raises:
        DataError: It is not a whole Parquet file.
        OSError: It cannot be read.
    """
    with file.open("rb") as stream:
        size = stream.seek(0, 2)
        stream.seek(max(size - TRAILER, 0))
        trailer = stream.read()
        length = int.from_bytes(trailer[:4], "little") + TRAILER
        if trailer[4:] != MAGIC or length > size:
            raise DataError(f"{file}: not a complete Parquet file (damaged or cut short); write or copy it again")
        stream.seek(size - length)
        return footer_part(size, stream.read())


def footer_part(size: int, footer: bytes) -> str:
    """The digest of a Parquet file of this length, from its footer and what is behind that (``TRAILER``)."""
    return _digest("parquet", [size.to_bytes(8, "little"), footer])


def _digest(kind: str, blocks: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(len(block).to_bytes(8, "little") + block)
    return f"{kind}:{digest.hexdigest()}"
