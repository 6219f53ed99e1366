"""A snapshot of a lake table as an input, whatever library reads it: what identifies it, and what its failures say."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.people import people, people_domain, write_people

from dpnb_columnar.core.queries.statistics import CellQuery, Statistics
from dpnb_columnar.counting import local
from dpnb_columnar.errors import DataError, MissingInputError
from dpnb_columnar.extensions.lakes.lakes import LakeTable
from dpnb_columnar.rows.sources import DELTA, ICEBERG, TableFormat

ROWS = people(500, 6)
DOMAIN = people_domain()
QUERY = CellQuery(DOMAIN)


def snapshot(
    number: int = 3, table_id: str = "one", kind: TableFormat = DELTA, rows: pl.DataFrame = ROWS, fails: Any = None
) -> LakeTable:
    """Rows that are read in batches of a hundred, after which reading them may fail."""
    table = rows.to_arrow(compat_level=pl.CompatLevel.oldest())

    def read(names: Sequence[str]) -> Iterator[Any]:
        yield from table.select(names).to_batches(100)
        if fails is not None:
            raise fails

    return LakeTable(kind, "t", "/lake/t", table_id, number, table.schema, (), read, lambda: len(rows))


def counted(rows: LakeTable) -> Statistics:
    return rows.check(DOMAIN).answer(QUERY)


def test_counts_are_those_of_a_frame_and_say_which_snapshot_was_read() -> None:
    statistics = counted(snapshot())
    assert statistics.parts == snapshot().parts
    assert list(statistics.class_counts) == list(local.answer(ROWS, QUERY).class_counts)
    assert snapshot().names == ["/lake/t@3", "Delta table one"]


def test_rows_of_two_snapshots_of_one_table_are_not_added_up() -> None:
    first = counted(snapshot())
    for other in (snapshot(), snapshot(4, rows=people(30, 9))):
        with pytest.raises(ValueError, match=r"count the same|twice|both"):
            first + counted(other)
    for other in (snapshot(table_id="two", rows=people(30, 9)), snapshot(kind=ICEBERG, rows=people(30, 9))):
        assert (first + counted(other)).class_counts.sum() == len(ROWS) + 30
    assert snapshot(3).parts != snapshot(4).parts


def test_a_table_that_lists_a_copy_is_refused_before_a_row_counts(tmp_path: Path) -> None:
    """As two files are; what reads a row of it fails."""
    files = [write_people(tmp_path / "a.parquet"), tmp_path / "b.parquet"]
    shutil.copy(*files)
    copied = replace(snapshot(fails=AssertionError()), data_files=files)
    with pytest.raises(DataError, match=r"are copies \(of equal size, footer and beginning\)"):
        copied.check(DOMAIN)
    files[1].unlink()
    with pytest.raises(MissingInputError, match="files of this snapshot are gone"):
        copied.check(DOMAIN)


class PanicException(BaseException):
    """As native code of a library raises it."""


@pytest.mark.parametrize("failure", [Exception("high"), OSError("high"), ValueError("high"), PanicException("high")])
def test_what_a_library_fails_with_is_not_shown(failure: BaseException) -> None:
    for read in (counted, lambda rows: list(rows.batches().batches)):
        with pytest.raises(DataError, match=r"t@3: cannot be read to the end: a file of this snapshot") as caught:
            read(snapshot(fails=failure))
        assert "high" not in str(caught.value)


def test_memory_and_interrupts_are_nothing_that_a_table_does() -> None:
    for failure in (MemoryError(), KeyboardInterrupt()):
        with pytest.raises(type(failure)):
            list(snapshot(fails=failure).batches().batches)
