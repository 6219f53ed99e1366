"""``dpnb-columnar simulate``."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from support.running import Run

from dpnb_columnar.domain.declaration import domain_from_metadata


def test_extract_carries_its_domain(folder: Path, run: Run) -> None:
    assert run("simulate", "census.parquet", "--rows", 500).out == "wrote census.parquet: 500 rows\n"
    frame = pl.read_parquet("census.parquet")
    assert frame.shape == (500, 14)
    domain = domain_from_metadata(pl.read_parquet_metadata("census.parquet"), "census.parquet")
    assert domain is not None
    assert domain.name == "census_simulated"
    assert set(domain.columns) == set(frame.columns)


def test_a_catalogue_in_the_working_directory_does_not_change_it(folder: Path, run: Run) -> None:
    run("simulate", "census.parquet", "--rows", 10)
    Path("datasets.toml").write_text('[census_simulated]\nfiles = ["*.parquet"]\n')
    run("simulate", "again.parquet", "--rows", 10)
    assert Path("again.parquet").read_bytes() == Path("census.parquet").read_bytes()
