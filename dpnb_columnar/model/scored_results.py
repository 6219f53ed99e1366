"""Scored rows of a database's query in a Parquet file, without a file in between."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpnb_columnar.databases.address import Database
from dpnb_columnar.databases.reading import read_query
from dpnb_columnar.errors import DataError
from dpnb_columnar.files import atomic_output
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.predict import SKIPPED, score


def write_result_scores(
    model: Model, database: Database, query: str, output: Path, keep: Sequence[str], *, overwrite: bool = False
) -> tuple[int, int]:
    """Score the rows that a query returns, in its order, part by part: memory does not grow with the rows.

    Returns:
        Rows written, and attribute values left out.

    Raises:
        MissingInputError, DataError, UnavailableError: The query cannot be run, or its columns do not fit the model.
        OutputError: The output exists, or cannot be written.
    """
    import polars as pl
    import pyarrow.parquet as pq

    rows = skipped = 0
    with read_query(database, query) as result:
        try:
            empty = score(model, pl.LazyFrame(schema=result.columns), keep).collect()
        except DataError as error:
            raise DataError(f"{database}: {error}") from None
        schema = empty.to_arrow().schema
        with (
            atomic_output(output, overwrite=overwrite) as partial,
            pq.ParquetWriter(partial, schema, compression="zstd") as writer,
        ):
            for part in result.parts:
                scored = score(model, part.lazy(), keep).collect()
                writer.write_table(scored.to_arrow().cast(schema))
                rows += scored.height
                skipped += int(scored[SKIPPED].cast(pl.Int64).sum())
    return rows, skipped
