"""Measured runs, read back and summed up."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq

from benchmarks.runs import MACHINE_KEY

SIZES = ("rows", "attributes", "classes", "grid")
MEDIANS = ("seconds", "cpu_seconds", "ratio", "cpu_ratio")


@dataclass(frozen=True, slots=True)
class Findings:
    """Runs of one machine.

    Attributes:
        runs: One row per measured run: series, rows, attributes, classes, grid, contender, turn, inside, seconds,
            cpu_seconds, peak_mib.
        machine: What they ran on.
    """

    runs: pl.DataFrame
    machine: Mapping[str, str]

    def summary(self, series: str) -> pl.DataFrame:
        """One row per size and contender, in the order of their turns.

        Returns:
            The sizes, contender, turns, medians of seconds and cpu_seconds, of ratio and cpu_ratio (those of the first
            contender over those of this one in the same turn), and the largest peak_mib.
        """
        times = pl.col("seconds", "cpu_seconds")
        ratios = times.first().over(*SIZES, "turn") / times
        runs = self.runs.filter(pl.col("series") == series)
        runs = runs.with_columns(ratios.name.map(lambda name: name.replace("seconds", "ratio")))
        return (
            runs.group_by(*SIZES, "contender", maintain_order=True)
            .agg(pl.len().alias("turns"), pl.median(*MEDIANS), pl.max("peak_mib"))
            .sort(*SIZES, maintain_order=True)
        )

    def of(self, series: str, contender: str, **sizes: int) -> dict[str, Any] | None:
        """The summary of a contender at one size; None where it was not measured."""
        found = self.summary(series).filter(pl.col("contender") == contender, **sizes)
        return found.row(0, named=True) if found.height else None

    def difference(self, series: str, contender: str, other: str, field: str) -> float | None:
        """By how much a contender needs more than another, median of the turns."""
        runs = self.runs.filter(pl.col("series") == series)
        own, others = (runs.filter(pl.col("contender") == name) for name in (contender, other))
        found = own.join(others, on=[*SIZES, "turn"])
        median = found.select((pl.col(field) - pl.col(f"{field}_right")).median()).item()
        return None if median is None else float(median)


def read_findings(file: Path) -> Findings:
    """The runs of a Parquet file that ``python -m benchmarks`` has written."""
    metadata = pq.read_metadata(file).metadata or {}
    return Findings(pl.read_parquet(file), json.loads(metadata[MACHINE_KEY]))
