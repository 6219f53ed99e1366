"""Whole processes, measured from cold as the operating system accounts for them: imports and all.

A process starts with the peak memory of the one it was spawned from. So who measures must stay small, or the peaks
would be its own: this module, and whoever measures with it, imports no heavy library.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PYTHON = sys.executable
PROGRAM = (PYTHON, "-m", "dpnb_columnar")
ROOT = Path(__file__).parents[1]
"""The checkout: where a child finds the contenders, whatever folder it is started in."""

PEAK_UNITS = 2**20 if sys.platform == "darwin" else 2**10
"""Units of ``ru_maxrss`` in a MiB."""

SMALL = 40
"""MiB: the most that a measuring process may have held. Peaks below that are only known to be below."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One process, from its start to its end.

    Attributes:
        seconds: Wall time.
        cpu_seconds: User and system time of all its threads.
        peak_mib: Largest resident memory.
        printed: What it wrote to standard output.
    """

    seconds: float
    cpu_seconds: float
    peak_mib: float
    printed: str


def contender(name: str, *arguments: object, python: str = PYTHON) -> tuple[str, ...]:
    """The command of a module of ``benchmarks.contenders``."""
    return (python, "-m", f"benchmarks.contenders.{name}", *map(str, arguments))


def measured(command: Sequence[str]) -> Measurement:
    """Run a process to its end.

    Raises:
        SystemExit: It failed, or this process is too large to measure another.
        KeyboardInterrupt: As it comes; the process has ended.
    """
    if (own := _held()) > SMALL:
        raise SystemExit(f"this process has held {own:.0f} MiB, and would pass that peak on to those it measures")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        actions = [(os.POSIX_SPAWN_DUP2, output.fileno(), 1), (os.POSIX_SPAWN_DUP2, errors.fileno(), 2)]
        start = time.perf_counter()
        process = os.posix_spawnp(command[0], command, environment, file_actions=actions)
        try:
            _, status, usage = os.wait4(process, 0)
        except KeyboardInterrupt:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            raise
        seconds = time.perf_counter() - start
        if status:
            errors.seek(0)
            raise SystemExit(f"failed: {' '.join(command)}\n{errors.read().decode(errors='replace')}")
        output.seek(0)
        printed = output.read().decode()
    return Measurement(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / PEAK_UNITS, printed)


def _held() -> float:
    """MiB that this process has held, and would pass on.

    Linux tells it without what was passed on to this process itself, which goes no further.
    """
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / PEAK_UNITS
