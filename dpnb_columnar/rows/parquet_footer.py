"""Read the footer of a Parquet file. No row is read.

https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import IO, Any

from dpnb_columnar.errors import DataError

MAGIC = b"PAR1"
TRAILER = 8
"""Bytes at the end of a Parquet file: the length of its footer, and the magic."""

ROW_GROUPS, CHUNKS, CHUNK, CHUNK_PATH, CHUNK_BYTES = 4, 1, 3, 3, 6
"""Fields: a footer's row groups; a group's column chunks; a chunk's ColumnMetaData; its path, its bytes unpacked."""

BOOLEANS, BYTE, WHOLE_NUMBERS, DOUBLE, BINARY, LISTS, STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12
"""Types of the protocol that a footer has."""

DEEPEST = 16
"""Levels of structs and lists; a footer has six."""


def footer_of(stream: IO[bytes], name: str) -> bytes:
    """Read the footer of an opened file, as ``read_footer`` does."""

    def read(start: int, length: int) -> bytes:
        stream.seek(start)
        return stream.read(length)

    return read_footer(stream.seek(0, 2), read, name)


def read_footer(size: int, read: Callable[[int, int], bytes], name: str) -> bytes:
    """Read the footer of a Parquet file, and its trailer.

    Args:
        read: Reads so many bytes of the file: from which place, and how many.
    """
    trailer = read(max(size - TRAILER, 0), TRAILER)
    length = int.from_bytes(trailer[:4], "little") + TRAILER
    if trailer[4:] != MAGIC or length > size:
        raise incomplete_file_error(name)
    return read(size - length, length)


def unpacked_bytes(footer: bytes, columns: Collection[str], name: str) -> Iterator[dict[str, int]]:
    """Yield for each row group how many bytes some columns have once they are unpacked, as the footer says.

    Libraries say it as well, which a training of Parquet files would load for nothing else: of 1,000 rows, 0.78 seconds
    of processor time, it would take 0.06 more with Arrow, and 0.14 more with DuckDB.
    """
    try:
        for group in _value(footer, 0, STRUCT, 0)[0][ROW_GROUPS]:
            total: dict[str, int] = {}
            for chunk in group[CHUNKS]:
                described = chunk.get(CHUNK) or {}  # absent where the column is encrypted, and is not read
                column = described[CHUNK_PATH][0].decode() if described else ""
                if column in columns:
                    total[column] = total.get(column, 0) + max(described[CHUNK_BYTES], 0)
            yield total
    except (LookupError, TypeError, ValueError, AttributeError):
        raise incomplete_file_error(name) from None


def _value(data: bytes, place: int, kind: int, depth: int) -> tuple[Any, int]:
    """Read a value, a struct as a mapping of its fields' numbers, and return the place behind it as well.

    Raises:
        LookupError: if the data ends within it.
        ValueError: if it is not written in the protocol, is of a type that no footer has, or is nested too deep.
    """
    if kind in WHOLE_NUMBERS:
        number, place = _varint(data, place)
        return number >> 1 ^ -(number & 1), place
    if kind == BINARY:
        size, place = _varint(data, place)
        return data[place : place + size], place + size
    if kind in BOOLEANS:
        return kind, place
    if depth == DEEPEST or kind not in (*LISTS, STRUCT, BYTE, DOUBLE):
        raise ValueError("nested too deep, or of a type that no footer has")
    if kind == STRUCT:
        struct, field = {}, 0
        while head := data[place]:
            step, place = (head >> 4, place + 1) if head > 15 else _value(data, place + 1, WHOLE_NUMBERS[0], depth)
            field = field + step if head > 15 else step
            struct[field], place = _value(data, place, head & 15, depth + 1)
        return struct, place + 1
    if kind in LISTS:
        size, kind, place = data[place] >> 4, data[place] & 15, place + 1
        if size == 15:
            size, place = _varint(data, place)
        if size > len(data):  # an item takes a byte at least
            raise IndexError("more items than bytes")
        items = []
        for _ in range(size):
            item, place = _value(data, place, BYTE if kind in BOOLEANS else kind, depth + 1)
            items.append(item)
        return items, place
    return None, place + (1 if kind == BYTE else 8)


def _varint(data: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while shift < 64:
        byte = data[place]
        number |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return number, place
    raise ValueError("a number of more than 64 bits")


def incomplete_file_error(name: object) -> DataError:
    """Return the error to raise for a file that is not complete Parquet."""
    return DataError(f"{name}: not a complete Parquet file (damaged or cut short); write or copy it again")
