"""Signals end a run in order: no unfinished output, and the exit code of the signal, whatever is under way.

Python calls a signal's handler between two steps of the interpreter, so a minute inside one call of an engine would be
a minute's delay; and an engine may turn what the handler raises into an error of its own. So a thread waits beside the
main one: it ends the process when the main thread has not done so soon after a signal, or when a second signal comes.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from dpnb_columnar.runtime.unfinished import remove_unfinished_files

SIGNAL_NAMES = ("SIGTERM", "SIGINT", "SIGHUP", "SIGXCPU")
"""Signals that ask a process to end, the last one at a limit of processor time; Windows lacks the last two."""

SIGNAL_EXIT_BASE = 128
"""Exit code of a process that a signal ended, less the signal's number."""

GRACE_SECONDS = 2.0
"""Time that the main thread has to leave its blocks in order."""

SHOW_CURSOR = b"\x1b[?25h\n"
"""Shows the cursor again, which progress on a terminal has hidden."""

_first_signal: int | None = None
_deferring_blocks = 0
_deferred_signal: int | None = None


def _no_output(code: int) -> tuple[str, str]:
    return "", ""


_final_output: Callable[[int], tuple[str, str]] = _no_output


@contextmanager
def defer_signals() -> Iterator[None]:
    """Have a signal end the process after this block rather than within it. For milliseconds, not for waiting.

    Handlers of signals run in the main thread, so blocks of other threads are interrupted as before.
    """
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
    """End the process in order on signals from here on; those that it was started to ignore stay ignored.

    For the main thread of a process of its own.

    Args:
        final_output: Returns, for an exit code, what a run that ends without leaving its blocks writes to standard
            output and to standard error.
    """
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
    """Report any failure of the block after a signal as the signal's exit code.

    Raises:
        SystemExit: if the block fails after a signal; with the signal's exit code.
    """
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
    """End the process without leaving its blocks, and with nothing unfinished left behind."""
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
