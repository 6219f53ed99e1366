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
    ├── BudgetError           77  the release would exceed the ledger's limit, or releases have
    └── ConfigurationError    78  a declaration or a setting is wrong
        └── DomainError           every fault found in a domain declaration

Texts name files, columns, types and public facts. They never hold a value from a row, or a count of rows: the log of a
scheduled run is read by people who may not see the data.

*Words.* Texts are written once, where the error is raised, with the options of the command line: ``leave --noise out``,
``make Parquet of it: dpnb-columnar ingest rows.csv --output NAME.parquet``. What is raised through the Python interface
says ``leave noise out`` and ``dpnb.ingest("rows.csv", output="NAME.parquet")``.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial


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
    """The release would exceed the privacy budget of its data set in the ledger, or earlier ones have in truth."""

    exit_code = 77


class ConfigurationError(Error):
    """A declaration or a setting is wrong."""

    exit_code = 78


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault in a declaration.

    Attributes:
        place: Dotted path to the entry, such as ``adult.attributes.age.lower``.
        problem: The fault and its remedy.
    """

    place: str
    problem: str

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}"


class DomainError(ConfigurationError):
    """Every fault found in one declaration, reported together."""

    def __init__(self, source: str, faults: Sequence[Fault]) -> None:
        self.source = source
        self.faults = tuple(faults)
        lines = "".join(f"\n  {fault}" for fault in self.faults)
        super().__init__(f"{source}: {len(self.faults)} fault(s) in the domain declaration{lines}")


def excerpt(value: object) -> str:
    """Return a declared value as error texts quote it: cut to 80 characters, however large it is."""
    try:
        return f"{value!s:.80}" if isinstance(value, Decimal) else f"{value!r:.80}"
    except (ValueError, RecursionError):  # Python writes out no whole number of thousands of digits
        return "a value too large to write out"


CONFIDENTIAL = "CONFIDENTIAL: computed from the rows without noise; do not release."
"""What stands above exact figures."""

OPTION = r"(?<![\w-])--(?P<option>[a-z][a-z-]*[a-z])(?![\w-])"

ARGUMENTS = {"declared-rows": "rows", "key": "keys", "overwrite": "overwrite=True", "master": "Spark's master"}
"""Arguments that are not called as their option is."""

FUNCTIONS = frozenset({"aggregate", "check", "ingest", "plan", "simulate", "split", "train"})
"""Verbs that are a function of the same name in Python."""

_WORD = r"""(?:'[^']*'|"[^"\\]*"|[^\s;,:)'"\\]|[:,](?=\S))+"""
COMMAND = (
    r"dpnb-columnar (?P<verb>[a-z-]+)(?P<inner> init| show| edit)?"
    rf"(?P<words>(?: (?:--[a-z-]+ {_WORD}|(?=\S*['\"A-Z./0-9]){_WORD}))*)"
)
"""A command in a text: verb, inner verb of ``ledger`` or ``domain``, options with values, and paths or placeholders."""

TRANSLATED = re.compile(f"{COMMAND}|{OPTION}")


def in_python(text: str) -> str:
    """Say in Python's words what a text says in those of the command line.

    Args:
        text: An error text, or a text with remedies.
    """
    return TRANSLATED.sub(_translation, text)


@contextmanager
def speaking_python() -> Iterator[None]:
    """Raise the package's errors from within the block, or from a function it decorates, in Python's words.

    Raises:
        Error: if the block does: the same error, with its text in Python's words.
    """
    try:
        yield
    except Error as error:
        error.args = tuple(in_python(each) if isinstance(each, str) else each for each in error.args)
        if isinstance(error, DomainError):
            error.source = in_python(error.source)
        raise


def argument_of(option: str) -> str:
    """Name the argument that an option, without its hyphens, is in Python."""
    return ARGUMENTS.get(option, option.replace("-", "_"))


def _translation(found: re.Match[str]) -> str:
    return _call(found) if found["option"] is None else argument_of(found["option"])


def _call(command: re.Match[str]) -> str:
    """Write a command as the call of a function; one that is no function of Python's keeps its paths alone."""
    quoted = partial(json.dumps, ensure_ascii=False)
    words = shlex.split(command["words"])
    paths, named = [], {}
    while words:
        word = words.pop(0)
        if re.fullmatch(OPTION, word):
            named[argument_of(word[2:])] = words.pop(0)
        else:
            paths.append(word)
    if command["verb"] not in FUNCTIONS:
        return " ".join([f"dpnb-columnar {command['verb']}{command['inner'] or ''}", *map(shlex.quote, paths)])
    arguments = [*map(quoted, paths), *(f"{name}={quoted(value)}" for name, value in named.items())]
    return f"dpnb.{command['verb']}" + f"({', '.join(arguments)})" * bool(arguments)
