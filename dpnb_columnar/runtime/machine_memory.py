"""The memory that this process may take: that of the machine, or of its control group, as in a container."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
OWN_GROUP = Path("/proc/self/cgroup")


@cache
def machine_memory() -> int:
    """Return the bytes of memory of the machine, or of a control group if that has less; 0 where nobody tells."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows
        return 0
    return min([memory, *_limits()])


def _limits() -> Iterator[int]:
    """Yield the limits of this process's group and of those around it, in either version of control groups."""
    try:
        lines = OWN_GROUP.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, name = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root, file = (GROUPS / "memory", "memory.limit_in_bytes") if controllers else (GROUPS, "memory.max")
        group = root / name.lstrip("/")
        for folder in (root, *(each for each in (group, *group.parents) if each.is_relative_to(root))):
            try:
                limit = (folder / file).read_text(encoding="ascii").strip()
            except OSError:  # a container sees its own group as the root, under another name
                continue
            if limit.isdecimal():  # else "max"
                yield int(limit)
