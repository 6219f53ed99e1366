"""CONFIDENTIAL. Counting file by file, each file's statistics kept: a run that was killed goes on where it was.

A checkpoint is a statistics file, private to its owner, in a folder that is private as well. Its name is a digest of
the domain, the version of statistics, and the file that was counted: what ``parts.py`` takes of it, and when it was
last written, since that digest alone does not see a value changed in place. What it counted stands in its parts, beside
the digest of its own counts; so one that is damaged, or was given another's name, is found out and counted anew.
"""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import replace
from pathlib import Path

from dpnb_columnar.counting.engines.local import aggregate
from dpnb_columnar.counting.file_parts import file_parts
from dpnb_columnar.counting.statistics import Statistics, assemble, cells_part
from dpnb_columnar.counting.statistics_files import VERSION, load_statistics, save_statistics
from dpnb_columnar.domain import Domain, digest
from dpnb_columnar.errors import DataError, Error, OutputError
from dpnb_columnar.rows.parquet import ParquetSource
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.outputs import remove_abandoned

PRIVATE_FOLDER = 0o700


@confined()
def aggregate_by_file(source: ParquetSource, domain: Domain, folder: Path) -> Statistics:
    """Count every cell of the domain over the rows of the source, as ``aggregate`` does and with the same result.

    Files that the folder has a checkpoint of are not counted again. Several runs may share a folder. Of all counts, the
    sum so far and one file's are in memory.

    Args:
        source: Checked Parquet files.
        domain: The domain to count in.
        folder: Where checkpoints are; created if it is not there. CONFIDENTIAL.

    Raises:
        DataError: A file is damaged, or changed while it was read.
        OutputError: The folder is not private, or cannot be written to.
    """
    _prepare(folder)
    total = assemble(domain, ())
    for file in source.files:
        counted = _counted(ParquetSource((file,), source.types), domain, folder)
        try:
            # Not by +, which refuses a part that is in both: copies of a file count as they do all at once.
            total = assemble(domain, [*total.cells(), *counted.cells()], total.parts | counted.parts)
        except ValueError as error:
            raise DataError(f"{source.names}: {error}") from None
    return total


def _counted(source: ParquetSource, domain: Domain, folder: Path) -> Statistics:
    """The statistics of one file, from its checkpoint or by counting."""
    part, written = _identity(source)
    if not part:  # without rows there is nothing to keep
        return aggregate(source, domain)
    checkpoint = folder / _name(domain, part, written)
    found = _kept(checkpoint, domain, part)
    if found is not None:
        return found
    counted = aggregate(source, domain)
    if counted.parts != part or _identity(source) != (part, written):
        raise DataError(f"{source.names}: changed while it was read; start again when it is complete")
    save_statistics(replace(counted, parts=part | cells_part(counted.cells())), checkpoint, overwrite=True)
    return counted


def _identity(source: ParquetSource) -> tuple[frozenset[str], int]:
    """What tells a file from others and from what it was before: its part, and its time of writing in nanoseconds."""
    import polars as pl

    try:
        return file_parts(source.files), source.files[0].stat().st_mtime_ns
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        raise source.unreadable() from None


def _name(domain: Domain, part: frozenset[str], written: int) -> str:
    text = "\n".join([digest(domain), str(VERSION), *sorted(part), str(written)])
    return f"{hashlib.sha256(text.encode()).hexdigest()}.statistics.parquet"


def _kept(checkpoint: Path, domain: Domain, part: frozenset[str]) -> Statistics | None:
    """What a checkpoint holds; None if there is none that can be trusted."""
    if not checkpoint.is_file():
        return None
    try:
        found = load_statistics(checkpoint, domain)
    except Error:
        return None
    return replace(found, parts=part) if found.parts == part | cells_part(found.cells()) else None


def _prepare(folder: Path) -> None:
    """See to it that the folder is there and private, and that killed runs have left nothing unfinished in it.

    Raises:
        OutputError: With the remedy.
    """
    try:
        if not folder.exists():
            folder.mkdir(PRIVATE_FOLDER, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        raise OutputError(f"{folder}: cannot be created: {error.strerror}; name another --checkpoint") from None
    if not stat.S_ISDIR(status.st_mode):
        raise OutputError(f"{folder}: is not a folder; name another --checkpoint")
    if os.name == "posix" and stat.S_IMODE(status.st_mode) & ~PRIVATE_FOLDER:
        raise OutputError(f"{folder}: is open to others, and checkpoints are confidential; chmod 700 {folder}")
    remove_abandoned(folder)
