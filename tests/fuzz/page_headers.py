"""The headers of a Parquet file's pages, changed while everything else in the file stays true."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from thrift_compact import Reader, Value, written

MAGIC = b"PAR1"
ROW_GROUPS, COLUMNS, METADATA = 4, 1, 3
NAME, NUM_VALUES, COMPRESSED_SIZE, DATA_OFFSET, INDEX_OFFSET, DICTIONARY_OFFSET = 3, 5, 7, 9, 10, 11
OFFSETS = (DATA_OFFSET, INDEX_OFFSET, DICTIONARY_OFFSET)
"""Fields of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData in parquet.thrift."""


@dataclass(frozen=True)
class Page:
    """A page, by its header.

    Attributes:
        start: Where the header begins.
        end: Where the page itself begins.
        header: The header.
    """

    start: int
    end: int
    header: Value


def fields(struct: Value) -> dict[int, Value]:
    """The values of a struct by the numbers of their fields."""
    return dict(struct.held)


def footer_of(content: bytes) -> Value:
    """The footer of a file."""
    return Reader(content, _footer_start(content)).struct()


def _footer_start(content: bytes) -> int:
    return len(content) - 8 - int.from_bytes(content[-8:-4], "little")


def _chunks(footer: Value) -> Iterator[dict[int, Value]]:
    for group in fields(footer)[ROW_GROUPS].held[1]:
        for column in fields(group)[COLUMNS].held[1]:
            yield fields(fields(column)[METADATA])


def _start(chunk: dict[int, Value]) -> int:
    return min(chunk[field].held for field in (DATA_OFFSET, DICTIONARY_OFFSET) if field in chunk)


def pages_of(content: bytes) -> list[Page]:
    """All pages of a file, by column and row group."""
    pages = []
    for chunk in _chunks(footer_of(content)):
        place = _start(chunk)
        end = place + chunk[COMPRESSED_SIZE].held
        while place < end:
            reader = Reader(content, place)
            header = reader.struct()
            pages.append(Page(place, reader.position, header))
            place = reader.position + fields(header)[3].held
    return pages


def with_header(content: bytes, page: Page, header: bytes) -> bytes:
    """The file with other bytes for a page's header; what lies behind it moves, and the footer knows."""
    footer = footer_of(content)
    shift = len(header) - (page.end - page.start)
    for chunk in _chunks(footer):
        start = _start(chunk)
        if start <= page.start < start + chunk[COMPRESSED_SIZE].held:
            chunk[COMPRESSED_SIZE].held += shift
        for field in OFFSETS:
            if field in chunk and chunk[field].held > page.start:
                chunk[field].held += shift
    return with_footer(content[: page.start] + header + content[page.end : _footer_start(content)], footer)


def with_footer(pages: bytes, footer: Value) -> bytes:
    """A file of these pages and this footer."""
    new = written(footer)
    return pages + new + len(new).to_bytes(4, "little") + MAGIC


def with_chunk(content: bytes, place: int, more: Mapping[int, Any]) -> bytes:
    """The file whose footer has other values for the column chunk at this place in its first row group."""
    footer = footer_of(content)
    chunk = list(_chunks(footer))[place]
    for field, value in more.items():
        chunk[field].held = value
    return with_footer(content[: _footer_start(content)], footer)


def lying(content: bytes, page: Page, path: tuple[int, ...], value: Any) -> bytes:
    """The file with another value in a page's header, in the field of these numbers."""
    header = Reader(content, page.start).struct()
    node = header
    for field in path:
        node = fields(node)[field]
    node.held = value
    return with_header(content, page, written(header))
