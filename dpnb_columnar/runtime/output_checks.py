"""Names of output files: defaults, and refusals before any long work."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from dpnb_columnar.errors import OutputError, UsageError
from dpnb_columnar.runtime.outputs import check_output


def default_name(data: Sequence[str], domain: str, suffix: str) -> Path:
    """Return the default name of an output, in the working directory.

    Args:
        data: Inputs as typed. A single one that is a path gives the output its name.
        domain: Name of the domain, which gives the output its name otherwise.
        suffix: End of the name.
    """
    is_path = len(data) == 1 and Path(data[0]).exists()
    stem = Path(os.path.abspath(data[0])).stem if is_path else ""  # noqa: PTH100 a link keeps its name, ".." gets one
    return Path((stem or Path(domain).name) + suffix)


def check_parquet(output: Path) -> None:
    """Refuse a name that does not end in .parquet.

    Raises:
        UsageError: if the name ends otherwise.
    """
    if output.suffix.lower() != ".parquet":
        raise UsageError(f"{output}: is written as Parquet; end its name in .parquet")


def check_target(output: Path, overwrite: bool, inputs: Iterable[Path]) -> None:
    """Refuse an output that exists, cannot be created, or is an input of the run.

    Raises:
        OutputError: if the output is refused.
    """
    check_output(output, overwrite)
    check_no_input(output, inputs)


def check_no_input(output: Path, inputs: Iterable[Path]) -> None:
    """Refuse an output that is an input of the run, which it would replace.

    Raises:
        OutputError: if the output is one of the inputs.
    """
    if output.exists() and any(output.samefile(file) for file in inputs if file.exists()):
        raise OutputError(f"{output}: is an input as well, and would be lost; choose another --output")
