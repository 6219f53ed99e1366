"""Report how far a pass has come to a watcher: a share of a public size, and nothing that a row's values decide."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import polars as pl

Advance = Callable[[float], None]  # takes each amount that is done; called from any thread, and never raises
Size = Callable[[], int | None]  # returns a public number of rows; None where nothing public says it

SECONDS_BETWEEN_REPORTS = 0.25


def unknown_size() -> int | None:
    """Return None: nothing public says how many rows there are."""
    return None


class Watcher(Protocol):
    """Shows how far a pass has come."""

    def begin(self, total: float | None, unit: str) -> Advance:
        """Begin a pass over a total, a public size in this unit; None where none is known."""


_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)
_work: ContextVar[Advance | None] = ContextVar("work", default=None)


@contextmanager
def watch_progress(watcher: Watcher | None) -> Iterator[None]:
    """Report the passes within this block to a watcher; to nobody if there is none."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def is_watched() -> bool:
    """Return whether somebody watches."""
    return _watcher.get() is not None


def begin_pass(size: Size, passes: int = 1) -> Advance | None:
    """Begin to read some rows; None where nobody watches."""
    if not is_watched():
        return None
    rows = size()
    return begin_work(None if rows is None else rows * passes, "rows")


def begin_work(total: float | None, unit: str) -> Advance | None:
    """Begin work of a public amount; None where nobody watches."""
    watcher = _watcher.get()
    return None if watcher is None else watcher.begin(total, unit)


@contextmanager
def track_work(total: float, unit: str) -> Iterator[None]:
    """Begin work of a public amount, of which ``report_work`` tells within this block."""
    token = _work.set(begin_work(total, unit))
    try:
        yield
    finally:
        _work.reset(token)


def report_work(amount: float) -> None:
    """Report an amount of the work that this thread is in, if somebody watches it."""
    if (advance := _work.get()) is not None:
        advance(amount)


def report_rows(rows: pl.LazyFrame, advance: Advance) -> pl.LazyFrame:
    """Report the rows of a frame as they are read, before any condition leaves some of them."""

    def passed(part: pl.DataFrame) -> pl.DataFrame:
        advance(part.height)
        return part

    return rows.map_batches(
        passed, predicate_pushdown=False, slice_pushdown=False, streamable=True, validate_output_schema=False
    )


class RowsOnce:
    """Reports rows that may have to be read again: none twice, so that the share goes on to the whole either way."""

    def __init__(self, advance: Advance) -> None:
        self._advance, self._lock = advance, Lock()
        self._read = self._told = 0.0
        self._weight = 1.0

    def again(self) -> None:
        self._read, self._weight = 0.0, 1.0

    def rest(self, rows: int, passes: int) -> None:
        """Let what is left to report stand for later passes over all rows, however far the first came."""
        with self._lock:
            self._read = self._told
            self._weight = max(rows - self._told, 0.0) / max(rows * passes, 1)

    def add(self, rows: float) -> None:
        """Report rows that are read, but for those that were before."""
        with self._lock:
            self._read += rows * self._weight
            new, self._told = max(self._read - self._told, 0.0), max(self._read, self._told)
        if new:
            self._advance(new)


_rows_once: ContextVar[RowsOnce | None] = ContextVar("rows_once", default=None)


@contextmanager
def reading_once(once: RowsOnce | None) -> Iterator[None]:
    """Let the block itself report the rows that it reads, by ``rows_once``, where only it knows how often it does."""
    token = _rows_once.set(once)
    try:
        yield
    finally:
        _rows_once.reset(token)


rows_once = _rows_once.get  # what takes the rows that a block reads; None where they are reported, or not watched


@contextmanager
def poll_progress(advance: Advance | None, reached: Callable[[], float]) -> Iterator[None]:
    """Report what a function says is done, a few times a second, while this block runs."""
    if advance is None:
        yield
        return
    ended = Event()

    def report() -> None:
        before = 0.0
        while not ended.wait(SECONDS_BETWEEN_REPORTS):
            now = max(reached(), before)
            advance(now - before)
            before = now

    thread = Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
