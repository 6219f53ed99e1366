"""How the cost of training grows with attributes, classes and cells, and what floats cost beside integers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.points import Contender, Input, Point
from benchmarks.processes import contender
from benchmarks.series.scale import Places, Scale, train_command
from benchmarks.series.training import TRAIN

FLOATS = "five columns of floats"
INTEGERS = "five columns of integers"
ATTRIBUTES = (1, 2, 5, 10, 20, 35, 50)
CLASSES = (2, 5, 10, 15, 20)
GRIDS = tuple(2**power for power in range(4, 17, 2))
USUAL_GRID = 100


@dataclass(frozen=True, slots=True)
class Table:
    """A made-up table that carries its domain (``contenders.write_table``).

    Attributes:
        series: What it is for.
        rows, classes, grid: Its size; grid is the number of cells of each numeric attribute.
        numeric, categorical: How many attributes of each kind.
        floats: Whether numeric attributes are floats, of which each cell takes a range, or the cells' codes.
    """

    series: str
    rows: int
    numeric: int
    categorical: int
    classes: int
    grid: int
    floats: bool = False

    def made(self, folder: Path) -> Input:
        """The file."""
        kind = "floats" if self.floats else "integers"
        shape = (self.rows, self.numeric, self.categorical, self.classes, self.grid, kind)
        path = folder / f"table-{'-'.join(map(str, shape))}.parquet"
        return Input(path, contender("write_table", path, *shape))

    def point(self, contenders: tuple[Contender, ...], turns: int, inputs: tuple[Input, ...]) -> Point:
        """Contenders on this table."""
        attributes = self.numeric + self.categorical
        return Point(self.series, contenders, turns, inputs, self.rows, attributes, self.classes, self.grid)


def growth(scale: Scale, places: Places) -> Iterator[Point]:
    """Training on tables that differ in one thing at a time; half of the attributes are numeric in the first."""
    rows, turns = scale.growth, max(scale.turns // 2, 1)  # what matters is the shape
    tables = [
        *(Table("attributes", rows, (number + 1) // 2, number // 2, 2, USUAL_GRID) for number in ATTRIBUTES),
        *(Table("classes", rows, 4, 9, classes, USUAL_GRID) for classes in CLASSES),
        *(Table("grid", rows, 5, 0, 2, grid) for grid in GRIDS),
    ]
    for table in tables:
        made = table.made(places.data)
        command = train_command(made.path, places.work / "grown.model.json")
        yield table.point((Contender(TRAIN, command),), turns, (made,))


def floats(scale: Scale, places: Places) -> Iterator[Point]:
    """Training on continuous columns, and on the same rows as codes of the same grid."""
    tables = [Table("floats", scale.floats, 5, 0, 2, 65_536, floats=kind) for kind in (True, False)]
    inputs = tuple(table.made(places.data) for table in tables)
    contenders = tuple(
        Contender(name, train_command(made.path, places.work / "floats.model.json"))
        for name, made in zip((FLOATS, INTEGERS), inputs, strict=True)
    )
    yield tables[0].point(contenders, scale.turns_of(scale.floats), inputs)
