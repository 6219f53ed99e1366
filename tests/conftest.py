"""Files that many tests need."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpnb_columnar.simulate import simulate_census


@pytest.fixture(scope="session")
def census(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated census extract of 20,000 persons that carries its domain. Read it, do not change it."""
    path = tmp_path_factory.mktemp("census") / "census.parquet"
    simulate_census(path, rows=20_000, seed=1940)
    return path
