"""Measured runs in a file, one JSON line each as they come; in the end a Parquet file of them.

The first line is the machine. ``python -m benchmarks.runs RUNS.jsonl RUNS.parquet`` turns one into the other: a process
of its own, because it needs a library that the measuring process must not load.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.points import Point, Run

MACHINE_KEY = b"machine"
"""Key of the Parquet file's metadata under which the machine is described, in JSON."""

COLUMNS = ("series", "rows", "attributes", "classes", "grid", "contender", "turn", "inside")
MEASURES = ("seconds", "cpu_seconds", "peak_mib")


class Runs:
    """The file of a session, which may go on where an earlier one was stopped.

    Args:
        file: JSON lines; made where it is missing.
        machine: The machine of this session.

    Raises:
        SystemExit: The file has runs of another machine, or of other versions.
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
        """Whether every contender of the point has had its turns."""
        turns = {each.name: 0 for each in point.contenders}
        for run in self._of(point):
            if run["contender"] in turns:
                turns[run["contender"]] += 1
        return all(number >= point.turns for number in turns.values())

    def begin(self, point: Point) -> None:
        """Forget the runs of a point: turns of two sessions are not turns of one."""
        dropped = self._of(point)
        self._runs = [run for run in self._runs if run not in dropped]
        self._rewrite()

    def add(self, point: Point, run: Run) -> None:
        """Write a run down."""
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
    """The lines of a file; the last may have been cut short."""
    return [json.loads(line) for line in file.read_text().splitlines() if line.endswith("}")]


def write_parquet(lines: Path, output: Path) -> None:
    """The same runs as a Parquet file, which carries the machine in its metadata."""
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
