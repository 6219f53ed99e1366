"""Files that must not outlive the run that writes them: removed when done with, and what killed runs left as well."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_registered: set[str] = set()
"""Absolute paths: the working directory may change."""


@contextmanager
def removed_afterwards(path: Path) -> Iterator[None]:
    """Remove a file when the block ends, however it ends, if it is still there.

    What fails here is not told: whatever went wrong before is what the user must hear of.
    """
    absolute = os.path.abspath(path)  # noqa: PTH100 a link is removed itself, not what it leads to
    _registered.add(absolute)
    try:
        yield
    finally:
        _remove(absolute)
        _registered.discard(absolute)


def remove_leftovers() -> None:
    """Remove what is registered; for a process that is about to end without leaving its blocks."""
    for path in tuple(_registered):
        _remove(path)


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)  # noqa: PTH108


def hold(descriptor: int) -> None:
    """Show that an open file is being written, for as long as it stays open; nothing where locks are not known."""
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def remove_abandoned(folder: Path, name: str | None = None) -> None:
    """Remove unfinished outputs whose writers are gone.

    Who uses this package from Python need not hold the lock of an output, so what is being written is left alone.

    Args:
        folder: Where they are.
        name: The output's name; None for all outputs.
    """
    if fcntl is None:
        return
    names = re.compile(rf"\.{'.+' if name is None else re.escape(name)}\.[0-9a-f]{{12}}\.partial")
    with suppress(OSError):
        for file in folder.iterdir():
            if names.fullmatch(file.name) and not _is_held(file):
                file.unlink(missing_ok=True)


def _is_held(file: Path) -> bool:
    """Whether somebody writes a file, or may do so where locks are not known; what is no regular file is not ours."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)  # a named pipe would block for ever
    except OSError:
        return True
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return True
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
