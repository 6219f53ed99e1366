"""Count cells with DuckDB: one pass over the files for the classes and up to 60 attributes. CONFIDENTIAL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from dpnb_columnar.counting.statistics import Cells
from dpnb_columnar.domain import Attribute, Domain
from dpnb_columnar.rows.parquet import ParquetSource
from dpnb_columnar.runtime.resources import literal_pattern
from dpnb_columnar.runtime.row_progress import begin_pass

if TYPE_CHECKING:
    import duckdb

SESSION = """
SET enable_progress_bar = false;
SET preserve_insertion_order = false;
SET temp_directory = '';
"""
"""Without a folder for temporary files, exact counts are never spilled to disk."""

WATCHED = """
SET enable_progress_bar = true;
SET enable_progress_bar_print = false;
SET progress_bar_time = 0;
"""
"""DuckDB measures how much it has read, and prints nothing."""

SECONDS_BETWEEN_REPORTS = 0.25

NARROW = (pl.Boolean, pl.Int8, pl.UInt8, pl.Int16, pl.UInt16)
"""Types of so few values that a column of them may be grouped as it is, whatever it holds."""


def count_cells(source: ParquetSource, domain: Domain, attributes: Sequence[Attribute]) -> list[Cells]:
    """Count the classes, and the cells of some attributes.

    Args:
        source: Checked Parquet files.
        domain: The domain.
        attributes: Attributes to count.

    Returns:
        The cells of the classes, then those of each attribute. Confidential.

    Raises:
        DataError: if a file is damaged.
    """
    from dpnb_columnar.dialects.cells_query import MOST_GROUPING_SETS

    cells = []
    for start in range(0, max(len(attributes), 1), MOST_GROUPING_SETS):
        counted = _count(source, domain, attributes[start : start + MOST_GROUPING_SETS])
        cells += counted if start == 0 else counted[1:]
    return cells


def _count(source: ParquetSource, domain: Domain, attributes: Sequence[Attribute]) -> list[Cells]:
    """Count the classes, and the cells of as many attributes as one query takes."""
    import duckdb

    from dpnb_columnar.dialects.cells_query import FILES, cells_query

    narrow = {column for column, type_ in source.types.items() if type_ in NARROW}
    query = cells_query(domain, source.kinds, attributes, narrow)
    files = [literal_pattern(file) for file in source.files]
    try:
        with duckdb.connect(config={"autoinstall_known_extensions": False}) as connection:
            connection.execute(SESSION)
            with _reported(connection, source):
                result = connection.execute(query, {FILES: files}).fetchnumpy()
    except duckdb.Error:
        # The engine's own text may quote values.
        raise source.unreadable() from None
    place, *numbers = (np.asarray(result[name]).astype(np.int64) for name in ("place", "class", "code", "count"))
    names = [None, *(attribute.name for attribute in attributes)]
    return [Cells(name, *(column[place == number] for column in numbers)) for number, name in enumerate(names)]


@contextmanager
def _reported(connection: duckdb.DuckDBPyConnection, source: ParquetSource) -> Iterator[None]:
    """Report how much of the files the query within this block has read, where somebody watches."""
    begun = begin_pass(source.files)
    if begun is None:
        yield
        return
    advance, total = begun
    connection.execute(WATCHED)
    ended = Event()

    def report() -> None:
        done = 0.0
        while not ended.wait(SECONDS_BETWEEN_REPORTS):
            reached = max(connection.query_progress() / 100 * total, done)  # below 0 before it begins
            advance(reached - done)
            done = reached

    thread = Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
