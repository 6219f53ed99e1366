"""The most memory that a process had, measured by a program for a process of its own."""

from __future__ import annotations

import subprocess
import sys

PEAK_MEBIBYTES = """
import sys
from pathlib import Path

def peak_mebibytes():
    # Not ru_maxrss on Linux: a child inherits the peak of the process that started it.
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1024
    import resource
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
"""
"""Begins a program that calls ``peak_mebibytes``."""


def peak(program: str, *arguments: object) -> int:
    """The most MiB that a process has that runs a program with these arguments."""
    whole = f"{PEAK_MEBIBYTES}\n{program}\nprint(round(peak_mebibytes()))"
    command = [sys.executable, "-W", "error", "-c", whole, *map(str, arguments)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
