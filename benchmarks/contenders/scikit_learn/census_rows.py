"""Rows of a simulated census as scikit-learn takes them: floats in a matrix, and a truth value for each row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

BATCH = 131_072
MISSING = (999_998, 999_999)
LABEL = "INCWAGE"
THRESHOLD = 1000

BOUNDS = {
    **{"URBAN": (0, 2), "RELATE": (1, 13), "SEX": (1, 2), "AGE": (0, 120), "MARST": (1, 6), "RACE": (1, 9)},
    **{"NATIVITY": (0, 5), "EDUC": (0, 11), "EMPSTAT": (0, 3), "CLASSWKR": (0, 2), "WKSWORK1": (0, 52)},
    **{"HRSWORK1": (0, 98), "SEI": (0, 96)},
}
"""Smallest and largest code of each attribute, from the codebook."""

Values = npt.NDArray[np.float64]
Classes = npt.NDArray[np.bool_]


def values(rows: pa.RecordBatch | pa.Table) -> Values:
    """All attributes, shape (rows, attributes), in the order of the file."""
    columns = [rows.column(name).to_numpy() for name in rows.schema.names if name != LABEL]
    return np.column_stack(columns).astype(np.float64)


def usable(rows: pa.RecordBatch | pa.Table) -> tuple[Values, Classes]:
    """Attributes and classes of the rows whose wage is known."""
    wages = rows.column(LABEL).to_numpy()
    known = ~np.isin(wages, MISSING)
    return values(rows)[known], wages[known] > THRESHOLD


def batches(path: str) -> Iterator[pa.RecordBatch]:
    """The file in row groups of a simulated census."""
    yield from pq.ParquetFile(path).iter_batches(batch_size=BATCH)
