"""Footers that are damaged in any way are read, or refused as damaged: nothing else happens."""

from __future__ import annotations

import io
from pathlib import Path
from random import Random

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.people import people, write_people

from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.input_files import footer_of, read_footer, unpacked_bytes

ROWS = pl.DataFrame({"number": [1, 2, None], "text": ["a", "", "c"], "day": [None, None, None]})


def written(**options: object) -> bytes:
    sink = io.BytesIO()
    rows = ROWS.to_arrow().replace_schema_metadata({"kept": "as it is", "set": "once"})
    pq.write_table(rows, sink, row_group_size=2, **options)
    return sink.getvalue()


def footer(content: bytes) -> bytes:
    return footer_of(io.BytesIO(content), "file")


@pytest.mark.parametrize("seed", range(3))
def test_a_damaged_footer_is_read_or_refused(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    content = footer(written())
    refused = 0
    for _ in range(2000):
        damaged = bytearray(content)
        for _ in range(random.choice((1, 1, 2, 8))):
            damaged[random.randrange(len(content) - 8)] = random.choice((0, 0xFF, 0x0C, 0x19, random.randrange(256)))
        try:
            list(unpacked_bytes(bytes(damaged), {"text"}, "file"))
        except DataError:
            refused += 1
    assert 200 < refused < 2000


def by_arrow() -> bytes:
    return written(compression="zstd", write_page_index=True)


def by_polars() -> bytes:
    sink = io.BytesIO()
    ROWS.write_parquet(sink, row_group_size=2)
    return sink.getvalue()


def nested() -> bytes:
    sink = io.BytesIO()
    inner = [{"number": [1, 2], "text": "a", "flag": True}, None, {"number": [], "text": None, "flag": False}]
    pq.write_table(pa.table({"text": pa.array(inner), "number": [1, 2, 3]}), sink, row_group_size=2)
    return sink.getvalue()


def without_rows() -> bytes:
    sink = io.BytesIO()
    ROWS.clear().write_parquet(sink)
    return sink.getvalue()


@pytest.mark.parametrize("content", [by_arrow(), by_polars(), nested(), without_rows()])
def test_unpacked_bytes_are_those_that_arrow_reads(content: bytes) -> None:
    metadata = pq.read_metadata(io.BytesIO(content))
    expected = []
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        chunks = [group.column(place) for place in range(group.num_columns)]
        texts = [each.total_uncompressed_size for each in chunks if each.path_in_schema.split(".")[0] == "text"]
        expected.append(sum(texts))
    assert list(unpacked_bytes(footer(content), {"text", "absent"}, "file")) == expected


@pytest.mark.parametrize("kind", [b"\x19", b"\x1c"])
def test_a_footer_that_is_nested_without_end_is_refused(kind: bytes) -> None:
    """Lists in lists, and structs in structs."""
    with pytest.raises(DataError, match="not a complete Parquet file"):
        list(unpacked_bytes(b"\x19" * (kind == b"\x19") + kind * 10**5, {"text"}, "file"))


@pytest.mark.parametrize("missing", [1, 4, 100])
def test_a_file_that_is_shorter_than_its_footer_is_refused(missing: int, tmp_path: Path) -> None:
    """Its last eight bytes are whole, and what they tell of is not there."""
    content = write_people(tmp_path / "rows.parquet", people(3)).read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    cut = content[missing - footer :]
    with pytest.raises(DataError, match="not a complete Parquet file"):
        read_footer(len(cut), lambda start, length: cut[start : start + length], "rows.parquet")
    whole = content[-footer:]
    assert read_footer(footer, lambda start, length: whole[start : start + length], "rows.parquet") == whole


@pytest.mark.parametrize("magic", [b"PARE", b"PAR2", b"\0\0\0\0"])
def test_a_file_without_the_formats_last_bytes_is_refused(magic: bytes, tmp_path: Path) -> None:
    content = write_people(tmp_path / "rows.parquet", people(3)).read_bytes()[:-4] + magic
    with pytest.raises(DataError, match="not a complete Parquet file"):
        read_footer(len(content), lambda start, length: content[start : start + length], "rows.parquet")
