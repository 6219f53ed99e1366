"""How much is measured, and where files are kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.points import Input
from benchmarks.processes import PROGRAM

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Scale:
    """Rows of the inputs, and turns of the contenders.

    Attributes:
        train, predict: Rows of the simulated censuses to train on, and to score.
        fit: Most rows for what reads all of them into memory.
        diffprivlib: The same for diffprivlib, which is slower.
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
    diffprivlib: int
    score_beside: int
    ingest: tuple[int, ...]
    ingest_beside: int
    growth: int
    floats: int
    search: tuple[int, ...]
    turns: int

    def turns_of(self, rows: int) -> int:
        """Fewer turns where each takes longer: at least two, if there are so many."""
        fewer = 0 if rows < 5 * MILLION else 2 if rows < 50 * MILLION else 3
        return min(self.turns, max(self.turns - fewer, 2))

    def capped(self, rows: int | None, turns: int | None) -> Scale:
        """The same with no more rows, and no more turns, than these."""
        if rows is None:
            rows = max(self.train)

        def cut(sizes: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(dict.fromkeys(min(size, rows) for size in sizes))

        return replace(
            self,
            train=cut(self.train),
            predict=cut(self.predict),
            ingest=cut(self.ingest),
            growth=min(self.growth, rows),
            floats=min(self.floats, rows),
            search=cut(self.search),
            turns=self.turns if turns is None else min(self.turns, turns),
        )


SIZES = (MILLION // 10, 17 * MILLION // 10, 10 * MILLION, 100 * MILLION)

FULL = Scale(
    train=SIZES,
    predict=SIZES,
    fit=10 * MILLION,
    diffprivlib=17 * MILLION // 10,
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
    fit=FULL.diffprivlib,
    ingest=SIZES[:1],
    growth=MILLION // 5,
    search=FULL.search[:-1],
    turns=3,
)


@dataclass(frozen=True, slots=True)
class Places:
    """Where files are kept.

    Attributes:
        data: Simulated rows, used again by a later session if it is not temporary.
        work: Everything made of them; empty at the start.
        diffprivlib: Interpreter of an environment with diffprivlib; None to leave it out.
    """

    data: Path
    work: Path
    diffprivlib: str | None = None

    def census(self, rows: int) -> Input:
        """The simulated census of so many rows, thirteen attributes and two classes."""
        path = self.data / f"c{rows}.parquet"
        return Input(path, (*PROGRAM, "simulate", str(path), "--rows", str(rows)))

    def model(self, census: Input) -> Input:
        """A model of this program, trained on a census."""
        path = self.work / f"{census.path.stem}.model.json"
        return Input(path, train_command(census.path, path))


def train_command(data: Path, model: Path) -> tuple[str, ...]:
    """What trains on a file that carries its domain."""
    return (*PROGRAM, "train", str(data), "--output", str(model), "--overwrite")
