"""Error texts in the words of whoever called: options for the command line, arguments for Python.

Texts are written once, where the error is raised, with the options of the command line: ``leave --noise out``, ``make
Parquet of it: dpnb-columnar ingest rows.csv --output NAME.parquet``. What is raised through the Python interface says
``leave noise out`` and ``dpnb.ingest("rows.csv", output="NAME.parquet")``.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from dpnb_columnar.errors import DomainError, Error

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
