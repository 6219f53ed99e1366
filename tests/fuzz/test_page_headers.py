"""Headers of pages that lie, on which Polars would end the process, are refused uncharged; true ones never are."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from page_headers import (
    DATA_OFFSET,
    NAME,
    NUM_VALUES,
    Page,
    fields,
    lying,
    pages_of,
    with_chunk,
    with_header,
)
from support.ledger_cases import new_ledger, spent_epsilon
from support.people import people, people_domain, write_people
from support.running import Run
from thrift_compact import BINARY, I32, INTEGERS, STRUCT, Value, written

from dpnb_columnar.domain.declaration import domain_metadata
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.parquet_pages import DETAILS, HEADER, ROOM, USUAL, _header, check_pages
from dpnb_columnar.rows.thrift import read_struct

FILE = Path("people.parquet")
TOLD = "people.parquet: column 'sex' cannot be read to the end, since a page's header claims what cannot be"
DATA, DICTIONARY, DATA_V2 = 0, 2, 3
READ_ALL = """
import sys
from pathlib import Path
import polars as pl
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.parquet_pages import check_pages
ends = {"refused": 0, "unreadable": 0, "read": 0}
for file in sorted(Path().glob("*.changed")):
    try:
        check_pages([file], ["number", "text"])
        pl.scan_parquet(file, glob=False).collect(engine="streaming")
    except DataError:
        ends["refused"] += 1
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        ends["unreadable"] += 1
    else:
        ends["read"] += 1
print(*ends.values())
"""
"""Checks files and reads those that pass: whatever is in them, this process must live."""


def page_of(content: bytes, kind: int) -> Page:
    """The first page of a type in the column of people's sexes, the third of four."""
    *_, sexes, _ = [page for page in pages_of(content) if fields(page.header)[1].held == kind]
    return sexes


LIES: dict[str, tuple[str, int, tuple[int, ...], int]] = {
    "negative values": ("1.0", DATA, (5, 1), -1000),
    "more values than rows": ("1.0", DATA, (5, 1), 1001),
    "more values than memory": ("1.0", DATA, (5, 1), 2**31 - 1),
    "a negative size": ("1.0", DATA, (2,), -1),
    "more bytes than the column": ("1.0", DATA, (2,), ROOM + 1),
    "a negative compressed size": ("1.0", DATA, (3,), -1),
    "more compressed bytes than the file": ("1.0", DATA, (3,), 2**31 - 1),
    "a dictionary of negative values": ("1.0", DICTIONARY, (7, 1), -2),
    "a dictionary of more values than bytes": ("1.0", DICTIONARY, (7, 1), 10**9),
    "negative values in version 2": ("2.0", DATA_V2, (8, 1), -1000),
    "more values than rows in version 2": ("2.0", DATA_V2, (8, 1), 1001),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_refused_before_anything_is_charged(lie: str, folder: Path, run: Run) -> None:
    version, kind, path, value = LIES[lie]
    rows = people(1000).to_arrow().replace_schema_metadata(domain_metadata(people_domain()))
    pq.write_table(rows, FILE, data_page_version=version)
    ledger = new_ledger(folder / "people.ledger", dataset="people")
    run("train", FILE, "--output", "model.json")
    content = FILE.read_bytes()
    FILE.write_bytes(lying(content, page_of(content, kind), path, value))
    write_people(folder / "other.parquet", people(500))
    by_this = ("--mechanism", "histogram", "--attribute-weights", FILE)
    for command in (
        ("train", FILE, "--epsilon", "0.5", "--ledger", ledger, "--output", "new.json"),
        ("train", "other.parquet", "--epsilon", "0.5", "--ledger", ledger, "--output", "new.json", *by_this),
        ("train", FILE, "--epsilon", "0.5", "--ledger", ledger, "--output", "new.json", "--dry-run"),
        ("aggregate", FILE, "--output", "new.parquet"),
        ("check", FILE),
        ("predict", "model.json", FILE, "--output", "new.parquet"),
        ("evaluate", "model.json", FILE),
    ):
        assert TOLD in run(*command, expected=65).err
    assert spent_epsilon(ledger, "people") == 0
    assert not list(folder.glob("*new*"))


def test_columns_that_are_not_read_may_lie(folder: Path, run: Run) -> None:
    frame = people(1000).select("age", "hours", pl.col("sex").alias("other"), "sex", "income")
    content = write_people(FILE, frame).read_bytes()
    FILE.write_bytes(lying(content, page_of(content, DATA), (5, 1), -1000))
    assert TOLD in run("train", FILE, expected=65).err
    pages = [page for page in pages_of(content) if fields(page.header)[1].held == DATA]
    FILE.write_bytes(lying(content, pages[2], (5, 1), -1000))
    run("train", FILE)


SHARED: dict[str, dict[int, Any]] = {
    "all values": {NUM_VALUES: 2**31 - 1},
    "more values than a page's header can tell": {NUM_VALUES: 2**40},
    "another name": {NAME: (BINARY, [Value(BINARY, b"other")])},
    "no name": {NAME: (BINARY, [])},
    "another beginning of the pages": {DATA_OFFSET: 4},
    "no beginning of the pages": {DATA_OFFSET: 0},
}


@pytest.mark.parametrize("lie", SHARED)
def test_a_lie_that_the_footer_shares_is_refused(lie: str, folder: Path, run: Run) -> None:
    """Polars takes columns by their order in the footer, and begins with the dictionary, whatever else it tells."""
    content = write_people(FILE).read_bytes()
    values = SHARED[lie].get(NUM_VALUES, -1000)
    lied = lying(content, page_of(content, DATA), (5, 1), values)
    FILE.write_bytes(with_chunk(lied, 2, SHARED[lie]))
    assert TOLD in run("train", FILE, expected=65).err


NUMBERS = pl.Series("number", np.arange(5000) * 37 % 1009)
TEXTS = pl.Series("text", [None if row % 7 == 3 else f"text {row % 1201}" for row in range(5000)])
LONG = pl.Series("text", ["x" * 3000 + str(row) for row in range(300)])
ROWS = pl.DataFrame([NUMBERS, TEXTS])
FRAMES = {
    "rows": ROWS,
    "no rows": ROWS.clear(),
    "nulls": ROWS.with_columns(pl.lit(None, pl.Int64).alias("number"), pl.lit(None, pl.String).alias("text")),
    "long texts": pl.DataFrame([NUMBERS.head(300), LONG]),
    "one row": ROWS.head(1),
    "untyped": ROWS.with_columns(pl.lit(None).alias("number")),
    "few of many categories": ROWS.with_columns(pl.col("text").cast(pl.Categorical)).filter(pl.col("number") < 9),
}
COMPRESSIONS = ("none", "snappy", "gzip", "brotli", "lz4", "zstd")


def written_files(frame: pl.DataFrame, folder: Path) -> Iterator[Path]:
    """The rows as every writer here writes them."""
    rows = frame.to_arrow()
    texts = rows.set_column(1, "text", rows["text"].cast(pa.string())) if "text" in rows.column_names else rows
    file = folder / "written.parquet"
    for compression in COMPRESSIONS:
        for version in ("1.0", "2.0"):
            for more in (
                {},
                {"use_dictionary": False, "write_page_checksum": True},
                {"data_page_size": 500, "write_page_index": True, "row_group_size": 1000},
                {"write_statistics": False, "dictionary_pagesize_limit": 100},
            ):
                pq.write_table(rows, file, compression=compression, data_page_version=version, **more)
                yield file
        frame.write_parquet(file, compression="uncompressed" if compression == "none" else compression)
        yield file
        frame.write_parquet(file, row_group_size=500, data_page_size=500, statistics="full")
        yield file
        codec = "uncompressed" if compression == "none" else compression
        codec = "lz4_raw" if codec == "lz4" else codec
        with duckdb.connect() as connection:
            connection.register("texts", texts)
            for version in ("V1", "V2"):
                connection.execute(
                    f"COPY texts TO '{file}' (FORMAT parquet, COMPRESSION {codec}, PARQUET_VERSION {version})"
                )
                yield file


@pytest.mark.parametrize("frame", FRAMES)
def test_true_headers_are_never_refused(frame: str, tmp_path: Path) -> None:
    for file in written_files(FRAMES[frame], tmp_path):
        check_pages([file], FRAMES[frame].columns)


def test_headers_of_any_length_and_with_unknown_fields(tmp_path: Path) -> None:
    """Statistics of texts may be long; the format may grow fields of any type."""
    file = tmp_path / "grown.parquet"
    ROWS.write_parquet(file)
    content = file.read_bytes()
    page = pages_of(content)[-1]
    for added in (
        Value(BINARY, b"x" * HEADER),
        Value(BINARY, b"x" * 100_000),
        Value(I32, 2**31 - 1),
        Value(STRUCT, [(900, Value(BINARY, b""))]),
    ):
        header = Value(STRUCT, [*page.header.held, (200, added)])
        file.write_bytes(with_header(content, page, written(header)))
        check_pages([file], ["number", "text"])
        assert pl.read_parquet(file).equals(ROWS)
    for odd in (
        b"\x09\xc8\x01\x35\x02\x04\x06",
        b"\x0b\xc8\x01\x01\x58\x02\x01k",
        b"\x07\xc8\x01" + bytes(8),
        b"\x0b\xc8\x01\x02\x11" + bytes(4),
    ):
        header = written(page.header)[:-1] + odd + b"\0"  # a list, maps, a floating-point number
        file.write_bytes(with_header(content, page, header))
        check_pages([file], ["number", "text"])


@pytest.mark.parametrize(
    "odd", [b"\xff" * 300, b"\x1c" * 300, b"\x19\xfc" + b"\xff" * 20, b"\x19" * 5000, b"\x0e\x02", b""]
)
def test_what_is_no_header_is_refused(odd: bytes, tmp_path: Path) -> None:
    """Endless numbers, endless structs, endless lists, lists in lists, unknown types, the end of the file."""
    file = tmp_path / "odd.parquet"
    ROWS.write_parquet(file)
    content = file.read_bytes()
    page = pages_of(content)[-1]
    file.write_bytes(content[: page.start] + odd + content[page.start + len(odd) :] if odd else content)
    if not odd:
        file.write_bytes(with_header(content, page, b"\0"))
    with pytest.raises(DataError, match="column 'text' cannot be read to the end"):
        check_pages([file], ["number", "text"])


def test_usual_headers_are_read_as_all_others(tmp_path: Path) -> None:
    """What is matched at once is what its fields tell, true or not, and refused without the fields of its type."""
    random = Random(2)
    matched = mistyped = 0
    for place, file in enumerate(written_files(ROWS, tmp_path)):
        content = file.read_bytes()
        for page in pages_of(content)[place % 3 :: 3]:
            for _ in range(30):
                header = bytearray(content[page.start : page.end])
                if random.random() < 0.9:
                    header[random.randrange(len(header))] = random.choice((0, 0x15, 0x1C, 0xFF, random.randrange(256)))
                if USUAL.match(bytes(header)) is None:
                    continue
                struct, end = read_struct(bytes(header), levels=2)
                if (details := struct.get(DETAILS[struct[1]])) is None:
                    mistyped += 1
                    with pytest.raises(KeyError):
                        _header(bytes(header), 0)
                    continue
                matched += 1
                assert _header(bytes(header), 0) == (struct[1], struct[2], struct[3], details[1], end)
    assert matched > 1000
    assert mistyped > 10


def changed_headers(content: bytes, random: Random) -> Iterator[bytes]:
    """The file with a bit of a header turned, or with another number in it."""
    for page in pages_of(content):
        for place in range(page.start, page.end):
            changed = bytearray(content)
            changed[place] ^= 1 << random.randrange(8)
            yield bytes(changed)
        for path in number_paths(page.header):
            yield lying(content, page, path, random.choice((-1, -(2**31), 2**31 - 1, 2**20, 10**9)))


def number_paths(header: Value, outer: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """The fields of a header that hold numbers, those of structs within it among them."""
    for field, value in header.held:
        if value.type == STRUCT:
            yield from number_paths(value, (*outer, field))
        elif value.type in INTEGERS:
            yield (*outer, field)


@pytest.mark.slow
def test_what_passes_can_be_read_or_is_refused_by_polars(tmp_path: Path) -> None:
    """No change of a header that passes ends the process; of those that are refused, bare Polars dies of one in six."""
    random = Random(1)
    number = 0
    for frame, seed in ((ROWS, "rows"), (FRAMES["nulls"], "nulls")):
        for place, file in enumerate(written_files(frame, tmp_path)):
            if place % 9 == len(seed) % 9:
                for changed in changed_headers(file.read_bytes(), random):
                    number += 1
                    if number % 5 == 0:
                        (tmp_path / f"{number}.changed").write_bytes(changed)
    ended = subprocess.run([sys.executable, "-c", READ_ALL], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0
    refused, unreadable, read = map(int, ended.stdout.split())
    assert min(refused, unreadable, read) > 100
