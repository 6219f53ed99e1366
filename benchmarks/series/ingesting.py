"""Reading a fixed-width extract beside IPUMS's own reader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.points import Contender, Input, Point
from benchmarks.processes import PROGRAM, PYTHON, contender
from benchmarks.series.scale import Places, Scale

INGEST = "dpnb-columnar ingest"
IPUMSPY = "ipumspy, in chunks"
COLUMNS = 10


def ingest(scale: Scale, places: Places) -> Iterator[Point]:
    """Whole processes that turn one extract into Parquet, for every number of persons."""
    for persons in scale.ingest:
        extract = places.data / f"extract{persons}.dat"
        made = Input(extract, extract_command(extract, persons))
        contenders = ingest_contenders(extract, extract.with_suffix(".xml"), places.work / "ingested.parquet")
        own = contenders if persons <= scale.ingest_beside else contenders[:1]
        turns = min(scale.turns_of(persons), 3)
        yield Point("ingest", own, turns, (made,), persons, attributes=COLUMNS)


def extract_command(extract: Path, persons: int, *options: str) -> tuple[str, ...]:
    """What writes an extract, and its codebook beside it."""
    return (PYTHON, "-m", "benchmarks.extract", str(extract), "--persons", str(persons), *options)


def ingest_contenders(extract: Path, codebook: Path, output: Path) -> tuple[Contender, Contender]:
    """This program and IPUMS's reader."""
    return (
        Contender(INGEST, (*PROGRAM, "ingest", str(extract), "--output", str(output), "--overwrite")),
        Contender(IPUMSPY, contender("ipums_chunks", extract, codebook, output)),
    )
