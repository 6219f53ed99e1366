"""The results on disk: one row per cell, rewritten as a whole each time, so that the file is valid at any moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from dpnb_columnar.domain import digest
from dpnb_columnar.errors import OutputError
from dpnb_columnar.mechanisms.release import software
from dpnb_columnar.runtime.outputs import atomic_output
from dpnb_columnar.study.reproduce.plan import Plan
from dpnb_columnar.study.reproduce.work import Located, Row

SCHEMA = pl.Schema(
    {
        "study": pl.String,
        "dataset": pl.String,
        "mechanism": pl.String,
        "noise": pl.String,
        "epsilon": pl.Float64,
        "delta": pl.String,
        "delta_value": pl.Float64,
        "weights": pl.String,
        "bounds": pl.Int64,
        "iteration": pl.Int64,
        "fold": pl.Int64,
        "rows": pl.Int64,
        "correct": pl.Int64,
        "accuracy": pl.Float64,
        "mean_error": pl.Float64,
        "variance_error": pl.Float64,
        "seconds": pl.Float64,
    }
)
"""Columns of the results. ``seconds`` is the time of the release alone; null errors: no normal distributions."""

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
VERSION = "1"
MODE = "mode"
DOMAIN = "domain."
"""Prefix of the keys that hold the digest of a data set's domain."""

ROWS = "rows."
"""Prefix of the keys that hold the number of rows of a data set's file."""

CELL = ("study", "dataset", "mechanism", "noise", "delta", "weights", "bounds", "iteration", "epsilon", "fold")
"""Columns that together name a cell."""

TIMING = ("method", "rows", "repetition")
"""Columns that together name a training time."""


@dataclass(frozen=True, slots=True)
class ResultsFile:
    """A file of results.

    Attributes:
        path: Parquet file.
        schema: Its columns.
        key: Columns that together name a row; the file is sorted by them.
        metadata: What its rows were made with, as key-value metadata. Rows made with anything else have no place in it.
    """

    path: Path
    schema: pl.Schema
    key: tuple[str, ...]
    metadata: Mapping[str, str]

    def keys(self, rows: pl.DataFrame) -> set[tuple[object, ...]]:
        """What names each row."""
        return set(rows.select(self.key).iter_rows())

    def frame(self, rows: Sequence[Row]) -> pl.DataFrame:
        """Rows as a data frame of the file's columns."""
        return pl.DataFrame(rows, schema=self.schema, orient="row")

    def read(self) -> tuple[ResultsFile, pl.DataFrame]:
        """The rows that are there, none if there is no file; and the file with the metadata of both.

        Raises:
            OutputError: The file is not one of results, or was made with other versions, in another mode, or from other
                data.
        """
        if not self.path.exists():
            return self, pl.DataFrame(schema=self.schema)
        try:
            found = pl.read_parquet_metadata(self.path)
            rows = pl.read_parquet(self.path)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
            found, rows = {}, pl.DataFrame()
        if found.get(FORMAT) != VERSION or rows.schema != self.schema:
            raise OutputError(f"{self.path}: is no file of results; choose another --output, or use --overwrite")
        for key in found.keys() & self.metadata.keys():
            if found[key] != self.metadata[key]:
                raise OutputError(
                    f"{self.path}: was made with {key} {found[key]:.12}, this run has {self.metadata[key]:.12}, and "
                    "their results do not mix: choose another --output, or start afresh with --overwrite"
                )
        known = {key: value for key, value in found.items() if key.startswith((DOMAIN, ROWS))}
        return replace(self, metadata={**self.metadata, **known}), rows

    def write(self, rows: pl.DataFrame) -> None:
        """Put these rows in the place of those that are there.

        Raises:
            OutputError: The file cannot be written.
        """
        with atomic_output(self.path, overwrite=True) as partial:
            rows.sort(self.key, nulls_last=True).write_parquet(partial, metadata=dict(self.metadata))


def results_file(path: Path, plan: Plan, datasets: Iterable[Located]) -> ResultsFile:
    """The file of a plan's cells on some data sets."""
    metadata = _made_with(plan)
    for data in datasets:
        metadata[f"{DOMAIN}{data.name}"] = digest(data.domain)
        metadata[f"{ROWS}{data.name}"] = str(_height(data.file))
    return ResultsFile(path, SCHEMA, CELL, metadata)


def runtime_file(results: Path, plan: Plan) -> ResultsFile:
    """The file of training times beside the results."""
    path = results.with_name(f"{results.stem}.runtime.parquet")
    return ResultsFile(path, RUNTIME_SCHEMA, TIMING, _made_with(plan))


def _made_with(plan: Plan) -> dict[str, str]:
    repeated = {"iterations": str(plan.iterations), "folds": str(plan.folds)}
    return {FORMAT: VERSION, MODE: plan.mode, **repeated, **software()}


def _height(file: Path) -> int:
    return int(pl.scan_parquet(file, glob=False).select(pl.len()).collect().item())
