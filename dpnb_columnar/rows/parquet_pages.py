"""Check what the headers of a Parquet file's pages claim, before Polars makes room for it. No row is read.

Polars takes a page's number of values and its sizes as they stand in its header, and ends the process where it has no
room for so many. Headers are small and lie before their pages: they are read one by one, from one to the next.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import IO

from dpnb_columnar.domain.names import listed
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.input_files import open_error
from dpnb_columnar.rows.parquet_footer import ColumnChunk, column_chunks, footer_of
from dpnb_columnar.rows.thrift import read_struct

HEADER = 256
"""Bytes that are read of a page at first: most headers have 20 to 80."""

LONG_HEADER, LARGEST_HEADER = 2**14, 2**24
"""Bytes of a header that holds the least and the largest value of its page; most writers cut these to 64 or 4096."""

AT_ONCE = 2**16
"""Bytes of a column chunk that is read at once, since that takes less time than to read its headers one by one."""

ROOM = 2**24
"""Bytes that any page may claim, since some writers leave parts of a column chunk out of its size."""

LARGEST_PAGE, MOST_VALUES = 2**31 - 1, 2**27
"""Bytes and values that a page may claim, whatever the footer says. Arrow puts 2**26 rows at most into a row group, and
others close a page after a mebibyte or so of values; Polars makes room for all values of a page at once."""

DATA, DICTIONARY, DATA_V2 = 0, 2, 3
"""Types of pages."""

WITH_VALUES = frozenset({DATA, DATA_V2})
"""Types of pages that hold values of rows."""

# In 100 million rows by Arrow, in pages of 20,000, are 85,000 headers: to check them is a fiftieth of their training.
NUMBER = rb"([\x80-\xff]{0,4}[\x00-\x7f])"
SKIPPED = rb"(?:[\x15\x25\x35\x16\x26\x36][\x80-\xff]{0,9}[\x00-\x7f]|[\x11\x12\x21\x22])"
SHORT = rb"[\x18\x28](?:" + b"|".join(rb"\x%02x.{%d}" % (size, size) for size in (4, 8, *range(4), 5, 6, 7)) + b")"
USUAL = re.compile(
    rb"\x15([\x00\x04\x06])\x15" + NUMBER + rb"\x15" + NUMBER + rb"(?:\x15" + NUMBER + rb")?"
    rb"([\x1c\x2c\x3c\x4c\x5c])\x15" + NUMBER + SKIPPED + rb"*"
    rb"(?:\x1c(?:" + SKIPPED + b"|" + SHORT + rb")*\x00)?\x00\x00",
    re.DOTALL,
)
"""A header of numbers and short statistics, matched in half the time that it takes to read its fields. A field begins
with its distance from the one before, in the upper half of a byte, and its type (``rows.thrift``) in the lower."""

DETAILS = {DATA: 5, DICTIONARY: 7, DATA_V2: 8}
"""For each type, the field of a header that holds what is peculiar to it."""


def check_pages(files: Iterable[Path], columns: Collection[str]) -> None:
    """Refuse files with a page whose header claims what its column chunk cannot hold.

    Args:
        files: Parquet files.
        columns: The columns that will be read; those that a file has not are ignored.

    Raises:
        MissingInputError: if a file cannot be opened.
        DataError: if a header of a page of these columns cannot be true, or a footer is damaged.
    """
    wanted = {column.encode() for column in columns}
    for file in files:
        try:
            with file.open("rb") as stream:
                footer = footer_of(stream, str(file))
                end = stream.tell() - len(footer)
                for chunk in column_chunks(footer, str(file)):
                    if chunk.column in wanted and not _is_possible(stream, chunk, end):
                        raise DataError(
                            f"{file}: column {listed([chunk.column.decode()])} cannot be read to the end, since a "
                            "page's header claims what cannot be (damaged, cut short or encrypted); write or copy the "
                            "file again"
                        )
        except OSError as error:
            raise open_error(file, error) from None


def _is_possible(stream: IO[bytes], chunk: ColumnChunk, end: int) -> bool:
    """Test whether the headers of a column chunk's pages can be true.

    Args:
        stream: The file.
        chunk: The column chunk.
        end: Where the file's pages end.
    """
    place, left = chunk.start, chunk.values
    most_bytes = min(max(chunk.size, ROOM), LARGEST_PAGE)
    most_values = min(max(chunk.values, chunk.rows), MOST_VALUES)
    at_once = max(chunk.compressed, HEADER) if chunk.compressed <= AT_ONCE else HEADER
    data, begin = b"", place
    try:
        while left > 0 and place < end:
            if place + HEADER > begin + len(data):
                data, begin = _read(stream, place, at_once, end), place
            try:
                kind, size, compressed, values, length = _header(data, place - begin)
            except IndexError:
                data, begin = _read_long(stream, place, end), place
                kind, size, compressed, values, length = _header(data, 0)
            place = begin + length
            if not (0 <= size <= most_bytes and 0 <= compressed <= end - place):
                return False
            if kind in WITH_VALUES:
                if not 0 <= values <= most_values:
                    return False
                left -= values
            # An entry of a dictionary takes a byte or more. Rows may use few of its entries, or none.
            elif kind == DICTIONARY and not 0 <= values <= size:
                return False
            place += compressed
    except (LookupError, TypeError, ValueError):
        return False
    return True


def _header(data: bytes, place: int) -> tuple[int, int, int, int, int]:
    """Read the header of a page: its type, its size, its compressed size, its values, and where the page begins.

    Raises:
        IndexError: if the data ends within it.
        KeyError, ValueError: if it is no header of a page.
    """
    if usual := USUAL.match(data, place):
        kind, size, compressed, checksum, details, values = usual.groups()
        if DETAILS[kind[0] >> 1] == (3 if checksum is None else 4) + (details[0] >> 4):
            return kind[0] >> 1, _number(size), _number(compressed), _number(values), usual.end()
    header, end = read_struct(data, place, levels=2)  # without the page's statistics
    kind = header[1]
    return kind, header[2], header[3], header[DETAILS[kind]][1] if kind in DETAILS else 0, end


def _number(written: bytes) -> int:
    number = 0
    for byte in reversed(written):
        number = number << 7 | byte & 127
    return number >> 1 ^ -(number & 1)


def _read_long(stream: IO[bytes], place: int, end: int) -> bytes:
    """Read a header that is longer than most, and what follows it."""
    data = _read(stream, place, LONG_HEADER, end)
    try:
        read_struct(data, levels=1)
    except IndexError:
        return _read(stream, place, LARGEST_HEADER, end)
    return data


def _read(stream: IO[bytes], place: int, size: int, end: int) -> bytes:
    """Read so many bytes from a place, or all that there are before the end."""
    stream.seek(place)
    return stream.read(min(size, end - place))
