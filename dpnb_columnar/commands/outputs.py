"""Names of output files: what they are called by default, and what is refused before any long work."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from dpnb_columnar.errors import OutputError, UsageError
from dpnb_columnar.files import check_output


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
