"""Points of measurement: contenders that run in turn on the same input."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.processes import measured


@dataclass(frozen=True, slots=True)
class Contender:
    """What is measured.

    Attributes:
        name: As it stands in the tables.
        command: Its process.
        inside: Whether the process times a part of itself, and prints it as JSON (``contenders.timed``); otherwise the
            whole process counts, from its start to its end.
    """

    name: str
    command: tuple[str, ...]
    inside: bool = False


@dataclass(frozen=True, slots=True)
class Input:
    """A file that contenders read, made before anything is measured.

    Attributes:
        path: The file.
        command: What makes it; not run where the file is there already.
    """

    path: Path
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """Contenders at one size; the first is this program, where the others are compared with it.

    Attributes:
        series: What it belongs to.
        contenders: In the order of their turns.
        turns: How often each is measured, after a first turn that warms the file cache and is dropped.
        inputs: What they read, in the order in which it is made.
        rows, attributes, classes: Size of the input; 0 where it has no such thing.
        grid: Cells of every numeric attribute; 0 where they differ.
    """

    series: str
    contenders: tuple[Contender, ...]
    turns: int
    inputs: tuple[Input, ...] = ()
    rows: int = 0
    attributes: int = 0
    classes: int = 0
    grid: int = 0

    @property
    def facts(self) -> dict[str, str | int]:
        """What tells it from other points."""
        names = ("series", "rows", "attributes", "classes", "grid")
        return {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        sizes = [f"{name} {value:,}" for name, value in self.facts.items() if value and name != "series"]
        return ", ".join([self.series, *sizes])


@dataclass(frozen=True, slots=True)
class Run:
    """One measured run.

    Attributes:
        contender: Its name.
        turn: From 1; 0 is the one that warms the file cache.
        inside: As of the contender: what the seconds are seconds of.
        seconds, cpu_seconds: Wall time; user and system time.
        peak_mib: Largest resident memory of the whole process, whatever the seconds are seconds of.
    """

    contender: str
    turn: int
    inside: bool
    seconds: float
    cpu_seconds: float
    peak_mib: float


def prepare(inputs: Sequence[Input]) -> None:
    """Make the files that are not there."""
    for each in inputs:
        if not each.path.exists():
            measured(each.command)


def measure(point: Point, *, warm: bool = True) -> Iterator[Run]:
    """Run the contenders in turn, as often as the point says and once more before.

    Args:
        point: Whose inputs are made.
        warm: Whether there is a turn 0.
    """
    for turn in range(0 if warm else 1, point.turns + 1):
        for each in point.contenders:
            found = measured(each.command)
            seconds, cpu_seconds = found.seconds, found.cpu_seconds
            if each.inside:
                part = json.loads(found.printed)
                seconds, cpu_seconds = part["seconds"], part["cpu_seconds"]
            yield Run(each.name, turn, each.inside, seconds, cpu_seconds, found.peak_mib)
