"""Files that must not outlive their run; and those that outlived it, because it was killed.

An unfinished output is ``.NAME.<12 digits>.partial`` beside the output. While it is written its descriptor is locked,
so that a later run can tell one that somebody writes from one whose writer was killed, and remove the second.

Errors of writing an output, with the remedy for each.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dpnb_columnar.errors import OutputError

REMEDIES = {
    errno.ENOSPC: "make room on its file system, or choose another",
    errno.EDQUOT: "make room within your quota, or choose another file system",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    errno.EROFS: "choose a file system that can be written to",
    errno.EACCES: "choose a folder that you may write to",
    errno.EPERM: "choose a folder that you may write to",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EIO: "check the disk it goes to, or choose another",
    errno.ESTALE: "mount its network file system anew, or choose another",
    errno.ELOOP: "another user has taken its place; choose a folder that only you may write to",
}
"""Remedy for an error of writing, by the operating system's number."""

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})
"""Errors that only writing can meet, whoever reports them."""


def is_write_error(error: Exception, partial: Path) -> bool:
    """Return whether an error met while an output is written is one of writing it.

    It is where the operating system has no room to write, or says what it refuses without a file's name, as it does of
    an open file, or with this one's. A missing or damaged input is reported as an error of this package.
    """
    if os_error_number(error) in NO_ROOM:
        return True
    if not isinstance(error, OSError) or not error.errno:
        return False
    return error.filename is None or str(error.filename) == str(partial)


@contextmanager
def output_errors(path: Path) -> Iterator[None]:
    """Raise an error of the operating system as an ``OutputError`` about the output."""
    try:
        yield
    except OSError as error:
        raise write_error(path, error) from None


def write_error(path: Path, error: BaseException) -> OutputError:
    """Return the error to raise where writing an output fails, in the operating system or in an engine."""
    number = os_error_number(error)
    if number is None:
        return OutputError(f"{path}: cannot be written: input/output error; check the disk it goes to")
    return OutputError(f"{path}: cannot be written: {os.strerror(number)}; {REMEDIES.get(number, 'choose another')}")


def os_error_number(error: BaseException) -> int | None:
    """Return the operating system's number of an error, which Polars gives in the text alone; None if there is none."""
    if isinstance(error, OSError) and error.errno:
        return error.errno
    match = re.search(r"\(os error (\d{1,4})\)", str(error))
    return int(match[1]) if match else None


NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Flags of opening that refuse a link, and do not wait for a named pipe."""


def unfinished_name(path: Path) -> Path:
    """Return a free name for an output while it is written."""
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}.partial")


_unfinished: set[str] = set()
"""Absolute paths of files that must not outlive the run, since the working directory may change."""


@contextmanager
def removed_at_end(path: Path) -> Iterator[None]:
    """Remove a file, if it is still there, when the block ends, however it ends.

    A failure to remove it is not reported: the user must learn of whatever went wrong before.
    """
    absolute = os.path.abspath(path)  # noqa: PTH100 a link is removed itself, not its target
    _unfinished.add(absolute)
    try:
        yield
    finally:
        _remove(absolute)
        _unfinished.discard(absolute)


def remove_unfinished_files() -> None:
    """Remove the files of all blocks of ``removed_at_end``; for a process that ends without leaving its blocks."""
    for path in tuple(_unfinished):
        _remove(path)


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)  # noqa: PTH108


def remove_abandoned(folder: Path, name: str | None = None) -> None:
    """Remove unfinished outputs whose writers were killed.

    A Python program need not hold the lock of an output that it writes, so outputs that are being written are left
    alone.

    Args:
        name: The output's name; None for all outputs.
    """
    names = re.compile(rf"\.{'.+' if name is None else re.escape(name)}\.[0-9a-f]{{12}}\.partial")
    with suppress(OSError):
        for file in folder.iterdir():
            if names.fullmatch(file.name) and not _is_being_written(file):
                file.unlink(missing_ok=True)


def _is_being_written(file: Path) -> bool:
    """Return whether a file is being written, or may be: where locks are not known, and by another user.

    So is what is no regular file.
    """
    try:
        descriptor = os.open(file, os.O_RDONLY | NO_LINK)
    except OSError:
        return True
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():  # root could remove everybody's
            return True
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
