"""Stream the rows of Parquet files through Polars, and through Arrow where that fails. CONFIDENTIAL.

A text that is not UTF-8 is null. Polars refuses the whole file, so that one row would decide whether there is a model.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import polars as pl

from dpnb_columnar.domain.column_kinds import Kind, kinds_of
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.input_files import arrow_file, check_unchanged, failure_of, folder_values, lazy_rows, scan_file
from dpnb_columnar.rows.parquet import ParquetSource, is_text
from dpnb_columnar.rows.row_rules import column
from dpnb_columnar.runtime.row_progress import RowsOnce, Size, begin_pass, reading_once, report_rows, unknown_size

if TYPE_CHECKING:
    import pyarrow as pa

PART_ROWS = 2**17  # rows that Arrow reads at a time
WIDE = 64
WIDE_VALUES = 2**20
"""Values that are read at a time of more columns than that: 200,000 rows of 400 texts took 1.4 GiB as whole groups."""

Result = TypeVar("Result")


def scan(source: ParquetSource) -> pl.LazyFrame:
    """Return all rows of the source, the domain's columns only, each of one type. Confidential."""
    if len(source.types) > WIDE:
        # A row group of an object would be asked for with each slice of it.
        return lazy_rows(partial(_read if source.is_stored else _slices, source), source.types)
    columns = [column(name).cast(type_) for name, type_ in source.types.items()]
    return pl.concat([scan_file(file).select(columns) for file in source.files])


def _slices(source: ParquetSource, names: list[str]) -> Iterator[pl.DataFrame]:
    """Read some columns as ``_read`` does, by Polars, some rows at a time."""
    size = WIDE_VALUES // len(source.types)
    for file in source.files:
        scanned = scan_file(file).select(column(name).cast(source.types[name]) for name in names)
        start, height = 0, size
        while height == size:
            frame = scanned.slice(start, size).collect(engine="streaming")
            start, height = start + size, len(frame)
            yield frame


Source: TypeAlias = "ParquetSource | OpenedFrame"
"""Rows whose columns fit a domain: Parquet files, a frame, or the table of a database as a lazy frame."""


def stream(
    source: Source,
    compute: Callable[[pl.LazyFrame], Result],
    *,
    shown: bool = True,
    by_units: bool = False,
    passes: int = 1,
) -> Result:
    """Compute something from all rows of the source, whatever bytes their texts hold. Confidential."""
    advance = begin_pass(source.size, passes) if shown else None
    once = None if advance is None else RowsOnce(advance)
    if by_units:
        with reading_once(once):
            return _compute(source, compute, once, None)
    return _compute(source, compute, once, once)


def _compute(
    source: Source, compute: Callable[[pl.LazyFrame], Result], once: RowsOnce | None, read: RowsOnce | None
) -> Result:
    # The engines' own texts may quote values.
    if not isinstance(source, ParquetSource):
        try:
            return compute(_with_progress(source.rows, read))
        except query_errors():
            raise failed_query(source.names) from None
    try:
        result = compute(_with_progress(scan(source), read))
        check_unchanged(source.files)
        return result
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        if (failure := failure_of(source.files, error)) is not None:
            raise failure from None
        if Kind.TEXT not in source.kinds.values():
            raise source.unreadable() from None
    import pyarrow as pa

    # Perhaps one text is not UTF-8. A damaged file fails here once more.
    if once is not None:
        once.again()
    try:
        result = compute(_with_progress(lazy_rows(partial(_read, source), source.types), read))
        check_unchanged(source.files)
        return result
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException, OSError):
        raise source.unreadable() from None


def _with_progress(rows: pl.LazyFrame, once: RowsOnce | None) -> pl.LazyFrame:
    return rows if once is None else report_rows(rows, once.add)


def _read(source: ParquetSource, names: list[str]) -> Iterator[pl.DataFrame]:
    import pyarrow.parquet as pq

    for file in source.files:
        with pq.ParquetFile(arrow_file(file), pre_buffer=True) as opened:
            values = folder_values(file, opened.schema_arrow.names)
            for batch in opened.iter_batches(PART_ROWS, columns=[name for name in names if name not in values]):
                columns = {name: batch.column(name) for name in names if name not in values}
                columns |= {name: _valid_text(columns[name]) for name in columns if source.kinds[name] is Kind.TEXT}
                series = [
                    pl.repeat(values[name], len(batch), dtype=pl.String, eager=True).alias(name)
                    if name in values
                    else pl.Series(name, pl.from_arrow(columns[name])).cast(source.types[name])
                    for name in names
                ]
                yield pl.DataFrame(series)


def valid_texts(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Replace the texts that are not UTF-8 by null, in every column of texts."""
    import pyarrow as pa

    columns = [_valid_text(values) if is_text(values.type) else values for values in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _valid_text(values: pa.Array) -> pa.Array:
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


NAME = "the frame"  # name of a frame in messages


@dataclass(frozen=True, slots=True)
class OpenedFrame:
    """A frame, perhaps a query that is not computed yet, whose columns fit a domain. Confidential."""

    rows: pl.LazyFrame
    types: Mapping[str, pl.DataType]
    names: str  # in messages
    size: Size = unknown_size  # as far as it is public

    @property
    def kinds(self) -> dict[str, Kind]:
        return kinds_of(self.types)


def query_errors() -> tuple[type[BaseException], ...]:
    """Return what the query behind a frame may have failed with; of DuckDB only if that has been loaded."""
    import pyarrow as pa

    duckdb = sys.modules.get("duckdb")
    errors = pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException, OSError
    return errors if duckdb is None else (*errors, duckdb.Error)


def failed_query(name: str = NAME) -> DataError:
    """Return the error to raise where the query behind a lazy frame fails; the engine's own text may quote values."""
    return DataError(f"{name}: its query fails; collect it by itself to see why")
