"""Rows stay in memory: Polars would write them, readable by everybody, to a folder of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from uuid import uuid4

import polars as pl
import pytest
from support.people import write_people

linux = pytest.mark.skipif(sys.platform != "linux", reason="the folder is another elsewhere")

QUERY = """
import os, sys
from pathlib import Path
if "polars first" in sys.argv:
    import polars as pl
    pl.select(1)
if "kept" in sys.argv:
    from dpnb_columnar.runtime.confinement import keep_rows_in_memory
    keep_rows_in_memory()
import polars as pl
numbers = pl.int_range(1_500_000, eager=True).to_frame("a").lazy().select((pl.col("a") * 7919 % 10**9).sin().alias("b"))
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

DOORS = """
import os, sys, tempfile, threading, time
from pathlib import Path
import polars as pl
import dpnb_columnar as dpnb
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.runtime import confinement
from support.people import PEOPLE
folders = [Path("/var/tmp/polars-" + os.environ["USER"]), Path(tempfile.gettempdir())]
seen = set()
def watch():
    while True:
        seen.update(path for folder in folders for path in folder.rglob("*") if path.is_file())
        time.sleep(0.001)
def forget():
    global before
    before = {*seen, *(path for folder in folders for path in folder.rglob("*"))}  # spilled by the program's own query
threading.Thread(target=watch, daemon=True).start()
before = set()
door, unprotected = sys.argv[1], "unprotected" in sys.argv
if unprotected:
    confinement.keep_rows_in_memory = lambda: None
domain = read_domain("people", PEOPLE, "test")
many = pl.scan_parquet("people.parquet")
many = many.group_by(pl.int_range(pl.len()) % 200_000).agg(pl.all().first())  # in many groups, so that they are spilled
if door == "train":
    dpnb.train("people.parquet", epsilon=1, domain=domain)
elif door == "aggregate a lazy frame":
    dpnb.aggregate(many, domain=domain)
elif door == "predict":
    model = dpnb.train(pl.read_parquet("people.parquet", n_rows=1000), epsilon=1, domain=domain)
    forget()
    model.predict(many).group_by("predicted").agg(pl.len()).collect(engine="streaming")
elif door == "estimator":
    from dpnb_columnar.sklearn import SmoothNaiveBayes
    rows = pl.read_parquet("people.parquet")
    forget()
    SmoothNaiveBayes(domain=domain).fit(rows.drop("income"), rows["income"])
elif door == "diagnose":
    from dpnb_columnar.counting.diagnostics import diagnose
    from dpnb_columnar.rows.parquet import open_parquet
    diagnose(open_parquet([Path("people.parquet")], domain), domain)
print(len(seen - before))
"""


def spilled(program: str, folder: Path, *arguments: str, **environment: str) -> int:
    """Run a program with hardly any memory for queries; return how many files of rows were seen meanwhile."""
    user = f"spilling-{uuid4().hex}"
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("POLARS_OOC")}
    with tempfile.TemporaryDirectory() as temporary:
        forced = {"POLARS_OVERRIDE_TOTAL_MEMORY_MB": "20", "USER": user, "TMPDIR": temporary}
        try:
            ended = subprocess.run(
                [sys.executable, "-c", program, *arguments],
                cwd=folder,
                env={**inherited, **forced, "PYTHONPATH": str(Path(__file__).parents[1]), **environment},
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            shutil.rmtree(f"/var/tmp/polars-{user}", ignore_errors=True)
    assert ended.returncode == 0, ended.stderr
    return int(ended.stdout)


@pytest.fixture(scope="module")
def many_people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``people.parquet`` of 300,000 rows in one row group."""
    folder = tmp_path_factory.mktemp("many")
    write_people(folder / "people.parquet")
    rows = pl.read_parquet(folder / "people.parquet")
    pl.concat([rows] * 300).write_parquet(folder / "people.parquet", row_group_size=2**20)
    return folder


@pytest.mark.slow
@linux
@pytest.mark.parametrize("order", ["polars first", "polars later"])
def test_rows_are_not_written_to_disk(tmp_path: Path, order: str) -> None:
    assert spilled(QUERY, tmp_path, "default", order) > 0, "Polars no longer spills: is the setting still needed?"
    assert spilled(QUERY, tmp_path, "default", order, "kept") == 0


@pytest.mark.slow
@linux
@pytest.mark.parametrize("door", ["train", "aggregate a lazy frame", "predict", "estimator", "diagnose"])
def test_no_door_of_the_python_interface_lets_polars_spill(door: str, many_people: Path) -> None:
    assert spilled(DOORS, many_people, door, POLARS_OOC_MEMORY_BUDGET_MB="0") == 0


@pytest.mark.slow
@linux
@pytest.mark.parametrize("door", ["aggregate a lazy frame", "predict"])
def test_the_doors_would_let_polars_spill_without_protection(door: str, many_people: Path) -> None:
    assert spilled(DOORS, many_people, door, "unprotected", POLARS_OOC_MEMORY_BUDGET_MB="0") > 0


@pytest.mark.slow
def test_a_folder_that_the_curator_names_is_used(tmp_path: Path) -> None:
    (tmp_path / "spilled").mkdir()
    assert spilled(QUERY, tmp_path, "kept", POLARS_OOC_SPILL_DIR=str(tmp_path / "spilled")) > 0


@pytest.mark.slow
@linux
def test_a_size_that_the_caller_has_set_is_left_alone(tmp_path: Path) -> None:
    assert spilled(QUERY, tmp_path, "default", "kept", POLARS_OOC_SPILL_MIN_BYTES="1") > 0


def test_settings_of_polars_are_left_alone(tmp_path: Path) -> None:
    program = """
import polars as pl
from dpnb_columnar.runtime.confinement import keep_rows_in_memory
pl.Config.set_tbl_rows(3)
before = pl.Config.save()
keep_rows_in_memory()
print(int(pl.Config.save() != before))
"""
    assert spilled(program, tmp_path) == 0
