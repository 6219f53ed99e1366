"""What a verb prints: lines and tables for people, or one JSON event a line for programs that read logs.

Events (``--log-format json``) all go to standard output, and nothing goes to standard error. Every event has ``time``
(UTC), ``event``, ``verb`` and ``text``, the line that people would see; its other fields are listed in docs/batch.md.
None holds a value that depends on a row, other than through a released model.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TextIO, cast

import typer

from dpnb_columnar.errors import OutputError, PipeClosedError
from dpnb_columnar.wording import CONFIDENTIAL as CONFIDENTIAL


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
    """Print in this format from here on.

    Args:
        format: Lines for people, or events.
        fields: Fields of every event beside its own, such as the verb.
    """
    _log.format, _log.fields = format, dict(fields)


def add_log_fields(**fields: object) -> None:
    """Add fields to every event from here on, such as the run id."""
    _log.fields |= fields


def is_json() -> bool:
    """Return whether events are printed."""
    return _log.format is LogFormat.JSON


def print_line(line: str = "", event: str = "note", **fields: object) -> None:
    """Print a line of the verb's result on standard output.

    Args:
        line: The line.
        event: Name of the event.
        fields: Fields of the event: the facts of the line.
    """
    if is_json():
        _print_event(event, line, fields)
    else:
        typer.echo(line)


def print_warning(line: str, event: str = "warning", **fields: object) -> None:
    """Print a line for people on standard error.

    Args:
        line: The line.
        event: Name of the event.
        fields: Fields of the event.

    Raises:
        OutputError: if it cannot be printed.
    """
    if is_json():
        _print_event(event, line, fields)
    else:
        with _output_errors("standard error"):
            _print_error(line)


def print_failure(line: str, **fields: object) -> None:
    """Print why a run failed; on standard error if an event cannot be printed, and not at all if that fails too.

    Args:
        line: The line.
        fields: Fields of the event.
    """
    try:
        print_warning(line, "failed", **fields)
    except OutputError:
        with suppress(OSError, ValueError):
            _print_error(line)


def log_event(event: str, line: str = "", **fields: object) -> None:
    """Print an event that has no line for people.

    Args:
        event: Name of the event.
        line: Its text.
        fields: Its fields.
    """
    if is_json():
        _print_event(event, line, fields)


def final_event(code: int) -> str:
    """Return the last event of a run that ends at once with this exit code; empty where events are not printed."""
    return _log.event("finished", "", {"exit_code": code}) + "\n" if is_json() else ""


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print an aligned table; columns of numbers are aligned to the right.

    Args:
        header: Names of the columns.
        rows: Cells of each row, one a column.
    """
    from dpnb_columnar.domain.description import table_lines

    print_lines(table_lines(header, rows))


def print_lines(lines: Iterable[str]) -> None:
    """Print lines of the verb's result."""
    for line in lines:
        print_line(line)


@contextmanager
def standard_output_checked() -> Iterator[None]:
    """Raise an ``OutputError`` within the block wherever standard output cannot be written.

    The parser of the command line would end with a code of its own, and nobody could tell the error from another one.
    """
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
    # A file's name may hold what a terminal obeys, or what shows a text in another order.
    shown = "".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in line)
    typer.echo(f"dpnb-columnar: {shown}", err=True)


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
