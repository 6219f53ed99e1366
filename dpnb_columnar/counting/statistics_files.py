"""Save and load statistics as Parquet files: exact counts, readable by the owner alone, marked as such. CONFIDENTIAL.

The metadata of a file holds the domain, and digests of the files or counts that the statistics were made from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dpnb_columnar.counting.query_results import (
    Kind,
    cells_of,
    kind_of_columns,
    of_another_kind,
    read_delimited,
    read_table,
    statistics_of,
)
from dpnb_columnar.counting.statistics import Cells, Statistics, assemble
from dpnb_columnar.domain import Domain, digest
from dpnb_columnar.domain.declaration import domain_from_metadata, domain_metadata
from dpnb_columnar.domain.declared_domain import weighs_by
from dpnb_columnar.errors import DataError, MissingInputError, UsageError, excerpt
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.outputs import atomic_output
from dpnb_columnar.runtime.parquet_output import parquet_writer

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

STATISTICS_KEY = "dpnb_columnar.statistics"
SCORES_KEY = "dpnb_columnar.score_counts"
GRADIENT_KEY = "dpnb_columnar.gradient_sums"
"""Keys of the metadata in files of a further pass (``score_files``, ``gradient_files``)."""

KEYS = {STATISTICS_KEY: Kind.CELLS, SCORES_KEY: Kind.SCORES, GRADIENT_KEY: Kind.SUMS}

VERSION = 3
READABLE = (2, 3)
"""Versions that are read. Version 2 does not record which statistics were added up."""

ROW_GROUP = 2**20
"""Rows of a row group of a statistics file."""

NOTICE = "CONFIDENTIAL: exact counts of a confidential table; not released, not protected by noise"


@confined()
def save_statistics(statistics: Statistics, path: Path, *, overwrite: bool = False) -> None:
    """Write statistics: one row per non-empty cell, columns attribute (null for the classes), class, code, count.

    Args:
        statistics: The statistics. Confidential.
        path: File to write; only its owner can read it.
        overwrite: Whether to replace an existing file.

    Raises:
        OutputError: if the file exists, or cannot be written.
    """
    digests = {"parts": sorted(statistics.parts), "summands": sorted(statistics.summands)}
    header = {"version": VERSION, "notice": NOTICE, **digests}
    metadata = {STATISTICS_KEY: json.dumps(header), **domain_metadata(statistics.domain)}
    with (
        atomic_output(path, overwrite=overwrite, confidential=True) as partial,
        parquet_writer(partial, _schema().with_metadata(metadata)) as writer,
    ):
        for table in _tables(statistics):
            writer.write_table(table, row_group_size=ROW_GROUP)


def _tables(statistics: Statistics) -> Iterator[pa.Table]:
    """Yield the rows of a statistics file in row groups: there may be as many cells as rows were counted."""
    import pyarrow as pa

    names = pa.array([attribute.name for attribute in statistics.domain.attributes], pa.string())
    waiting, rows = [], 0
    for number, cell in enumerate(statistics.cells()):
        place = pa.scalar(number - 1 if number else None, pa.int32())
        places = pa.repeat(place, len(cell.counts))
        arrays = [pa.DictionaryArray.from_arrays(places, names), cell.classes, cell.codes, cell.counts]
        waiting.append(pa.table(arrays, schema=_schema()))
        rows += len(cell.counts)
        if rows >= ROW_GROUP:
            joined = pa.concat_tables(waiting)
            full = rows - rows % ROW_GROUP
            yield joined.slice(0, full)
            waiting, rows = [joined.slice(full)], rows - full
    if rows:
        yield pa.concat_tables(waiting)


@confined()
def load_statistics(path: Path, domain: Domain | None = None) -> Statistics:
    """Read a statistics file, or the result of a statistics query in a Parquet or CSV file.

    Args:
        path: The file.
        domain: The domain it must have been counted in; needed for the result of a query, which carries none.

    Raises:
        MissingInputError: if there is no such file.
        DataError: if the file does not hold statistics, or if they are of an unknown version, inconsistent, or of
            another domain.
        UsageError: if the file is the result of a query, and no domain is given.
    """
    import pyarrow as pa

    if path.is_dir():
        raise DataError(f"{path}: is a folder; name the files in it, so that it shows whether two count the same rows")
    if not path.exists():
        raise MissingInputError(f"{path}: no such file; make one with dpnb-columnar aggregate")
    if path.name.lower().endswith((".csv", ".csv.gz")):
        return statistics_of(read_delimited(path), _required(domain, path), path)
    try:
        table = read_table(path)
        metadata = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        kind = kind_of_table(table)
        if kind is not None and kind is not Kind.CELLS:
            raise of_another_kind(path, kind, Kind.CELLS)
        if STATISTICS_KEY not in metadata and kind is Kind.CELLS:
            return statistics_of(_frame(table), _required(domain, path), path)
        header = json.loads(metadata[STATISTICS_KEY])
        version, parts, summands = header["version"], header.get("parts", []), header.get("summands", [])
    except (OSError, pa.ArrowException, KeyError, TypeError, AttributeError, ValueError, RecursionError):
        raise _not_statistics(path) from None
    if version not in READABLE:
        raise DataError(
            f"{path}: statistics version {excerpt(version)} is not known to this program (it reads "
            f"{' and '.join(map(str, READABLE))}); make it again with dpnb-columnar aggregate"
        )
    carried = domain_from_metadata(metadata, str(path))
    digests = are_digests(parts) and are_digests(summands)
    if not isinstance(carried, Domain) or not digests or not table.schema.equals(_schema()):
        raise _not_statistics(path)
    if domain is not None and digest(domain) != digest(carried):
        raise DataError(
            f"{path}: was counted in another domain than {domain.name!r}, the one asked for"
            f"{_weights(carried, domain)}; aggregate anew"
        )
    try:
        return replace(assemble(carried, _cells(table), frozenset(parts)), summands=frozenset(summands))
    except ValueError:
        raise DataError(
            f"{path}: its counts do not fit its own domain; make it again with dpnb-columnar aggregate"
        ) from None


def _weights(counted: Domain, wanted: Domain) -> str:
    """Say how two domains differ that differ in the weight of rows alone; nothing of any others."""
    if digest(replace(counted, weight=wanted.weight)) != digest(wanted):
        return ""
    found, other = ("no weight" if each.weight is None else weighs_by(each.weight) for each in (counted, wanted))
    return f": with {found}, not with {other}"


def kind_of_table(table: pa.Table) -> Kind | None:
    """Say what a table of statistics holds: by its file's metadata, or, as the result of a query, by its columns."""
    marked = (kind for key, kind in KEYS.items() if key.encode() in (table.schema.metadata or {}))
    return next(marked, None) or kind_of_columns({name.lower() for name in table.schema.names})


def are_digests(digests: object) -> bool:
    """Say whether a value of a file's metadata is a list of digests."""
    return isinstance(digests, list) and all(isinstance(digest, str) for digest in digests)


def _required(domain: Domain | None, path: Path) -> Domain:
    if domain is None:
        raise UsageError(
            f"{path}: the result of a query carries no domain; name the one it was counted in with --dataset, or with "
            "--domain and the Parquet file that carries it"
        )
    return domain


def _schema() -> pa.Schema:
    """Return the columns of a statistics file: attribute is null for the class counts."""
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
    frame = _frame(table)
    if frame.null_count().select("class", "code", "count").row(0) != (0, 0, 0):
        raise ValueError("a count without a cell")
    return cells_of(frame)


def _frame(table: pa.Table) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(table)


def _not_statistics(path: Path) -> DataError:
    return DataError(f"{path}: not a statistics file; make one with dpnb-columnar aggregate")
