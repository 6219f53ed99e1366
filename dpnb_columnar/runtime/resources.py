"""Packaged resources: the ``sql/`` folder, with its named sections, and ``datasets.toml``.

They are inside the package in a wheel, and beside it in a checkout.

The memory that this process may take: that of the machine, or of its control group, as in a container.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
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


PACKAGE = Path(__file__).parents[1]


def resource(name: str) -> Path:
    """Return the path of ``sql`` or ``datasets.toml`` in this installation."""
    inside = PACKAGE / name
    return inside if inside.exists() else PACKAGE.parent / name


@lru_cache
def sections(name: str) -> Mapping[str, str]:
    """Return the sections of ``sql/NAME.sql`` by name, without the comments at their head."""
    text = (resource("sql") / f"{name}.sql").read_text(encoding="utf-8")
    parts = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)[1:]
    return {
        part: re.sub(r"^--.*\n", "", body, flags=re.MULTILINE).strip()
        for part, body in zip(parts[::2], parts[1::2], strict=True)
    }


def literal_pattern(file: Path) -> str:
    """Return a glob pattern that matches this file only."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(file))
