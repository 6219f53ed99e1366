"""Answer queries on this machine: by Polars, and cells of Parquet files by DuckDB as well. CONFIDENTIAL.

Count cells with DuckDB: one pass over the files, as sums of a few joint tables. CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, singledispatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpnb_columnar.core.queries.query import AnswerT, Query, with_parts
from dpnb_columnar.core.queries.statistics import CellQuery, Cells, Statistics, assemble
from dpnb_columnar.counting.engines import polars
from dpnb_columnar.counting.engines.polars import reduce_rows
from dpnb_columnar.counting.file_parts import file_parts
from dpnb_columnar.domain import Attribute, Domain
from dpnb_columnar.domain.column_kinds import Kind
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.input_files import folder_values
from dpnb_columnar.rows.parquet import ParquetSource
from dpnb_columnar.rows.row_rules import number_of_codes
from dpnb_columnar.rows.streaming import OpenedFrame, Source, stream
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.resources import literal_pattern

if TYPE_CHECKING:
    from dpnb_columnar.rows.frames import Frame


SESSION = """
SET enable_progress_bar = false;
SET preserve_insertion_order = false;
SET temp_directory = '';
SET perfect_ht_threshold = 18;
"""
"""Without a folder for temporary files, exact counts are never spilled to disk; keys of 16 bits, and null, are counted
in an array."""


def count_cells(source: ParquetSource, domain: Domain, attributes: Sequence[Attribute]) -> list[Cells]:
    """Count the classes, and the cells of some attributes.

    Returns:
        The cells of the classes, and of each attribute; a cell may be there several times. Confidential.

    Raises:
        DataError: if a file is damaged.
    """
    import duckdb

    from dpnb_columnar.dialects.statistics_query import COUNT, FILES, cells_query, joint_keys
    from dpnb_columnar.rows.databases import reported_query

    keys = joint_keys(domain, source.kinds, attributes)
    query = cells_query(domain, source.kinds, keys)
    files = [literal_pattern(file) for file in source.files if isinstance(file, Path)]  # no objects: local.answer
    try:
        with duckdb.connect(config={"autoinstall_known_extensions": False}) as connection:
            connection.execute(SESSION)
            with reported_query(connection, source.size):
                result = connection.execute(query, {FILES: files}).fetchnumpy()
    except duckdb.Error:
        # The engine's own text may quote values.
        raise source.unreadable() from None
    cells = []
    for place, key in enumerate(keys):
        joint = np.ma.masked_array(result[f"key_{place}"])
        rows = ~np.ma.getmaskarray(joint)
        numbers, counts = joint.data[rows].astype(np.int64), result[COUNT][rows].astype(np.int64)
        classes = numbers & (2**key.class_bits - 1)
        if place == 0:
            cells.append(Cells(None, classes, np.zeros_like(classes), counts))
        for digit in key.digits:
            codes = numbers >> digit.shift & (2**digit.bits - 1)
            if digit.codes is not None:
                codes = np.asarray(digit.codes)[codes]
            fits = codes < number_of_codes(digit.attribute)
            cells.append(Cells(digit.attribute.name, classes[fits], codes[fits], counts[fits]))
    return cells


SMALL = 2**24
"""Bytes of files that Polars counts alone, about three million rows: to load DuckDB and to write its query would take
longer."""

MANY = 60
"""More categorical attributes than this are counted by Polars alone: DuckDB would take five milliseconds for each
attribute before it reads a row."""

MOST_VALUES = 2**14
"""Declared values beyond which all is counted by Polars: each is a constant in DuckDB's query, 43 microseconds and
8 KiB to parse and to plan, 0.7 s and 128 MiB for so many. Half a million of them took three gigabytes."""


@confined()
def answer(source: ParquetSource | OpenedFrame | Frame, query: Query[AnswerT]) -> AnswerT:
    """Answer a query over the rows of Parquet files, or of a frame, as over a file of its rows."""
    if not isinstance(source, ParquetSource):
        if not isinstance(source, OpenedFrame):
            from dpnb_columnar.rows.frames import open_frame

            source = open_frame(source, query.domain)
        return _streamed(query, source)
    try:
        answered: AnswerT = _over_files(query, source)
        return with_parts(answered, file_parts(source.files))
    except OSError:
        raise source.unreadable() from None


def _streamed(query: Query[AnswerT], source: Source) -> AnswerT:
    """Answer a query by Polars."""
    answered: AnswerT = stream(
        source, partial(reduce_rows, query, types=source.types), by_units=query.domain.unit is not None
    )
    return answered


@singledispatch
def _over_files(query: Query[Any], source: ParquetSource) -> Any:
    """Answer a query over the rows of Parquet files."""
    return _streamed(query, source)


@_over_files.register
def _cells_over_files(query: CellQuery, source: ParquetSource) -> Statistics:
    """Count cells as fast as DuckDB and Polars can together."""
    try:
        return assemble(query.domain, iter(_count_cells(source, query.domain)))
    except ValueError as error:
        raise DataError(
            f"{source.names}: {error}; did a file change while it was read, or are the statistics in its footer false? "
            "write it again"
        ) from None


def _count_cells(source: ParquetSource, domain: Domain) -> list[Cells]:
    # DuckDB is not told of the columns of folders.
    named = any(not folder_values(file).keys().isdisjoint(domain.counted_columns) for file in source.files)
    # Nor does it come with what reads a store, and a run downloads no program.
    alone = source.is_stored or sum(file.stat().st_size for file in source.files if isinstance(file, Path)) <= SMALL
    many = len(domain.categorical) > MANY or sum(len(each.members) for each in domain.categorical) > MOST_VALUES
    # Floats and decimals it would write as texts to look them up.
    by_duckdb = [each for each in domain.categorical if source.kinds[each.name] not in (Kind.FLOAT, Kind.DECIMAL)]
    if domain.unit is not None or named or alone or many or not by_duckdb:
        return polars.count_cells(source, domain, domain.attributes, classes=True)
    # DuckDB first: it gives its memory back, so that the two peaks do not add up.
    try:
        cells = count_cells(source, domain, by_duckdb)
    except DataError:
        # Perhaps one text is not UTF-8, which DuckDB does not read. A damaged file fails here once more.
        return polars.count_cells(source, domain, domain.attributes, classes=True)
    others = [each for each in domain.attributes if each not in by_duckdb]
    return cells + polars.count_cells(source, domain, others, classes=False)
