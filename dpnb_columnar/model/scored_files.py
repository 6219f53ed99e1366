"""Scored rows in a Parquet file: of Parquet files, or of a database's query without a file in between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from dpnb_columnar.runtime.progress import begin_pass, reported

COMPRESSION = 1
"""Level of zstd. Probabilities hardly repeat: the default level takes twice the time, for 7 % fewer bytes."""


@confined()
def write_scores(
    model: NaiveBayes,
    files: Sequence[Path],
    output: Path,
    keep: Sequence[str],
    *,
    labels: bool = False,
    overwrite: bool = False,
) -> tuple[int, int]:
    """Score Parquet files into one Parquet file, streamed: memory does not grow with the rows.

    Args:
        model: A released model.
        files: Parquet files with a column for each attribute.
        output: File to write, readable by its owner alone.
        keep: Columns to carry over, placed first.
        labels: Whether to add the value labels of the predicted classes.
        overwrite: Whether an existing file is replaced.

    Returns:
        Rows written, and attribute values left out.

    Raises:
        MissingInputError: if a file cannot be opened.
        DataError: if a file is not Parquet, lacks a column, or holds a kept column of another type than the first file.
        OutputError: if the output exists, or cannot be written.
    """
    scored = _scored(model, files, keep, labels)
    try:
        with atomic_output(output, overwrite=overwrite, confidential=True) as partial:
            scored.sink_parquet(partial, compression="zstd", compression_level=COMPRESSION)
            written = pl.scan_parquet(partial, glob=False)
            totals = written.select(pl.len(), pl.col(SKIPPED).cast(pl.Int64).sum()).collect(engine="streaming")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        # The engine's own text may quote values, and does not name the file.
        names = ", ".join(map(str, files[:3])) + (" ..." if len(files) > 3 else "")
        raise damaged(names) from None
    rows, skipped = totals.row(0)
    return int(rows), int(skipped)


def _scored(model: NaiveBayes, files: Sequence[Path], keep: Sequence[str], labels: bool) -> pl.LazyFrame:
    """Score files in their order; files of equal types that follow each other take one query between them.

    Raises:
        DataError: if a file does not fit the model, or holds a kept column of another type than the first file.
    """
    wanted = dict.fromkeys([*keep, *(parameters.attribute for parameters in model.attributes)])
    runs: list[tuple[Mapping[str, pl.DataType], list[Path]]] = []
    for file in files:
        schema = read_schema(file)
        # A query that selects no column would lose the rows: a model without attributes reads all columns.
        types = {name: schema[name] for name in wanted or schema if name in schema}
        if runs and runs[-1][0] == types:
            runs[-1][1].append(file)
            continue
        try:
            score(model, pl.LazyFrame(schema=schema), keep, labels=labels)
        except DataError as error:
            raise DataError(f"{file}: {error}") from None
        _check_kept(keep, file, types, *(runs[0] if runs else (types, files)))
        runs.append((types, [file]))
    scans = [pl.concat([pl.scan_parquet(each, glob=False).select(*types) for each in run]) for types, run in runs]
    if begun := begin_pass(files):
        scans = [reported(rows, begun[0]) for rows in scans]
    return pl.concat([score(model, rows, keep, labels=labels) for rows in scans])


def _check_kept(
    keep: Sequence[str],
    file: Path,
    types: Mapping[str, pl.DataType],
    first_types: Mapping[str, pl.DataType],
    first_files: Sequence[Path],
) -> None:
    """Refuse kept columns of another type than in the first file.

    Raises:
        DataError: if a kept column of the file has another type than in the first file.
    """
    for name in keep:
        if types[name] != first_types[name]:
            raise DataError(
                f"{file}: column {name!r} has type {type_name(types[name])} here and {type_name(first_types[name])} in "
                f"{first_files[0]}; cast it to one type in all files"
            )


@confined()
def write_result_scores(
    model: NaiveBayes,
    database: Database,
    query: str,
    output: Path,
    keep: Sequence[str],
    *,
    labels: bool = False,
    overwrite: bool = False,
) -> tuple[int, int]:
    """Score the rows that a query returns, in its order, part by part: memory does not grow with the rows.

    Args:
        model: A released model.
        database: The database.
        query: A query whose result has a column for each attribute.
        output: File to write, readable by its owner alone.
        keep: Columns to carry over, placed first.
        labels: Whether to add the value labels of the predicted classes.
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
            empty = score(model, pl.LazyFrame(schema=result.columns), keep, labels=labels).collect()
        except DataError as error:
            raise DataError(f"{database}: {error}") from None
        schema = empty.to_arrow().schema
        with (
            atomic_output(output, overwrite=overwrite, confidential=True) as partial,
            parquet_writer(partial, schema) as writer,
        ):
            for part in result.parts:
                scored = score(model, part.lazy(), keep, labels=labels).collect()
                writer.write_table(scored.to_arrow().cast(schema))
                rows += scored.height
                skipped += int(scored[SKIPPED].cast(pl.Int64).sum())
    return rows, skipped
