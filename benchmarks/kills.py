"""Whole ``train --ledger`` runs, killed at random moments and begun again with the same run id until they end.

After every kill a copy of the ledger is verified, and the output has to be absent or whole. In the end every run must
have been charged once, have written what the ledger keeps, and have left nothing else. Each ledger admits all of its
runs but the last few, which must end with 77 however they are disturbed.

Usage: nice python -m benchmarks.kills [--kills 300] [--signal KILL|TERM|INT] [--seed 1]
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path
from signal import Signals

from benchmarks.killed_runs import DATA, DATASET, Figures, KilledRuns
from benchmarks.moments import measured_pace
from dpnb_columnar.simulate import simulate_census

ROWS = 2000


def kill_runs(folder: Path, kills: int, number: Signals, seed: int | None) -> Figures:
    """Kill that many runs, of as many ledgers as it takes.

    Args:
        folder: An empty one.
        seed: Of the moments; None for others every time.
    """
    generator, figures = random.Random(seed), Figures()
    simulate_census(folder / DATA, rows=ROWS, seed=1940)
    pace = measured_pace(folder, DATA, DATASET)
    while (left := kills - figures.kills.total()) > 0:
        place = folder / f"ledger-{figures.ledgers}"
        place.mkdir()
        (place / DATA).symlink_to(folder / DATA)
        KilledRuns(place, number, figures).carry_out(pace, generator, left)
    return figures


def main() -> None:
    """Kill, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--signal", choices=["KILL", "TERM", "INT"], default="KILL")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = kill_runs(Path(folder), options.kills, Signals[f"SIG{options.signal}"], options.seed)
    print(figures.report())
    raise SystemExit(bool(figures.faults))


if __name__ == "__main__":
    main()
