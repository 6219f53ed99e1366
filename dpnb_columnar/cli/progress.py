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
    from rich.progress import Progress, TaskID

SECONDS_BETWEEN_EVENTS = 10.0
"""Of a pass; so a pass that takes less has none."""

SECONDS_OF_RATE = 600.0
"""Time that a rate on a terminal is averaged over: steps of some stages take a minute each."""


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
    return sys.stderr is not None and sys.stderr.isatty() and not is_json()


@contextmanager
def _watcher(name: str) -> Iterator[Watcher | None]:
    if is_json():
        yield _Log(name)
        return
    if not shows_progress():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        *(SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()),
        TextColumn("{task.fields[rate]}"),
        *(TimeElapsedColumn(), TextColumn("passed"), TimeRemainingColumn(), TextColumn("{task.fields[left]}")),
    )
    console, period = Console(stderr=True), SECONDS_OF_RATE
    with Progress(*columns, console=console, transient=True, speed_estimate_period=period) as bar:
        yield _Bar(bar, name)


class _Bar:
    """A bar on a terminal; without a share until the first pass of a known size begins."""

    def __init__(self, bar: Progress, name: str) -> None:
        self._bar = bar
        self._name = name
        self._unit = ""
        self._task = self._added(None)

    def _added(self, total: float | None) -> TaskID:
        return self._bar.add_task(self._name, total=total, rate="", left="left" if total else "")

    def begin(self, total: float | None, unit: str) -> Advance:
        """Begin a pass."""
        self._unit = unit
        self._bar.remove_task(self._task)
        self._task = self._added(total)
        return self._advance

    def _advance(self, amount: float) -> None:
        (task,) = self._bar.tasks
        self._bar.update(self._task, advance=amount, rate=_rate(task.speed, self._unit))


def _rate(speed: float | None, unit: str) -> str:
    """Write a speed, in units a second, for people."""
    if not speed or not unit:
        return ""
    if speed < 1:
        return f"{60 * speed:.1f} {unit}/min"
    return f"{speed:,.{0 if speed >= 10 else 1}f} {unit}/s"


class _Log:
    """Events in a log."""

    def __init__(self, stage: str) -> None:
        self._stage = stage
        self._lock = Lock()

    def begin(self, total: float | None, unit: str) -> Advance:
        """Begin a pass; one of no known size has no events."""
        self._total, self._done = total or 0.0, 0.0
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
