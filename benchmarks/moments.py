"""Moments of a run at which to send it a signal: any, or one that a file in its folder gives away."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from signal import Signals

LOOK = 0.0002
"""Seconds between two looks at a folder."""

TRANSACTION = 0.01
"""Seconds within which to strike once a journal or an unfinished output is seen."""


class Aim(StrEnum):
    """When to strike."""

    ANY = "any moment"
    SPEND = "as the journal of the first transaction appears"
    RELEASE = "between the first transaction and the end"
    KEEP = "as the journal of the second transaction appears"
    OUTPUT = "as the unfinished output appears"


AIMS = (*Aim, Aim.RELEASE)
"""Each as likely as it is often: the window between spend and output has most weight."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a run takes here.

    Attributes:
        whole: Seconds of a run.
        paid: Seconds from the spend to the end.
    """

    whole: float
    paid: float


def measured_pace(folder: Path, data: str, dataset: str) -> Pace:
    """The pace of a run that nobody disturbs."""
    command = [sys.executable, "-m", "dpnb_columnar"]
    opened = ["ledger", "init", "pace.ledger", "--dataset", dataset, "--epsilon", "1"]
    subprocess.run([*command, *opened], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    train = ["train", data, "--ledger", "pace.ledger", "--output", "pace.json"]
    began = time.monotonic()
    process = subprocess.Popen([*command, *train], cwd=folder, stdout=subprocess.DEVNULL)
    _wait(process, lambda: _transaction(folder / "pace.ledger"))
    paid = time.monotonic()
    if process.wait():
        raise SystemExit("a run that nobody disturbed has failed")
    ended = time.monotonic()
    return Pace(ended - began, max(ended - paid, TRANSACTION))


def strike(
    process: subprocess.Popen[bytes], ledger: Path, aim: Aim, pace: Pace, generator: random.Random, number: Signals
) -> bool:
    """Send a run a signal at the moment aimed at, and wait for its end.

    Returns:
        Whether the signal ended it; not if the run ended before.
    """
    for condition in _conditions(aim, ledger):
        _wait(process, condition)
    longest = {Aim.ANY: pace.whole, Aim.RELEASE: pace.paid}.get(aim, TRANSACTION)
    with suppress(subprocess.TimeoutExpired):
        process.wait(generator.uniform(0, longest))
    process.send_signal(number)
    process.communicate()
    return process.returncode in (-number, 128 + number)


def _conditions(aim: Aim, ledger: Path) -> list[Callable[[], bool]]:
    """What has to be seen, one after another."""

    def begun() -> bool:
        return _transaction(ledger)

    def over() -> bool:
        return not _transaction(ledger)

    def output() -> bool:
        return any(ledger.parent.glob(".*.partial"))

    return {
        Aim.ANY: [],
        Aim.SPEND: [begun],
        Aim.RELEASE: [begun],
        Aim.KEEP: [begun, over, begun],
        Aim.OUTPUT: [output],
    }[aim]


def _transaction(ledger: Path) -> bool:
    return ledger.with_name(f"{ledger.name}-journal").exists()


def _wait(process: subprocess.Popen[bytes], condition: Callable[[], bool]) -> None:
    """Look until something is seen, or the run has ended."""
    while process.poll() is None and not condition():
        time.sleep(LOOK)
