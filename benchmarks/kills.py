"""Whole ``train --ledger`` runs, killed at random moments and begun again with the same run id until they end.

After every kill a copy of the ledger is verified, and the output has to be absent or whole. In the end every run must
have been charged once, have written the model that the ledger holds, and have left nothing else. Each ledger admits all
of its runs but the last few, which must end with 77 however they are disturbed.

Usage: nice python -m benchmarks.kills [--kills 300] [--signal KILL|TERM|INT] [--attribute-weights learned] [--seed 1]
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from signal import SIGKILL, Signals

from benchmarks.signal_timing import AIMS, Pace, measured_pace, strike
from dpnb_columnar.core.budget import Approximate, Neighbours
from dpnb_columnar.errors import BudgetError, Error
from dpnb_columnar.ledger import Ledger
from dpnb_columnar.simulation import simulate_census

ROWS = 2000
DATA, DATASET, LEDGER = "census.parquet", "census_simulated", "census.ledger"
EPSILON, ADMITTED, REFUSED = "0.1", 8, 2
"""Cost of a run, how many a ledger admits, and how many more are begun."""

AGAIN = 0.5
"""Probability that a killed run is killed again when it is begun again."""


class Stage(StrEnum):
    """Stage of a run when it was killed."""

    BEFORE = "nothing spent yet"
    SPENT = "spent, no model yet"
    RECORDED = "model in the ledger, no output yet"
    WRITTEN = "output in place"


@dataclass
class Figures:
    """Counts of kills, ends and faults.

    Attributes:
        ledgers: Number of ledgers.
        kills: By stage.
        journals: Kills that left a transaction half done.
        spared: Runs that ended before the signal came.
        ended: Runs that were left to end, by exit code.
        faults: Observations that must not occur.
    """

    ledgers: int = 0
    kills: Counter[Stage] = field(default_factory=Counter)
    journals: int = 0
    spared: int = 0
    ended: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def report(self) -> str:
        """Format the counts as lines of text."""
        lines = [f"{self.kills.total():5} kills, {self.ledgers} ledgers"]
        lines += [f"{self.kills[stage]:5}   {stage}" for stage in Stage]
        lines += [f"{self.journals:5}   of these, in the middle of a transaction"]
        lines += [f"{self.spared:5} ended before the signal came"]
        lines += [f"{count:5} left to end: exit code {code}" for code, count in sorted(self.ended.items())]
        lines += [f"{len(self.faults):5} faults: overspent, charged twice, lost, half written, left behind, failed"]
        return "\n".join([*lines, *(f"      {fault}" for fault in self.faults)])


@dataclass(frozen=True, slots=True)
class RunState:
    """State of one run in a ledger.

    Attributes:
        charged: Whether the run was charged.
        document: The model that it released.
        full: Whether the ledger has been charged all that it admits.
    """

    charged: bool
    document: str | None
    full: bool


class KilledRuns:
    """Runs of one ledger.

    Args:
        folder: A folder of its own, with the data in it.
        number: The signal that runs are sent.
        weights: Attribute weights of the models; ``learned`` reads the rows five times before anything is spent.
        figures: Counts, which are updated.
    """

    def __init__(self, folder: Path, number: Signals, weights: str, figures: Figures) -> None:
        self.folder, self.number, self.weights, self.figures = folder, number, weights, figures
        self.head: str | None = None
        figures.ledgers += 1
        with Ledger.create(folder / LEDGER) as ledger:
            limit = Approximate(Fraction(EPSILON) * ADMITTED, Fraction(0))
            ledger.open_account(DATASET, limit, Neighbours.ADD_REMOVE)

    def carry_out(self, pace: Pace, generator: random.Random, most: int) -> None:
        """Begin every run, kill it and begin it again until it ends, with at most ``most`` kills."""
        most += self.figures.kills.total()
        for run in (f"run-{index}" for index in range(ADMITTED + REFUSED)):
            while self.figures.kills.total() < most:
                process = self._begun(run)
                if strike(process, self.folder / LEDGER, generator.choice(AIMS), pace, generator, self.number):
                    self._check_killed(run)
                else:
                    self.figures.spared += 1
                if generator.random() > AGAIN:
                    break
            self._check_ended(run)

    def _begun(self, run: str) -> subprocess.Popen[bytes]:
        options = ["--epsilon", EPSILON, "--ledger", LEDGER, "--run-id", run, "--output", f"{run}.json"]
        options += ["--attribute-weights", self.weights]
        arguments = [sys.executable, "-m", "dpnb_columnar", "train", DATA, *options]
        return subprocess.Popen(arguments, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def _fault(self, run: str, text: str) -> None:
        self.figures.faults.append(f"{self.folder.name}, {run}: {text}")

    def _check_killed(self, run: str) -> None:
        """Check that the files of a killed run are a beginning of its work."""
        self.figures.journals += (self.folder / f"{LEDGER}-journal").exists()
        state, output = self._verified(run, self._copied()), self._output(run)
        if output is not None:
            stage = Stage.WRITTEN
            if output != state.document:
                self._fault(run, "half written, or not the model of the ledger")
        elif state.document is not None:
            stage = Stage.RECORDED
        else:
            stage = Stage.SPENT if state.charged else Stage.BEFORE
        self.figures.kills[stage] += 1
        if self.number is not SIGKILL:
            self._check_leftovers(run)

    def _check_ended(self, run: str) -> None:
        """Check that an undisturbed run ends well, whatever happened to it before."""
        process = self._begun(run)
        _, errors = process.communicate()
        self.figures.ended[process.returncode] += 1
        state = self._verified(run, self.folder / LEDGER)
        well = process.returncode == (0 if state.charged else BudgetError.exit_code)
        if not well or state.charged != (state.document is not None) or not (state.charged or state.full):
            self._fault(run, f"failed with {process.returncode}: {errors.decode().strip()}")
        if self._output(run) != state.document:
            self._fault(run, "the output is not the model of the ledger")
        self._check_leftovers(run)

    def _check_leftovers(self, run: str) -> None:
        names = [path.name for path in self.folder.iterdir()]
        left = [name for name in names if name.startswith(".") or name.endswith("-journal")]
        if left:
            self._fault(run, f"left behind: {', '.join(left)}")

    def _output(self, run: str) -> str | None:
        path = self.folder / f"{run}.json"
        return path.read_text() if path.exists() else None

    def _copied(self) -> Path:
        """Copy the ledger of the killed run, so that the next run finds it untouched."""
        copy = self.folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        for file in self.folder.glob(f"{LEDGER}*"):
            shutil.copy(file, copy)
        return copy / LEDGER

    def _verified(self, run: str, path: Path) -> RunState:
        """Verify a ledger: it has to hold every entry it ever held, and no charge twice."""
        try:
            with Ledger(path) as ledger:
                self.head = ledger.verify(self.head).head
                [account] = ledger.accounts()
                charged = [spend.run for spend, _ in ledger.releases()]
                known = ledger.run(run)
        except Error as error:
            self._fault(run, f"lost: {error}")
            return RunState(False, None, False)
        if len(charged) != len(set(charged)) or account.spent.epsilon != Fraction(EPSILON) * len(charged):
            self._fault(run, f"charged twice: {charged}, {account.spent}")
        if account.spent.epsilon > account.limit.epsilon:
            self._fault(run, f"overspent: {account.spent}")
        document = None if known is None else known.document
        return RunState(known is not None, document, len(charged) == ADMITTED)


def kill_runs(folder: Path, kills: int, number: Signals, seed: int | None, weights: str = "auto") -> Figures:
    """Kill a number of runs, of as many ledgers as needed.

    Args:
        folder: An empty folder.
        kills: Number of kills.
        number: The signal.
        seed: Seed of the moments; None for other moments every time.
        weights: Attribute weights of the models.
    """
    generator, figures = random.Random(seed), Figures()
    simulate_census(folder / DATA, rows=ROWS, seed=1940)
    pace = measured_pace(folder, DATA, DATASET, "--attribute-weights", weights)
    while (left := kills - figures.kills.total()) > 0:
        place = folder / f"ledger-{figures.ledgers}"
        place.mkdir()
        (place / DATA).symlink_to(folder / DATA)
        KilledRuns(place, number, weights, figures).carry_out(pace, generator, left)
    return figures


def main() -> None:
    """Kill runs, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--signal", choices=["KILL", "TERM", "INT"], default="KILL")
    parser.add_argument("--attribute-weights", default="auto")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = kill_runs(
            Path(folder), options.kills, Signals[f"SIG{options.signal}"], options.seed, options.attribute_weights
        )
    print(figures.report())
    raise SystemExit(bool(figures.faults))


if __name__ == "__main__":
    main()
