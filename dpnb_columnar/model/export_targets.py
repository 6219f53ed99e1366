"""Languages that a model is exported to: all that the command line needs of ``exports`` to start."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from dpnb_columnar.domain.names import did_you_mean
from dpnb_columnar.errors import UsageError


class Target(StrEnum):
    """A language that a model is exported to."""

    ONNX = "onnx"
    R = "r"
    STATA = "stata"
    SAS = "sas"
    SPSS = "spss"


SUFFIXES = {Target.ONNX: ".onnx", Target.R: ".R", Target.STATA: ".do", Target.SAS: ".sas", Target.SPSS: ".sps"}
"""How the names of such files usually end."""


def table_name(script: Path) -> Path:
    """Return the name of a script's table."""
    return script.parent / f"{script.name}.terms.csv"


def parse_target(name: str) -> Target:
    """Parse the name of a language."""
    try:
        return Target(name)
    except ValueError:
        known = [each.value for each in Target]
        raise UsageError(f"unknown language {name!r:.80}: {did_you_mean(name, known, ', '.join(known))}") from None
