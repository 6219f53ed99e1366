"""Count file by file with checkpoints, so that a run that was killed continues where it stopped. CONFIDENTIAL.

A checkpoint is a statistics file of one Parquet file, private to its owner, in a folder that is private as well. Its
name is a digest of what was counted (the domain, or what a further pass counts), the version of statistics, the
Parquet file's own digest, that of its beginning, since small files may have equal footers, and the time when it was
last written, since neither changes with a value that is changed in place further on. Its parts are the Parquet file's
digest and the digest of the checkpoint's own counts; so a checkpoint that is damaged, or was renamed, is detected, and
its file counted anew.

Of a domain with a unit the sum over files is that of all rows together only if no unit has rows in two files: every
file's count then chooses the rows of its units by all their rows (docs/privacy.md, Lemma 2.10). That is shown by the
files before any is counted, or declared.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dpnb_columnar.counting.engines.local import aggregate
from dpnb_columnar.counting.engines.polars import differentiate_files, score_files
from dpnb_columnar.counting.file_parts import beginning_of, file_parts
from dpnb_columnar.counting.scores import (
    GradientQuery,
    GradientSums,
    ScoreCounts,
    Scores,
    counts_part,
    sum_columns,
    sums_part,
)
from dpnb_columnar.counting.statistics import Statistics, assemble, cells_part
from dpnb_columnar.counting.statistics_files import (
    GRADIENT_VERSION,
    SCORES_VERSION,
    VERSION,
    load_gradient_sums,
    load_score_counts,
    load_statistics,
    save_gradient_sums,
    save_score_counts,
    save_statistics,
)
from dpnb_columnar.domain import Domain, digest
from dpnb_columnar.domain.names import named
from dpnb_columnar.errors import DataError, Error, OutputError, option
from dpnb_columnar.rows.input_files import folder_values
from dpnb_columnar.rows.parquet import ParquetSource, rows_in_footers
from dpnb_columnar.rows.streaming import stream
from dpnb_columnar.rows.unit_order import unit_names, unit_values
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.outputs import remove_abandoned
from dpnb_columnar.runtime.row_progress import begin_pass, watched

if TYPE_CHECKING:
    import polars as pl

PRIVATE_FOLDER = 0o700

Count = TypeVar("Count", Statistics, ScoreCounts, GradientSums)


def _of_each(source: ParquetSource, count: Callable[[ParquetSource], Count]) -> Iterator[Count]:
    """Count each file by itself, and report its rows once that is done, in this run or in an earlier one."""
    advance = begin_pass(source.size)
    for file in source.files:
        with watched(None):  # a pass over one file says nothing of all of them
            counted = count(ParquetSource((file,), source.types))
        if advance is not None:
            advance(rows_in_footers([file]) or 0)
        yield counted


@confined()
def aggregate_by_file(source: ParquetSource, domain: Domain, folder: Path, *, whole_units: bool = False) -> Statistics:
    """Count every cell of the domain over the rows of Parquet files, with the same result as ``local.aggregate``.

    Files that have a checkpoint in the folder are not counted again. Several runs may share a folder. Memory holds the
    sum so far and the counts of one file.

    Args:
        source: Checked Parquet files.
        domain: The domain to count in.
        folder: Folder of the checkpoints; created if it does not exist. CONFIDENTIAL.
        whole_units: Whether no unit is declared to have rows in two files.

    Raises:
        DataError: if a file is damaged, or changes while it is read, or if a unit may have rows in two files.
        OutputError: if the folder is not private, or cannot be written to.
    """
    folder = _prepare(folder)
    if not whole_units:
        _check_units_apart(source, domain)
    total = assemble(domain, ())
    for counted in _of_each(source, partial(_counted, domain=domain, folder=folder)):
        try:
            # Not by +, which refuses parts of equal counts: files of different people may have them, as in one run.
            total = assemble(domain, [*total.cells(), *counted.cells()], total.parts | counted.parts)
        except ValueError as error:
            raise DataError(f"{source.names}: {error}") from None
    return total


@confined()
def differentiate_by_file(
    source: ParquetSource, query: GradientQuery, folder: Path, *, whole_units: bool = False
) -> GradientSums:
    """Sum up a round's gradient over the rows of Parquet files, as ``polars_further_passes.differentiate_files`` does.

    Checkpoints are kept as by ``score_by_file``; arguments as there, but for the ``query`` to sum up.

    Raises:
        DataError, OutputError: as ``aggregate_by_file``.
    """
    folder = _prepare(folder)
    if not whole_units:
        _check_units_apart(source, query.domain)
    weights, log_odds, rows = (np.zeros(len(names), dtype=np.int64) for names in sum_columns(query))
    parts = frozenset[str]()
    for summed in _of_each(source, partial(_summed, query=query, folder=folder)):
        # Not by +, which refuses equal parts, as above.
        weights, log_odds, rows = weights + summed.weights, log_odds + summed.log_odds, rows + summed.rows
        parts |= summed.parts
    return GradientSums(query, weights, log_odds, rows, parts)


def _summed(source: ParquetSource, query: GradientQuery, folder: Path) -> GradientSums:
    """Return the sums of one file, from its checkpoint or by summing up."""
    part, written = _identity(source)
    if not part:  # a file without rows
        return differentiate_files(source, query)
    checkpoint = folder / f"{_name([query.digest, str(GRADIENT_VERSION)], part, written)}.gradient.parquet"
    try:
        saved = load_gradient_sums(checkpoint, query) if checkpoint.is_file() else None
    except Error:
        saved = None
    if saved is not None and saved.parts == part | sums_part(saved):
        return replace(saved, parts=part)
    summed = differentiate_files(source, query)
    _check_unchanged(source, summed.parts, (part, written))
    save_gradient_sums(replace(summed, parts=part | sums_part(summed)), checkpoint, overwrite=True)
    return summed


@confined()
def score_by_file(source: ParquetSource, scores: Scores, folder: Path, *, whole_units: bool = False) -> ScoreCounts:
    """Count bins of scores over the rows of Parquet files, as ``polars_further_passes.score_files`` does.

    Checkpoints are kept as by ``aggregate_by_file``, under names of their own for every model.

    Args:
        source: Checked Parquet files.
        scores: What to count.
        folder: Folder of the checkpoints; created if it does not exist. CONFIDENTIAL.
        whole_units: As for ``aggregate_by_file``.

    Raises:
        DataError, OutputError: as ``aggregate_by_file``.
    """
    folder = _prepare(folder)
    if not whole_units:
        _check_units_apart(source, scores.domain)
    counts, parts = np.zeros((scores.bins, len(scores.domain.classes)), dtype=np.int64), frozenset[str]()
    for counted in _of_each(source, partial(_counted_scores, scores=scores, folder=folder)):
        # Not by +, which refuses equal parts, as above.
        counts, parts = counts + counted.counts, parts | counted.parts
    return ScoreCounts(scores, counts, parts)


def _counted_scores(source: ParquetSource, scores: Scores, folder: Path) -> ScoreCounts:
    """Return the counts of one file's scores, from its checkpoint or by counting."""
    part, written = _identity(source)
    if not part:  # a file without rows
        return score_files(source, scores)
    checkpoint = folder / f"{_name([scores.digest, str(SCORES_VERSION)], part, written)}.scores.parquet"
    try:
        saved = load_score_counts(checkpoint, scores) if checkpoint.is_file() else None
    except Error:
        saved = None
    if saved is not None and saved.parts == part | counts_part(saved.counts):
        return replace(saved, parts=part)
    counted = score_files(source, scores)
    _check_unchanged(source, counted.parts, (part, written))
    save_score_counts(replace(counted, parts=part | counts_part(counted.counts)), checkpoint, overwrite=True)
    return counted


def _counted(source: ParquetSource, domain: Domain, folder: Path) -> Statistics:
    """Return the statistics of one file, from its checkpoint or by counting."""
    part, written = _identity(source)
    if not part:  # a file without rows
        return aggregate(source, domain)
    checkpoint = folder / f"{_name([digest(domain), str(VERSION)], part, written)}.statistics.parquet"
    saved = _load(checkpoint, domain, part)
    if saved is not None:
        return saved
    counted = aggregate(source, domain)
    _check_unchanged(source, counted.parts, (part, written))
    save_statistics(replace(counted, parts=part | cells_part(counted.cells())), checkpoint, overwrite=True)
    return counted


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
        written = f"{beginning_of(file)}\n{file.stat().st_mtime_ns}"
        return file_parts([file]), "\n".join([written, *(map(repr, folder_values(file).items()))])
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        raise source.unreadable() from None


def _check_unchanged(source: ParquetSource, counted: frozenset[str], identity: tuple[frozenset[str], str]) -> None:
    """Refuse a file that is not the one that was to be counted.

    Raises:
        DataError: if the file's digest or identity has changed.
    """
    if counted != identity[0] or _identity(source) != identity:
        raise DataError(f"{source.names}: changed while it was read; start again when it is complete")


def _name(kind: Sequence[str], part: frozenset[str], written: str) -> str:
    text = "\n".join([*kind, *sorted(part), written])
    return hashlib.sha256(text.encode()).hexdigest()


def _load(checkpoint: Path, domain: Domain, part: frozenset[str]) -> Statistics | None:
    """Load the statistics of a checkpoint; None where it does not exist, or is not the checkpoint of this file."""
    if not checkpoint.is_file():
        return None
    try:
        saved = load_statistics(checkpoint, domain)
    except Error:
        return None
    return replace(saved, parts=part) if saved.parts == part | cells_part(saved.cells()) else None


def _prepare(folder: Path) -> Path:
    """Create the folder if it does not exist, check that it is private, and remove what killed runs left unfinished.

    Returns:
        The folder itself where its name is a link, or leads through one: another user could change that afterwards.

    Raises:
        OutputError: if the folder cannot be created, is not a folder, is open to others, or belongs to another user.
    """
    try:
        if not folder.exists():
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
    if os.name == "posix" and stat.S_IMODE(status.st_mode) & ~PRIVATE_FOLDER:
        raise OutputError(f"{folder}: is open to others, and checkpoints are confidential; chmod 700 {folder}")
    if os.name == "posix" and status.st_uid != os.geteuid():  # root may write there, and its owner would read it
        raise OutputError(f"{folder}: belongs to another user, and checkpoints are confidential; name another folder")
    remove_abandoned(real)
    return real
