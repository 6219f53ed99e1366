"""Whole runs of every verb that writes, killed at random moments and begun again until they end.

A third of the kills come at any moment, a third just as the first new file shows, a third between that and the end. A
run must have left each of its outputs absent or whole, and only files that the next run removes; that one must end
well and leave its outputs and nothing else. Ledgers are verified after every kill: none has lost an entry, and each
run is charged once.

Usage: nice python -m benchmarks.killed_verbs [--kills 300] [--seed 1] [--only REGULAR_EXPRESSION]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

import polars as pl

from dpnb_columnar.errors import Error
from dpnb_columnar.ledger import Ledger

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.patience import patience
from support.running import completed
from support.writing_verbs import WRITES, names_below, write_inputs

WITNESS = "other/people.witness"

FURTHER: Mapping[str, str] = {
    "train with a witness": f"train people.parquet --ledger people.ledger --witness {WITNESS} --epsilon 0.1 "
    "--run-id a --output OUT/new.json",
    "release with a ledger": "release people.statistics.parquet --ledger people.ledger --epsilon 0.1 --run-id a "
    "--output OUT/new.json",
    "evaluate with a ledger": "evaluate paid.json more.parquet --ledger people.ledger --epsilon 0.1 --run-id a "
    "--output OUT/new.json",
    "ledger verify": "ledger verify people.ledger --witness OUT/people.witness --begin-witness --head HEAD",
    "demo": "demo --folder OUT/demo --rows 3000",
    "demo, replacing": "demo --folder OUT/demo --rows 3000 --overwrite",
    "split, replacing": f"{WRITES['split']} --overwrite",
    **({"export to ONNX": "export people.model.json --to onnx --output OUT/new.onnx"} if find_spec("onnx") else {}),
    "export to R": "export people.model.json --to r --output OUT/new.R",
    "export to SAS": "export people.model.json --to sas --output OUT/new.sas",
    "export to SPSS": "export people.model.json --to spss --output OUT/new.sps",
}
"""What is killed beside the verbs that every test tries."""

ABANDONED = re.compile(r"(.*/)?(\.[^/]+\.([0-9a-f]{12}\.partial|lock)|[^/]+-journal)")
"""What a killed run may leave, for the next one to remove."""

AGAIN = 0.3
"""Probability that a killed run is killed again when it is begun again."""

TRANSACTION = 0.02
"""Seconds within which the kill comes once a new file shows."""


class Stage(StrEnum):
    """What a killed run had written."""

    NOTHING = "no file yet"
    UNFINISHED = "unfinished files, no output yet"
    SOME = "some of its outputs"
    ALL = "all of its outputs"


@dataclass(frozen=True)
class Undisturbed:
    """What a run gives that nobody kills.

    Attributes:
        seconds: How long it takes.
        files: Its outputs by name.
        steady: Those of which a second run writes the same bytes.
        repeated: Exit code of the same command where the outputs are there.
    """

    seconds: float
    files: Mapping[str, bytes]
    steady: frozenset[str]
    repeated: int


@dataclass
class Figures:
    """Counts of kills, ends and faults.

    Attributes:
        kills: By verb.
        stages: Kills by what had been written.
        left: Kills that left a file for the next run to remove.
        spared: Runs that ended before the kill.
        ended: Runs that were left to end, by exit code.
        faults: Observations that must not occur.
    """

    kills: Counter[str] = field(default_factory=Counter)
    stages: Counter[Stage] = field(default_factory=Counter)
    left: int = 0
    spared: int = 0
    ended: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def report(self) -> str:
        """Format the counts as lines of text."""
        lines = [f"{self.kills.total():5} kills of {len(self.kills)} commands"]
        lines += [f"{self.stages[stage]:5}   {stage}" for stage in Stage]
        lines += [f"{self.left:5}   of these left a file for the next run to remove"]
        lines += [f"{self.spared:5} ended before the kill"]
        lines += [f"{count:5} left to end: exit code {code}" for code, count in sorted(self.ended.items())]
        lines += [f"{len(self.faults):5} faults: half written, left behind, lost, charged twice, failed"]
        return "\n".join([*lines, *(f"      {fault}" for fault in self.faults)])


class KilledVerb:
    """Runs of one command.

    Args:
        folder: A folder for the runs, which is emptied.
        inputs: What the command reads.
        verb: What the command is called here.
        line: The command.
        figures: Counts, which are updated.
    """

    def __init__(self, folder: Path, inputs: Path, verb: str, line: str, figures: Figures) -> None:
        self.folder, self.inputs, self.verb, self.line, self.figures = folder, inputs, verb, line, figures
        self.before = names_below(inputs)
        self.usual = self._undisturbed()

    def _undisturbed(self) -> Undisturbed:
        made = []
        for _ in range(2):
            time.sleep(1)  # times to the second are none of what two runs write alike
            self._fresh()
            began = time.monotonic()
            if code := self._ended(self.line)[0]:
                raise SystemExit(f"{self.verb}: ended with {code} undisturbed")
            seconds = time.monotonic() - began
            made.append({name: (self.folder / name).read_bytes() for name in self._new()})
        steady = frozenset(name for name, content in made[0].items() if made[1].get(name) == content)
        return Undisturbed(seconds, made[1], steady, self._ended(self.line)[0])

    def kill(self, generator: random.Random) -> None:
        """Begin the command, kill it once or more, and let it end."""
        self._fresh()
        while self._struck(generator):
            self._check_killed()
            if generator.random() > AGAIN:
                break
        else:
            self.figures.spared += 1
        self._check_ended()

    def _fresh(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.inputs, self.folder)

    def _new(self) -> set[str]:
        return names_below(self.folder) - self.before

    def _begun(self, line: str) -> subprocess.Popen[bytes]:
        arguments = [sys.executable, "-m", "dpnb_columnar", *shlex.split(line)]
        return subprocess.Popen(arguments, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def _ended(self, line: str) -> tuple[int, str]:
        with self._begun(line) as process:
            try:
                _, told = process.communicate(timeout=patience())
            finally:
                process.kill()
        return process.returncode, told.decode()

    def _struck(self, generator: random.Random) -> bool:
        """Kill a run at a moment of its work; return whether that ended it."""
        known = self._new()
        with self._begun(self.line) as process:
            began, moment = time.monotonic(), generator.randrange(3)
            while moment and process.poll() is None and self._new() <= known:
                time.sleep(0.0005)
            left = max(self.usual.seconds - (time.monotonic() - began), TRANSACTION)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(generator.uniform(0, TRANSACTION if moment == 1 else left))
            process.kill()
        return process.returncode < 0

    def _fault(self, text: str) -> None:
        self.figures.faults.append(f"{self.verb}: {text}")

    def _check_killed(self) -> None:
        new, outputs = self._new(), set(self.usual.files)
        left = {name for name in new if ABANDONED.fullmatch(name)}
        there = new & outputs
        stage = Stage.ALL if there == outputs else Stage.SOME if there else Stage.UNFINISHED if new else Stage.NOTHING
        self.figures.kills[self.verb] += 1
        self.figures.stages[stage] += 1
        self.figures.left += bool(left)
        if odd := new - outputs - left:
            self._fault(f"left {', '.join(sorted(odd))}")
        self._check_whole(there)
        self._check_ledgers(ended=False)

    def _check_ended(self) -> None:
        there = self._new() & set(self.usual.files)
        code, told = self._ended(self.line)
        if code == self.usual.repeated and there == set(self.usual.files):
            code = 0
        elif code == self.usual.repeated and there:  # one of several: the command says how they are written anew
            code, told = self._ended(f"{self.line} --overwrite")
        self.figures.ended[code] += 1
        if code:
            self._fault(f"failed with {code}: {told.strip()}")
        if self._new() != set(self.usual.files):
            self._fault(f"ended with {', '.join(sorted(self._new() ^ set(self.usual.files)))} left or missing")
        self._check_whole(self._new() & set(self.usual.files))
        self._check_ledgers(ended=True)

    def _check_whole(self, names: set[str]) -> None:
        for name in sorted(names):
            content = (self.folder / name).read_bytes()
            if content != self.usual.files[name] if name in self.usual.steady else not _is_whole(name, content):
                self._fault(f"{name} is half written")

    def _check_ledgers(self, *, ended: bool) -> None:
        """Verify copies of the ledgers, so that the next run finds them untouched."""
        for ledger in self.folder.rglob("*.ledger"):
            with tempfile.TemporaryDirectory() as place:
                for file in ledger.parent.glob(f"{ledger.name}*"):
                    shutil.copy(file, place)
                self._check_ledger(Path(place) / ledger.name, ledger.name, ended=ended)

    def _check_ledger(self, copy: Path, name: str, *, ended: bool) -> None:
        earlier, head = 0, None
        if (self.inputs / name).exists():
            with Ledger(self.inputs / name) as before:
                earlier, head = len(list(before.releases())), before.verify().head
        try:
            with Ledger(copy) as ledger:
                if copy.stat().st_size or ended:
                    ledger.verify(head)
                    if WITNESS in self.line:
                        seen = json.loads((self.folder / WITNESS).read_text())["head"]
                        if ledger.verify(seen).head != seen and ended:
                            self._fault(f"{WITNESS} is behind")
                    runs = [spend.run for spend, _ in ledger.releases()]
                    known = ledger.run("a")
        except Error as error:
            self._fault(f"{name}: {error}")
            return
        most = earlier + ("--run-id" in self.line)
        if len(runs) != len(set(runs)) or not (most if ended else earlier) <= len(runs) <= most:
            self._fault(f"{name}: charged for {runs}")
        output = self.folder / "OUT/new.json"
        if "--run-id" in self.line and output.exists() and (known is None or output.read_text() != known.document):
            self._fault("the output is not what the ledger holds")


def _is_whole(name: str, content: bytes) -> bool:
    """Tell whether an output is whole whose bytes differ from run to run."""
    if name.endswith(".parquet"):
        return len(pl.read_parquet(content)) > 0
    ends = {".json": b"}\n", ".html": (b"</html>\n", b"</html>"), ".witness": b"}\n"}
    return name.endswith(".ledger") or content.endswith(ends.get(Path(name).suffix, b"\n"))


def kill_verbs(folder: Path, kills: int, seed: int | None, verbs: Mapping[str, str]) -> Figures:
    """Kill runs of some commands, one after another, again and again.

    Args:
        folder: An empty folder.
        kills: Number of kills.
        seed: Seed of the moments; None for other moments every time.
        verbs: The commands by what they are called.
    """
    generator, figures = random.Random(seed), Figures()
    inputs = folder / "inputs"
    inputs.mkdir()
    with contextlib.chdir(inputs):
        write_inputs(inputs)
        (inputs / "other").mkdir()
    with Ledger(inputs / "people.ledger") as ledger:
        head = ledger.head()
    watched = shutil.copytree(inputs, folder / "watched")
    with contextlib.chdir(watched):
        completed("ledger", "verify", "people.ledger", "--witness", WITNESS, "--begin-witness", "--head", head)
    killed = [
        KilledVerb(folder / "runs", watched if WITNESS in line else inputs, verb, line.replace("HEAD", head), figures)
        for verb, line in verbs.items()
    ]
    while figures.kills.total() < kills:
        for each in killed:
            if figures.kills.total() < kills:
                each.kill(generator)
    return figures


def main() -> None:
    """Kill runs, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="what is found in the names of the commands to kill")
    options = parser.parse_args()
    verbs = {name: line for name, line in {**WRITES, **FURTHER}.items() if re.search(options.only, name)}
    with tempfile.TemporaryDirectory() as folder:
        figures = kill_verbs(Path(folder), options.kills, options.seed, verbs)
    print(figures.report())
    raise SystemExit(bool(figures.faults))


if __name__ == "__main__":
    main()
