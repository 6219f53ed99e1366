"""Output that is either complete under its name or not there at all."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dpnb_columnar.errors import OutputError

# MERGED FROM dpnb_columnar/runtime/outputs.py: Files that must not outlive the run that writes them: removed when
# done with, and what killed runs left as well.

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


CONFIDENTIAL_MODE = 0o600
"""Readable by the owner alone: for files that hold exact counts."""

USUAL_MODE = 0o666
"""What the umask leaves of this: for every other file."""

REMEDIES = {
    errno.ENOSPC: "make room on its file system, or choose another",
    errno.EDQUOT: "make room within your quota, or choose another file system",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    errno.EROFS: "choose a file system that can be written to",
    errno.EACCES: "choose a folder that you may write to",
    errno.EPERM: "choose a folder that you may write to",
    errno.ENAMETOOLONG: "choose a shorter name",
}
"""What to do about errors of writing."""

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})
"""Errors that only writing can meet, whoever reports them."""


def check_output(path: Path, overwrite: bool) -> None:
    """Refuse an output that exists or has nowhere to go, before any long work.

    Raises:
        OutputError: With the remedy.
    """
    with _reported(path):
        if path.is_dir():
            raise OutputError(f"{path}: is a folder; name a file")
        if path.exists() and not path.is_file():  # to replace /dev/null would break the machine
            raise OutputError(f"{path}: is not a regular file; choose another --output")
        if (path.exists() or path.is_symlink()) and not overwrite:  # a link that leads nowhere takes the name as well
            raise OutputError(f"{path}: exists already; choose another --output, or replace it with --overwrite")
        folder = path.parent
        if folder.exists() and not folder.is_dir():
            raise OutputError(f"{path}: {folder} is not a folder; choose another --output")
        if not folder.exists():
            raise OutputError(f"{path}: its folder does not exist; create {folder} first")


@contextmanager
def atomic_output(path: Path, *, overwrite: bool = False, confidential: bool = False) -> Iterator[Path]:
    """Give a file beside ``path`` to write to, and put it in place when the block ends well.

    The file is readable by its owner alone until it is complete, and synchronised to disk before it takes its name.
    When the block fails nothing is left behind. Without ``overwrite`` a file that appeared meanwhile is not replaced.
    An error of the block is its own, unless it says that there is no room to write.

    Args:
        path: Final name.
        overwrite: Replace an existing file.
        confidential: Keep the file readable by the owner alone; otherwise it gets the usual permissions.

    Raises:
        OutputError: The output exists, or cannot be written.
    """
    check_output(path, overwrite)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(6)}.partial")
    with removed_afterwards(partial):
        with _created(partial, path):
            try:
                yield partial
            except Exception as error:
                if _number(error) in NO_ROOM:
                    raise unwritable(path, error) from None
                raise
            with _reported(path):
                _set_permissions(partial, confidential)
                _synchronise(partial)
        with _reported(path):
            if overwrite:
                partial.replace(path)
            else:
                _take_name(partial, path)
    with suppress(OSError):  # the file is complete; some file systems cannot synchronise folders
        _synchronise(path.parent)


@contextmanager
def _created(partial: Path, path: Path) -> Iterator[None]:
    """An empty file under a name that was free; until the block ends, it shows that somebody writes to it."""
    with _reported(path):
        descriptor = _create(partial)
    try:
        hold(descriptor)
        yield
    finally:
        os.close(descriptor)


def _set_permissions(partial: Path, confidential: bool) -> None:
    """Give a finished file the permissions it is to have."""
    if confidential:
        partial.chmod(CONFIDENTIAL_MODE)  # an engine may have put a file of its own, with usual ones, in its place
        return
    mask = os.umask(0o077)  # it can only be read by setting it; what other threads create meanwhile is private
    os.umask(mask)
    with suppress(OSError):  # some file systems know no permissions
        partial.chmod(USUAL_MODE & ~mask)


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    """Turn what the operating system refuses into one line about the output."""
    try:
        yield
    except OSError as error:
        raise unwritable(path, error) from None


def unwritable(path: Path, error: Exception) -> OutputError:
    """What to raise where an output meets an error of the operating system, or one that an engine tells of."""
    number = _number(error)
    if number is None:
        return OutputError(f"{path}: cannot be written: input/output error; check the disk it goes to")
    return OutputError(f"{path}: cannot be written: {os.strerror(number)}; {REMEDIES.get(number, 'choose another')}")


def _number(error: Exception) -> int | None:
    """The operating system's number of an error; Polars tells it in its text only."""
    if isinstance(error, OSError) and error.errno:
        return error.errno
    found = re.search(r"\(os error (\d{1,4})\)", str(error))
    return int(found[1]) if found else None


def _create(path: Path) -> int:
    """An empty file under a name that was free, open for writing, readable by the owner alone."""
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, CONFIDENTIAL_MODE)


def _take_name(partial: Path, path: Path) -> None:
    """Give a finished file its name, unless the name was taken meanwhile.

    Raises:
        OutputError: It was.
        OSError: The name cannot be taken.
    """
    try:
        try:
            os.link(partial, path)
        except FileExistsError:
            raise
        except OSError:  # no hard links here: reserve the name first, then replace our own reservation
            os.close(_create(path))
            try:
                partial.replace(path)
            except BaseException:
                path.unlink(missing_ok=True)
                raise
    except FileExistsError:
        raise OutputError(f"{path}: appeared while this run was at work; it was left as it is") from None


def _synchronise(path: Path) -> None:
    """Make what was written to a file or folder survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
