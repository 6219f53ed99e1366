"""What a verb says: lines and progress for people, or one JSON event a line for what reads logs.

Events (``--log-format json``) all go to standard output, and nothing goes to standard error. Every event has ``time``
(UTC), ``event``, ``verb`` and ``text``, the line that people would have seen; the others are listed in docs/batch.md.
None holds a value that depends on a row, other than through a released model.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, TextIO, cast

import typer

from dpnb_columnar.errors import OutputError, UsageError
from dpnb_columnar.runtime.outputs import check_output

# MERGED FROM dpnb_columnar/cli/console.py: Names of output files: what they are called by default, and what is
# refused before any long work.


def default_name(data: Sequence[str], domain: str, suffix: str) -> Path:
    """Name of an output in the working directory: after the data if it is one path, else after its domain."""
    named = len(data) == 1 and Path(data[0]).exists()
    stem = Path(os.path.abspath(data[0])).stem if named else ""  # noqa: PTH100 a link keeps its own name, ".." gets one
    return Path((stem or Path(domain).name) + suffix)


def check_parquet(output: Path) -> None:
    """Refuse a name that hides what is written.

    Raises:
        UsageError: With the remedy.
    """
    if output.suffix.lower() != ".parquet":
        raise UsageError(f"{output}: is written as Parquet; end its name in .parquet")


def check_target(output: Path, overwrite: bool, inputs: Iterable[Path]) -> None:
    """Refuse an output that exists, has nowhere to go, or would replace a file it is made of.

    Raises:
        OutputError: With the remedy.
    """
    check_output(output, overwrite)
    check_no_input(output, inputs)


def check_no_input(output: Path, inputs: Iterable[Path]) -> None:
    """Refuse an output that would replace a file the run is made of.

    Raises:
        OutputError: With the remedy.
    """
    if output.exists() and any(output.samefile(file) for file in inputs if file.exists()):
        raise OutputError(f"{output}: is an input as well, and would be lost; choose another --output")


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
        format: Text for people, or one JSON event a line.
        facts: Fields of every event beside its own: the verb.
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
        line: The text.
        event: Name of the JSON event.
        facts: Fields of the JSON event.
    """
    if is_json():
        print(_log.event(event, line, facts), flush=True)  # noqa: T201
    else:
        typer.echo(line)


def warn(line: str, event: str = "warning", **facts: object) -> None:
    """A line for people, on standard error.

    Raises:
        OutputError: It cannot be written.
    """
    if is_json():
        print(_log.event(event, line, facts), flush=True)  # noqa: T201
    else:
        with _reported("standard error"):
            _complain(line)


def warn_at_the_end(line: str, event: str, **facts: object) -> None:
    """As ``warn``, for a run that has failed already: without a log on standard error, and silent where that fails."""
    try:
        warn(line, event, **facts)
    except OutputError:
        with suppress(OSError, ValueError):
            _complain(line)


def _complain(line: str) -> None:
    typer.echo(f"dpnb-columnar: {line}", err=True)


def record(event: str, line: str = "", **facts: object) -> None:
    """An event that people are not told."""
    if is_json():
        print(_log.event(event, line, facts), flush=True)  # noqa: T201


@contextmanager
def progress(name: str, total: int) -> Iterator[Callable[[int], None] | None]:
    """Share of a total that is done and the time left, on a terminal; silent in a pipe.

    Returns:
        What to call with each amount done; None where nobody watches.
    """
    if not shows_progress():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=total)
        yield lambda count: bar.advance(task, count)


def shows_progress() -> bool:
    """Whether people watch: progress is drawn on a terminal only."""
    return sys.stderr.isatty() and not is_json()


def last_event(code: int) -> str:
    """The line that says how a run ended, for one that must end at once; nothing where people are told."""
    return _log.event("finished", "", {"exit_code": code}) + "\n" if is_json() else ""


class _StandardOutput:
    """Standard output whose errors are those of an output."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with _reported("standard output"):
            return self._stream.write(text)

    def flush(self) -> None:
        with _reported("standard output"):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def checked_output() -> Iterator[None]:
    """Within the block, whoever writes to standard output gets an ``OutputError`` where it cannot be written.

    The parser of the command line would end with a code of its own, and nobody could tell the error from another one.
    """
    if sys.stdout is None:  # closed before the program began: what is printed is lost, as was asked for
        yield
        return
    with redirect_stdout(cast(TextIO, _StandardOutput(sys.stdout))):
        yield


@contextmanager
def _reported(name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        reason = (error.strerror or "input/output error") if isinstance(error, OSError) else "closed, or of few letters"
        raise OutputError(
            f"{name} cannot be written: {reason}; send it elsewhere. An output that stands under its name is complete"
        ) from None


def release_streams() -> None:
    """Flush what is left, and throw away what cannot be written: Python would end with a code of its own, 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                nothing = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nothing, stream.fileno())
                os.close(nothing)


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
