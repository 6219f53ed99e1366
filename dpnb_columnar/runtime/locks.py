"""One run at a time for each output: a lock beside it, which the operating system frees when its holder ends.

The lock of ``NAME`` is ``.NAME.lock`` in the same folder, held with ``flock``. It says who holds it. Its file is
removed with the lock; that of a killed run stays until the next run takes it over. Windows has no ``flock``: there, two
runs are not kept apart, and the one that ends last finds the output of the other.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from dpnb_columnar.errors import BusyError, OutputError
from dpnb_columnar.runtime.outputs import remove_abandoned, removed_afterwards, unwritable

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

LOCK_MODE = 0o644
"""Who holds a lock is for everybody to read who wants the same output."""

LARGEST_NOTE = 2**12
"""Bytes read of what a lock says of its holder."""

HELD = frozenset({errno.EAGAIN, errno.EACCES})
"""What flock answers where somebody else holds the lock."""


@contextmanager
def output_lock(path: Path, holder: str | None = None) -> Iterator[None]:
    """Hold the lock of an output, from before the long work until the output is in place.

    What killed runs left of this output is removed.

    Args:
        path: The output.
        holder: What else to tell those who are refused: the run id.

    Raises:
        BusyError: Another run holds it; the text says which.
        OutputError: The folder cannot be written to, or its file system knows no locks.
    """
    if fcntl is None:
        yield
        return
    name = path.with_name(f".{path.name}.lock")
    descriptor = _taken(name, path)
    try:
        with removed_afterwards(name):
            _write_note(descriptor, path, holder)
            remove_abandoned(path.parent, path.name)
            yield
    finally:
        os.close(descriptor)


def _taken(name: Path, path: Path) -> int:
    """An open lock file that is held, and is still the one of that name."""
    while True:
        descriptor = _opened(name, path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            refusal = _refusal(descriptor, name, path, error)
            os.close(descriptor)
            raise refusal from None
        if _is_named(descriptor, name):  # its last holder may have removed it since it was opened
            return descriptor
        os.close(descriptor)


def _opened(name: Path, path: Path) -> int:
    """A lock file, open for writing and readable by everybody, whatever the umask."""
    try:
        descriptor = _open(name, path, os.O_RDWR | os.O_CREAT)
    except PermissionError as error:
        raise _refusal_of_another_user(name, path) or unwritable(path, error) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OutputError(f"{path}: {name} is a link, not a lock; remove it") from None
        raise unwritable(path, error) from None
    with suppress(OSError):
        os.fchmod(descriptor, LOCK_MODE)
    return descriptor


def _open(name: Path, path: Path, flags: int) -> int:
    """An open lock file; what else has its name is neither waited for nor written to.

    Raises:
        OutputError: It is not a regular file.
        OSError: It cannot be opened.
    """
    descriptor = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, LOCK_MODE)  # a named pipe would block for ever
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OutputError(f"{path}: {name} is not a regular file, hence no lock; remove it")


def _refusal(descriptor: int, name: Path, path: Path, error: OSError) -> BusyError | OutputError:
    """Why an open lock file cannot be held."""
    if error.errno in HELD:
        return _busy(descriptor, path)
    with suppress(OSError):
        name.unlink()
    return OutputError(
        f"{path}: its file system has no locks ({error.strerror}), so that two runs could race; choose an --output on "
        "another file system, and move it from there"
    )


def _refusal_of_another_user(name: Path, path: Path) -> BusyError | OutputError | None:
    """Why the lock of another user's run is in the way; None where there is none."""
    try:
        descriptor = _open(name, path, os.O_RDONLY)
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


def _is_named(descriptor: int, name: Path) -> bool:
    """Whether an open file is the one that has this name now."""
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
        raise unwritable(path, error) from None


def _holder(descriptor: int) -> str:
    """Who holds a lock, as its file says; the file may hold anything."""
    try:
        note = json.loads(os.pread(descriptor, LARGEST_NOTE, 0))
        process, host, since, run = (note[field] for field in ("process", "host", "since", "run"))
        if not isinstance(process, int) or not all(map(_is_plain, (host, since, run or ""))):
            return "another run"
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return "another run"
    return f"process {process} on {host} since {since}" + (f" (run {run})" if run else "")


def _is_plain(text: object) -> bool:
    return isinstance(text, str) and text.isprintable() and len(text) <= 256
