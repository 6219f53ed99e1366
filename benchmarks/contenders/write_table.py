"""A made-up table in Parquet that carries its domain, streamed.

Usage: python -m benchmarks.contenders.write_table OUTPUT ROWS NUMERIC CATEGORICAL CLASSES GRID floats|integers

Numeric attributes lie in a bell around a centre that depends on the class: as floats from 0 to 1, divided into the
cells of the grid, or as the codes of these cells. Categorical ones have eight values.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpnb_columnar.domain import Domain, read_domain
from dpnb_columnar.domain.metadata import domain_metadata

BLOCK = 131_072
VALUES = 8


class Shape(NamedTuple):
    """What a table is like: how many attributes of each kind, classes, cells, and whether numbers are floats."""

    numeric: int
    categorical: int
    classes: int
    grid: int
    floats: bool


def domain_of(shape: Shape) -> Domain:
    """The domain of such a table."""
    upper, step = (1, f"1/{shape.grid}") if shape.floats else (shape.grid, 1)
    bounds = {"lower": 0, "upper": upper, "step": step}
    attributes: dict[str, Any] = {f"n{index}": bounds for index in range(shape.numeric)}
    attributes |= {f"c{index}": {"values": [*range(VALUES)]} for index in range(shape.categorical)}
    label = {"column": "class", "classes": [str(code) for code in range(shape.classes)]}
    return read_domain("table", {"label": label, "attributes": attributes}, "write_table.py")


def block(seed: int, shape: Shape) -> pa.RecordBatch:
    """One block of rows; floats and integers of a seed are the same rows."""
    generator = np.random.default_rng(seed)
    label = generator.integers(0, shape.classes, BLOCK)
    columns: dict[str, pa.Array] = {}
    for index in range(shape.numeric):
        values = np.clip(generator.normal(0.35 + 0.3 * label / shape.classes, 0.12), 0, 1)
        columns[f"n{index}"] = pa.array(values if shape.floats else np.rint(values * shape.grid).astype(np.int32))
    for index in range(shape.categorical):
        drawn = generator.integers(0, VALUES, BLOCK) * generator.integers(0, 2, BLOCK)
        columns[f"c{index}"] = pa.array(((drawn + label) % VALUES).astype(np.int8))
    return pa.record_batch({**columns, "class": pa.array(label.astype(np.int8))})


def main(output: str, rows: int, shape: Shape) -> None:
    """Write the table."""
    metadata = domain_metadata(domain_of(shape))
    partial = Path(f"{output}.partial")
    schema = block(0, shape).schema.with_metadata(metadata)
    with pq.ParquetWriter(partial, schema, compression="zstd") as writer:
        for number, start in enumerate(range(0, rows, BLOCK)):
            part = block(number, shape).slice(0, rows - start)
            writer.write_batch(part.replace_schema_metadata(schema.metadata), row_group_size=BLOCK)
    partial.replace(output)


if __name__ == "__main__":
    path, *sizes, kind = sys.argv[1:]
    rows, numeric, categorical, classes, grid = map(int, sizes)
    main(path, rows, Shape(numeric, categorical, classes, grid, kind == "floats"))
