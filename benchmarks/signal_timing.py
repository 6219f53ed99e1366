"""Moments of a run at which to send it a signal: any moment, or one that a file in its folder shows."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from signal import Signals

LOOK = 0.0002
"""Seconds between two looks at a folder."""

TRANSACTION = 0.01
"""Seconds within which to send the signal once a journal or an unfinished output appears."""


class Aim(StrEnum):
    """When to send the signal."""

    ANY = "any moment"
    SPEND = "as the journal of the first transaction appears"
    RELEASE = "between the first transaction and the end"
    RECORD = "as the journal of the second transaction appears"
    OUTPUT = "as the unfinished output appears"


AIMS = (*Aim, Aim.RELEASE)
"""Each as likely as it is often: the window between spend and output has most weight."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Duration of a run on this machine.

    Attributes:
        whole: Seconds of a run.
        paid: Seconds from the spend to the end.
    """

    whole: float
    paid: float


def measured_pace(folder: Path, data: str, dataset: str, *options: str) -> Pace:
    """Measure the duration of an undisturbed run with these options."""
    command = [sys.executable, "-m", "dpnb_columnar"]
    opened = ["ledger", "init", "pace.ledger", "--dataset", dataset, "--epsilon", "1"]
    subprocess.run([*command, *opened], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    train = ["train", data, "--ledger", "pace.ledger", "--output", "pace.json", *options]
    began = time.monotonic()
    process = subprocess.Popen([*command, *train], cwd=folder, stdout=subprocess.DEVNULL)
    _wait(process, lambda: _transaction(folder / "pace.ledger"))
    paid = time.monotonic()
    if process.wait():
        raise SystemExit("an undisturbed run has failed")
    ended = time.monotonic()
    return Pace(ended - began, max(ended - paid, TRANSACTION))


def strike(
    process: subprocess.Popen[bytes], ledger: Path, aim: Aim, pace: Pace, generator: random.Random, number: Signals
) -> bool:
    """Send a run a signal at a moment of its work, and wait for its end.

    Args:
        process: The run.
        ledger: Its ledger.
        aim: The moment.
        pace: Duration of an undisturbed run.
        generator: Source of the random delay.
        number: The signal.

    Returns:
        Whether the signal ended the run; False if it ended before.
    """
    for condition in _conditions(aim, ledger):
        _wait(process, condition)
    longest = {Aim.ANY: pace.whole, Aim.RELEASE: pace.paid}.get(aim, TRANSACTION)
    with suppress(subprocess.TimeoutExpired):
        process.wait(generator.uniform(0, longest))
    process.send_signal(number)
    process.communicate()
    return process.returncode in (-number, 128 + number)


def _conditions(aim: Aim, ledger: Path) -> Sequence[Callable[[], bool]]:
    """The conditions to wait for, one after another."""
    begun = partial(_transaction, ledger)
    over = partial(_no_transaction, ledger)
    return {
        Aim.ANY: [],
        Aim.SPEND: [begun],
        Aim.RELEASE: [begun],
        Aim.RECORD: [begun, over, begun],
        Aim.OUTPUT: [partial(_unfinished_output, ledger)],
    }[aim]


def _transaction(ledger: Path) -> bool:
    return ledger.with_name(f"{ledger.name}-journal").exists()


def _no_transaction(ledger: Path) -> bool:
    return not _transaction(ledger)


def _unfinished_output(ledger: Path) -> bool:
    return any(ledger.parent.glob(".*.partial"))


def _wait(process: subprocess.Popen[bytes], condition: Callable[[], bool]) -> None:
    """Wait until a condition holds, or the run has ended."""
    while process.poll() is None and not condition():
        time.sleep(LOOK)
