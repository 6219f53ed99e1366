"""Files that must not outlive their run, those that did, because it was killed, and signals that end it.

An unfinished output is ``.NAME.<12 digits>.partial`` beside the output, locked while it is written: a later run removes
one whose writer was killed. Python handles a signal only after the current call of an engine, which may take a minute,
so a thread ends the process soon after a signal, or at the second one.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import select
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from dpnb_columnar.errors import OutputError

# From Python 3.14 on, ``Path.exists`` answers False whatever goes wrong, a failing disk included.
ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP})  # errors that say that nothing is there


def exists(path: Path) -> bool:
    """Tell whether anything stands at a path, links followed."""
    return bool(_mode(path))


def is_file(path: Path) -> bool:
    """Tell whether a regular file stands at a path, as ``exists``."""
    return stat.S_ISREG(_mode(path))


def is_folder(path: Path) -> bool:
    """Tell whether a folder stands at a path, as ``exists``."""
    return stat.S_ISDIR(_mode(path))


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except OSError as error:
        if error.errno not in ABSENT:
            raise
    except ValueError:  # a character that no name has
        pass
    return 0


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
    """Return whether an error is one of writing an output: no room, or a refusal that names this file or none."""
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
    """Remove a file when the block ends, however it ends; no failure to do so hides what went wrong before."""
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
    """Remove unfinished outputs, of one name or all, whose writers were killed; those being written are left alone."""
    names = re.compile(rf"\.{'.+' if name is None else re.escape(name)}\.[0-9a-f]{{12}}\.partial")
    with suppress(OSError):
        for file in folder.iterdir():
            if names.fullmatch(file.name) and not _is_being_written(file):
                file.unlink(missing_ok=True)


def _is_being_written(file: Path) -> bool:
    """Return whether a file is, or may be, being written: also where it is no regular one, or locks are not known."""
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


SIGNAL_NAMES = ("SIGTERM", "SIGINT", "SIGHUP", "SIGXCPU")
"""Signals that ask a process to end, the last one at a limit of processor time; Windows lacks the last two."""

SIGNAL_EXIT_BASE = 128  # exit code of a process that a signal ended, less the signal's number
GRACE_SECONDS = 2.0  # time that the main thread has to leave its blocks in order
SHOW_CURSOR = b"\x1b[?25h\n"  # shows the cursor again, which progress on a terminal has hidden
_first_signal: int | None = None
_deferring_blocks = 0
_deferred_signal: int | None = None


def _no_output(code: int) -> tuple[str, str]:
    return "", ""


_final_output: Callable[[int], tuple[str, str]] = _no_output


@contextmanager
def defer_signals() -> Iterator[None]:
    """Have a signal end the process after this block of milliseconds; Python runs handlers in the main thread alone."""
    global _deferring_blocks, _deferred_signal
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _deferring_blocks += 1
    try:
        yield
    finally:
        _deferring_blocks -= 1
        if _deferred_signal is not None and not _deferring_blocks:
            number, _deferred_signal = _deferred_signal, None
            _handle_signal(number, None)


def exit_on_signals(final_output: Callable[[int], tuple[str, str]] = _no_output) -> None:
    """End this process in order on signals not ignored before; ``final_output`` by exit code is what it says then."""
    global _final_output
    _final_output = final_output
    numbers = [getattr(signal, name) for name in SIGNAL_NAMES if hasattr(signal, name)]
    for number in numbers:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _handle_signal)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_watch_signals, args=(reading, numbers), daemon=True).start()


@contextmanager
def failures_after_signals() -> Iterator[None]:
    """Report any failure of the block after a signal as the signal's exit code."""
    try:
        yield
    except BaseException:
        if _first_signal is not None:
            raise SystemExit(SIGNAL_EXIT_BASE + _first_signal) from None
        raise


def _handle_signal(number: int, frame: FrameType | None) -> None:
    """Unwind the main thread, once; after the block that defers signals, if one is under way."""
    global _deferred_signal, _first_signal
    if _deferring_blocks:
        _deferred_signal = _deferred_signal or number
        return
    if "duckdb" in sys.modules:
        # It asks for signals within a query. Interrupted by an exception, it closes its connection only when its
        # threads have come to the end of what they do, and lets no other thread of Python run meanwhile.
        _exit_at_once(number)
    if _first_signal is None:
        _first_signal = number
        sys.exit(SIGNAL_EXIT_BASE + number)


def _watch_signals(reading: int, numbers: Sequence[int]) -> None:
    """Wait for a signal, then until the main thread has had its time or a second signal comes."""
    while (number := os.read(reading, 1)[0]) not in numbers:
        pass
    select.select([reading], [], [], GRACE_SECONDS)
    _exit_at_once(number)


def _exit_at_once(number: int) -> NoReturn:
    remove_unfinished_files()
    with suppress(Exception):
        terminal = sys.stderr.fileno()
        if os.isatty(terminal):
            os.write(terminal, SHOW_CURSOR)
        # Not by print: the main thread may be in the middle of it. Nor where nobody reads, which would last for ever.
        for descriptor, text in zip((1, terminal), _final_output(SIGNAL_EXIT_BASE + number), strict=True):
            if select.select([], [descriptor], [], 0)[1]:
                os.write(descriptor, text.encode())
    os._exit(SIGNAL_EXIT_BASE + number)
