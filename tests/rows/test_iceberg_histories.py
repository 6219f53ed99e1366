"""Iceberg tables are read as they count themselves: the live rows of a snapshot, whatever happened before and after."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.people import PEOPLE, TYPES, people_domain

import dpnb_columnar as dpnb
from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.domain import Domain

pytest.importorskip("pyiceberg.io.pyarrow", reason="pyiceberg, which reads Iceberg tables, is not installed")
pytestmark = pytest.mark.lake

from support.iceberg_histories import IcebergHistory  # noqa: E402

HISTORIES = 200
GROUP = 10


def counted(data: str | Path | pl.DataFrame, domain: Domain) -> Statistics:
    """Exact counts, without what says where they come from."""
    return replace(dpnb.aggregate(data, domain=domain), parts=frozenset())


def domain_of(names: dict[str, str]) -> Domain:
    """The domain of people, with the names that columns have now."""
    attributes: Any = {names[name]: each for name, each in PEOPLE["attributes"].items()}
    return people_domain({**PEOPLE, "attributes": attributes})


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, HISTORIES, GROUP))
def test_the_rows_of_every_snapshot_are_counted(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + GROUP):
        history = IcebergHistory(tmp_path / f"lake{seed}", seed, partitioned=seed % 2 == 0)
        happened = history.go_on(6)
        file, domain = tmp_path / "rows.parquet", domain_of(history.names)
        for snapshot, rows in history.versions.items():
            pl.DataFrame(rows, schema=TYPES).rename(history.names).write_parquet(file)
            assert counted(f"{history.folder}@{snapshot}", domain) == counted(file, domain), (seed, happened)
        assert counted(history.folder, domain) == counted(file, domain), (seed, happened)
