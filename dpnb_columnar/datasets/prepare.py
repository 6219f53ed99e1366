"""From the raw files of a catalogue entry to one Parquet file that carries its domain."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dpnb_columnar.datasets.raw import verified
from dpnb_columnar.datasets.readers import READERS, Reader
from dpnb_columnar.domain.catalogue import Entry
from dpnb_columnar.domain.metadata import domain_metadata
from dpnb_columnar.errors import DataError, MissingInputError
from dpnb_columnar.files import atomic_output, check_output

MADE_ELSEWHERE = {
    "census_simulated": "it is simulated: make it with `dpnb-columnar simulate OUT.parquet`",
    "ipums1940": "IPUMS does not allow its redistribution: obtain the 1940 full count from https://usa.ipums.org "
    "as Parquet",
}
"""What to do instead, for data sets without raw files."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A data set made ready for training.

    Attributes:
        path: The Parquet file written.
        rows: Rows in it: every row of the raw files, those outside the domain included.
    """

    path: Path
    rows: int


def prepare(entry: Entry, folder: Path, output: Path, *, overwrite: bool) -> Prepared:
    """Verify the entry's raw files below a folder and write them as one Parquet file with the domain in its metadata.

    Args:
        entry: Data set of the catalogue.
        folder: Folder that the paths of ``entry.raw`` are relative to.
        output: Parquet file to write; it appears complete or not at all.
        overwrite: Replace an existing output.

    Raises:
        DomainError: The entry's domain has faults.
        OutputError: The output exists or cannot be written.
        MissingInputError: A raw file is not there, or this data set is not made from raw files.
        DataError: A raw file has another checksum, or is not in its publisher's form.
    """
    columns = entry.declared.columns
    check_output(output, overwrite)
    reader = _reader(entry)
    paths = verified(entry, folder)
    with atomic_output(output, overwrite=overwrite) as partial:
        rows = _convert(entry, reader, paths, columns, partial)
    return Prepared(output, rows)


def _reader(entry: Entry) -> Reader:
    """The entry's reader.

    Raises:
        MissingInputError: It has none; the message says how to get the data set instead.
    """
    if entry.raw and entry.name in READERS:
        return READERS[entry.name]
    remedy = MADE_ELSEWHERE.get(entry.name, f"prepare reads {', '.join(READERS)}; bring this one as Parquet")
    names = ", ".join(entry.declared.columns)
    raise MissingInputError(f"{entry.name}: no raw files to prepare it from: {remedy}, with the columns {names}")


def _convert(entry: Entry, reader: Reader, paths: Sequence[Path], columns: Sequence[str], partial: Path) -> int:
    """Write the wanted columns, in the order of the raw files, and give the number of rows.

    The engine's own message is not passed on: it may quote a value of a row.
    """
    import polars as pl

    try:
        frame = reader(paths, columns)
        ordered = [name for name in frame.collect_schema() if name in columns]
        if absent := [name for name in columns if name not in ordered]:
            raise DataError(f"{entry.name}: the raw files have no column {', '.join(absent)}; found {ordered}")
        frame.select(ordered).sink_parquet(partial, metadata=domain_metadata(entry.declared))
        return int(pl.scan_parquet(partial).select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, zipfile.BadZipFile, ValueError) as error:
        problem = f"not in the form that the reader of {entry.name} expects ({type(error).__name__})"
        raise DataError(f"{', '.join(map(str, paths))}: {problem}; compare with: {entry.source}") from None
