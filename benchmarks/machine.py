"""The machine that measurements come from, in a few light look-ups."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LIBRARIES = ("dpnb-columnar", "polars", "duckdb", "pyarrow", "numpy", "scikit-learn", "typer", "ipumspy")


def machine() -> dict[str, str]:
    """Processors, memory, system and versions, each under the name it has in the document."""
    found = {
        "date": datetime.now(UTC).date().isoformat(),
        "processors": str(os.cpu_count()),
        "processor": _field(Path("/proc/cpuinfo"), "model name") or platform.processor() or platform.machine(),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
    }
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


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
