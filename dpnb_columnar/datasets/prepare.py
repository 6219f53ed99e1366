"""The preparation of a public data set: raw files as published, verified and written as one Parquet file."""

from __future__ import annotations

import gzip
import hashlib
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from dpnb_columnar.datasets.readers import READERS, Reader
from dpnb_columnar.domain.catalogue import Entry
from dpnb_columnar.domain.metadata import domain_metadata
from dpnb_columnar.errors import DataError, MissingInputError
from dpnb_columnar.runtime.outputs import atomic_output, check_output
from dpnb_columnar.runtime.row_progress import done, working

PIECE = 2**20
"""Bytes of a file that are verified at a time."""

COMPRESSED = ".gz"
"""A file with this ending is verified by the checksum of its content, which recompressing does not change."""

MADE_ELSEWHERE = {
    "census_simulated": "it is simulated: make it with `dpnb-columnar simulate OUT.parquet`",
    "ipums1940": "IPUMS does not allow its redistribution: obtain the 1940 full count from https://usa.ipums.org "
    "as Parquet",
}
"""How to get the data sets that have no raw files."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A data set made ready for training.

    Attributes:
        path: The Parquet file written.
        rows: Number of its rows: every row of the raw files, those outside the domain included.
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
        DomainError: If the entry's domain has faults.
        OutputError: If the output exists or cannot be written.
        MissingInputError: If a raw file does not exist, or this data set is not made from raw files.
        DataError: If a raw file has another checksum, or is not in its publisher's form.
    """
    columns = entry.declared.counted_columns
    check_output(output, overwrite)
    reader = _reader(entry)
    paths = raw_files(entry, folder)
    # Every byte is read twice, to be verified and to be converted.
    with working(2 * sum(path.stat().st_size for path in paths), "bytes"):
        verify(entry, paths)
        with atomic_output(output, overwrite=overwrite) as partial:
            rows = _convert(entry, reader, paths, columns, partial)
    return Prepared(output, rows)


def _reader(entry: Entry) -> Reader:
    """Return the reader of the entry's raw files.

    Raises:
        MissingInputError: If there is none; the message says how to get the data set instead.
    """
    if entry.raw and entry.name in READERS:
        return READERS[entry.name]
    remedy = MADE_ELSEWHERE.get(entry.name, f"prepare reads {', '.join(READERS)}; bring this one as Parquet")
    names = ", ".join(entry.declared.counted_columns)
    raise MissingInputError(f"{entry.name}: no raw files to prepare it from: {remedy}, with the columns {names}")


def _convert(entry: Entry, reader: Reader, paths: Sequence[Path], columns: Sequence[str], partial: Path) -> int:
    """Write the wanted columns, in the order of the raw files, and return the number of rows.

    Polars' own message is not passed on: it may quote a value of a row.
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


def raw_files(entry: Entry, folder: Path) -> tuple[Path, ...]:
    """Find the entry's raw files, in the order of the catalogue.

    A file declared as ``name.gz`` may also be there uncompressed, as ``name``.

    Raises:
        MissingInputError: If files are not there (the text names all of them).
    """
    located_files = {relative: located(folder / relative) for relative in entry.raw}
    if absent := [relative for relative, path in located_files.items() if path is None]:
        lines = "".join(f"\n  {folder / relative} (SHA-256 {entry.raw[relative]})" for relative in absent)
        raise MissingInputError(
            f"{entry.name}: {len(absent)} raw file(s) not found:{lines}\n"
            f"Put them there, or name another folder. Source: {entry.source}"
        )
    return tuple(path for path in located_files.values() if path is not None)


def verify(entry: Entry, paths: Sequence[Path]) -> None:
    """Verify the checksums of the entry's raw files.

    Raises:
        MissingInputError: If a file cannot be read.
        DataError: If a file has another checksum, or is damaged.
    """
    for path, expected in zip(paths, entry.raw.values(), strict=True):
        actual = checksum(path)
        if actual != expected.lower():
            raise DataError(
                f"{path}: not the file that {entry.name} declares: expected SHA-256 {expected}, found {actual}; "
                f"get the file again, from: {entry.source}"
            )


def located(path: Path) -> Path | None:
    """Find a file or, for ``name.gz``, the same file uncompressed; None if there is neither."""
    candidates = [path, path.with_suffix("")] if path.suffix == COMPRESSED else [path]
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def checksum(path: Path) -> str:
    """Compute the hexadecimal SHA-256 of a file, of the uncompressed content where the name ends in ``.gz``.

    The file is read piece by piece, and the bytes read from disk are reported.

    Raises:
        MissingInputError: If the file cannot be read.
        DataError: If a gzip file is damaged or cut short.
    """
    try:
        with path.open("rb") as disk:
            digest, read = hashlib.sha256(), 0
            stream = cast(IO[bytes], gzip.GzipFile(fileobj=disk) if path.suffix == COMPRESSED else disk)
            while piece := stream.read(PIECE):
                digest.update(piece)
                done(disk.tell() - read)
                read = disk.tell()
            return digest.hexdigest()
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise DataError(f"{path}: not a complete gzip file; get it again") from None
    except OSError as error:
        raise MissingInputError(f"{path}: cannot be read: {error.strerror}") from None
