"""The files a report is made of: accuracies and errors per cell, and running times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from dpnb_columnar.errors import DataError, MissingInputError

CELL = ("study", "dataset", "mechanism", "noise", "epsilon", "delta", "weights", "bounds", "iteration", "fold")
"""Columns that together name one row of the results: one release, scored on one fold."""

NUMBERS = ("rows", "accuracy", "mean_error", "variance_error", "seconds")
"""Columns of a row that hold what was measured."""

RUNTIME = ("rows", "method", "seconds")
"""Columns of the running times."""

RELEASE_TIME = "release_seconds"
"""Column of the running times that need not be there."""

ARROW = "ARROW:schema"
"""Metadata that is the file format's own."""


@dataclass(frozen=True, slots=True)
class Results:
    """What a reproduction has measured so far.

    Attributes:
        cells: One row per cell, with the columns ``CELL`` and ``NUMBERS``. ``epsilon`` is null where a mechanism gives
            no guarantee; errors are null where a model has no means, never NaN or infinite.
        runtime: Columns ``RUNTIME``, maybe ``RELEASE_TIME``; no rows where nothing was timed.
        metadata: Key-value metadata of the results' file.
    """

    cells: pl.DataFrame
    runtime: pl.DataFrame
    metadata: Mapping[str, str]

    def study(self, name: str) -> pl.DataFrame:
        """The cells of one study, in no particular order; maybe none."""
        return self.cells.filter(pl.col("study") == name)


def read_results(results: Path, runtime: Path | None = None) -> Results:
    """Read the results of a reproduction.

    Args:
        results: Its ``results.parquet``.
        runtime: Its ``runtime.parquet``, where there is one.

    Raises:
        MissingInputError: A file is not there.
        DataError: A file is no Parquet file, or lacks a column.
    """
    cells = _read(results, (*CELL, *NUMBERS))
    metadata = {key: value for key, value in pl.read_parquet_metadata(results).items() if key != ARROW}
    errors = [
        pl.when(pl.col(name).is_finite()).then(pl.col(name)).alias(name) for name in ("mean_error", "variance_error")
    ]
    times = (
        pl.DataFrame(schema=dict.fromkeys(RUNTIME, pl.Null))
        if runtime is None
        else _read(runtime, RUNTIME, (RELEASE_TIME,))
    )
    return Results(cells.with_columns(errors), times, metadata)


def _read(file: Path, columns: Sequence[str], optional: Sequence[str] = ()) -> pl.DataFrame:
    """These columns of a Parquet file, and others where they are there."""
    if not file.is_file():
        raise MissingInputError(f"{file}: no such file")
    try:
        found = pl.read_parquet_schema(file)
        missing = [name for name in columns if name not in found]
        if not missing:
            return pl.read_parquet(file, columns=[*columns, *(name for name in optional if name in found)])
    except pl.exceptions.ComputeError:
        raise DataError(f"{file}: is not a Parquet file") from None
    raise DataError(f"{file}: has no column {', '.join(missing)}; it holds {', '.join(found)}")
