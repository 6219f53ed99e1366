"""Rows stay in memory: Polars would write them, readable by everybody, to a folder of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

PROGRAM = """
import os, sys
from pathlib import Path
if "polars first" in sys.argv:
    import polars as pl
    pl.select(1)
if "kept" in sys.argv:
    from dpnb_columnar.runtime.confinement import keep_rows_in_memory
    keep_rows_in_memory()
import polars as pl
numbers = pl.int_range(4_000_000, eager=True).to_frame("a").lazy().select((pl.col("a") * 7919 % 10**9).sin().alias("b"))
seen = set()
result = numbers.group_by("b").agg(pl.len()).select(pl.len())
folder = Path("/var/tmp/polars-" + os.environ["USER"] if "default" in sys.argv else "spilled")
import threading, time
def watch():
    while True:
        seen.update(folder.rglob("*.ipc"))
        time.sleep(0.001)
threading.Thread(target=watch, daemon=True).start()
for _ in range(3):
    result.collect(engine="streaming")
print(len(seen))
"""


def spilled(folder: Path, *arguments: str, **environment: str) -> int:
    """How many files of rows were seen while a query ran with hardly any memory."""
    user = f"spilling-{uuid4().hex}"
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("POLARS_OOC")}
    try:
        ended = subprocess.run(
            [sys.executable, "-c", PROGRAM, *arguments],
            cwd=folder,
            env={**inherited, "POLARS_OVERRIDE_TOTAL_MEMORY_MB": "20", "USER": user, **environment},
            capture_output=True,
            text=True,
            check=True,
        )
    finally:
        shutil.rmtree(f"/var/tmp/polars-{user}", ignore_errors=True)
    return int(ended.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="the folder is another elsewhere")
@pytest.mark.parametrize("order", ["polars first", "polars later"])
def test_rows_are_not_written_to_disk(tmp_path: Path, order: str) -> None:
    assert spilled(tmp_path, "default", order) > 0, "Polars no longer writes rows to disk: is the setting still needed?"
    assert spilled(tmp_path, "default", order, "kept") == 0


def test_a_folder_that_the_curator_names_is_used(tmp_path: Path) -> None:
    (tmp_path / "spilled").mkdir()
    assert spilled(tmp_path, "kept", POLARS_OOC_SPILL_DIR=str(tmp_path / "spilled")) > 0
