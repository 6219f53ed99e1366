"""Ingesting fixed-width extracts of other kinds and sizes than ``python -m benchmarks --only ingest`` does.

This program and IPUMS's own reader run as whole processes from cold, in turn.

Usage: python -m benchmarks.ingest [--size 200MB] [--runs 3] [--hierarchical] [--gzip] [--alone]
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from pathlib import Path

from benchmarks.runs import Input, Point, Run, measure, prepare
from benchmarks.scale import input_command
from benchmarks.series import ingest_contenders

UNITS = {"MB": 10**6, "GB": 10**9}
BYTES_OF_A_PERSON = {False: 61, True: 93}
"""Of a rectangular extract, and of a hierarchical one with the household before every second person."""


def main() -> None:
    """Generate, measure in turn, print throughput, memory and the median of the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="200MB", help="bytes of text, such as 200MB or 2GB")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--hierarchical", action="store_true", help="record types H and P; implies --alone")
    parser.add_argument("--gzip", action="store_true", help="compress the extract")
    parser.add_argument("--alone", action="store_true", help="leave IPUMS's reader out, which takes minutes for 1 GB")
    options = parser.parse_args()
    alone = options.alone or options.hierarchical  # IPUMS's reader takes such files whole, not in chunks
    size = int(float(options.size[:-2]) * UNITS[options.size[-2:].upper()])
    persons = -(-size // BYTES_OF_A_PERSON[options.hierarchical])
    kinds = [name for name in ("hierarchical", "gzip") if getattr(options, name)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        extract = folder / ("extract.dat.gz" if options.gzip else "extract.dat")
        contenders = ingest_contenders(extract, folder / "extract.xml", folder / "out.parquet")
        inputs = (Input(extract, input_command("extract", extract, persons, *kinds)),)
        point = Point("ingest", contenders[:1] if alone else contenders, options.runs, inputs, persons)
        prepare(point.inputs)
        measured = list(measure(point, warm=False))
    print(f"{size / 1e6:.0f} MB of text, runs of each in turn: {options.runs}, processors: {os.cpu_count()}")
    runs: dict[str, list[Run]] = {}
    for run in measured:
        runs.setdefault(run.contender, []).append(run)
    for contender, own in runs.items():
        seconds = statistics.median(run.seconds for run in own)
        peak = max(run.peak_mib for run in own)
        print(f"{contender:22} {seconds:7.2f} s {size / 1e6 / seconds:6.0f} MB/s {peak:6.0f} MiB at most")
    if not alone:
        ratios = [ours.seconds / theirs.seconds for ours, theirs in zip(*runs.values(), strict=True)]
        print(f"time ratio, median of pairs: {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()
