"""Ask file by file with checkpoints, so that a run that was killed continues where it stopped. CONFIDENTIAL.

A checkpoint is a file of the answer of one Parquet file, private to its owner, in a folder that is private as well. Its
name is a digest of what was asked, the version of its format, the Parquet file's own digest, that of its beginning,
since small files may have equal footers, and the time when it was last written, since neither changes with a value
that is changed in place further on. Its parts are the Parquet file's digest and that of the answer itself; so a
checkpoint that is damaged, or was renamed, is detected, and its file asked anew.

Of a domain with a unit the sum over files is that of all rows together only if no unit has rows in two files: every
file's count then chooses the rows of its units by all their rows (docs/privacy.md, Lemma 2.10). That is shown by the
files before any is counted, or declared.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpnb_columnar.counting.engines import local
from dpnb_columnar.counting.file_parts import beginning_of, file_parts
from dpnb_columnar.counting.query import AnswerT, Query, with_parts
from dpnb_columnar.counting.statistics_files import FORMATS, format_of, load_answer, save_answer
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.names import named
from dpnb_columnar.errors import BusyError, DataError, Error, OutputError, option
from dpnb_columnar.rows.input_files import folder_values
from dpnb_columnar.rows.object_stores import StoredObject, changed_error
from dpnb_columnar.rows.parquet import ParquetSource, rows_in_footers
from dpnb_columnar.rows.streaming import stream
from dpnb_columnar.rows.unit_order import unit_names, unit_values
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.outputs import refuse_address
from dpnb_columnar.runtime.paths import exists, is_file
from dpnb_columnar.runtime.row_progress import begin_pass, watch_progress
from dpnb_columnar.runtime.unfinished import remove_abandoned

if TYPE_CHECKING:
    import polars as pl

PRIVATE_FOLDER = 0o700

FORMAT = 2
"""What the name of a checkpoint ends in, raised whenever names or contents change. Those of earlier programs, which are
of no use to this one and hold exact counts, are removed."""

NAME = re.compile(
    rf"[0-9a-f]{{64}}\.(?:{'|'.join(kind.suffix for kind in FORMATS.values())})(?:-(\d{{1,9}}))?\.parquet"
)


@confined()
def answer(source: ParquetSource, query: Query[AnswerT], folder: Path, *, whole_units: bool = False) -> AnswerT:
    """Answer a query over the rows of Parquet files, with the same result as ``local.answer``.

    Files that have a checkpoint in the folder are not read again. Several runs may share a folder. Memory holds the
    answer so far and that of one file.

    Args:
        source: Checked Parquet files.
        query: What is asked.
        folder: Folder of the checkpoints; created if it does not exist. CONFIDENTIAL.
        whole_units: Whether no unit is declared to have rows in two files.

    Raises:
        DataError: if a file is damaged, or changes while it is read, or if a unit may have rows in two files.
        OutputError: if the folder is not private, or cannot be written to.
    """
    folder = _prepare(folder)
    if not whole_units:
        _check_units_apart(source, query.domain)
    total = query.empty()
    for answered in _of_each(source, query, folder):
        try:
            # Not by +, which refuses equal counts: files of different people may have them, as in one run.
            total = total.joined(answered)
        except ValueError as error:
            raise DataError(f"{source.names}: {error}") from None
    return total


def _of_each(source: ParquetSource, query: Query[AnswerT], folder: Path) -> Iterator[AnswerT]:
    """Ask each file by itself, and report its rows once that is done, in this run or in an earlier one."""
    advance = begin_pass(source.size)
    for file in source.files:
        with watch_progress(None):  # a pass over one file says nothing of all of them
            answered = _of_file(ParquetSource((file,), source.types), query, folder)
        if advance is not None:
            advance(rows_in_footers([file]) or 0)
        yield answered


def _of_file(source: ParquetSource, query: Query[AnswerT], folder: Path) -> AnswerT:
    """Return the answer of one file, from its checkpoint or by asking it."""
    part, written = _identity(source)
    if not part:  # a file without rows
        return local.answer(source, query)
    kind = format_of(query)
    name = "\n".join([query.digest, str(kind.version), *sorted(part), written])
    checkpoint = folder / f"{hashlib.sha256(name.encode()).hexdigest()}.{kind.suffix}-{FORMAT}.parquet"
    saved = _load(checkpoint, query)
    if saved is not None and saved.parts == part | saved.own_part:
        return with_parts(saved, part)
    answered = local.answer(source, query)
    _check_unchanged(source, answered.parts, (part, written))
    with suppress(BusyError):  # another run writes the same answer
        save_answer(with_parts(answered, part | answered.own_part), checkpoint, overwrite=True)
    return answered


def _load(checkpoint: Path, query: Query[AnswerT]) -> AnswerT | None:
    """Load a checkpoint; None where it does not exist, or does not hold an answer to the query."""
    try:
        return load_answer(checkpoint, query) if is_file(checkpoint) else None
    except Error:
        return None


def _check_units_apart(source: ParquetSource, domain: Domain) -> None:
    """Refuse files if a unit may have rows in two of them: if their values overlap in every column of the unit.

    Raises:
        DataError: if those of two files do, from the smallest to the largest, or if a file is damaged.
    """
    if domain.unit is None or len(source.files) < 2:
        return
    find = partial(_ranges, domain=domain, types=source.types)
    ranges = [stream(ParquetSource((file,), source.types), find, shown=False) for file in source.files]
    for some, others in combinations(filter(None, ranges), 2):
        if all(least <= largest and low <= high for (least, high), (low, largest) in zip(some, others, strict=True)):
            raise DataError(
                f"{source.names}: {option('checkpoint')} counts file by file, and the files' values of "
                f"{named(domain.unit.columns)} overlap, so that a unit may have rows in two of them; leave "
                f"{option('checkpoint')} out, or, if no unit has, declare that with {option('whole-units')}"
            )


def _ranges(rows: pl.LazyFrame, domain: Domain, types: Mapping[str, pl.DataType]) -> list[tuple[Any, Any]]:
    """Find the smallest and the largest value of each column of the unit; empty where no row has a unit."""
    import polars as pl
    import polars.selectors as cs

    units = rows.select(**dict(zip(unit_names(domain), unit_values(domain, types), strict=True))).drop_nulls()
    # Days by their number: Python has no date beyond its calendar.
    bounds = units.with_columns(cs.date().to_physical()).select(
        pl.all().min().name.prefix("least "), pl.all().max().name.prefix("largest ")
    )
    found = bounds.collect(engine="streaming").row(0)
    pairs = zip(found[: len(found) // 2], found[len(found) // 2 :], strict=True)
    return [pair for pair in pairs if pair[0] is not None]


def _identity(source: ParquetSource) -> tuple[frozenset[str], str]:
    """Return a file's digest, empty for one without rows, and the digest of its beginning with its time and folders."""
    import polars as pl

    try:
        (file,) = source.files
        time = file.modified if isinstance(file, StoredObject) else file.stat().st_mtime_ns
        written = f"{beginning_of(file)}\n{time}"
        return file_parts([file]), "\n".join([written, *(map(repr, folder_values(file).items()))])
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        raise source.unreadable() from None


def _check_unchanged(source: ParquetSource, counted: frozenset[str], identity: tuple[frozenset[str], str]) -> None:
    """Refuse a file that is not the one that was to be counted.

    Raises:
        DataError: if the file's digest or identity has changed.
    """
    if counted != identity[0] or _identity(source) != identity:
        raise changed_error(source.names)


def _prepare(folder: Path) -> Path:
    """Create the folder if it does not exist, check that it is private, and remove what is of no use any more.

    Returns:
        The folder itself where its name is a link, or leads through one: another user could change that afterwards.

    Raises:
        OutputError: if the folder cannot be created, is not a folder, is open to others, or belongs to another user.
    """
    refuse_address(folder)
    try:
        if not exists(folder):
            with suppress(FileExistsError):  # another run has made it meanwhile
                folder.mkdir(PRIVATE_FOLDER)
                folder.chmod(PRIVATE_FOLDER)  # whatever the umask, such as 277
        real = Path(os.path.realpath(folder, strict=True))
        status = real.stat()
    except OSError as error:
        raise OutputError(
            f"{folder}: cannot be created: {error.strerror}; name another {option('checkpoint')}"
        ) from None
    if not stat.S_ISDIR(status.st_mode):
        raise OutputError(f"{folder}: is not a folder; name another {option('checkpoint')}")
    if stat.S_IMODE(status.st_mode) & ~PRIVATE_FOLDER:
        raise OutputError(f"{folder}: is open to others, and checkpoints are confidential; chmod 700 {folder}")
    if status.st_uid != os.geteuid():  # root may write there, and its owner would read it
        raise OutputError(f"{folder}: belongs to another user, and checkpoints are confidential; name another folder")
    remove_abandoned(real)
    with suppress(OSError):
        for file in real.iterdir():
            if (found := NAME.fullmatch(file.name)) and int(found[1] or 1) < FORMAT:
                file.unlink(missing_ok=True)
    return real
