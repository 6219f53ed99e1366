"""Packaged resources, beside the package in a checkout; and those of the machine: memory and open files.

Engines report that these lack in many ways; of the failure behind an error only type and number are looked at.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path

from dpnb_columnar.errors import DataError, Error, MissingInputError, ResourceError

FILES = ResourceError("this process may not open more files; raise the limit (ulimit -n), then start again")
MEMORY = ResourceError(
    "memory does not suffice; raise the limit (ulimit -v, the container's or the scheduler's), or close other "
    "programs, then start again; if more does not help, a file may claim more than it holds: write it again"
)

NUMBERS = {errno.EMFILE: FILES, errno.ENFILE: FILES, errno.ENOMEM: MEMORY}
NUMBER_OF_POLARS = re.compile(r"[A-Za-z ]+ \(os error (\d+)\)")
"""The beginning of an error text of Polars that comes from the operating system; it quotes no row."""

OUT_OF_MEMORY = frozenset({"OutOfMemoryException", "ArrowMemoryError"})  # names of the libraries' own errors
FEW_FILES = 4  # files that a library opens at the same time, beside those of its own
LITTLE_MEMORY = 2**28  # bytes of address space that a library takes to load


def shortage(error: BaseException) -> ResourceError | None:
    """Return what the machine lacks, if an error or a failure behind it says so."""
    failure: BaseException | None = error
    while failure is not None:
        if isinstance(failure, MemoryError) or type(failure).__name__ in OUT_OF_MEMORY:
            return MEMORY
        number = failure.errno if isinstance(failure, OSError) else None
        # Not str(failure): that of an error of Spark asks its Java process, which may have ended.
        text = failure.args[0] if failure.args and isinstance(failure.args[0], str) else ""
        if number is None and (told := NUMBER_OF_POLARS.match(text)) is not None:
            number = int(told[1])
        if number in NUMBERS:
            return NUMBERS[number]
        failure = failure.__cause__ or failure.__context__
    if not isinstance(error, Error) and _address_space_left() < LITTLE_MEMORY:
        return MEMORY
    # A library that panics, or takes a file for damaged, does not say that it could not open another.
    return FILES if isinstance(error, DataError | MissingInputError) and not _may_open_files() else None


def _may_open_files() -> bool:
    opened = []
    try:
        for _ in range(FEW_FILES):
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return False
    finally:
        for number in opened:
            os.close(number)
    return True


def _address_space_left() -> float:
    """Return the bytes that this process may still map (RLIMIT_AS); infinite where there is no limit."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (ImportError, OSError, ValueError):
        return float("inf")
    return float("inf") if limit == resource.RLIM_INFINITY else limit - pages * resource.getpagesize()


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
