"""The release alone, and the search in it that the paper does in O(n^2)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.points import Contender, Input, Point
from benchmarks.processes import PROGRAM, contender
from benchmarks.series.scale import Places, Scale

RELEASE = "release"
AS_DEFINED = "every distance, O(n²)"
THIS_PROGRAM = "this program"
CENSUS_ATTRIBUTES, MANY_ATTRIBUTES, MANY_CLASSES = 13, 100, 20
MADE_UP = ((MANY_ATTRIBUTES, MANY_CLASSES, 1_000), (5, 2, 65_536))
"""Attributes, all numeric, classes and grid of statistics in which no cell is empty."""

SEARCH_GRID = 65_536


def release(scale: Scale, places: Places) -> Iterator[Point]:
    """Seconds inside a process, from statistics in memory to a model's text, libraries loaded before."""
    for rows in scale.train:
        census = places.census(rows)
        counted = places.work / f"{census.path.stem}.statistics.parquet"
        inputs = (census, Input(counted, aggregate_command(census.path, counted)))
        yield _point(counted, scale.turns, inputs, rows, CENSUS_ATTRIBUTES, 2, 0)
    rows = min(10_000_000, max(scale.train))
    for shape in MADE_UP:
        table = places.work / f"{'x'.join(map(str, shape))}.statistics.parquet"
        made = Input(table, contender("write_statistics", table, rows, *shape))
        yield _point(table, scale.turns, (made,), rows, *shape)


def aggregate_command(data: Path, statistics: Path) -> tuple[str, ...]:
    """What counts a file that carries its domain."""
    return (*PROGRAM, "aggregate", str(data), "--output", str(statistics))


def search(scale: Scale, places: Places) -> Iterator[Point]:
    """Seconds inside a process for both smooth sensitivities of one column, libraries loaded before."""
    for size in scale.search:
        contenders = (
            Contender(THIS_PROGRAM, contender("search_sensitivity", size, SEARCH_GRID, "runs"), inside=True),
            Contender(AS_DEFINED, contender("search_sensitivity", size, SEARCH_GRID, "distances"), inside=True),
        )
        yield Point("search", contenders, min(scale.turns, 3), rows=size, attributes=1, classes=1, grid=SEARCH_GRID)


def _point(
    statistics: Path, turns: int, inputs: tuple[Input, ...], rows: int, attributes: int, classes: int, grid: int
) -> Point:
    only = Contender(RELEASE, contender("release", statistics), inside=True)
    return Point("release", (only,), turns, inputs, rows, attributes, classes, grid)
