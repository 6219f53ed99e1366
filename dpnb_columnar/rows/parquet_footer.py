"""Read the footer of a Parquet file, and write it with other metadata. No row is read.

https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.thrift import BINARY, LIST, STRUCT, Struct, read_list_head, read_struct, varint

MAGIC = b"PAR1"
TRAILER = 8
"""Bytes at the end of a Parquet file: the length of its footer, and the magic."""

SCHEMA, NUM_ROWS, ROW_GROUPS, KEY_VALUES, ENCRYPTION = 2, 3, 4, 5, 8
"""Fields of a footer, FileMetaData in the format's words."""

COLUMN_CHUNK = (bytes, int, int, int, int, int)
"""Types of what is told of a column chunk."""

KEY_VALUES_HEAD = (KEY_VALUES - ROW_GROUPS) << 4 | LIST
"""The byte that begins the key-value metadata, which follows the row groups."""


@dataclass(frozen=True, slots=True)
class ColumnChunk:
    """The values of one column in one row group, as the footer tells.

    Attributes:
        column: Name of the column in the schema, in UTF-8; of a nested one that of its outermost part.
        start: Where its pages begin.
        values: Number of its values, nulls among them.
        rows: Number of rows of the row group.
        size: Bytes of its pages once they are uncompressed.
        compressed: Bytes of its pages in the file.
    """

    column: bytes
    start: int
    values: int
    rows: int
    size: int
    compressed: int


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


def number_of_rows(footer: bytes, name: str) -> int:
    """Return the number of rows that a footer tells.

    Raises:
        DataError: if the footer is damaged.
    """
    with _footer_errors(name):
        struct, _ = read_struct(footer, levels=1, last=NUM_ROWS)
        return int(struct[NUM_ROWS])


def has_rows(footer: bytes, name: str) -> bool:
    """Test whether a footer tells of rows, in all or in any row group.

    Raises:
        DataError: if the footer is damaged.
    """
    if number_of_rows(footer, name):
        return True
    with _footer_errors(name):
        return any(group[NUM_ROWS] for group in _row_groups(footer, name))


def column_chunks(footer: bytes, name: str) -> Iterator[ColumnChunk]:
    """List the column chunks in a footer, but for those without values.

    Raises:
        DataError: if the footer is damaged.
    """
    with _footer_errors(name):
        struct, _ = read_struct(footer, levels=3, last=NUM_ROWS)
        names = list(_leaf_names(struct[SCHEMA]))
    for group in _row_groups(footer, name):
        with _footer_errors(name):
            for leaf, column in zip(names, group[1], strict=True):
                chunk: Struct = column.get(3, {})  # ColumnMetaData; of an encrypted column it is not here
                if not chunk.get(5):
                    continue
                # As Polars does: some writers name place 0 for a dictionary where there is none.
                start = chunk.get(11, 0) if chunk.get(11, 0) > 0 else chunk[9]
                fields = (leaf, start, chunk[5], group[NUM_ROWS], chunk[6], chunk[7])
                if (*map(type, fields),) != COLUMN_CHUNK:
                    raise ValueError("a field of another type")
                yield ColumnChunk(*fields)


def _leaf_names(schema: list[Struct]) -> Iterator[bytes]:
    """List the name of the outermost column of each chunk; readers go by its place, not by its own name."""
    within = 0
    for element in schema[1:]:
        if not within:
            name, within = element[4], 1
        children = element.get(5, 0)
        within += children - 1
        if not children:
            yield name


def _row_groups(footer: bytes, name: str) -> Iterator[Struct]:
    """Read the row groups one by one: of a thousand columns, one takes a megabyte of memory."""
    with _footer_errors(name):
        _, place = read_struct(footer, levels=1, last=NUM_ROWS)
        if footer[place] != 1 << 4 | LIST:
            raise ValueError("no row groups")
        groups, _, place = read_list_head(footer, place + 1)
        for _ in range(groups):
            group, place = read_struct(footer, place)
            yield group


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
