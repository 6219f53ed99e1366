"""Check what the headers of a Parquet file's pages claim, before Polars makes room for it. No row is read.

Polars takes a page's number of values and its sizes as they stand in its header, and ends the process where it has no
room for so many. Headers are small and lie before their pages: they are read one by one, from one to the next.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import IO

from dpnb_columnar.domain.names import listed
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.input_files import cannot_be_opened
from dpnb_columnar.rows.parquet_footer import ColumnChunk, column_chunks, footer_of
from dpnb_columnar.rows.thrift import Struct, read_struct

HEADER = 256
"""Bytes that are read of a page at first: most headers have 20 to 80."""

LARGEST_HEADER = 2**24
"""Bytes of a header, which may hold two values of the page."""

ROOM = 2**24
"""Bytes that any page may claim, since some writers leave parts of a column chunk out of its size."""

DATA, DICTIONARY, DATA_V2 = 0, 2, 3
"""Types of pages."""

WITH_VALUES = frozenset({DATA, DATA_V2})
"""Types of pages that hold values of rows."""

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
            raise cannot_be_opened(file, error) from None


def _is_possible(stream: IO[bytes], chunk: ColumnChunk, end: int) -> bool:
    """Test whether the headers of a column chunk's pages can be true.

    Args:
        stream: The file.
        chunk: The column chunk.
        end: Where the file's pages end.
    """
    place, left = chunk.start, chunk.values
    most_bytes, most_values = max(chunk.size, ROOM), max(chunk.values, chunk.rows)
    try:
        while left > 0 and place < end:
            header, place = _read_header(stream, place, end)
            kind, size, compressed = header[1], header[2], header[3]
            if not (0 <= size <= most_bytes and 0 <= compressed <= end - place):
                return False
            if kind in WITH_VALUES:
                values = header[DETAILS[kind]][1]
                if not 0 <= values <= most_values:
                    return False
                left -= values
            # An entry of a dictionary takes a byte or more. Rows may use few of its entries, or none.
            elif kind == DICTIONARY and not 0 <= header[DETAILS[kind]][1] <= size:
                return False
            place += compressed
    except (LookupError, TypeError, ValueError):
        return False
    return True


def _read_header(stream: IO[bytes], place: int, end: int) -> tuple[Struct, int]:
    """Read the header of a page; return it, and where the page begins."""
    size = HEADER
    while True:
        stream.seek(place)
        data = stream.read(min(size, end - place))
        try:
            header, length = read_struct(data, levels=2)  # without the page's statistics
        except IndexError:
            if len(data) < size or size >= LARGEST_HEADER:
                raise
            size *= 16
        else:
            return header, place + length
