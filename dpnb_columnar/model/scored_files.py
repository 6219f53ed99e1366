"""Scored rows in a Parquet file: of Parquet files, or of a database's query without a file in between."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from dpnb_columnar.errors import DataError
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.model.predict import SKIPPED, score
from dpnb_columnar.rows.column_kinds import type_name
from dpnb_columnar.rows.database_address import Database
from dpnb_columnar.rows.database_query import read_query
from dpnb_columnar.rows.parquet import damaged, read_schema
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.outputs import atomic_output
from dpnb_columnar.runtime.parquet_output import parquet_writer

COMPRESSION = 1
"""Level of zstd. Probabilities hardly repeat: the default level takes twice the time, for 7 % fewer bytes."""


@confined()
def write_scores(
    model: NaiveBayes, files: Sequence[Path], output: Path, keep: Sequence[str], *, overwrite: bool = False
) -> tuple[int, int]:
    """Score Parquet files into one Parquet file, streamed: memory does not grow with the rows.

    Args:
        model: A released model.
        files: Parquet files with a column for each attribute.
        output: File to write, readable by its owner alone.
        keep: Columns to carry over, placed first.
        overwrite: Whether an existing file is replaced.

    Returns:
        Rows written, and attribute values left out.

    Raises:
        MissingInputError: if a file cannot be opened.
        DataError: if a file is not Parquet, lacks a column, or holds a kept column of another type than the first file.
        OutputError: if the output exists, or cannot be written.
    """
    frames = [_scored(model, file, keep) for file in files]
    _check_kept(frames, files, keep)
    try:
        with atomic_output(output, overwrite=overwrite, confidential=True) as partial:
            pl.concat(frames).sink_parquet(partial, compression="zstd", compression_level=COMPRESSION)
            written = pl.scan_parquet(partial, glob=False)
            totals = written.select(pl.len(), pl.col(SKIPPED).cast(pl.Int64).sum()).collect(engine="streaming")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        # The engine's own text may quote values, and does not name the file.
        names = ", ".join(map(str, files[:3])) + (" ..." if len(files) > 3 else "")
        raise damaged(names) from None
    rows, skipped = totals.row(0)
    return int(rows), int(skipped)


def _scored(model: NaiveBayes, file: Path, keep: Sequence[str]) -> pl.LazyFrame:
    """The scores of one file, which is first checked to be Parquet."""
    read_schema(file)
    try:
        return score(model, pl.scan_parquet(file, glob=False), keep)
    except DataError as error:
        raise DataError(f"{file}: {error}") from None


def _check_kept(frames: Sequence[pl.LazyFrame], files: Sequence[Path], keep: Sequence[str]) -> None:
    """Refuse kept columns that have other types in other files.

    Raises:
        DataError: if a kept column of a file has another type than in the first file.
    """
    first, *others = (frame.collect_schema() for frame in frames)
    for file, schema in zip(files[1:], others, strict=True):
        for name in keep:
            if schema[name] != first[name]:
                raise DataError(
                    f"{file}: column {name!r} has type {type_name(schema[name])} here and {type_name(first[name])} in "
                    f"{files[0]}; cast it to one type in all files"
                )


@confined()
def write_result_scores(
    model: NaiveBayes, database: Database, query: str, output: Path, keep: Sequence[str], *, overwrite: bool = False
) -> tuple[int, int]:
    """Score the rows that a query returns, in its order, part by part: memory does not grow with the rows.

    Args:
        model: A released model.
        database: The database.
        query: A query whose result has a column for each attribute.
        output: File to write, readable by its owner alone.
        keep: Columns to carry over, placed first.
        overwrite: Whether an existing file is replaced.

    Returns:
        Rows written, and attribute values left out.

    Raises:
        MissingInputError, DataError, UnavailableError: if the query cannot be run, or its columns do not fit the model.
        OutputError: if the output exists, or cannot be written.
    """
    rows = skipped = 0
    with read_query(database, query) as result:
        try:
            empty = score(model, pl.LazyFrame(schema=result.columns), keep).collect()
        except DataError as error:
            raise DataError(f"{database}: {error}") from None
        schema = empty.to_arrow().schema
        with (
            atomic_output(output, overwrite=overwrite, confidential=True) as partial,
            parquet_writer(partial, schema) as writer,
        ):
            for part in result.parts:
                scored = score(model, part.lazy(), keep).collect()
                writer.write_table(scored.to_arrow().cast(schema))
                rows += scored.height
                skipped += int(scored[SKIPPED].cast(pl.Int64).sum())
    return rows, skipped
