"""Output that is either complete under its name or not there at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpnb_columnar.errors import OutputError

CONFIDENTIAL_MODE = 0o600
"""Readable by the owner alone: for files that hold exact counts."""


def check_output(path: Path, overwrite: bool) -> None:
    """Refuse an output that exists or has nowhere to go, before any long work.

    Raises:
        OutputError: With the remedy.
    """
    if path.is_dir():
        raise OutputError(f"{path}: is a folder; name a file")
    if path.exists() and not overwrite:
        raise OutputError(f"{path}: exists already; choose another --output, or replace it with --overwrite")
    if not path.parent.is_dir():
        raise OutputError(f"{path}: its folder does not exist; create {path.parent} first")


@contextmanager
def atomic_output(path: Path, *, overwrite: bool = False, confidential: bool = False) -> Iterator[Path]:
    """Give a private file beside ``path`` to write to, and put it in place when the block ends well.

    The file is synchronised to disk before it takes its name. When the block fails nothing is left behind. Without
    ``overwrite`` a file that appeared meanwhile is not replaced.

    Args:
        path: Final name.
        overwrite: Replace an existing file.
        confidential: Keep the file readable by the owner alone; otherwise it gets the usual permissions.

    Raises:
        OutputError: The output exists, or cannot be written.
    """
    check_output(path, overwrite)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(6)}.partial")
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, CONFIDENTIAL_MODE))
        yield partial
        _synchronise(partial)
        if not confidential:
            partial.chmod(0o666 & ~_umask())
        if overwrite:
            partial.replace(path)
        else:
            os.link(partial, path)
    except FileExistsError:
        raise OutputError(f"{path}: appeared while this run was at work; it was left as it is") from None
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or 'input/output error'}") from None
    finally:
        partial.unlink(missing_ok=True)
    _synchronise(path.parent)


def _synchronise(path: Path) -> None:
    """Make what was written to a file or folder survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
