"""Rows stay in the memory of the process that counts them: engines neither spill them to disk nor print them.

From version 2.1 on, Polars spills parts of a query to ``/var/tmp/polars-USER/spill``, for everybody to read, and leaves
them there when it is killed. A panic prints its message, which may quote a row, to descriptor 2 before Python can catch
it: the command line gives that up for good, functions of the package while they run. Spilling is off for good in both,
since lazy frames outlive a function.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from dpnb_columnar.errors import UsageError

TRACEBACK, CONFIDENTIAL = "DPNB_TRACEBACK", "confidential"
"""Environment variable, and its value, with which a curator asks for the texts of libraries, which may quote rows."""

ERRORS = 2  # descriptor of standard error, to which native code writes
SPILL_DIRECTORY = "POLARS_OOC_SPILL_DIR"
SPILL_MIN_BYTES = "POLARS_OOC_SPILL_MIN_BYTES"
"""Polars keeps frames below this size in memory; no other setting keeps all of them there."""

LARGER_THAN_ANY_FRAME = str(2**63 - 1)
_process: int | None = None  # process in which an engine has run; None before the first time


def shows_confidential_texts() -> bool:
    """Return whether the curator asks for tracebacks and for what libraries print (DPNB_TRACEBACK=confidential)."""
    return os.environ.get(TRACEBACK) == CONFIDENTIAL


@contextmanager
def confined() -> Iterator[None]:
    """Run an engine over rows in this block, or nested ones, of any thread; ``sys.stderr`` works as ever."""
    refuse_forked()
    keep_rows_in_memory()
    if shows_confidential_texts():
        yield
        return
    _native_errors.discard()
    try:
        yield
    finally:
        _native_errors.restore()


def refuse_forked() -> None:
    """Refuse a process that was forked after an engine ran: it has the locks of its threads, and not the threads."""
    global _process
    if _process not in (None, os.getpid()):
        raise UsageError(
            f"this process was forked from process {_process} after that had used dpnb_columnar, so that its engines "
            'would wait for ever; start it by multiprocessing.get_context("spawn"), or fork before the first call'
        )
    _process = os.getpid()


def keep_rows_in_memory() -> None:
    """Keep Polars here and in child processes from writing rows to disk, unless the environment has decided."""
    if SPILL_DIRECTORY in os.environ or SPILL_MIN_BYTES in os.environ:
        return
    os.environ[SPILL_MIN_BYTES] = LARGER_THAN_ANY_FRAME
    if "polars" in sys.modules:  # it has read its settings already; loading none of them anew reads the environment
        import polars as pl

        pl.Config.load("{}")


def discard_native_errors() -> None:
    """Discard what native code writes to standard error for good: for a process of one's own, before it reads data."""
    _native_errors.discard()


class _NativeErrors:
    """Descriptor 2, which leads to the null device during blocks; ``sys.stderr`` writes to a copy, which stays open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks = 0
        self._copy: int | None = None
        self._was_open = False
        self._former: TextIO | None = None
        self._stream: TextIO | None = None
        self._hook = sys.unraisablehook

    def discard(self) -> None:
        with self._lock:
            self._blocks += 1
            if self._blocks == 1:
                self._divert()

    def restore(self) -> None:
        with self._lock:
            self._blocks -= 1
            if not self._blocks:
                self._lead_back()

    def _divert(self) -> None:
        self._was_open = True
        try:
            if self._copy is None:
                self._copy = os.dup(ERRORS)
            else:
                os.dup2(ERRORS, self._copy, inheritable=False)
        except OSError:
            self._was_open = False
        null = os.open(os.devnull, os.O_WRONLY)
        if null != ERRORS:
            os.dup2(null, ERRORS)
            os.close(null)
        self._hook, sys.unraisablehook = sys.unraisablehook, _ignore
        self._former, self._stream = sys.stderr, None
        if self._was_open and _writes_to_errors(sys.stderr):
            with suppress(OSError, ValueError):  # nobody reads it any more
                sys.stderr.flush()
            assert self._copy is not None
            encoding, errors = sys.stderr.encoding, sys.stderr.errors
            self._stream = open(self._copy, "w", 1, encoding, errors, closefd=False)  # noqa: SIM115
            sys.stderr = self._stream

    def _lead_back(self) -> None:
        if self._was_open:
            assert self._copy is not None
            os.dup2(self._copy, ERRORS)
        else:
            os.close(ERRORS)
        if sys.unraisablehook is _ignore:
            sys.unraisablehook = self._hook
        if self._stream is not None and sys.stderr is self._stream:  # unless another thread has replaced it meanwhile
            assert self._former is not None
            sys.stderr = self._former


def _ignore(_failure: object) -> None:
    """Discard an exception that a library could not raise, such as one in a function that native code calls."""


def _writes_to_errors(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.fileno() == ERRORS
    except (OSError, ValueError, AttributeError):  # it is closed, or has no descriptor
        return False


_native_errors = _NativeErrors()
