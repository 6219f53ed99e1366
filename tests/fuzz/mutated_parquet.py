"""Parquet files with footers, page headers, metadata, columns and values changed."""

from __future__ import annotations

import io
from collections.abc import Callable
from random import Random
from typing import Any

from hostile_values import hostile_text
from mutated_documents import mutated_json
from thrift_compact import BINARY, INTEGERS, LIST, STRUCT, Reader, Value, nodes, written

MAGIC = b"PAR1"
WHOLE = (*(-1, 0, 1, 2, 3, 8, 100), 2**15, 2**31 - 1, 2**31, 2**32, 2**40, 2**62, 2**63 - 1, -(2**63))


def mutated_parquet(random: Random, content: bytes) -> bytes:
    return random.choice((_footer_changed, _footer_changed, _page_changed, _table_changed, _table_changed))(
        random, content
    )


def _footer_changed(random: Random, content: bytes) -> bytes:
    size = int.from_bytes(content[-8:-4], "little")
    footer = Reader(content[-8 - size : -8]).struct()
    _change(random, footer)
    new = written(footer)
    return content[: -8 - size] + new + len(new).to_bytes(4, "little") + MAGIC


def _page_changed(random: Random, content: bytes) -> bytes:
    """A page header changed; the pages behind it move, as the footer does not know, unless it keeps its length."""
    import pyarrow.parquet as pq

    metadata = pq.read_metadata(io.BytesIO(content))
    group = metadata.row_group(random.randrange(metadata.num_row_groups))
    column = group.column(random.randrange(group.num_columns))
    starts = [start for start in (column.dictionary_page_offset, column.data_page_offset) if start]
    start = random.choice(starts)
    reader = Reader(content, start)
    header = reader.struct()
    _change(random, header)
    return content[:start] + written(header) + content[reader.position :]


def _change(random: Random, root: Value) -> None:
    for _ in range(random.choice((1, 1, 2, 3))):
        node = random.choice(nodes(root))
        if node.type in INTEGERS:
            node.held = random.choice((*WHOLE, node.held + 1, node.held - 1, -node.held, node.held * 1000))
        elif node.type == BINARY:
            node.held = hostile_text(random).encode("utf-8", "surrogatepass") if random.random() < 0.7 else b"\xff\xfe"
        elif node.type == LIST and node.held[1]:
            items = node.held[1]
            place = random.randrange(len(items))
            items[place : place + 1] = random.choice(([], [items[place]] * 2))
        elif node.type == STRUCT and node.held:
            del node.held[random.randrange(len(node.held))]


def _table_changed(random: Random, content: bytes) -> bytes:
    """Another table with the same metadata, or the same table with other metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(content))
    metadata = dict(table.schema.metadata or {})
    for _ in range(random.choice((1, 1, 2))):
        try:
            table = random.choice(TABLES)(random, table)
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            continue
    if metadata and random.random() < 0.6:
        key = random.choice([*metadata])
        metadata[key] = mutated_json(random, metadata[key]) if metadata[key][:1] == b"{" else b"\xff"
    sink = io.BytesIO()
    try:
        pq.write_table(
            table.replace_schema_metadata(metadata),
            sink,
            compression=random.choice(("zstd", "snappy", "gzip", "none", "lz4", "brotli")),
            store_schema=random.random() < 0.7,
            row_group_size=random.choice((1, 7, 10_000)) if len(table) < 3000 else 10_000,
            version=random.choice(("1.0", "2.4", "2.6")),
        )
    except (pa.ArrowException, OSError, OverflowError):
        return content
    return sink.getvalue()


def _cast(random: Random, table: Any) -> Any:
    import pyarrow as pa

    types = (
        *(pa.string(), pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.bool_(), pa.date32(), pa.binary()),
        *(pa.decimal128(38, 10), pa.decimal256(60, 2), pa.timestamp("ns"), pa.null(), pa.large_string()),
        pa.time64("ns"),
    )
    place = random.randrange(table.num_columns)
    name = table.column_names[place]
    return table.set_column(place, name, table.column(place).cast(random.choice(types), safe=False))


def _nested(random: Random, table: Any) -> Any:
    import pyarrow as pa

    place = random.randrange(table.num_columns)
    column = table.column(place).combine_chunks()
    new = random.choice(
        (
            lambda: pa.StructArray.from_arrays([column], ["inner"]),
            lambda: pa.array([[each] for each in column.to_pylist()]),
            lambda: column.dictionary_encode(),
        )
    )()
    return table.set_column(place, table.column_names[place], new)


def _values(random: Random, table: Any) -> Any:
    """A few values replaced by extremes of their own type, or by null."""
    import pyarrow as pa

    place = random.randrange(table.num_columns)
    column = table.column(place)
    values = column.to_pylist()
    extremes: tuple[Any, ...] = (None,)
    if pa.types.is_integer(column.type):
        extremes = (None, -1, 0, 2**62, 2**63 - 1, -(2**63), 2**31)
    elif pa.types.is_floating(column.type):
        extremes = (None, float("nan"), float("inf"), -1e308, 5e-324, -0.0)
    elif pa.types.is_string(column.type) or pa.types.is_dictionary(column.type):
        extremes = (None, hostile_text(random).encode("utf-8", "replace").decode())
    for _ in range(random.choice((1, 5, 100))):
        if values:
            values[random.randrange(len(values))] = random.choice(extremes)
    return table.set_column(place, table.column_names[place], pa.array(values, column.type))


def _columns(random: Random, table: Any) -> Any:
    place = random.randrange(table.num_columns)
    name = table.column_names[place]
    kind = random.randrange(4)
    if kind == 0:
        return table.remove_column(place)
    if kind == 1:
        return table.append_column(random.choice((name, name.upper())), table.column(place))
    names = list(table.column_names)
    names[place] = hostile_text(random).encode("utf-8", "replace").decode()
    return table.rename_columns(names)


def _rows(random: Random, table: Any) -> Any:
    import pyarrow as pa

    kind = random.randrange(3)
    if kind == 0:
        return table.slice(0, 0)
    if kind == 1:
        return pa.concat_tables([table, table])
    return table.slice(random.randrange(len(table) + 1), random.randrange(len(table) + 1))


TABLES: tuple[Callable[[Random, Any], Any], ...] = (_cast, _nested, _values, _values, _columns, _rows)
