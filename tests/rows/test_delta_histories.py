"""Delta tables are read as they count themselves: the live rows of one snapshot, whatever happened before and after."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from support.people import TYPES, people_domain

import dpnb_columnar as dpnb
from dpnb_columnar.counting.statistics import Statistics

pytest.importorskip("deltalake", reason="deltalake, which reads Delta tables, is not installed")
pytestmark = pytest.mark.lake

from support.delta_histories import DeltaHistory  # noqa: E402

HISTORIES = 200
GROUP = 10


def counted(data: str | Path | pl.DataFrame) -> Statistics:
    """Exact counts, without what says where they come from."""
    return replace(dpnb.aggregate(data, domain=people_domain()), parts=frozenset())


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, HISTORIES, GROUP))
def test_the_rows_of_every_version_are_counted(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + GROUP):
        history = DeltaHistory(tmp_path / f"people{seed}", seed, partitioned=seed % 2 == 0)
        happened = history.go_on(6)
        file = tmp_path / "rows.parquet"
        for version, rows in history.versions.items():
            pl.DataFrame(rows, schema=TYPES).write_parquet(file)
            assert counted(f"{history.folder}@{version}") == counted(file), (seed, happened, version)
        assert counted(history.folder) == counted(file), (seed, happened)
