"""Scale of a session, and its input files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.processes import PROGRAM, PYTHON
from benchmarks.runs import Input

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Scale:
    """Rows of the inputs, and turns of the contenders.

    Attributes:
        train: Rows of the simulated censuses to train on.
        predict: Rows of the simulated censuses to score.
        fit: Most rows for contenders that read all of them into memory.
        score_beside: Most rows that scikit-learn scores as well.
        ingest: Persons of the extracts.
        ingest_beside: Most persons that IPUMS's reader reads as well; it takes minutes for ten million.
        growth: Rows of the tables that differ in attributes, classes and grid.
        floats: Rows of the tables of floats and of integers.
        search: Sizes of the columns whose smooth sensitivity is searched.
        turns: Turns of a point that is small.
    """

    train: tuple[int, ...]
    predict: tuple[int, ...]
    fit: int
    score_beside: int
    ingest: tuple[int, ...]
    ingest_beside: int
    growth: int
    floats: int
    search: tuple[int, ...]
    turns: int

    def turns_of(self, rows: int) -> int:
        """Choose the turns of a point: fewer where each takes longer, but at least two of ``turns``."""
        fewer = 0 if rows < 5 * MILLION else 2 if rows < 50 * MILLION else 3
        return min(self.turns, max(self.turns - fewer, 2))

    def capped(self, rows: int | None, turns: int | None) -> Scale:
        """Cap the rows and the turns; None leaves them as they are."""
        most = max(self.train) if rows is None else rows
        return replace(
            self,
            train=_cut(self.train, most),
            predict=_cut(self.predict, most),
            ingest=_cut(self.ingest, most),
            growth=min(self.growth, most),
            floats=min(self.floats, most),
            search=_cut(self.search, most),
            turns=self.turns if turns is None else min(self.turns, turns),
        )


def _cut(sizes: tuple[int, ...], most: int) -> tuple[int, ...]:
    return tuple(dict.fromkeys(min(size, most) for size in sizes))


SIZES = (MILLION // 10, 17 * MILLION // 10, 10 * MILLION, 100 * MILLION)

FULL = Scale(
    train=SIZES,
    predict=SIZES,
    fit=10 * MILLION,
    score_beside=10 * MILLION,
    ingest=SIZES,
    ingest_beside=17 * MILLION // 10,
    growth=MILLION,
    floats=17 * MILLION // 10,
    search=(100, 300, 1_000, 3_000, 10_000),
    turns=5,
)
QUICK = replace(
    FULL,
    train=SIZES[:3],
    predict=SIZES[:2],
    fit=SIZES[1],
    ingest=SIZES[:1],
    growth=MILLION // 5,
    search=FULL.search[:-1],
    turns=3,
)


@dataclass(frozen=True, slots=True)
class Places:
    """Folders of a session.

    Attributes:
        data: Simulated rows, used again by a later session if it is not temporary.
        work: Files made of them; empty at the start.
        diffprivlib: Interpreter of an environment with diffprivlib; None to leave it out.
        postgresql: Whether to start a PostgreSQL server.
    """

    data: Path
    work: Path
    diffprivlib: str | None = None
    postgresql: bool = False

    def census(self, rows: int) -> Input:
        """Describe a simulated census, with thirteen attributes and two classes."""
        path = self.data / f"c{rows}.parquet"
        return Input(path, (*PROGRAM, "simulate", str(path), "--rows", str(rows)))

    def model(self, census: Input) -> Input:
        """Describe a model of this program, trained on a census."""
        path = self.work / f"{census.path.stem}.model.json"
        return Input(path, train_command(census.path, path))


@dataclass(frozen=True, slots=True)
class Table:
    """A table of random rows that carries its domain (``inputs``).

    Attributes:
        series: The series it is for.
        rows: Its rows.
        numeric: Number of numeric attributes.
        categorical: Number of categorical attributes.
        classes: Its classes.
        grid: Number of cells of each numeric attribute.
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
        """Describe the file."""
        kind = "floats" if self.floats else "integers"
        shape = (self.rows, self.numeric, self.categorical, self.classes, self.grid, kind)
        path = folder / f"table-{'-'.join(map(str, shape))}.parquet"
        return Input(path, input_command("table", path, *shape))


def train_command(data: Path, model: Path) -> tuple[str, ...]:
    """Make the command that trains on a file that carries its domain."""
    return (*PROGRAM, "train", str(data), "--output", str(model), "--overwrite")


def aggregate_command(data: Path, statistics: Path) -> tuple[str, ...]:
    """Make the command that counts a file that carries its domain."""
    return (*PROGRAM, "aggregate", str(data), "--output", str(statistics))


def input_command(kind: str, path: Path, *arguments: object) -> tuple[str, ...]:
    """Make the command that writes an input by ``benchmarks.inputs``."""
    return (PYTHON, "-m", "benchmarks.inputs", kind, str(path), *map(str, arguments))
