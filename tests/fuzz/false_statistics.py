"""Parquet files whose rows are right, and whose summaries are not: bounds, numbers of nulls, Bloom filters."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa
import pyarrow.parquet as pq
from thrift_compact import BINARY, Reader, Value, written

GROUPS, META, COLUMNS, COLUMN_META = 4, 3, 1, 3
STATISTICS, BLOOM_FILTER, VALUES = 12, 14, 5
NULLS, BOUNDS = 3, (1, 5, 2, 6)
"""Fields of Parquet's footer, by their numbers in parquet.thrift: maximum, then minimum, each in two fields."""


def summarised(table: pa.Table, rows: int) -> bytes:
    """Write a table with statistics, page indices and Bloom filters of every column, in groups of so many rows."""
    sink = io.BytesIO()
    filters = {name: {"ndv": rows} for name in table.column_names}  # otherwise each of a mebibyte
    pq.write_table(table, sink, row_group_size=rows, write_page_index=True, bloom_filter_options=filters)
    return sink.getvalue()


def _footer(content: bytes) -> tuple[int, Value]:
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    return start, Reader(content[start:-8]).struct()


def _columns(footer: Value) -> Iterator[dict[int, Value]]:
    for group in dict(footer.held)[GROUPS].held[1]:
        for column in dict(group.held)[COLUMNS].held[1]:
            yield dict(dict(column.held)[COLUMN_META].held)


def _changed(content: bytes, change: Callable[[dict[int, Value], int], None]) -> bytes:
    """The file with the statistics of every column changed: by field, with the number of values."""
    start, footer = _footer(content)
    for column in _columns(footer):
        change(dict(column[STATISTICS].held), column[VALUES].held)
    new = written(footer)
    return content[:start] + new + len(new).to_bytes(4, "little") + content[-4:]


def _no_value_above(fields: dict[int, Value], _values: int) -> None:
    for bound in BOUNDS:
        if bound in fields:
            fields[bound].held = fields[BOUNDS[2]].held if BOUNDS[2] in fields else fields[BOUNDS[3]].held


def _swapped(fields: dict[int, Value], _values: int) -> None:
    for most, least in zip(BOUNDS[:2], BOUNDS[2:], strict=True):
        if most in fields and least in fields:
            fields[most].held, fields[least].held = fields[least].held, fields[most].held


def _elsewhere(fields: dict[int, Value], _values: int) -> None:
    for bound in BOUNDS:
        if bound in fields:
            assert fields[bound].type == BINARY
            fields[bound].held = b"\x7a" * len(fields[bound].held)


def _all_null(fields: dict[int, Value], values: int) -> None:
    fields[NULLS].held = values


def _no_null(fields: dict[int, Value], _values: int) -> None:
    fields[NULLS].held = 0


def _without_filters(content: bytes) -> bytes:
    """The file with Bloom filters that say of every value that no row has it."""
    changed, emptied = bytearray(content), 0
    for column in _columns(_footer(content)[1]):
        reader = Reader(content, column[BLOOM_FILTER].held)
        size = dict(reader.struct().held)[1].held
        changed[reader.position : reader.position + size] = bytes(size)
        emptied += 1
    assert emptied
    return bytes(changed)


LIES: Mapping[str, Callable[[bytes], bytes]] = {
    "no value above the smallest": lambda content: _changed(content, _no_value_above),
    "smallest and largest swapped": lambda content: _changed(content, _swapped),
    "values elsewhere": lambda content: _changed(content, _elsewhere),
    "all null": lambda content: _changed(content, _all_null),
    "no null": lambda content: _changed(content, _no_null),
    "empty Bloom filters": _without_filters,
}
