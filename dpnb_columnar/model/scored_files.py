"""Scored rows in a Parquet file: of Parquet files, or of a database without a file in between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import polars as pl

from dpnb_columnar.domain.column_kinds import WIDEST_DECIMAL, is_too_wide, type_name
from dpnb_columnar.domain.names import listed
from dpnb_columnar.errors import DataError
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.model.polars_terms import SKIPPED
from dpnb_columnar.model.scoring import is_wide, score, small_batches
from dpnb_columnar.rows.parquet import NamedRows, damaged_file_error, size_of
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.outputs import atomic_output
from dpnb_columnar.runtime.row_progress import begin_pass, report_rows

COMPRESSION = 1
"""Level of zstd. Probabilities hardly repeat: the default level takes twice the time, for 7 % fewer bytes."""

GROUP_ROWS, GROUP_NUMBERS = 2**17, 2**23
"""Most rows of a row group, and most probabilities (64 MiB): it is held until it is written."""


@confined()
def write_scores(
    model: NaiveBayes,
    rows: Sequence[NamedRows],
    output: Path,
    keep: Sequence[str],
    *,
    labels: bool = False,
    overwrite: bool = False,
) -> tuple[int, int]:
    """Score rows into one Parquet file, in their order, streamed: memory does not grow with the rows.

    Args:
        model: A released model.
        rows: Rows of files or of a database, with a column for each attribute.
        output: File to write, readable by its owner alone.
        keep: Columns to carry over, placed first.
        labels: Whether to add the value labels of the predicted classes.
        overwrite: Whether an existing file is replaced.

    Returns:
        Rows written, and attribute values left out.

    Raises:
        DataError: if a column is missing, or a kept column has another type than in the first file, or rows cannot be
            read to their end.
        OutputError: if the output exists, or cannot be written.
    """
    scans = _scans(model, rows, keep, labels)
    scored = pl.concat([score(model, scanned, keep, labels=labels) for scanned in scans])
    try:
        with atomic_output(output, overwrite=overwrite, confidential=True) as file:
            size = min(GROUP_ROWS, max(GROUP_NUMBERS // len(model.domain.classes), 1))
            if size < GROUP_ROWS and is_wide(model):
                from dpnb_columnar.model.wide_scores import arrow_schema, write_wide_scores

                if schema := arrow_schema(scored):
                    return write_wide_scores(model, scans, file, schema, keep, labels=labels, group_rows=size)
            with small_batches(model):
                scored.sink_parquet(file, compression="zstd", compression_level=COMPRESSION, row_group_size=size)
            written = pl.scan_parquet(file, glob=False)
            totals = written.select(pl.len(), pl.col(SKIPPED).cast(pl.Int64).sum()).collect(engine="streaming")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        # The engine's own text may quote values, and does not name the file.
        names = ", ".join(each.name for each in rows[:3]) + (" ..." if len(rows) > 3 else "")
        raise damaged_file_error(names) from None
    number, skipped = totals.row(0)
    return int(number), int(skipped)


def _scans(model: NaiveBayes, rows: Sequence[NamedRows], keep: Sequence[str], labels: bool) -> list[pl.LazyFrame]:
    """Check rows, and return them in their order; files of equal types that follow each other are scanned as one.

    Raises:
        DataError: if a file does not fit the model, or holds a kept column of another type than the first file.
    """
    wanted = dict.fromkeys([*keep, *(parameters.attribute for parameters in model.attributes)])
    runs: list[tuple[Mapping[str, pl.DataType], list[NamedRows]]] = []
    for each in rows:
        # A query that selects no column would lose the rows: a model without attributes reads all columns.
        types = {name: each.types[name] for name in wanted or each.types if name in each.types}
        if runs and runs[-1][0] == types:
            runs[-1][1].append(each)
            continue
        wide = [name for name, type_ in each.types.items() if is_too_wide(type_)]
        if unread := [name for name in types if name in wide]:
            raise DataError(f"{each.name}: {listed(unread)}: of more than {WIDEST_DECIMAL} digits; cast it first")
        try:
            others = {name: type_ for name, type_ in each.types.items() if name not in wide}
            score(model, pl.LazyFrame(schema=others), keep, labels=labels)
        except DataError as error:
            raise DataError(f"{each.name}: {error}") from None
        first_types, first = runs[0] if runs else (types, rows)
        _check_kept(keep, each.name, types, first_types, first[0].name)
        runs.append((types, [each]))
    scans = [pl.concat([each.rows.select(*types) for each in run]) for types, run in runs]
    if advance := begin_pass(partial(size_of, rows)):
        scans = [report_rows(scanned, advance) for scanned in scans]
    return scans


def _check_kept(
    keep: Sequence[str],
    name: str,
    types: Mapping[str, pl.DataType],
    first_types: Mapping[str, pl.DataType],
    first: str,
) -> None:
    """Refuse kept columns of another type than in the first file.

    Raises:
        DataError: if a kept column of the file has another type than in the first file.
    """
    for column in keep:
        if types[column] != first_types[column]:
            raise DataError(
                f"{name}: column {column!r} has type {type_name(types[column])} here and "
                f"{type_name(first_types[column])} in {first}; cast it to one type in all files"
            )
