"""How a run ends when it is told to: no unfinished output, and the exit code of the signal, whatever it is doing.

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

from dpnb_columnar.runtime.outputs import remove_leftovers

# MERGED FROM dpnb_columnar/runtime/signals.py: Short steps that a signal must not cut in two: the process ends when
# the step is done.

_under_way = 0
_put_off: list[Callable[[], None]] = []


@contextmanager
def undisturbed() -> Iterator[None]:
    """Have a signal end the process after this block rather than within. For milliseconds, not for waiting.

    Handlers of signals run in the main thread, so blocks of others are cut short as before.
    """
    global _under_way
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _under_way += 1
    try:
        yield
    finally:
        _under_way -= 1
        if _put_off and not _under_way:
            _put_off.pop()()


def put_off(end: Callable[[], None]) -> bool:
    """Have ``end`` called when the step that is under way is done.

    Returns:
        Whether there is such a step; if not, nothing is called.
    """
    if _under_way:
        _put_off.append(end)
    return bool(_under_way)


NAMES = ("SIGTERM", "SIGINT", "SIGHUP")
"""Signals that ask a process to end; Windows lacks the last."""

SIGNALLED = 128
"""Exit code, with the signal's number added."""

GRACE = 2.0
"""Seconds that the main thread has to leave its blocks in order."""

SHOW_CURSOR = b"\x1b[?25h\n"
"""What progress on a terminal has hidden."""

_received: list[int] = []
"""The first signal, if any."""


def _nothing(code: int) -> str:
    return ""


_last_words: Callable[[int], str] = _nothing


def end_on_signals(last_words: Callable[[int], str] = _nothing) -> None:
    """From here on, end in order on signals; those that the process was started to ignore stay ignored.

    For the main thread of a process of its own.

    Args:
        last_words: What a run says on standard output that ends without leaving its blocks, given its exit code.
    """
    global _last_words
    _last_words = last_words
    numbers = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
    for number in numbers:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)
    if os.name == "posix":  # elsewhere signals wake sockets only
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        threading.Thread(target=_watch, args=(reading, numbers), daemon=True).start()


@contextmanager
def honoured() -> Iterator[None]:
    """Whatever the block fails with after a signal, it was the signal.

    Raises:
        SystemExit: With the signal's exit code.
    """
    try:
        yield
    except BaseException:
        if _received:
            raise SystemExit(SIGNALLED + _received[0]) from None
        raise


def _leave(number: int, frame: FrameType | None) -> None:
    """Unwind the main thread, once."""
    if put_off(lambda: _leave(number, None)):
        return
    if "duckdb" in sys.modules:
        # It asks for signals within a query. Told to stop by an exception, it closes its connection only when its
        # threads have come to the end of what they do, and lets no other thread of Python run meanwhile.
        _end(number)
    if not _received:
        _received.append(number)
        sys.exit(SIGNALLED + number)


def _watch(reading: int, numbers: Sequence[int]) -> None:
    """Wait for a signal, then until the main thread has had its time or a second signal comes."""
    while (number := os.read(reading, 1)[0]) not in numbers:
        pass
    select.select([reading], [], [], GRACE)
    _end(number)


def _end(number: int) -> NoReturn:
    """End the process as it is, with nothing unfinished left behind."""
    remove_leftovers()
    with suppress(Exception):
        terminal = sys.stderr.fileno()
        if os.isatty(terminal):
            os.write(terminal, SHOW_CURSOR)
        # Not by print: the main thread may be in the middle of it. Nor where nobody reads, which would last for ever.
        if select.select([], [1], [], 0)[1]:
            os.write(1, _last_words(SIGNALLED + number).encode())
    os._exit(SIGNALLED + number)
