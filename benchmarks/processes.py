"""Whole processes, measured from cold as the operating system accounts for them, imports included; and the machine.

A process starts with the peak memory of the process that spawned it. So a measuring process must stay small, or it
would measure its own peak: this module, and everything that measures with it, imports no heavy library.
"""

from __future__ import annotations

import os
import platform
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PYTHON = sys.executable
PROGRAM = (PYTHON, "-m", "dpnb_columnar")
ROOT = Path(__file__).parents[1]
"""The checkout: children find the contenders there, whatever folder they are started in."""

LIBRARIES = ("dpnb-columnar", "polars", "duckdb", "pyarrow", "numpy", "scikit-learn", "typer", "ipumspy", "lightgbm")
"""Libraries whose versions are noted."""

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
        read_mib: What it has read by calls, its modules included, from the disk or from the file cache. What it maps
            into memory does not count. None where the system does not tell.
        printed: Its standard output.
    """

    seconds: float
    cpu_seconds: float
    peak_mib: float
    read_mib: float | None
    printed: str


def contender(name: str, *arguments: object, python: str = PYTHON) -> tuple[str, ...]:
    """Make the command of a module of ``benchmarks.contenders``."""
    return (python, "-m", f"benchmarks.contenders.{name}", *map(str, arguments))


def measured(command: Sequence[str]) -> Measurement:
    """Run a process to its end.

    Raises:
        SystemExit: if the process fails, or this process is too large to measure another.
        KeyboardInterrupt: if this process is interrupted; the measured process has ended.
    """
    if (own := _held()) > SMALL:
        raise SystemExit(f"this process has held {own:.0f} MiB, and would pass that peak on to those it measures")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program is not compiled at every start
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        actions = [(os.POSIX_SPAWN_DUP2, output.fileno(), 1), (os.POSIX_SPAWN_DUP2, errors.fileno(), 2)]
        start = time.perf_counter()
        process = os.posix_spawnp(command[0], command, environment, file_actions=actions)
        try:
            read_mib = _read_mib(process)
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
    peak_mib = usage.ru_maxrss / PEAK_UNITS
    return Measurement(seconds, usage.ru_utime + usage.ru_stime, peak_mib, read_mib, printed)


def _read_mib(process: int) -> float | None:
    """MiB that a child has read when it has ended: Linux tells until it is waited for."""
    if sys.platform != "linux":
        return None
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    read = _field(Path(f"/proc/{process}/io"), "rchar")
    return None if read is None else int(read) / 2**20


def _held() -> float:
    """Peak memory of this process in MiB, which its children start with.

    Linux reports it without the peak that this process started with itself, which its children do not inherit.
    """
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / PEAK_UNITS


def machine() -> dict[str, str]:
    """Describe processors, memory, system and versions, each under its name in the document."""
    facts = {
        "date": datetime.now(UTC).date().isoformat(),
        "processors": str(os.cpu_count()),
        "processor": _field(Path("/proc/cpuinfo"), "model name") or platform.processor() or platform.machine(),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
    }
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):
            facts[name] = version(name)
    return facts


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    except (ValueError, OSError):
        return "unknown"


def _field(file: Path, name: str) -> str | None:
    """The first value of a field of a file of ``name : value`` lines."""
    with suppress(OSError):
        for line in file.read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == name:
                return value.strip()
    return None
