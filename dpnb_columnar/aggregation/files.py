"""CONFIDENTIAL. Statistics as a Parquet file: exact counts, readable by the owner alone, and marked as such."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpnb_columnar.aggregation.statistics import Cells, Statistics, assemble
from dpnb_columnar.domain.metadata import domain_from_metadata, domain_metadata
from dpnb_columnar.errors import DataError, MissingInputError
from dpnb_columnar.files import atomic_output

if TYPE_CHECKING:
    import pyarrow as pa

STATISTICS_KEY = "dpnb_columnar.statistics"
VERSION = 1
NOTICE = "CONFIDENTIAL: exact counts of a confidential table; not released, not protected by noise"


def save_statistics(statistics: Statistics, path: Path, *, overwrite: bool = False) -> None:
    """Write statistics: one row per non-empty cell, columns attribute (null for the classes), class, code, count.

    Raises:
        OutputError: The file exists, or cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    cells = statistics.cells()
    names = [cell.attribute for cell in cells for _ in range(len(cell.counts))]
    arrays = [
        pa.array(names, pa.string()).dictionary_encode(),
        *(np.concatenate([getattr(cell, field) for cell in cells]) for field in ("classes", "codes", "counts")),
    ]
    table = pa.table(arrays, schema=_schema())
    header = {STATISTICS_KEY: json.dumps({"version": VERSION, "notice": NOTICE}), **domain_metadata(statistics.domain)}
    with atomic_output(path, overwrite=overwrite, confidential=True) as partial:
        pq.write_table(table.replace_schema_metadata(header), partial, compression="zstd")


def load_statistics(path: Path) -> Statistics:
    """Read statistics back, checked against the domain in the file.

    Raises:
        MissingInputError: The file cannot be opened.
        DataError: Not statistics, of an unknown version, or inconsistent.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
        metadata = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        version = json.loads(metadata[STATISTICS_KEY])["version"]
    except OSError as error:
        if isinstance(error, pa.ArrowException) or path.exists():
            raise _not_statistics(path) from None
        raise MissingInputError(f"{path}: no such file; make one with dpnb-columnar aggregate") from None
    except (pa.ArrowException, KeyError, TypeError, ValueError):
        raise _not_statistics(path) from None
    if version != VERSION:
        raise DataError(f"{path}: statistics version {version!r:.20} is not known to this program (it reads {VERSION})")
    domain = domain_from_metadata(metadata, str(path))
    if domain is None or not table.schema.equals(_schema()):
        raise _not_statistics(path)
    try:
        return assemble(domain, _cells(table))
    except ValueError:
        raise DataError(
            f"{path}: its counts do not fit its own domain; make it again with dpnb-columnar aggregate"
        ) from None


def _schema() -> pa.Schema:
    """Columns of a statistics file: attribute is null for the class counts."""
    import pyarrow as pa

    return pa.schema(
        {
            "attribute": pa.dictionary(pa.int32(), pa.string()),
            "class": pa.int64(),
            "code": pa.int64(),
            "count": pa.int64(),
        }
    )


def _cells(table: pa.Table) -> list[Cells]:
    import polars as pl

    frame = pl.DataFrame(table)
    if frame.null_count().select("class", "code", "count").row(0) != (0, 0, 0):
        raise ValueError("a count without a cell")
    return [
        Cells(None if name is None else str(name), *(part[field].to_numpy() for field in ("class", "code", "count")))
        for (name,), part in frame.group_by("attribute", maintain_order=True)
    ]


def _not_statistics(path: Path) -> DataError:
    return DataError(f"{path}: not a statistics file; make one with dpnb-columnar aggregate")
