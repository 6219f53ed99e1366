"""The runs that one ledger pays for, killed and begun again, and what must hold after each kill and in the end."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from signal import SIGKILL, Signals

from benchmarks.moments import AIMS, Pace, strike
from dpnb_columnar.budget import Approximate, Neighbours
from dpnb_columnar.errors import BudgetError, Error
from dpnb_columnar.ledger import Ledger

DATA, DATASET, LEDGER = "census.parquet", "census_simulated", "census.ledger"
EPSILON, ADMITTED, REFUSED = "0.1", 8, 2
"""Cost of a run, how many a ledger admits, and how many more ask."""

AGAIN = 0.5
"""How likely a run that was killed is killed again when it is begun again."""


class Stage(StrEnum):
    """How far a run had come when it was killed."""

    BEFORE = "nothing spent yet"
    SPENT = "spent, no model yet"
    KEPT = "model kept, no output yet"
    WRITTEN = "output in place"


@dataclass
class Figures:
    """What was seen.

    Attributes:
        ledgers: How many there were.
        kills: By stage.
        journals: Kills that left a transaction half done.
        spared: Runs that ended before the signal came.
        ended: Runs that were left to end, by exit code.
        faults: What must not happen.
    """

    ledgers: int = 0
    kills: Counter[Stage] = field(default_factory=Counter)
    journals: int = 0
    spared: int = 0
    ended: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def report(self) -> str:
        """For people."""
        lines = [f"{self.kills.total():5} kills, {self.ledgers} ledgers"]
        lines += [f"{self.kills[stage]:5}   {stage}" for stage in Stage]
        lines += [f"{self.journals:5}   of these, in the middle of a transaction"]
        lines += [f"{self.spared:5} ended before the signal came"]
        lines += [f"{count:5} left to end: exit code {code}" for code, count in sorted(self.ended.items())]
        lines += [f"{len(self.faults):5} faults: overspent, charged twice, lost, half written, left behind, failed"]
        return "\n".join([*lines, *(f"      {fault}" for fault in self.faults)])


@dataclass(frozen=True, slots=True)
class Seen:
    """What a ledger says of one run.

    Attributes:
        charged: Whether it was.
        document: What it has released.
        full: Whether the ledger has been charged all that it admits.
    """

    charged: bool
    document: str | None
    full: bool


class KilledRuns:
    """Runs of one ledger.

    Args:
        folder: One of its own, with the data in it.
        number: The signal they get.
        figures: Where to count.
    """

    def __init__(self, folder: Path, number: Signals, figures: Figures) -> None:
        self.folder, self.number, self.figures = folder, number, figures
        self.head: str | None = None
        figures.ledgers += 1
        with Ledger.create(folder / LEDGER) as ledger:
            limit = Approximate(Fraction(EPSILON) * ADMITTED, Fraction(0))
            ledger.open_account(DATASET, limit, Neighbours.ADD_REMOVE)

    def carry_out(self, pace: Pace, generator: random.Random, most: int) -> None:
        """Begin every run, kill it and begin it again until it ends, with at most so many kills."""
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
        arguments = [sys.executable, "-m", "dpnb_columnar", "train", DATA, *options]
        return subprocess.Popen(arguments, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def _fault(self, run: str, text: str) -> None:
        self.figures.faults.append(f"{self.folder.name}, {run}: {text}")

    def _check_killed(self, run: str) -> None:
        """What a killed run has left is the beginning of what it was to do."""
        self.figures.journals += (self.folder / f"{LEDGER}-journal").exists()
        seen, output = self._verified(run, self._copied()), self._output(run)
        if output is not None:
            stage = Stage.WRITTEN
            if output != seen.document:
                self._fault(run, "half written, or not what the ledger keeps")
        elif seen.document is not None:
            stage = Stage.KEPT
        else:
            stage = Stage.SPENT if seen.charged else Stage.BEFORE
        self.figures.kills[stage] += 1
        if self.number is not SIGKILL:
            self._check_leftovers(run)

    def _check_ended(self, run: str) -> None:
        """Left to itself a run ends well, whatever was done to it before."""
        process = self._begun(run)
        _, told = process.communicate()
        self.figures.ended[process.returncode] += 1
        seen = self._verified(run, self.folder / LEDGER)
        well = process.returncode == (0 if seen.charged else BudgetError.exit_code)
        if not well or seen.charged != (seen.document is not None) or not (seen.charged or seen.full):
            self._fault(run, f"failed with {process.returncode}: {told.decode().strip()}")
        if self._output(run) != seen.document:
            self._fault(run, "the output is not what the ledger keeps")
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
        """The ledger as the killed run has left it; the next run is to meet it untouched."""
        copy = self.folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        for file in self.folder.glob(f"{LEDGER}*"):
            shutil.copy(file, copy)
        return copy / LEDGER

    def _verified(self, run: str, path: Path) -> Seen:
        """What a ledger says; every entry that was ever seen has to be there, and no charge twice."""
        try:
            with Ledger(path) as ledger:
                self.head = ledger.verify(self.head).head
                [account] = ledger.accounts()
                charged = [spend.run for spend, _ in ledger.releases()]
                known = ledger.run(run)
        except Error as error:
            self._fault(run, f"lost: {error}")
            return Seen(False, None, False)
        if len(charged) != len(set(charged)) or account.spent.epsilon != Fraction(EPSILON) * len(charged):
            self._fault(run, f"charged twice: {charged}, {account.spent}")
        if account.spent.epsilon > account.limit.epsilon:
            self._fault(run, f"overspent: {account.spent}")
        document = None if known is None else known.document
        return Seen(known is not None, document, len(charged) == ADMITTED)
