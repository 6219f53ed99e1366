"""Lake tables are read as they count themselves: the live rows of a snapshot, whatever happened before and after."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from dpnb_columnar.core.queries.statistics import Statistics
from support.people import PEOPLE, TYPES, people_domain

import dpnb_columnar as dpnb
from dpnb_columnar.domain import Domain

pytestmark = [pytest.mark.lake, pytest.mark.slow]
HISTORIES = 200
GROUP = 10


def delta_history(folder: Path, seed: int) -> Any:
    pytest.importorskip("deltalake", reason="deltalake, which reads Delta tables, is not installed")
    from support.delta_histories import DeltaHistory

    return DeltaHistory(folder, seed, partitioned=seed % 2 == 0)


def iceberg_history(folder: Path, seed: int) -> Any:
    pytest.importorskip("pyiceberg.io.pyarrow", reason="pyiceberg, which reads Iceberg tables, is not installed")
    from support.iceberg_histories import IcebergHistory

    return IcebergHistory(folder, seed, partitioned=seed % 2 == 0)


def counted(data: str | Path | pl.DataFrame, domain: Domain) -> Statistics:
    """Exact counts, without what says where they come from."""
    return replace(dpnb.aggregate(data, domain=domain), parts=frozenset())


def domain_of(names: dict[str, str]) -> Domain:
    """The domain of people, with the names that columns have now."""
    attributes: Any = {names[name]: each for name, each in PEOPLE["attributes"].items()}
    return people_domain({**PEOPLE, "attributes": attributes})


@pytest.mark.parametrize("make", [delta_history, iceberg_history], ids=["Delta", "Iceberg"])
@pytest.mark.parametrize("first", range(0, HISTORIES, GROUP))
def test_the_rows_of_every_version_are_counted(first: int, make: Any, tmp_path: Path) -> None:
    for seed in range(first, first + GROUP):
        history = make(tmp_path / f"people{seed}", seed)
        happened = history.go_on(6)
        names = getattr(history, "names", {name: name for name in TYPES})
        file, domain = tmp_path / "rows.parquet", domain_of(names)
        for version, rows in history.versions.items():
            pl.DataFrame(rows, schema=TYPES).rename(names).write_parquet(file)
            assert counted(f"{history.folder}@{version}", domain) == counted(file, domain), (seed, happened, version)
        assert counted(history.folder, domain) == counted(file, domain), (seed, happened)
