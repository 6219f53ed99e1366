"""How one input ended, and what must never happen."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from hostile_values import FORGED

from dpnb_columnar.cli.main import INTERNAL_ERROR

DOCUMENTED = frozenset({0, 64, 65, 66, 69, 73, 75, 77, 78})
SHORTAGE = 71
"""Of a file that claims more than any machine has; its text is of the machine, and names no file."""

LONGEST_ERROR = 8000
"""Characters of an error text."""

MOST_MEMORY = 2**30
"""Bytes that one input may add to the process."""

MOST_SECONDS = 30.0

CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True)
class Outcome:
    reader: str
    seed: int
    command: str
    code: int | None
    defects: tuple[str, ...]
    text: str


def defects_of(code: int, text: str, files: Iterable[str]) -> list[str]:
    """What is wrong with an exit code and the text printed beside it."""
    found = []
    if code == INTERNAL_ERROR:
        found.append("internal error")
    elif code not in DOCUMENTED | {SHORTAGE}:
        found.append(f"undocumented exit code {code}")
    if "Traceback" in text or "panicked at" in text:
        found.append("traceback")
    if code and len(text) > LONGEST_ERROR:
        found.append("long error")
    if code not in (0, SHORTAGE) and not any(name in text for name in files):
        found.append("error names no file")
    if CONTROL.search(text):
        found.append("control character printed")
    if any(line.startswith(FORGED) for line in text.splitlines()):
        found.append("line forged")
    return found
