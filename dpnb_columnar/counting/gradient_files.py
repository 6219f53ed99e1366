"""Save and load the statistics of a round of weights: the one row of sums that its query gives. CONFIDENTIAL.

A file names its domain and what was summed up by their digests: whoever reads it has the model that gives them.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpnb_columnar.counting.gradients import GradientQuery, GradientSums, sum_columns, sums_part
from dpnb_columnar.counting.query_results import (
    GRADIENT_TEXTS,
    Kind,
    checked_columns,
    of_another_kind,
    read_delimited,
    read_table,
)
from dpnb_columnar.counting.score_files import check_digests
from dpnb_columnar.counting.statistics_files import GRADIENT_KEY, NOTICE, are_digests, kind_of_table
from dpnb_columnar.domain import digest
from dpnb_columnar.errors import DataError, MissingInputError, excerpt
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.outputs import atomic_output
from dpnb_columnar.runtime.parquet_output import parquet_writer

if TYPE_CHECKING:
    import polars as pl

VERSION = 1


@confined()
def save_gradient_sums(sums: GradientSums, path: Path, *, overwrite: bool = False) -> None:
    """Write the sums of a round: one row, with the columns of the result of their query.

    Args:
        sums: The sums. Confidential.
        path: File to write; only its owner can read it.
        overwrite: Whether to replace an existing file.

    Raises:
        OutputError: if the file exists, or cannot be written.
    """
    import pyarrow as pa

    names = [name for names in sum_columns(sums.query) for name in names]
    numbers = [*sums.weights.tolist(), *sums.log_odds.tolist(), *sums.rows.tolist()]
    digests = [digest(sums.query.domain), sums.query.digest]
    header = {"version": VERSION, "notice": NOTICE, "parts": sorted(sums.parts)}
    table = pa.table([[each] for each in (*numbers, *digests)], names=[*names, *GRADIENT_TEXTS])
    table = table.replace_schema_metadata({GRADIENT_KEY: json.dumps(header)})
    with (
        atomic_output(path, overwrite=overwrite, confidential=True) as partial,
        parquet_writer(partial, table.schema) as writer,
    ):
        writer.write_table(table)


@confined()
def load_gradient_sums(path: Path, query: GradientQuery) -> GradientSums:
    """Read a file of a round's sums, or the result of their query in a Parquet or CSV file.

    Args:
        path: The file.
        query: What must have been summed up.

    Raises:
        MissingInputError: if there is no such file.
        DataError: if the file does not hold sums of a round, or if they are of an unknown version, impossible, of
            another domain, of another model, or of another round.
    """
    import polars as pl
    import pyarrow as pa

    if not path.is_file():
        raise MissingInputError(f"{path}: no such file; make one with dpnb-columnar aggregate --given MODEL")
    if path.name.lower().endswith((".csv", ".csv.gz")):
        return gradient_sums_of(read_delimited(path, GRADIENT_TEXTS), query, path)
    try:
        table = read_table(path, {name for names in sum_columns(query) for name in names})
        kind = kind_of_table(table)
        if kind is not None and kind is not Kind.SUMS:
            raise of_another_kind(path, kind, Kind.SUMS)
        metadata = table.schema.metadata or {}
        header = json.loads(metadata.get(GRADIENT_KEY.encode(), b"null"))
        version, parts = (VERSION, None) if header is None else (header["version"], header["parts"])
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError, RecursionError):
        raise _not_sums(path) from None
    if version != VERSION:
        raise DataError(
            f"{path}: sums of version {excerpt(version)} are not known to this program (it reads {VERSION}); make it "
            "again with dpnb-columnar aggregate --given MODEL"
        )
    if kind is None or not (parts is None or are_digests(parts)):
        raise _not_sums(path)
    sums = gradient_sums_of(pl.DataFrame(table), query, path)
    return sums if parts is None else replace(sums, parts=frozenset(parts))


def gradient_sums_of(result: pl.DataFrame, query: GradientQuery, source: object) -> GradientSums:
    """Check the result of the query of a round, and return its sums.

    Args:
        result: One row: ``gradients.sum_columns`` (whole numbers of any type, or their text), ``domain`` and
            ``gradient``, the digests of what was summed up. Confidential.
        query: What must have been summed up.
        source: Name of the file or database in messages.

    Raises:
        DataError: if a column is missing, a field is not a whole number, there is another number of rows than one, no
            rows have such sums, or something else was summed up. The message holds no sum.
    """
    # The digests first: sums of another domain have other columns.
    digests = checked_columns(result, (), GRADIENT_TEXTS, source, Kind.SUMS)
    if len(digests) != 1:
        raise DataError(
            f"{source}: the sums of a round are one row; export the result of one run of the query, and give the "
            "results of several parts as files of their own"
        )
    check_digests(digests.row(0), query, source)
    columns = sum_columns(query)
    numbers = [name for names in columns for name in names]
    frame = checked_columns(result, numbers, GRADIENT_TEXTS, source, Kind.SUMS)
    weights, log_odds, rows = (np.array([frame[name].item() for name in names], dtype=np.int64) for names in columns)
    sums = GradientSums(query, weights, log_odds, rows)
    if not sums.possible:
        raise DataError(f"{source}: no rows have such sums; sum the rows up again")
    return replace(sums, parts=sums_part(sums))


def _not_sums(path: Path) -> DataError:
    return DataError(f"{path}: not a file of the sums of a round; make one with dpnb-columnar aggregate --given MODEL")
