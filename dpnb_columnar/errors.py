"""Errors, and the exit code that each gives a run (sysexits).

::

    Error                     70  base of all that follow
    ├── UsageError            64  an option or an argument is wrong
    ├── DataError             65  the data does not fit the declared domain
    ├── MissingInputError     66  a file to read is not there
    ├── UnavailableError      69  engine unavailable: software is not installed, or no cluster answers
    ├── ResourceError         71  the machine lacks memory, open files or threads
    ├── OutputError           73  the output exists, or cannot be created
    ├── TemporaryError        75  it passes by itself: a lost connection, a server that does not answer; try again
    │   └── BusyError             another run holds a file that this one needs
    ├── BudgetError           77  the release would exceed the ledger's limit
    └── ConfigurationError    78  a declaration or a setting is wrong
        └── DomainError           every fault found in a domain declaration

Texts name files, columns, types and public facts. They never hold a value from a row, or a count of rows: the log of a
scheduled run is read by people who may not see the data.

*Remedies.* A text is written where the error is raised, and what to do about it is data in it: ``option("noise")``,
``command("ingest", "rows.csv", output="NAME.parquet")``. The front door in use writes these: the command line
``--noise`` and ``dpnb-columnar ingest rows.csv --output NAME.parquet``, Python ``noise`` and
``dpnb.ingest("rows.csv", output="NAME.parquet")``. What users have named, files and columns, is never rewritten.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Final


class Error(Exception):
    """A failure the user can act on; its text says what, where and what to do."""

    exit_code = 70


class UsageError(Error):
    """An option or an argument is wrong."""

    exit_code = 64


class DataError(Error):
    """The data does not fit the declared domain."""

    exit_code = 65


class MissingInputError(Error):
    """A file to read does not exist or cannot be opened."""

    exit_code = 66


class UnavailableError(Error):
    """An engine is unavailable: its software is not installed, or its cluster does not answer."""

    exit_code = 69


class OutputError(Error):
    """An output exists already, or cannot be created."""

    exit_code = 73


class PipeClosedError(OutputError):
    """Nobody reads standard output any more, as behind ``| head``. Programs end silently there, as if by SIGPIPE."""

    exit_code = 141


class ResourceError(Error):
    """The machine lacks memory, open files or threads."""

    exit_code = 71


class TemporaryError(Error):
    """A failure that passes by itself, such as a lost connection; the same command may succeed later."""

    exit_code = 75


class BusyError(TemporaryError):
    """Another run holds a file that this one needs."""


class BudgetError(Error):
    """The release would exceed the privacy budget of its data set in the ledger."""

    exit_code = 77


class ConfigurationError(Error):
    """A declaration or a setting is wrong."""

    exit_code = 78


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault in a declaration and its remedy, with the dotted path to the entry: ``adult.attributes.age.lower``."""

    place: str
    problem: str

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}"


class DomainError(ConfigurationError):
    """Every fault found in one declaration, reported together."""

    def __init__(self, source: str, faults: Sequence[Fault]) -> None:
        self.source = source
        self.faults = tuple(faults)
        super().__init__(faults_text(source, "the domain declaration", self.faults))


def faults_text(source: str, document: str, faults: Sequence[Fault]) -> str:
    """Write the faults of a document, at least one: one fault in one line, several in lines below a heading."""
    if len(faults) == 1:
        return f"{source}: {faults[0]}"
    return "\n  ".join([f"{source}: {len(faults)} faults in {document}", *map(str, faults)])


BEFORE = "0.2.0"
"""The release of the program that reads files of earlier versions."""


def check_version(source: object, what: str, version: object, known: int, remedy: str) -> None:
    """Refuse a file of another version than the known one; ``remedy`` is for a file of an earlier version."""
    if type(version) is int and version == known:
        return
    if type(version) is int and 0 < version < known:
        raise DataError(f"{source}: {what} of version {version}; dpnb-columnar {BEFORE} reads it; {remedy}")
    raise DataError(
        f"{source}: {what} of version {excerpt(version)}, which this program does not know (it reads version {known}); "
        "read it with the release of dpnb-columnar that wrote it, or a later one"
    )


def excerpt(value: object) -> str:
    """Return a declared value as error texts quote it: cut to 80 characters, however large it is."""
    try:
        return f"{value!s:.80}" if isinstance(value, Decimal) else f"{value!r:.80}"
    except (ValueError, RecursionError):  # Python writes out no whole number of thousands of digits
        return "a value too large to write out"


NOT_PRINTABLE = re.compile(
    "[^\t\n -~\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)
"""Characters that a terminal obeys, that no XML document may hold, that end a line, or that put text in another order:
the twelve controls of Unicode's bidirectional algorithm."""


def printable(text: str) -> str:
    r"""Escape characters that no terminal, no page and no drawing may be given.

    They are written as JSON and TOML write them, so that a document of either means the same.

    Examples:
        >>> print(printable("paid \u202edlog\x1b[2J"))
        paid \u202edlog\u001b[2J
    """
    return NOT_PRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def printable_line(text: str) -> str:
    """Escape what ``printable`` does, and line breaks: a name that holds one could forge a line of output."""
    return printable(text).replace("\n", "\\n")


CONFIDENTIAL = "CONFIDENTIAL: computed from the rows without noise; do not release."
"""What stands above exact figures."""


class CommandLine:
    """Remedies to type: ``--noise gaussian``, ``dpnb-columnar ingest rows.csv --output NAME.parquet``."""

    between = " "

    def option(self, name: str, value: object = None) -> str:
        return f"--{name}" if value is None else f"--{name} {shlex.quote(str(value))}"

    def command(self, verb: str, arguments: Sequence[str], options: Mapping[str, str | None]) -> str:
        written = [self.option(name, value) for name, value in options.items()]
        return " ".join(["dpnb-columnar", verb, *map(shlex.quote, arguments), *written])


class Python(CommandLine):
    """Remedies to call: ``noise="gaussian"``, ``dpnb.ingest("rows.csv", output="NAME.parquet")``."""

    between = ", "

    ARGUMENTS: Final = {
        "declared-rows": "rows",
        "key": "keys",
        "overwrite": "overwrite=True",
        "no-header": "header=False",
    }
    """Arguments that are not called as their option is."""

    FUNCTIONS: Final = frozenset({"aggregate", "check", "ingest", "plan", "simulate", "split", "train"})
    """Verbs that are a function of the same name. What has no function is typed, from Python too."""

    def option(self, name: str, value: object = None) -> str:
        argument = self.ARGUMENTS.get(name, name.replace("-", "_"))
        return argument if value is None else f"{argument}={json.dumps(value, ensure_ascii=False)}"

    def command(self, verb: str, arguments: Sequence[str], options: Mapping[str, str | None]) -> str:
        if verb not in self.FUNCTIONS or "given" in options:  # the function ``count_given`` takes a model, and no file
            return CommandLine().command(verb, arguments, options)
        written = [json.dumps(each, ensure_ascii=False) for each in arguments]
        written += [self.option(name, value) for name, value in options.items()]
        return f"dpnb.{verb}" + f"({', '.join(written)})" * bool(written)


_front_door: CommandLine = Python()


def option(name: str, value: object = None) -> str:
    """Write an option in a remedy as the front door in use calls it: ``--noise``, or ``noise`` in Python."""
    return _front_door.option(name, value)


def together(options: Mapping[str, object]) -> str:
    """Write options that are to be given together, with their values, as the front door in use takes them."""
    return _front_door.between.join(option(name, value) for name, value in options.items())


def command(verb: str, *arguments: str, **options: str | None) -> str:
    """Write a command in a remedy as the front door in use runs it: the command line's, or the call of a function."""
    return _front_door.command(verb, arguments, {name.replace("_", "-"): value for name, value in options.items()})


def current_front_door() -> CommandLine:
    """Return the front door in use, for a process that works for this one."""
    return _front_door


@contextmanager
def front_door(door: CommandLine) -> Iterator[None]:
    """Write remedies within the block for a front door: one for the process, whose threads have no other."""
    global _front_door
    before, _front_door = _front_door, door
    try:
        yield
    finally:
        _front_door = before
