"""Identify Parquet files by digests of their footers: copies are refused, and statistics tell what they counted."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

from dpnb_columnar.errors import DataError
from dpnb_columnar.runtime.confinement import confined

MAGIC = b"PAR1"
TRAILER = 8
"""Bytes at the end of a Parquet file: the length of its footer, and the magic."""

BEGINNING = 2**20
"""Bytes at the beginning of files that are compared where their footers are equal."""


def file_parts(files: Iterable[Path]) -> frozenset[str]:
    """Return the digests of Parquet files. A file without rows has none: it may be counted any number of times.

    Raises:
        DataError: if a file is not a complete Parquet file.
        OSError: if a file cannot be read.
    """
    return frozenset(_file_part(file) for file in files if _has_rows(file))


def refuse_copies(files: Iterable[Path]) -> None:
    """Refuse Parquet files of which one is a copy of another; only files of equal size are looked at.

    Small files of different people may have equal footers, so the beginnings of such files are compared as well.

    Args:
        files: Complete Parquet files.

    Raises:
        DataError: if two files with rows have the same size, footer and beginning, in folders of the same values.
        OSError: if a file cannot be read.
    """
    from dpnb_columnar.rows.input_files import find_copies  # a release, which has no rows, loads nothing of them

    for first, second, *_ in find_copies(files, _size_and_folder, _file_part, beginning_of):
        if _has_rows(first):  # as its footer says, and so that of the second
            raise copies_error(first, second)


def _size_and_folder(file: Path) -> tuple[int, tuple[tuple[str, str | None], ...]]:
    """Return the size of a file, and the values of its folders, by which rows of equal files may differ."""
    from dpnb_columnar.rows.input_files import folder_values  # statistics, which a release is made of, know no file

    return file.stat().st_size, tuple(folder_values(file).items())


def copies_error(first: object, second: object) -> DataError:
    """Return the error to raise where one of two files is a copy of the other."""
    return DataError(
        f"{first} and {second} are copies (of equal size, footer and beginning): their rows would count twice; drop "
        "one, or, if they hold different people, write these into one file"
    )


def beginning_of(file: Path) -> str:
    """Return the digest of the beginning of a file, in which small files differ where their footers do not.

    Raises:
        OSError: if the file cannot be read.
    """
    with file.open("rb") as stream:
        return digest_blocks("beginning", [stream.read(BEGINNING)])


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
