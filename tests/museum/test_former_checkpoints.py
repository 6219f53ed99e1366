"""Checkpoints of an earlier format are of no use to this program: files are counted anew, and they are not left."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.museum import COMMITS, unpack
from support.running import Run
from write_museum import CATALOGUE, WRITTEN, write_rows

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


@pytest.mark.slow
def test_a_checkpoint_of_this_format_is_used(folder: Path, run: Run) -> None:
    unpack("b966898", folder)
    os.utime("people.parquet", (WRITTEN, WRITTEN))
    Path("datasets.toml").write_text(CATALOGUE, encoding="utf-8")
    (checkpoint,) = (folder / "counted").iterdir()
    before = checkpoint.stat()
    run("aggregate", "people.parquet", "--output", "sum.parquet", "--checkpoint", "counted", "--overwrite")
    assert [*(folder / "counted").iterdir()] == [checkpoint]
    assert (checkpoint.stat().st_ino, checkpoint.stat().st_mtime) == (before.st_ino, before.st_mtime)
