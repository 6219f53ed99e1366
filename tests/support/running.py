"""What running a command gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


class Run(Protocol):
    """Runs a command."""

    def __call__(self, *arguments: object, expected: int = 0) -> Ended: ...
