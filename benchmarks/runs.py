"""Points of measurement, their runs, and the file that keeps the runs of a session.

A point is contenders that run in turn on the same input. The file holds one JSON line per run as it comes; its first
line is the machine. ``python -m benchmarks.runs RUNS.jsonl RUNS.parquet`` makes a Parquet file of it: a process of its
own, because it needs a library that the measuring process must not load.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.processes import measured

MACHINE_KEY = b"machine"
"""Key of the Parquet file's metadata under which the machine is described, in JSON."""

COLUMNS = ("series", "rows", "attributes", "classes", "grid", "contender", "turn", "inside")
MEASURES = ("seconds", "cpu_seconds", "peak_mib", "read_mib", "input_mib")


@dataclass(frozen=True, slots=True)
class Contender:
    """A process that is measured.

    Attributes:
        name: Its name in the tables.
        command: Its process.
        inside: Whether the process times a part of itself, and prints it as JSON (``contenders.inside``), or what it
            starts (``contenders.databases``); otherwise the whole process counts, from its start to its end.
    """

    name: str
    command: tuple[str, ...]
    inside: bool = False


@dataclass(frozen=True, slots=True)
class Input:
    """A file that contenders read, made before anything is measured.

    Attributes:
        path: The file.
        command: The process that makes it; not run if the file exists.
    """

    path: Path
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """Contenders at one size; the first is this program, where the others are compared with it.

    Attributes:
        series: Name of its series.
        contenders: In the order of their turns.
        turns: How often each is measured, after a first turn that warms the file cache and is dropped.
        inputs: Their input files, in the order in which these are made.
        rows: Rows of the input; 0 without rows.
        attributes: Attributes of the input; 0 without any.
        classes: Classes of the input; 0 without any.
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
        """The facts that identify it among all points."""
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
        inside: Whether the seconds are those of a part of the process, as of the contender.
        seconds: Wall time.
        cpu_seconds: User and system time.
        peak_mib: Largest resident memory, of the whole process unless it prints another.
        read_mib: What the whole process has read by calls; None where the system does not tell.
        input_mib: Size of the first file among the point's inputs; None without one.
    """

    contender: str
    turn: int
    inside: bool
    seconds: float
    cpu_seconds: float
    peak_mib: float
    read_mib: float | None
    input_mib: float | None


def prepare(inputs: Sequence[Input]) -> None:
    """Make the files that do not exist."""
    for each in inputs:
        if not each.path.exists():
            measured(each.command)


def measure(point: Point, *, warm: bool = True) -> Iterator[Run]:
    """Run the contenders in turn, as often as the point says and once more before.

    Args:
        point: A point whose inputs exist.
        warm: Whether there is a turn 0.
    """
    first = next((each.path for each in point.inputs if each.path.is_file()), None)
    input_mib = None if first is None else first.stat().st_size / 2**20
    for turn in range(0 if warm else 1, point.turns + 1):
        for each in point.contenders:
            whole = measured(each.command)
            figures = {"seconds": whole.seconds, "cpu_seconds": whole.cpu_seconds, "peak_mib": whole.peak_mib}
            figures |= json.loads(whole.printed) if each.inside else {}
            yield Run(each.name, turn, each.inside, read_mib=whole.read_mib, input_mib=input_mib, **figures)


class Runs:
    """The file of a session, which may resume an earlier one.

    Args:
        file: JSON lines; created if it does not exist.
        machine: The machine of this session.

    Raises:
        SystemExit: if the file has runs of another machine, or of other versions.
    """

    def __init__(self, file: Path, machine: Mapping[str, str]) -> None:
        self.file = file
        first, *others = lines_of(file) if file.exists() else [{"machine": dict(machine)}]
        differing = [name for name, value in machine.items() if name != "date" and first["machine"].get(name) != value]
        if differing:
            raise SystemExit(f"{file}: measured with other {', '.join(differing)}; choose another --output")
        self._machine, self._runs = first["machine"], others
        self._rewrite()

    def has(self, point: Point) -> bool:
        """Tell whether every contender of a point has had its turns."""
        turns = {each.name: 0 for each in point.contenders}
        for run in self._of(point):
            if run["contender"] in turns:
                turns[run["contender"]] += 1
        return all(number >= point.turns for number in turns.values())

    def begin(self, point: Point) -> None:
        """Drop the runs of a point: turns of two sessions are not turns of one."""
        dropped = self._of(point)
        self._runs = [run for run in self._runs if run not in dropped]
        self._rewrite()

    def add(self, point: Point, run: Run) -> None:
        """Append a run."""
        self._runs.append({**point.facts, **asdict(run)})
        with self.file.open("a") as stream:
            stream.write(json.dumps(self._runs[-1]) + "\n")

    def _rewrite(self) -> None:
        lines = [json.dumps({"machine": self._machine}), *map(json.dumps, self._runs)]
        partial = self.file.with_suffix(".partial")
        partial.write_text("\n".join(lines) + "\n")
        partial.replace(self.file)

    def _of(self, point: Point) -> list[dict[str, Any]]:
        return [run for run in self._runs if all(run[name] == value for name, value in point.facts.items())]


def lines_of(file: Path) -> list[dict[str, Any]]:
    """Read the lines of a file; the last may have been cut short."""
    return [json.loads(line) for line in file.read_text().splitlines() if line.endswith("}")]


def write_parquet(lines: Path, output: Path) -> None:
    """Write the runs as a Parquet file, which carries the machine in its metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    first, *runs = lines_of(lines)
    types = {"series": pa.string(), "contender": pa.string(), "inside": pa.bool_()}
    fields = [(name, types.get(name, pa.int64())) for name in COLUMNS] + [(name, pa.float64()) for name in MEASURES]
    schema = pa.schema(fields, metadata={MACHINE_KEY: json.dumps(first["machine"])})
    partial = output.with_suffix(".partial")
    pq.write_table(pa.Table.from_pylist(runs, schema), partial, compression="zstd")
    partial.replace(output)


if __name__ == "__main__":
    write_parquet(*map(Path, sys.argv[1:]))
