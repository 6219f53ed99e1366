"""``dpnb-columnar datasets``."""

from __future__ import annotations

import gzip
import hashlib
from contextlib import nullcontext
from pathlib import Path

import polars as pl
import pytest
from dpnb_columnar.domain.catalogue import entries
from support.people import DECLARATION
from support.running import Run
from support.watching import Watching

from dpnb_columnar.cli import console

ROWS = b"3\t4\t5\t1\r\n6\t7\t8\t2\r\n"
SKIN = f"""
[skin]
title = "Two pixels"

[skin.raw]
"skin.txt" = "{hashlib.sha256(ROWS).hexdigest()}"

[skin.label]
column = "skin"
classes = [1, 2]

[skin.attributes]
B = {{ lower = 0, upper = 255, step = 1 }}
"""


@pytest.fixture
def raw(folder: Path) -> Path:
    """A folder with the raw file of a small data set, declared in the working directory."""
    Path("datasets.toml").write_text(SKIN)
    Path("downloads").mkdir()
    Path("downloads/skin.txt").write_bytes(ROWS)
    return Path("downloads")


def test_list_names_every_data_set(folder: Path, run: Run) -> None:
    lines = run("datasets", "list").out.splitlines()
    assert [line.split()[0] for line in lines[2:]] == [entry.name for entry in entries()]


def test_list_begins_with_the_working_directory(folder: Path, run: Run) -> None:
    Path("datasets.toml").write_text(DECLARATION)
    first = run("datasets", "list").out.splitlines()[2]
    assert first.split() == ["people", "2", "1", "2", "people"]


def test_prepare_writes_a_file_that_train_takes(raw: Path, run: Run) -> None:
    assert run("datasets", "prepare", "skin", "--from", raw).out == "wrote skin.parquet: 2 rows, checksums verified\n"
    assert pl.read_parquet("skin.parquet").rows() == [(3, 1), (6, 2)]
    Path("datasets.toml").unlink()
    assert "from the metadata of the data" in run("train", "skin.parquet").out


@pytest.mark.parametrize("name", ["skin.txt", "skin.txt.gz"])
def test_prepare_tells_the_share_of_the_bytes_read(
    name: str, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every byte is read twice, to be verified and to be converted."""
    watching = Watching()
    monkeypatch.setattr(console, "_watcher", lambda stage: nullcontext(watching))
    Path("datasets.toml").write_text(SKIN.replace("skin.txt", name))
    Path(name).write_bytes(gzip.compress(ROWS) if name.endswith(".gz") else ROWS)
    run("datasets", "prepare", "skin", "--from", ".")
    assert (watching.totals, watching.units) == ([2 * Path(name).stat().st_size], ["bytes"])
    assert sum(watching.done) == watching.total / 2  # what a small file is converted in is no long step
