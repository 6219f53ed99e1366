"""A working directory in which the examples of docs/batch.md run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.examples import EXAMPLES, shell

from dpnb_columnar.simulation import simulate_census


@pytest.fixture
def place(folder: Path, program: None) -> Path:
    """A working directory with the examples, the rows, and a ledger that pays for two runs of the job."""
    shutil.copytree(EXAMPLES, folder, dirs_exist_ok=True)
    simulate_census(folder / "census.parquet", rows=500, seed=1)
    simulate_census(folder / "new.parquet", rows=100, seed=2)
    shell("dpnb-columnar ledger init census.ledger --dataset census_simulated --epsilon 0.2")
    return folder
