"""The parser of a command, and what running one gives."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Protocol

from dpnb_columnar.cli.main import exit_code, verb_parser


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


class Run(Protocol):
    """Runs a command."""

    def __call__(self, *arguments: object, expected: int = 0, program: Any = ...) -> Ended: ...


def completed(*arguments: object, expected: int = 0) -> Ended:
    """Run ``dpnb-columnar`` where what it prints is not looked at, such as in a fixture that many tests share."""
    code = exit_code([str(argument) for argument in arguments])
    assert code == expected
    return Ended(code, "", "")


def in_python(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own; what it prints is looked at."""
    words = [sys.executable, *map(str, arguments)]
    return subprocess.run(words, **{"capture_output": True, "text": True, "check": False, **options})


def parser_of(verb: str, *names: str) -> Any:
    """Return the parser of a verb, or of a command below it."""
    parser = verb_parser(verb)
    for name in names:
        parser = parser.commands[name]
    return parser
