"""Identify Parquet files by digests of their footers: copies are refused, and statistics tell what they counted."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from dpnb_columnar.errors import DataError
from dpnb_columnar.runtime.confinement import confined

MAGIC = b"PAR1"
TRAILER = 8
"""Bytes at the end of a Parquet file: the length of its footer, and the magic."""


def file_parts(files: Iterable[Path]) -> frozenset[str]:
    """Return the digests of Parquet files. A file without rows has none: it may be counted any number of times.

    Raises:
        DataError: if a file is not a complete Parquet file.
        OSError: if a file cannot be read.
    """
    return frozenset(_file_part(file) for file in files if _has_rows(file))


def refuse_copies(files: Sequence[Path]) -> None:
    """Refuse Parquet files of which one is a copy of another; footers are read, of files of equal size alone.

    Args:
        files: Complete Parquet files.

    Raises:
        DataError: if two files with rows have the same size and footer.
        OSError: if a file cannot be read.
    """
    of_size: dict[int, list[Path]] = defaultdict(list)
    for file in files:
        of_size[file.stat().st_size].append(file)
    of_part: dict[str, list[Path]] = defaultdict(list)
    for file in (file for alike in of_size.values() if len(alike) > 1 for file in alike):
        of_part[_file_part(file)].append(file)
    for part, alike in of_part.items():
        if len(alike) > 1 and _has_rows(alike[0]):  # which its footer says, as that of the others
            refuse_equal_parts((str(file), part) for file in alike)


def refuse_equal_parts(parts: Iterable[tuple[str, str]]) -> None:
    """Refuse Parquet files with rows that have the same digest.

    Args:
        parts: The name of each file for messages, and its digest.

    Raises:
        DataError: if two digests are equal.
    """
    names: dict[str, str] = {}
    for name, part in parts:
        if part in names:
            raise DataError(
                f"{names[part]} and {name} are copies (of equal size and footer): their rows would count twice; drop "
                "one, or, if they hold different people, write these into one file"
            )
        names[part] = name


@confined()
def _has_rows(file: Path) -> bool:
    import polars as pl

    return bool(pl.scan_parquet(file, glob=False).select(pl.len()).collect().item())


def _file_part(file: Path) -> str:
    with file.open("rb") as stream:
        size = stream.seek(0, 2)

        def read(start: int, length: int) -> bytes:
            stream.seek(start)
            return stream.read(length)

        return footer_part(size, read_footer(size, read, str(file)))


def read_footer(size: int, read: Callable[[int, int], bytes], name: str) -> bytes:
    """Read the footer of a Parquet file, and its trailer.

    Args:
        size: Bytes of the file.
        read: Reads so many bytes of the file: from which place, and how many.
        name: Name of the file in messages.

    Raises:
        DataError: if the file is not a complete Parquet file.
    """
    trailer = read(max(size - TRAILER, 0), TRAILER)
    length = int.from_bytes(trailer[:4], "little") + TRAILER
    if trailer[4:] != MAGIC or length > size:
        raise DataError(f"{name}: not a complete Parquet file (damaged or cut short); write or copy it again")
    return read(size - length, length)


def footer_part(size: int, footer: bytes) -> str:
    """Return the digest of a Parquet file: of its length and its footer, which places and sizes every column chunk.

    A copy has the same digest under any name. Two files of different rows have different digests, unless every column
    of every row group takes the same room and has the same extremes.

    Args:
        size: Bytes of the file.
        footer: Its footer and its trailer, as ``read_footer`` returns them.
    """
    return digest_blocks("parquet", [size.to_bytes(8, "little"), footer])


def digest_blocks(kind: str, blocks: Iterable[bytes]) -> str:
    """Return the digest of a sequence of blocks of bytes, which differs for every other division into blocks."""
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(len(block).to_bytes(8, "little") + block)
    return f"{kind}:{digest.hexdigest()}"
