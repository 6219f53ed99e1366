"""How far a verb has come: a bar on a terminal's standard error, or an event now and then in a log of events.

Shares, rates and times left come from public sizes alone (``runtime.row_progress``).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import TYPE_CHECKING

from dpnb_columnar.cli.console import is_json, log_event
from dpnb_columnar.errors import OutputError
from dpnb_columnar.runtime.row_progress import Advance, Watcher, watched

if TYPE_CHECKING:
    from rich.progress import Progress, Task, TaskID

SECONDS_BETWEEN_EVENTS = 10.0
"""Of a pass; so a pass that takes less has none."""


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Show that a long stage is under way, and how far its passes over the rows have come; print nothing in a pipe."""
    log_event("stage begun", name, stage=name)
    with _watcher(name) as watcher, watched(watcher):
        yield
    log_event("stage ended", name, stage=name)


@contextmanager
def progress(name: str, total: int, unit: str) -> Iterator[Callable[[int], None] | None]:
    """Show how much of a public total is done; print nothing in a pipe.

    Yields:
        The function to call with each amount done; None where no progress is shown.
    """
    with _watcher(name) as watcher:
        yield None if watcher is None else watcher.begin(total, unit)


def shows_progress() -> bool:
    """Return whether a bar is shown: on a terminal only."""
    return sys.stderr.isatty() and not is_json()


@contextmanager
def _watcher(name: str) -> Iterator[Watcher | None]:
    if is_json():
        yield _Log(name)
        return
    if not shows_progress():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

    rate = TextColumn("{task.fields[rate]}")
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), rate
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        yield _Bar(bar, bar.add_task(name, total=None, rate=""))


class _Bar:
    """A bar on a terminal; without a share until the first pass begins."""

    def __init__(self, bar: Progress, task: TaskID) -> None:
        self._bar = bar
        self._task = task
        self._unit = ""

    def begin(self, total: float, unit: str) -> Advance:
        """Begin a pass."""
        self._unit = unit
        self._bar.reset(self._task, total=total)
        return self._advance

    def _advance(self, amount: float) -> None:
        task: Task = self._bar.tasks[self._task]
        rate = f"{task.speed:,.0f} {self._unit}/s" if task.speed else ""
        self._bar.update(self._task, advance=amount, rate=rate)


class _Log:
    """Events in a log."""

    def __init__(self, stage: str) -> None:
        self._stage = stage
        self._lock = Lock()

    def begin(self, total: float, unit: str) -> Advance:
        """Begin a pass."""
        self._total, self._done = total, 0.0
        self._begun = self._told = time.monotonic()
        return self._advance

    def _advance(self, amount: float) -> None:
        with self._lock:
            self._done += amount
            now = time.monotonic()
            if now - self._told < SECONDS_BETWEEN_EVENTS or not 0 < self._done < self._total:
                return
            self._told = now
            share = self._done / self._total
            left = round((now - self._begun) * (1 - share) / share)
            with suppress(OutputError):  # the next line of the result meets it as well, outside of an engine's thread
                log_event(
                    "progress",
                    f"{self._stage}: {share:.0%}, {left} s left",
                    stage=self._stage,
                    share=round(share, 3),
                    seconds_left=left,
                )
