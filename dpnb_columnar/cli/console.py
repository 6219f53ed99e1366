"""What a verb prints: lines and tables for people, or one JSON event a line for programs (docs/batch.md), and progress.

No event holds a value that depends on a row, other than through a released model. Progress comes from public sizes.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from datetime import UTC, datetime
from enum import StrEnum
from shutil import get_terminal_size
from signal import Signals
from threading import Lock
from typing import TYPE_CHECKING, Any, TextIO, cast

import typer

from dpnb_columnar.errors import CONFIDENTIAL, OutputError, PipeClosedError, printable, printable_line
from dpnb_columnar.runtime.row_progress import Advance, Watcher, watch_progress
from dpnb_columnar.runtime.unfinished import SIGNAL_EXIT_BASE

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


UNINDENTED, BREAK = re.compile(r"\n(?!  )"), r"\\n"
"""A line break that no line of faults follows, and how it is printed."""


class LogFormat(StrEnum):
    """Format of what a verb prints."""

    TEXT = "text"
    JSON = "json"


class _Log:
    """Format of this run's output, and the fields of all its events."""

    def __init__(self) -> None:
        self.format = LogFormat.TEXT
        self.fields: dict[str, object] = {}

    def event(self, event: str, text: str, fields: dict[str, object]) -> str:
        """Write an event as one line of JSON."""
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        return json.dumps({"time": time, "event": event, **self.fields, "text": text, **fields})


_log = _Log()


def start_log(format: LogFormat = LogFormat.TEXT, **fields: object) -> None:
    """Print in this format from here on."""
    _log.format, _log.fields = format, dict(fields)


def add_log_fields(**fields: object) -> None:
    """Add fields to every event from here on, such as the run id."""
    _log.fields |= fields


def is_json() -> bool:
    """Return whether events are printed."""
    return _log.format is LogFormat.JSON


def print_line(line: str = "", event: str = "note", **fields: object) -> None:
    """Print a line of the verb's result on standard output, what a terminal would obey in it escaped."""
    if is_json():
        _print_event(event, line, fields)
    else:
        typer.echo(printable_line(line))


def print_text(text: str) -> None:
    """Print a text of several lines on standard output, such as a document: one event for programs that read logs."""
    if is_json():
        _print_event("note", text, {})
    else:
        print_lines(text.split("\n"))


def print_confidential() -> None:
    """Print that the output is confidential, as its first line and in every event from here on."""
    add_log_fields(confidential=True)
    print_line(CONFIDENTIAL)


def print_warning(line: str, event: str = "warning", **fields: object) -> None:
    """Print a line for people on standard error."""
    if is_json():
        _print_event(event, line, fields)
    else:
        with _output_errors("standard error"):
            _print_error(line)


def print_failure(line: str, **fields: object) -> None:
    """Print why a run failed; on standard error if an event cannot be printed, and not at all if that fails too."""
    try:
        print_warning(line, "failed", **fields)
    except OutputError:
        with suppress(OSError, ValueError):
            _print_error(line)


def log_event(event: str, line: str = "", **fields: object) -> None:
    """Print an event that has no line for people."""
    if is_json():
        _print_event(event, line, fields)


def signal_line(code: int) -> str:
    """Return the line for people of a run that a signal ends with this exit code."""
    return f"ended by {Signals(code - SIGNAL_EXIT_BASE).name}; no unfinished output is left"


def final_output(code: int) -> tuple[str, str]:
    """Return what a run that a signal ends at once writes to standard output, its last event, and to standard error."""
    if is_json():
        return _log.event("finished", "", {"exit_code": code}) + "\n", ""
    return "", f"dpnb-columnar: {signal_line(code)}\n"


COLUMNS = 100
"""Characters of a line where nothing says how wide the terminal is."""


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]], *, folded: bool = False) -> None:
    """Print an aligned table, numbers to the right; ``folded`` puts columns that do not fit into tables below."""
    from dpnb_columnar.domain.domain_text import table_lines

    print_lines(table_lines(header, rows, get_terminal_size((COLUMNS, 24)).columns if folded else None))


def print_lines(lines: Iterable[str]) -> None:
    """Print lines of the verb's result."""
    for line in lines:
        print_line(line)


@contextmanager
def standard_output_checked() -> Iterator[None]:
    """Raise an ``OutputError`` wherever standard output cannot be written: the parser would end with its own code."""
    if sys.stdout is None:  # closed before the program began: what is printed is meant to be lost
        yield
        return
    with redirect_stdout(cast(TextIO, _StandardOutput(sys.stdout))):
        yield


def flush_streams() -> None:
    """Flush standard output and error, and discard what cannot be written: Python would end with its own code, 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, stream.fileno())
                os.close(null)


class _StandardOutput:
    """Standard output that raises an ``OutputError`` where it cannot be written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with _output_errors("standard output"):
            return self._stream.write(text)

    def flush(self) -> None:
        with _output_errors("standard output"):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _print_event(event: str, line: str, fields: dict[str, object]) -> None:
    print(_log.event(event, line, fields), flush=True)  # noqa: T201


def _print_error(line: str) -> None:
    # Faults of a domain stand in lines of their own, which are indented: a name that holds a line break forges no line.
    typer.echo(f"dpnb-columnar: {UNINDENTED.sub(BREAK, printable(line))}", err=True)


@contextmanager
def _output_errors(name: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise PipeClosedError(f"{name}: nobody reads it any more") from None
    except (OSError, ValueError) as error:
        reason = "closed, or its encoding cannot represent the output"
        if isinstance(error, OSError):
            reason = error.strerror or "input/output error"
        raise OutputError(
            f"{name} cannot be written: {reason}; send it elsewhere. An output that stands under its name is complete"
        ) from None


SECONDS_BETWEEN_EVENTS = 10.0
"""Of a pass; so a pass that takes less has none."""

SECONDS_OF_RATE = 600.0
"""Time that a rate on a terminal is averaged over: steps of some stages take a minute each."""


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Show that a long stage is under way, and how far its passes over the rows have come; print nothing in a pipe."""
    log_event("stage begun", name, stage=name)
    with _watcher(name) as watcher, watch_progress(watcher):
        yield
    log_event("stage ended", name, stage=name)


@contextmanager
def progress(name: str, total: int, unit: str) -> Iterator[Callable[[int], None] | None]:
    """Show how much of a public total is done, by the function yielded; yield None and print nothing in a pipe."""
    with _watcher(name) as watcher:
        yield None if watcher is None else watcher.begin(total, unit)


@contextmanager
def _watcher(name: str) -> Iterator[Watcher | None]:
    if is_json():
        yield _StageLog(name)
        return
    if sys.stderr is None or not sys.stderr.isatty():
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


class _StageLog:
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
