"""Count cells with DuckDB: one pass over the files, as sums of a few joint tables. CONFIDENTIAL."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dpnb_columnar.core.queries.statistics import Cells
from dpnb_columnar.domain import Attribute, Domain
from dpnb_columnar.rows.duckdb_query import reported_query
from dpnb_columnar.rows.parquet import ParquetSource
from dpnb_columnar.rows.row_rules import number_of_codes
from dpnb_columnar.runtime.resources import literal_pattern

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

    from dpnb_columnar.dialects.cells_query import COUNT, FILES, cells_query, joint_keys

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
