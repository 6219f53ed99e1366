"""Speed and memory of every verb that reads many rows, beside programs that do comparable work: docs/journal/speed.md.

Usage: python -m benchmarks [--quick] [--only train,release] [--data FOLDER] [--output performance.parquet]

Contenders are whole processes from cold and run in turn; a first turn warms the file cache and is dropped. The runs
of a stopped session stay beside the output, and the same command resumes it. Simulated rows stay in ``--data`` and are
used again. ``python -m benchmarks.performance performance.parquet`` prints the tables.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from benchmarks.processes import PYTHON, machine, measured
from benchmarks.runs import Point, Runs, measure, prepare
from benchmarks.scale import FULL, QUICK, Places
from benchmarks.series import SERIES


def main() -> None:
    """Measure the chosen series, but for points that are measured already."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="some minutes: at most ten million rows, fewer turns")
    parser.add_argument("--only", default=",".join(SERIES), help="series to measure: " + ", ".join(SERIES))
    parser.add_argument("--rows", type=int, help="most rows of any input")
    parser.add_argument("--turns", type=int, help="most turns of any point")
    parser.add_argument("--again", action="store_true", help="measure again what the output has already")
    parser.add_argument("--data", type=Path, help="folder to keep simulated rows in; by default a temporary one")
    parser.add_argument("--output", type=Path, default=Path("performance.parquet"))
    parser.add_argument("--diffprivlib", metavar="PYTHON", help="interpreter of an environment with diffprivlib")
    parser.add_argument(
        "--postgresql", action="store_true", help="start a server; needs its programs, and pip install '.[test]'"
    )
    options = parser.parse_args()
    chosen = options.only.split(",")
    if unknown := [name for name in chosen if name not in SERIES]:
        parser.error(f"--only: no {', '.join(unknown)}; the series are {', '.join(SERIES)}")
    if missing := [name for name in ("sklearn", "ipumspy", "lightgbm") if find_spec(name) is None]:
        parser.error(f"{', '.join(missing)} not installed: pip install '.[benchmark]'")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a stopped session leaves no process and no file
    scale = (QUICK if options.quick else FULL).capped(options.rows, options.turns)
    lines = options.output.with_suffix(".jsonl")
    runs = Runs(lines, machine())
    if options.data:
        options.data.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.data, prefix="benchmarks-") as folder:
        work = Path(folder)
        places = Places(options.data or work, work, options.diffprivlib, options.postgresql)
        points = [point for name in chosen for point in SERIES[name](scale, places)]
        waiting = [point for point in points if options.again or not runs.has(point)]
        try:
            for number, point in enumerate(waiting, 1):
                report(f"[{number}/{len(waiting)}] {point}")
                measure_point(point, runs)
        except KeyboardInterrupt:
            raise SystemExit("stopped; the same command goes on from here") from None
        finally:
            measured((PYTHON, "-m", "benchmarks.runs", str(lines), str(options.output)))
    print(f"wrote {options.output}; print its tables: python -m benchmarks.performance {options.output}")


def measure_point(point: Point, runs: Runs) -> None:
    """Make the inputs of a point, measure it, and append each run to the file."""
    prepare(point.inputs)
    runs.begin(point)
    for run in measure(point):
        if run.turn:
            runs.add(point, run)
        turn = f"turn {run.turn}" if run.turn else "warming"
        report(
            f"  {turn:8} {run.contender:28} {run.seconds:9.4f} s  cpu {run.cpu_seconds:8.3f} s  {run.peak_mib:6.0f} MiB"
        )


def report(line: str) -> None:
    """Print a line of progress."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
