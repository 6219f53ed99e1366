"""Checkpoints of earlier programs are of no use to this one: their files are counted anew, and they are not left."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.museum import COMMITS, unpack
from support.running import Run
from write_museum import write_rows

import dpnb_columnar as dpnb


@pytest.mark.slow
@pytest.mark.parametrize("commit", [COMMITS[0], COMMITS[-1]])
def test_checkpoints_of_an_earlier_format_are_removed_and_others_stay(commit: str, folder: Path, run: Run) -> None:
    unpack(commit, folder)
    write_rows(folder)
    (before,) = (path.name for path in (folder / "counted").iterdir())
    later, others = before.replace(".parquet", "-99.parquet"), "my own.statistics.parquet"
    for name in (later, others):
        (folder / "counted" / name).write_bytes(b"x")
    for _ in range(2):
        run("aggregate", "people.parquet", "--output", "sum.parquet", "--checkpoint", "counted", "--overwrite")
        left = {path.name for path in (folder / "counted").iterdir()}
        assert {later, others} < left
        assert before not in left
        assert len(left) == 3
    assert dpnb.aggregate(folder / "people.parquet").class_counts.sum() == 240
