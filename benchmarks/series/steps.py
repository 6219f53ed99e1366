"""What each step of counting bought: all of them, and all but one."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.points import Contender, Point
from benchmarks.processes import contender
from benchmarks.series.scale import Places, Scale

NAMES = {
    "all": "as `train` counts",
    "lookups": "rules computed for each row",
    "counters": "rows grouped, not counted",
    "one-engine": "numbers in Polars, categories in DuckDB",
    "polars": "all in DuckDB",
}


def steps(scale: Scale, places: Places) -> Iterator[Point]:
    """Seconds inside a process, libraries loaded before."""
    rows = max(rows for rows in scale.train if rows <= scale.fit)
    census = places.census(rows)
    contenders = [
        Contender(name, contender("count_rows", census.path, step), inside=True) for step, name in NAMES.items()
    ]
    yield Point("steps", tuple(contenders), min(scale.turns, 3), (census,), rows, attributes=13, classes=2)
