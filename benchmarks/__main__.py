"""Training beside scikit-learn on one file, whole processes from cold, in turn.

Usage: python -m benchmarks [--rows 1700000] [--runs 5]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

PYTHON = sys.executable


def measured(arguments: list[str]) -> tuple[float, float]:
    """Seconds and peak MiB of one process, as the operating system accounts for it."""
    start = time.perf_counter()
    process = os.posix_spawn(
        arguments[0], arguments, os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    )
    _, status, usage = os.wait4(process, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(arguments)}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def main() -> None:
    """Simulate, measure in turn, print medians and the median of the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_700_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        census, model = str(Path(folder) / "census.parquet"), str(Path(folder) / "census.model.json")
        command = [PYTHON, "-m", "dpnb_columnar"]
        measured([*command, "simulate", census, "--rows", str(options.rows)])
        contenders = {
            "dpnb-columnar train": [*command, "train", census, "--output", model, "--overwrite"],
            "GaussianNB.partial_fit": [PYTHON, str(Path(__file__).with_name("partial_fit.py")), census],
        }
        runs: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
        for turn in range(options.runs + 1):
            for name, arguments in contenders.items():
                found = measured(arguments)
                if turn:  # the first turn warms the file cache
                    runs[name].append(found)
    ours, theirs = runs.values()
    print(f"{options.rows} rows x 13 attributes, {options.runs} runs each in turn, {os.cpu_count()} processors")
    for name, found in runs.items():
        seconds, memory = zip(*found, strict=True)
        print(f"{name:24} {statistics.median(seconds):6.2f} s  {max(memory):6.0f} MiB at most")
    ratios = [mine / other for (mine, _), (other, _) in zip(ours, theirs, strict=True)]
    print(f"time ratio, median of pairs: {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
