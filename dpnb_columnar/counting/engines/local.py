"""Count cells on this machine: Parquet files by DuckDB and Polars, frames by Polars alone. CONFIDENTIAL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from dpnb_columnar.counting.engines import polars
from dpnb_columnar.counting.file_parts import file_parts
from dpnb_columnar.counting.statistics import Cells, Statistics, assemble
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.column_kinds import Kind
from dpnb_columnar.rows.parquet import ParquetSource
from dpnb_columnar.runtime.confinement import confined

if TYPE_CHECKING:
    from dpnb_columnar.rows.frames import Frame

SMALL = 2**24
"""Bytes of files that Polars counts alone, about three million rows: to load DuckDB and to write its query would take
longer."""


@confined()
def aggregate(source: ParquetSource, domain: Domain) -> Statistics:
    """Count every cell of the domain over the rows of Parquet files.

    Raises:
        DataError: if a file is damaged, or changes while it is read.
    """
    try:
        try:
            cells = _count_cells(source, domain)
        except DataError:
            if Kind.TEXT not in source.kinds.values():
                raise
            cells = _count_invalid_text(source, domain)
        return assemble(domain, cells, file_parts(source.files))
    except OSError:
        raise source.unreadable() from None
    except ValueError as error:
        raise DataError(f"{source.names}: {error}; did a file change while it was read?") from None


def _count_cells(source: ParquetSource, domain: Domain) -> list[Cells]:
    if sum(file.stat().st_size for file in source.files) <= SMALL:
        return polars.count_cells(source, domain, domain.attributes, classes=True)
    from dpnb_columnar.counting.engines import duckdb

    # DuckDB first: it gives its memory back, so that the two peaks do not add up.
    cells = duckdb.count_cells(source, domain, domain.categorical)
    return cells + polars.count_cells(source, domain, domain.numeric, classes=False)


def _count_invalid_text(source: ParquetSource, domain: Domain) -> list[Cells]:
    """Count files that the engines cannot read: one text may not be UTF-8. A damaged file fails here once more."""
    import pyarrow as pa

    from dpnb_columnar.rows.invalid_text import scan_invalid_text

    rows = scan_invalid_text(source)
    try:
        return polars.count_rows(rows, source.types, domain, domain.attributes, classes=True)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException, OSError):
        # The engine's own text may quote values.
        raise source.unreadable() from None


@confined()
def aggregate_frame(frame: Frame, domain: Domain) -> Statistics:
    """Count every cell of the domain over the rows of a frame, as ``aggregate`` does over a file of these rows.

    Raises:
        DataError: if the frame does not fit the domain, or the query behind a lazy frame fails.
    """
    from dpnb_columnar.rows.frames import failed_query, open_frame

    opened = open_frame(frame, domain)
    try:
        cells = polars.count_rows(opened.rows, opened.types, domain, domain.attributes, classes=True)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        raise failed_query() from None
    return assemble(domain, cells)
