"""Read the footer of a Parquet file, and write it with other metadata. No row is read.

https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import IO

from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.thrift import BINARY, LIST, STRUCT, Struct, read_struct, varint

MAGIC = b"PAR1"
TRAILER = 8
"""Bytes at the end of a Parquet file: the length of its footer, and the magic."""

ROW_GROUPS, KEY_VALUES, ENCRYPTION = 4, 5, 8
"""Fields of a footer, FileMetaData in the format's words."""

CHUNKS, CHUNK, CHUNK_PATH, CHUNK_BYTES = 1, 3, 3, 6
"""Fields of a row group, of its column chunk, and of the ColumnMetaData in that: its path, and its bytes unpacked."""

KEY_VALUES_HEAD = (KEY_VALUES - ROW_GROUPS) << 4 | LIST
"""The byte that begins the key-value metadata, which follows the row groups."""


def footer_of(stream: IO[bytes], name: str) -> bytes:
    """Read the footer of an opened file, as ``read_footer`` does."""

    def read(start: int, length: int) -> bytes:
        stream.seek(start)
        return stream.read(length)

    return read_footer(stream.seek(0, 2), read, name)


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
        raise incomplete_file_error(name)
    return read(size - length, length)


def unpacked_bytes(footer: bytes, columns: Collection[str], name: str) -> Iterator[dict[str, int]]:
    """Yield for each row group how many bytes some columns have once they are unpacked, as the footer says.

    Args:
        footer: The footer and its trailer.
        columns: Names of columns; of those that the file lacks nothing is told.
        name: Name of the file in messages.

    Raises:
        DataError: if the footer is damaged.
    """
    with _footer_errors(name):
        struct, _ = read_struct(footer, levels=6, last=ROW_GROUPS)
        for group in struct[ROW_GROUPS]:
            total: dict[str, int] = {}
            for chunk in group[CHUNKS]:
                described = chunk.get(CHUNK) or {}  # absent where the column is encrypted, and nobody reads it
                column = described[CHUNK_PATH][0].decode() if described else ""
                if column in columns:
                    total[column] = total.get(column, 0) + max(described[CHUNK_BYTES], 0)
            yield total


def with_metadata(footer: bytes, metadata: Mapping[str, str], name: str) -> bytes:
    """Return a footer with other key-value metadata; everything else in it stays as it is, byte for byte.

    Args:
        footer: The footer and its trailer.
        metadata: Values to set by their keys; those of other keys stay.
        name: Name of the file in messages.

    Raises:
        DataError: if the footer is damaged, or if it is signed, so that nobody else can write it.
    """
    with _footer_errors(name):
        struct, _ = read_struct(footer, levels=1)
        _, place = read_struct(footer, levels=1, last=ROW_GROUPS)
        before, after = footer[:place], footer[place:-TRAILER]
        pairs: list[Struct] = []
        # A field's number is told as its distance from the one before.
        if after[0] == KEY_VALUES_HEAD:
            held, end = read_struct(after, last=1)
            pairs, after = held[1], after[end:]
        elif after[0] > 15:
            after = bytes([after[0] - 16]) + after[1:]
        kept = [(pair[1], pair.get(2)) for pair in pairs if pair[1].decode() not in metadata]
        if not all(isinstance(value, bytes | None) for _, value in kept):
            raise ValueError("a value that is no text")
    if ENCRYPTION in struct:
        raise DataError(f"{name}: is signed for encryption; write it again without where only you can read it")
    written = [*kept, *((key.encode(), value.encode()) for key, value in metadata.items())]
    head = bytes([len(written) << 4 | STRUCT]) if len(written) < 15 else bytes([0xF0 | STRUCT]) + varint(len(written))
    new = b"".join([before, bytes([KEY_VALUES_HEAD]), head, *(_pair(*each) for each in written), after])
    return new + len(new).to_bytes(4, "little") + MAGIC


def _pair(*texts: bytes | None) -> bytes:
    fields = (bytes([1 << 4 | BINARY]) + varint(len(text)) + text for text in texts if text is not None)
    return b"".join([*fields, b"\0"])


def incomplete_file_error(name: object) -> DataError:
    """Return the error to raise for a file that is not complete Parquet."""
    return DataError(f"{name}: not a complete Parquet file (damaged or cut short); write or copy it again")


@contextmanager
def _footer_errors(name: str) -> Iterator[None]:
    """Report a footer that is not written as the format says."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError):
        raise incomplete_file_error(name) from None
