"""What a verb says: lines and progress for people, or one JSON event a line for what reads logs.

Events (``--log-format json``) all go to standard output, and nothing goes to standard error. Every event has ``time``
(UTC), ``event``, ``verb`` and ``text``, the line that people would have seen; the others are listed in docs/batch.md.
None holds a value that depends on a row, other than through a released model.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum

import typer

CONFIDENTIAL = "CONFIDENTIAL: computed from the rows without noise; do not release."


class LogFormat(StrEnum):
    """How a verb says what it does."""

    TEXT = "text"
    JSON = "json"


class _Log:
    """How this run of a verb speaks."""

    def __init__(self) -> None:
        self.format = LogFormat.TEXT
        self.facts: dict[str, object] = {}

    def event(self, event: str, text: str, facts: dict[str, object]) -> str:
        """One event as a line."""
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        return json.dumps({"time": time, "event": event, **self.facts, "text": text, **facts})


_log = _Log()


def begin_log(format: LogFormat = LogFormat.TEXT, **facts: object) -> None:
    """Speak in this format from here on.

    Args:
        facts: What every event tells beside its own: the verb.
    """
    _log.format, _log.facts = format, dict(facts)


def about(**facts: object) -> None:
    """More that every event from here on tells, such as the run id."""
    _log.facts |= facts


def is_json() -> bool:
    """Whether events are written."""
    return _log.format is LogFormat.JSON


def say(line: str = "", event: str = "note", **facts: object) -> None:
    """A line of the verb's result, on standard output.

    Args:
        event: What it is about, for those who read events.
        facts: The same in fields.
    """
    if is_json():
        print(_log.event(event, line, facts), flush=True)  # noqa: T201
    else:
        typer.echo(line)


def warn(line: str, event: str = "warning", **facts: object) -> None:
    """A line for people, on standard error."""
    if is_json():
        print(_log.event(event, line, facts), flush=True)  # noqa: T201
    else:
        typer.echo(f"dpnb-columnar: {line}", err=True)


def record(event: str, line: str = "", **facts: object) -> None:
    """An event that people are not told."""
    if is_json():
        print(_log.event(event, line, facts), flush=True)  # noqa: T201


def shows_progress() -> bool:
    """Whether people watch: progress is drawn on a terminal only."""
    return sys.stderr.isatty() and not is_json()


def last_event(code: int) -> str:
    """The line that says how a run ended, for one that must end at once; nothing where people are told."""
    return _log.event("finished", "", {"exit_code": code}) + "\n" if is_json() else ""


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Show on a terminal that something long is under way; silent in a pipe. Tells no number."""
    if is_json():
        record("stage begun", name, stage=name)
        yield
        record("stage ended", name, stage=name)
        return
    if not shows_progress():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(name):
        yield


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print an aligned table; numbers to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    right = [all(isinstance(row[index], int | float) for row in rows) for index in range(len(header))]

    def line(row: Sequence[str]) -> str:
        parts = zip(row, widths, right, strict=True)
        return "  " + "  ".join(cell.rjust(width) if number else cell.ljust(width) for cell, width, number in parts)

    for row in (list(header), ["-" * width for width in widths], *cells):
        say(line(row).rstrip())
