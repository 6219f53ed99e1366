"""Models that wait for rounds of their weights, and the verbs that continue them."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from dpnb_columnar.budget import Neighbours
from support.people import repeated_document, repeated_people
from support.running import Run

TWO = repeated_document(3)
repeated = partial(repeated_people, copies=3)
FIRST = Path("first.parquet")
STATISTICS = Path("further.parquet")

TERMS: dict[str, tuple[str, str | None, dict[str, Any]]] = {
    "histogram": ("histogram", None, {}),
    "smooth": ("smooth", None, {}),
    "replaced": ("histogram", None, {"neighbours": Neighbours.REPLACE_ONE}),
    "delta": ("smooth", "gaussian", {"delta": Fraction(1, 10**6)}),
    "concentrated": ("smooth", "arsinh-normal", {"delta": Fraction(1, 10**6), "neighbours": Neighbours.REPLACE_ONE}),
}
"""Mechanism, noise and budget of releases that are compared with those of their parts."""


def released(run: Run, output: str, *more: object) -> Path:
    run("release", FIRST, "--mechanism", "histogram", "--attribute-weights", "learned", *more, "--output", output)
    return Path(output)


def continued(data: Path, state: Path, run: Run, output: Path, *more: object) -> str:
    """Make the next pass, and release it."""
    run("aggregate", data, "--given", state, "--output", STATISTICS, "--overwrite")
    return run("release", STATISTICS, "--given", state, *more, "--output", output).out
