"""Whoever watches how far a pass has come, and what a log says of it."""

from __future__ import annotations

import json
from typing import Any

from dpnb_columnar.runtime.row_progress import Advance


class Watching:
    """Notes what is reported."""

    def __init__(self) -> None:
        self.totals: list[float | None] = []
        self.units: list[str] = []
        self.done: list[float] = []

    def begin(self, total: float | None, unit: str) -> Advance:
        self.totals.append(total)
        self.units.append(unit)
        return self.done.append

    @property
    def total(self) -> float:
        """All that there is to do, of passes whose size is known."""
        return sum(total for total in self.totals if total is not None)


def progress_of(output: str) -> list[dict[str, Any]]:
    return [event for event in map(json.loads, output.splitlines()) if event["event"] == "progress"]
