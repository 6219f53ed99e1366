"""What a process costs before it meets many rows."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.points import Contender, Point
from benchmarks.processes import PROGRAM, PYTHON, contender
from benchmarks.series.scale import Places, Scale, train_command

HELP = "dpnb-columnar --help"
TYPER_HELP = "bare typer program --help"
FEW_ROWS = 1_000
FEW = "dpnb-columnar train"
IMPORTS = "import polars, duckdb"
MORE_TURNS = 3
"""Times as many turns: they are short, and close to each other."""


def start(scale: Scale, places: Places) -> Iterator[Point]:
    """The help, and training on a thousand rows."""
    help_texts = (Contender(HELP, (*PROGRAM, "--help")), Contender(TYPER_HELP, contender("typer_help", "--help")))
    yield Point("start", help_texts, MORE_TURNS * scale.turns)
    census = places.census(FEW_ROWS)
    trained = train_command(census.path, places.work / "few.model.json")
    few = (Contender(FEW, trained), Contender(IMPORTS, (PYTHON, "-c", "import polars, duckdb")))
    yield Point("start", few, MORE_TURNS * scale.turns, (census,), FEW_ROWS, attributes=13, classes=2)
