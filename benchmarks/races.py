"""Whole ``train --ledger`` runs that race: for a budget, for one run id, for one output.

The ledger is locked until every run waits to spend, or has ended, so that all of them are admitted first and spend at
the same moment.

Usage: nice python -m benchmarks.races [--repetitions 20] [--runs 10] [--attribute-weights learned]
"""

from __future__ import annotations

import argparse
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from dpnb_columnar.core.budget import Approximate, Neighbours
from dpnb_columnar.errors import BudgetError, BusyError
from dpnb_columnar.ledger import Ledger
from dpnb_columnar.simulation import simulate_census

DATA, DATASET, LEDGER = "census.parquet", "census_simulated", "census.ledger"
ROWS, EPSILON, ADMITTED = 2000, "0.1", 3
"""Size of the data, cost of a run, and how many of them the budget admits."""

PATIENCE = 22.0
"""Seconds after which the ledger is unlocked, even if runs are missing; the program waits 30."""


@dataclass(frozen=True, slots=True)
class Race:
    """Result of a race.

    Attributes:
        processes: Ids of the processes.
        codes: Their exit codes.
        models: The different documents that they wrote.
        charged: Run ids that the ledger was charged for.
        spent: Epsilon.
    """

    processes: Sequence[int]
    codes: Counter[int]
    models: frozenset[str]
    charged: Sequence[str]
    spent: Fraction


def race(folder: Path, runs: Sequence[tuple[str, str]], weights: str) -> Race:
    """Start runs that race for one ledger.

    Args:
        folder: A folder with the data in it.
        runs: Run id and output of each.
        weights: Attribute weights of the models.
    """
    ledger = folder / LEDGER
    with Ledger.create(ledger) as opened:
        opened.open_account(DATASET, Approximate(Fraction(EPSILON) * ADMITTED, Fraction(0)), Neighbours.ADD_REMOVE)
    with ExitStack() as stack, closing(sqlite3.connect(ledger, isolation_level=None)) as holding:
        holding.execute("BEGIN IMMEDIATE")
        processes = [stack.enter_context(_begun(folder, index, *run, weights)) for index, run in enumerate(runs)]
        logs = [folder / f"{index}.log" for index in range(len(runs))]
        _wait(lambda: all(map(_waits, processes, logs)), lambda: any(map(_waits, processes, logs)))
        holding.execute("ROLLBACK")
        for process in processes:
            process.wait()
    with Ledger(ledger) as opened:
        opened.verify()
        charged = [spend.run for spend, _ in opened.releases()]
        spent = opened.account(DATASET).spent.epsilon
    models = frozenset(path.read_text() for path in folder.glob("*.json"))
    codes = Counter(process.returncode for process in processes)
    return Race([process.pid for process in processes], codes, models, charged, spent)


def _begun(folder: Path, index: int, run: str, output: str, weights: str) -> subprocess.Popen[bytes]:
    options = ["--epsilon", EPSILON, "--ledger", LEDGER, "--run-id", run, "--output", output, "--log-format", "json"]
    options += ["--attribute-weights", weights]
    arguments = [sys.executable, "-m", "dpnb_columnar", "train", DATA, *options]
    with (folder / f"{index}.log").open("w") as log:
        return subprocess.Popen(arguments, cwd=folder, stdout=log, stderr=subprocess.STDOUT)


def _waits(process: subprocess.Popen[bytes], log: Path) -> bool:
    """Whether a run is about to spend, or has ended."""
    return '"stage ended"' in log.read_text() or process.poll() is not None  # it has counted


def _wait(all_ready: Callable[[], bool], one_ready: Callable[[], bool]) -> None:
    """Wait until all runs are ready, but not long after the first."""
    while not one_ready():
        time.sleep(0.01)
    end = time.monotonic() + PATIENCE
    while not all_ready() and time.monotonic() < end:
        time.sleep(0.01)


def for_budget(folder: Path, runs: int, weights: str = "auto") -> tuple[Race, bool]:
    """Race runs of different ids, of which the budget admits three."""
    ended = race(folder, [(f"run-{index}", f"{index}.json") for index in range(runs)], weights)
    expected = Counter({0: ADMITTED, BudgetError.exit_code: runs - ADMITTED})
    exact = ended.spent == Fraction(EPSILON) * ADMITTED and len(set(ended.charged)) == ADMITTED
    return ended, ended.codes == expected and exact and len(ended.models) == ADMITTED


def of_one_run(folder: Path, runs: int, weights: str = "auto") -> tuple[Race, bool]:
    """Race runs of one id that write different files: one charge, one model."""
    ended = race(folder, [("run", f"{index}.json") for index in range(runs)], weights)
    well = ended.codes == Counter({0: runs}) and ended.charged == ["run"] and len(ended.models) == 1
    return ended, well and len(list(folder.glob("*.json"))) == runs


def for_output(folder: Path, runs: int, weights: str = "auto") -> tuple[Race, bool]:
    """Race runs of different ids that write one file: each of the others names the run that writes it."""
    ended = race(folder, [(f"run-{index}", "model.json") for index in range(runs)], weights)
    expected = Counter({0: 1, BusyError.exit_code: runs - 1})
    [winner] = ended.charged if len(ended.charged) == 1 else [""]
    holder = ended.processes[int(winner.removeprefix("run-") or 0)]
    named = sum(f"process {holder} on " in log and f"(run {winner})" in log for log in _logs(folder, runs))
    return ended, ended.codes == expected and len(ended.models) == 1 and named == runs - 1


def _logs(folder: Path, runs: int) -> list[str]:
    return [(folder / f"{index}.log").read_text() for index in range(runs)]


RACES: dict[str, Callable[[Path, int, str], tuple[Race, bool]]] = {
    "different runs, budget for three": for_budget,
    "one run id, different outputs": of_one_run,
    "different runs, one output": for_output,
}


def main() -> None:
    """Race, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--attribute-weights", default="auto")
    options = parser.parse_args()
    failed = False
    for name, kind in RACES.items():
        codes: Counter[int] = Counter()
        wells = 0
        for _ in range(options.repetitions):
            with tempfile.TemporaryDirectory() as folder:
                simulate_census(Path(folder) / DATA, rows=ROWS, seed=1940)
                ended, well = kind(Path(folder), options.runs, options.attribute_weights)
            codes += ended.codes
            wells += well
        failed |= wells < options.repetitions
        ends = ", ".join(f"{count} with {code}" for code, count in sorted(codes.items()))
        print(f"{name}: {wells} of {options.repetitions} races ended as they must; runs ended: {ends}")
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
