"""Files of rows, opened as one stream of bytes; work done ahead; row groups."""

from __future__ import annotations

import gzip
import threading
import zipfile
from collections.abc import Generator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.extracts import HOUSEHOLDS, HOUSES, PEOPLE, TOWNSPEOPLE, write_extract

from dpnb_columnar.errors import DataError
from dpnb_columnar.extracts import convert as conversion
from dpnb_columnar.extracts import decode
from dpnb_columnar.extracts.convert import convert, plan_conversion
from dpnb_columnar.extracts.extract_files import bytes_on_disk, find_extracts, open_extract
from dpnb_columnar.runtime.workers import prefetch


@pytest.mark.parametrize("name", ["town.dat", "town.dat.gz"])
def test_progress_adds_up_to_the_bytes_on_disk(tmp_path: Path, name: str) -> None:
    extracts = find_extracts([write_extract(tmp_path / name, TOWNSPEOPLE, PEOPLE * 10_000)])
    conversion = plan_conversion(extracts, None, None, None)
    counts: list[int] = []
    convert(conversion, tmp_path / "out.parquet", progress=counts.append)
    assert sum(counts) == bytes_on_disk(extracts) == extracts[0].path.stat().st_size


def test_compression_is_known_by_the_content_and_members_follow_each_other(tmp_path: Path) -> None:
    path = tmp_path / "town.dat"
    path.write_bytes(gzip.compress(b"a\n") + gzip.compress(b"b\n"))
    with open_extract(find_extracts([path])[0]) as stream:
        assert stream.read() == b"a\nb\n"
    path.write_bytes(gzip.compress(b"a\n") + b"trailing")
    with pytest.raises(DataError, match=r"damaged or cut short"), open_extract(find_extracts([path])[0]) as stream:
        stream.read()


@pytest.mark.parametrize(
    ("place", "value", "refusal"),
    [("version needed", b"\x7f\x00", "packed in an unknown way"), ("flags and name", b"\xd1", r"damaged or cut short")],
)
def test_an_archive_that_lies_about_itself_is_named(tmp_path: Path, place: str, value: bytes, refusal: str) -> None:
    """zipfile reports a version that it does not know, and a name that is not UTF-8, in ways of their own."""
    path = tmp_path / "csv_pde.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("psam_p\N{LATIN SMALL LETTER E WITH ACUTE}.csv", "AGEP\n7\n")  # not ASCII, so flagged as UTF-8
    content = bytearray(path.read_bytes())
    directory = content.index(b"PK\x01\x02")
    start = directory + 6 if place == "version needed" else content.index(b"psam_p") + 7
    content[start : start + len(value)] = value
    path.write_bytes(content)
    with pytest.raises(DataError, match=refusal) as refused:
        find_extracts([path])
    assert str(path) in str(refused.value)


def test_row_groups_are_of_the_size_set_and_keep_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "LINES_BYTES", 1000)
    monkeypatch.setattr(conversion, "GROUP_ROWS", 500)
    numbered = [f"{number:04}{line[4:]}" for number, line in enumerate(PEOPLE * 500)]
    extracts = find_extracts([write_extract(tmp_path / "town.dat", TOWNSPEOPLE, numbered)])
    output = tmp_path / "out.parquet"
    convert(plan_conversion(extracts, None, "YEAR", None), output)
    with pq.ParquetFile(output) as file:
        sizes = [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]
        assert file.read()["YEAR"].to_pylist() == list(range(2000))
    assert all(500 <= size < 600 for size in sizes[:-1])


def test_wide_rows_make_shorter_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversion, "GROUP_BYTES", 800)
    batch = pa.RecordBatch.from_pydict({"A": pa.array(range(60), pa.int64())})
    groups = list(conversion.row_groups([batch] * 5, batch.schema))
    assert [group.num_rows for group in groups] == [120, 120, 60]


def test_households_go_on_from_block_to_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    extracts = find_extracts([write_extract(tmp_path / "town.dat", HOUSEHOLDS, HOUSES * 50)])
    found = []
    for size in (1, 10, 2**19):
        monkeypatch.setattr(decode, "LINES_BYTES", size)
        output = tmp_path / f"{size}.parquet"
        convert(plan_conversion(extracts, None, None, None), output)
        found.append(pq.read_table(output))
    assert found[0].num_rows == 150
    assert found[0].equals(found[1])
    assert found[1].equals(found[2])


def numbers(threads: set[int], closed: list[bool]) -> Generator[int]:
    try:
        for number in range(1, 6):
            threads.add(threading.get_ident())
            yield number
        raise DataError("at the end")
    finally:
        closed.append(True)


def test_work_ahead_keeps_order_and_tells_errors_in_their_place() -> None:
    threads: set[int] = set()
    closed: list[bool] = []
    made = prefetch(numbers(threads, closed), depth=2)
    assert [next(made) for _ in range(5)] == [1, 2, 3, 4, 5]
    with pytest.raises(DataError, match="at the end"):
        next(made)
    assert closed == [True]
    assert threading.get_ident() not in threads


def test_work_ahead_ends_when_nobody_waits_for_it() -> None:
    closed: list[bool] = []
    before = threading.active_count()
    made = prefetch(numbers(set(), closed), depth=2)
    assert next(made) == 1
    made.close()
    assert closed == [True]
    assert threading.active_count() == before
