"""Count cells with DuckDB: one pass over the files for the classes and up to 60 attributes. CONFIDENTIAL."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from dpnb_columnar.counting.statistics import Cells
from dpnb_columnar.domain import Attribute, Domain
from dpnb_columnar.rows.duckdb_query import reported_query
from dpnb_columnar.rows.parquet import ParquetSource
from dpnb_columnar.runtime.resources import literal_pattern

SESSION = """
SET enable_progress_bar = false;
SET preserve_insertion_order = false;
SET temp_directory = '';
"""
"""Without a folder for temporary files, exact counts are never spilled to disk."""

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
            with reported_query(connection, source.size):
                result = connection.execute(query, {FILES: files}).fetchnumpy()
    except duckdb.Error:
        # The engine's own text may quote values.
        raise source.unreadable() from None
    place, *numbers = (np.asarray(result[name]).astype(np.int64) for name in ("place", "class", "code", "count"))
    names = [None, *(attribute.name for attribute in attributes)]
    return [Cells(name, *(column[place == number] for column in numbers)) for number, name in enumerate(names)]
