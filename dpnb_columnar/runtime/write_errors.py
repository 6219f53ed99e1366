"""Errors of writing an output, with the remedy for each."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
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
