"""Read Parquet files in which some text is not UTF-8: such a value is null, and so in no category.

Polars and DuckDB refuse the whole file, so one row would decide whether there is a model, and a message would say so.
Arrow hands out the bytes. It is slower and is asked only once an engine has failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from dpnb_columnar.rows.column_kinds import Kind
from dpnb_columnar.rows.parquet import ParquetSource

if TYPE_CHECKING:
    import pyarrow as pa

PART_ROWS = 2**17
"""Rows that are read at a time."""


def scan_invalid_text(source: ParquetSource) -> pl.LazyFrame:
    """Return all rows of the source, the domain's columns only, each of one type. Confidential."""
    from polars.io.plugins import register_io_source

    return register_io_source(partial(_read, source), schema=dict(source.types))


def _read(
    source: ParquetSource, columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _batch: int | None
) -> Iterator[pl.DataFrame]:
    """Read the rows as ``polars.io.plugins`` asks for them: some columns, rows of a predicate, at most so many rows."""
    import pyarrow.parquet as pq

    names = list(source.types) if columns is None else columns
    for file in source.files:
        with pq.ParquetFile(file) as opened:
            for batch in opened.iter_batches(PART_ROWS, columns=names):
                series = [_series(name, batch.column(name), source) for name in names]
                frame = pl.DataFrame(series)
                if rows is not None:
                    frame = frame.head(rows)
                    rows -= len(frame)
                yield frame if predicate is None else frame.filter(predicate)


def _series(name: str, values: pa.Array, source: ParquetSource) -> pl.Series:
    if source.kinds[name] is Kind.TEXT:
        values = _valid_text(values)
    return pl.Series(name, pl.from_arrow(values)).cast(source.types[name])


def _valid_text(values: pa.Array) -> pa.Array:
    """Replace the texts that are not UTF-8 by null."""
    import pyarrow as pa

    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array(map(_text, values.cast(pa.large_binary()).to_pylist()), pa.large_string())
    return values


def _text(value: Any) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None
