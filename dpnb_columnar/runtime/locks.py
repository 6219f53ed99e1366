"""Locks of outputs: one run at a time writes an output; the operating system frees the lock when the run ends.

The lock of ``NAME`` is the file ``.NAME.lock`` in the same folder, locked with ``flock``; the file names the run that
holds it. It is removed with the lock; that of a killed run stays until the next run takes it over.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path

from dpnb_columnar.errors import BusyError, OutputError, option
from dpnb_columnar.runtime.unfinished import NO_LINK, output_errors, remove_abandoned, removed_at_end, write_error

LOCK_MODE = 0o644
"""Permissions of a lock file: whoever wants to write the same output may read who holds its lock."""

MAX_NOTE_BYTES = 2**12
"""Bytes that are read of a lock file."""

LOCKED = frozenset({errno.EAGAIN, errno.EACCES})
"""Errors of flock where another run holds the lock."""

NOTE_SECONDS = 1.0
"""How long a run that is refused waits for the note of one that has only just taken the lock."""

_held: ContextVar[frozenset[str]] = ContextVar("held", default=frozenset())
"""Absolute paths of the outputs whose locks the blocks around hold."""


@contextmanager
def output_lock(path: Path, holder: str | None = None) -> Iterator[None]:
    """Hold the lock of an output until it is in place; where the work before is long, from before that.

    Unfinished outputs of this name that killed runs have left are removed. A block within one that holds the lock goes
    on with that.

    Raises:
        BusyError: if another run holds the lock; the text says which.
    """
    absolute = os.path.abspath(path)  # noqa: PTH100 a link is replaced itself, not its target
    if absolute in _held.get():
        yield
        return
    name = path.with_name(f".{path.name}.lock")
    with output_errors(path):
        descriptor = _acquire(name, path)
    try:
        with removed_at_end(name):
            _write_note(descriptor, path, holder)
            remove_abandoned(path.parent, path.name)
            _held.set(_held.get() | {absolute})
            yield
    finally:
        _held.set(_held.get() - {absolute})
        with suppress(OSError):  # the lock is free all the same
            os.close(descriptor)


def _acquire(name: Path, path: Path) -> int:
    """Open and lock the lock file; return its descriptor, which is still that of the file of this name."""
    while True:
        descriptor = _open_lock_file(name, path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            refusal = _not_acquired(descriptor, name, path, error)
            os.close(descriptor)
            raise refusal from None
        if _still_has_name(descriptor, name):  # its last holder may have removed it since it was opened
            return descriptor
        os.close(descriptor)


def _open_lock_file(name: Path, path: Path) -> int:
    """Open a lock file for writing, readable by everybody, whatever the umask."""
    try:
        descriptor = _open_regular_file(name, path, os.O_RDWR | os.O_CREAT)
    except PermissionError as error:
        raise _lock_of_another_user(name, path) or write_error(path, error) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OutputError(f"{path}: {name} is a link, not a lock; remove it") from None
        raise write_error(path, error) from None
    if os.fstat(descriptor).st_uid != os.geteuid():  # whom the permissions do not stop, root, is to be told as well
        os.close(descriptor)
        raise _lock_of_another_user(name, path) or write_error(path, PermissionError(errno.EACCES, ""))
    if os.fstat(descriptor).st_nlink > 1:  # another user may have linked it: it would be emptied under its other name
        os.close(descriptor)
        raise OutputError(f"{path}: {name} is a file with another name (a hard link), hence no lock; remove it")
    with suppress(OSError):
        os.fchmod(descriptor, LOCK_MODE)
    return descriptor


def _open_regular_file(name: Path, path: Path, flags: int) -> int:
    """Open a file that must be a regular one; anything else of that name is neither waited for nor written to.

    Raises:
        OSError: if it cannot be opened.
    """
    descriptor = os.open(name, flags | NO_LINK, LOCK_MODE)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OutputError(f"{path}: {name} is not a regular file, hence no lock; remove it")


def _not_acquired(descriptor: int, name: Path, path: Path, error: OSError) -> BusyError | OutputError:
    """Return the error to raise where an open lock file cannot be locked."""
    if error.errno in LOCKED:
        return _busy(descriptor, path)
    with suppress(OSError):
        name.unlink()
    return OutputError(
        f"{path}: its file system has no locks ({error.strerror}), so that two runs could race; choose an "
        f"{option('output')} on another file system, and move it from there"
    )


def _lock_of_another_user(name: Path, path: Path) -> BusyError | OutputError | None:
    """Return the error to raise for a lock file of another user; None if there is no such file."""
    try:
        descriptor = _open_regular_file(name, path, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _busy(descriptor, path)
    else:
        return OutputError(f"{path}: {name} was left by a killed run of another user; have it removed")
    finally:
        os.close(descriptor)


def _busy(descriptor: int, path: Path) -> BusyError:
    return BusyError(f"{path}: being written by {_holder(descriptor)}; try again when it has ended")


def _still_has_name(descriptor: int, name: Path) -> bool:
    """Return whether an open file is the one of this name, which may have been removed or replaced."""
    try:
        return os.path.samestat(os.fstat(descriptor), name.lstat())
    except FileNotFoundError:
        return False


def _write_note(descriptor: int, path: Path, holder: str | None) -> None:
    note = {
        "process": os.getpid(),
        "host": os.uname().nodename,
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
        "run": holder,
    }
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(note).encode(), 0)
    except OSError as error:
        raise write_error(path, error) from None


def _holder(descriptor: int) -> str:
    """Describe the run that holds a lock, as its file names it; the file may hold anything."""
    end = time.monotonic() + NOTE_SECONDS
    while os.fstat(descriptor).st_size == 0 and time.monotonic() < end:  # it is locked first, then its note is written
        time.sleep(0.01)
    try:
        note = json.loads(os.pread(descriptor, MAX_NOTE_BYTES, 0))
        process, host, since, run = (note[field] for field in ("process", "host", "since", "run"))
        if not isinstance(process, int) or not all(map(_is_printable, (host, since, run or ""))):
            return "another run"
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return "another run"
    return f"process {process} on {host} since {since}" + (f" (run {run})" if run else "")


def _is_printable(text: object) -> bool:
    return isinstance(text, str) and text.isprintable() and len(text) <= 256
