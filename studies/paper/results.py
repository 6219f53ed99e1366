"""Files of results: accuracies and errors per cell, and training times; written by a reproduction, read by its report.

A file is rewritten as a whole each time, so that it is valid at any moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from dpnb_columnar.domain.declared_domain import digest
from dpnb_columnar.errors import DataError, MissingInputError, OutputError, option
from dpnb_columnar.releases.model_plan import software
from dpnb_columnar.runtime.outputs import atomic_output, opened
from dpnb_columnar.runtime.unfinished import exists, is_file
from studies.paper.accuracy import Located, Row
from studies.paper.data_sets import splits
from studies.paper.experiments import Plan

COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "study": pl.String,
    "dataset": pl.String,
    "mechanism": pl.String,
    "noise": pl.String,
    "epsilon": pl.Float64,
    "delta": pl.String,
    "delta_value": pl.Float64,
    "weights": pl.String,
    "attribute_weights": pl.String,
    "chosen": pl.String,
    "bounds": pl.Int64,
    "iteration": pl.Int64,
    "fold": pl.Int64,
    "rows": pl.Int64,
    "correct": pl.Int64,
    "accuracy": pl.Float64,
    "log_loss": pl.Float64,
    "mean_error": pl.Float64,
    "variance_error": pl.Float64,
    "flattened": pl.Int64,
    "released_means": pl.List(pl.Struct({"attribute": pl.String, "error": pl.Float64})),
    "seconds": pl.Float64,
}
SCHEMA = pl.Schema(COLUMNS)
"""Columns of the results. ``attribute_weights`` are those asked for, ``chosen`` those of the model. ``seconds`` is the
time of training, from counts to the model; null errors: no normal distributions, or none but flattened ones."""

RUNTIME_SCHEMA = pl.Schema(
    {
        "rows": pl.Int64,
        "method": pl.String,
        "repetition": pl.Int64,
        "seconds": pl.Float64,
        "release_seconds": pl.Float64,
    }
)
"""Columns of the training times: from rows to the model, and from counts to the model."""

FORMAT = "dpnb_columnar.results"
VERSION = "2"
MODE = "mode"
DOMAIN = "domain."
"""Prefix of the keys that hold the digest of a data set's domain."""

ITERATIONS = "iterations."
"""Prefix of the keys that hold how often a data set was split."""

ROWS = "rows."
"""Prefix of the keys that hold the number of rows of a data set's file."""

UNIT = ("study", "dataset", "mechanism", "noise", "delta", "weights", "attribute_weights", "bounds", "iteration")
CELL = (*UNIT, "epsilon", "fold")
"""Columns that together name a cell: one release, scored on one fold."""

TIMING = ("method", "rows", "repetition")
"""Columns that together name a training time."""

ERRORS = ("mean_error", "variance_error")
REPORTED = (*CELL, "chosen", "rows", "accuracy", "log_loss", *ERRORS, "flattened", "released_means", "seconds")
"""Columns of the results that a report needs."""

REPORTED_TIMES = ("rows", "method", "seconds")
"""Columns of the training times that a report needs; ``release_seconds`` is optional."""

ARROW = "ARROW:schema"
"""Metadata that is the file format's own."""


@dataclass(frozen=True, slots=True)
class ResultsFile:
    """A file of results.

    Attributes:
        path: Parquet file.
        schema: Its columns.
        key: Columns that together name a row; the file is sorted by them.
        metadata: Versions, mode and data that its rows were made with, as key-value metadata. Rows made with anything
            else have no place in it.
    """

    path: Path
    schema: pl.Schema
    key: tuple[str, ...]
    metadata: Mapping[str, str]

    def keys(self, rows: pl.DataFrame) -> set[tuple[object, ...]]:
        """Collect the key of each row."""
        return set(rows.select(self.key).iter_rows())

    def frame(self, rows: Sequence[Row]) -> pl.DataFrame:
        """Make a data frame of the file's columns from rows."""
        return pl.DataFrame(rows, schema=self.schema, orient="row")

    def read(self) -> tuple[ResultsFile, pl.DataFrame]:
        """Read the file."""
        if not exists(self.path):
            return self, pl.DataFrame(schema=self.schema)
        try:
            metadata = pl.read_parquet_metadata(self.path)
            rows = pl.read_parquet(self.path)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
            metadata, rows = {}, pl.DataFrame()
        if metadata.get(FORMAT) != VERSION or rows.schema != self.schema:
            raise OutputError(
                f"{self.path}: is no file of results; choose another {option('output')}, or use {option('overwrite')}"
            )
        for key in metadata.keys() & self.metadata.keys():
            if metadata[key] != self.metadata[key]:
                raise OutputError(
                    f"{self.path}: was made with {key} {metadata[key]:.12}, this run has {self.metadata[key]:.12}, and "
                    f"their results do not mix: choose another {option('output')}, or start afresh with "
                    f"{option('overwrite')}"
                )
        known = {key: value for key, value in metadata.items() if key.startswith((DOMAIN, ITERATIONS, ROWS))}
        return replace(self, metadata={**self.metadata, **known}), rows

    def write(self, rows: pl.DataFrame) -> None:
        """Replace the file's rows.

        Raises:
            OutputError: if the file cannot be written.
        """
        with atomic_output(self.path, overwrite=True) as partial, opened(partial) as file:
            rows.sort(self.key, nulls_last=True).write_parquet(file, metadata=dict(self.metadata))


def results_file(path: Path, plan: Plan, datasets: Iterable[Located]) -> ResultsFile:
    """Describe the file of a plan's cells on some data sets."""
    metadata = _made_with(plan)
    for data in datasets:
        metadata[f"{DOMAIN}{data.name}"] = digest(data.domain)
        metadata[f"{ROWS}{data.name}"] = str(_height(data.file))
        metadata[f"{ITERATIONS}{data.name}"] = str(splits(data.rows, plan.iterations))
    return ResultsFile(path, SCHEMA, CELL, metadata)


def runtime_file(results: Path, plan: Plan) -> ResultsFile:
    """Describe the file of training times beside the results."""
    path = results.with_name(f"{results.stem}.runtime.parquet")
    return ResultsFile(path, RUNTIME_SCHEMA, TIMING, _made_with(plan))


def _made_with(plan: Plan) -> dict[str, str]:
    repeated = {"iterations": str(plan.iterations), "folds": str(plan.folds)}
    return {FORMAT: VERSION, MODE: plan.mode, **repeated, **software()}


def _height(file: Path) -> int:
    return int(pl.scan_parquet(file, glob=False).select(pl.len()).collect().item())


@dataclass(frozen=True, slots=True)
class Results:
    """Measurements of a reproduction, finished or not.

    Attributes:
        cells: One row per cell, with the columns ``REPORTED``. ``epsilon`` is null where a mechanism gives no
            guarantee; errors are null where a model has no means, never NaN or infinite.
        runtime: Columns ``REPORTED_TIMES``, possibly ``release_seconds``; no rows where nothing was timed.
        metadata: Key-value metadata of the results' file.
    """

    cells: pl.DataFrame
    runtime: pl.DataFrame
    metadata: Mapping[str, str]

    def study(self, name: str) -> pl.DataFrame:
        """Select the cells of one study, in no particular order; possibly none."""
        return self.cells.filter(pl.col("study") == name)


def read_results(results: Path, runtime: Path | None = None) -> Results:
    """Read the results of a reproduction for its report."""
    cells = _read(results, REPORTED)
    metadata = {key: value for key, value in pl.read_parquet_metadata(results).items() if key != ARROW}
    errors = [pl.when(pl.col(name).is_finite()).then(pl.col(name)).alias(name) for name in ERRORS]
    if runtime is None:
        times = pl.DataFrame(schema=dict.fromkeys(REPORTED_TIMES, pl.Null))
    else:
        times = _read(runtime, REPORTED_TIMES, ("release_seconds",))
    return Results(cells.with_columns(errors), times, metadata)


def _read(file: Path, columns: Sequence[str], optional: Sequence[str] = ()) -> pl.DataFrame:
    """Read columns of a Parquet file, and the optional ones that it has."""
    if not is_file(file):
        raise MissingInputError(f"{file}: no such file")
    try:
        schema = pl.read_parquet_schema(file)
        missing = [name for name in columns if name not in schema]
        if not missing:
            return pl.read_parquet(file, columns=[*columns, *(name for name in optional if name in schema)])
    except pl.exceptions.ComputeError:
        raise DataError(f"{file}: is not a Parquet file") from None
    raise DataError(f"{file}: has no column {', '.join(missing)}; it holds {', '.join(schema)}")
