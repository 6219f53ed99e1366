"""Rows to count, wherever they are: check them without opening one, then count them.

One place where an engine is chosen. Whatever it is, the statistics are the same integers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dpnb_columnar.counting.countable import OpenedRows, Rows
from dpnb_columnar.errors import UsageError

if TYPE_CHECKING:
    from dpnb_columnar.counting.find_domain import ResolvedDomain
    from dpnb_columnar.domain import Domain
    from dpnb_columnar.rows.frames import Frame

PASSWORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/[^@]*:[^@]*@")
"""A password in an address. What merely looks like one is refused as well."""


class Engine(StrEnum):
    """Engine that counts the rows."""

    LOCAL = "local"
    SPARK = "spark"


class Input(Rows, Protocol):
    """Rows that a user names."""

    @property
    def files(self) -> Sequence[Path]:
        """Those of this machine's files that are read; no output may replace them."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the rows in a ledger."""

    def find_domain(self, dataset: str | None, label: str | None, catalogue: Path | None = None) -> ResolvedDomain:
        """Find the domain of the rows; see ``counting.find_domain``."""


@dataclass(frozen=True, slots=True, repr=False)
class FrameInput:
    """A frame as rows to count; it has no file, and no name by which a ledger could tell it from another."""

    frame: Frame
    files: Sequence[Path] = ()
    names: Sequence[str] = ()
    can_score = True

    def find_domain(self, dataset: str | None, label: str | None, catalogue: Path | None = None) -> ResolvedDomain:
        """Take the domain of a catalogue entry, since a frame carries none.

        Raises:
            UsageError: if no entry is named.
        """
        from dpnb_columnar.counting.find_domain import find_domain

        if dataset is None:
            raise UsageError("a frame carries no domain; give domain=, such as dpnb_columnar.domain.read_domain makes")
        return find_domain((), dataset, label, catalogue=catalogue)

    def check(self, domain: Domain) -> OpenedRows:
        """Check the frame's columns. No row is looked at.

        Raises:
            DataError: if the frame lacks a column, has one of the wrong type or two of one name, or if its query fails.
        """
        from dpnb_columnar.counting.engines.local import aggregate_frame
        from dpnb_columnar.counting.engines.polars_gradients import differentiate_frame
        from dpnb_columnar.counting.engines.polars_scores import score_frame
        from dpnb_columnar.rows.frames import open_frame, to_polars

        frame = to_polars(self.frame, domain.counted_columns)
        open_frame(frame, domain)
        return OpenedRows(frame, domain, aggregate_frame, score_frame, differentiate_frame)


@contextmanager
def opened_input(
    engine: Engine, data: Sequence[str] | None, table: str | None, master: str | None, checkpoint: Path | None = None
) -> Iterator[Input]:
    """Open the rows that options name. What an engine starts is ended with the block.

    Args:
        engine: The engine that counts.
        data: Paths, patterns or, for Spark, addresses; None where none is given.
        table: A table of Spark's in the place of ``data``.
        master: Where Spark runs; None for what its configuration says.
        checkpoint: Folder of the local engine's checkpoints, if any.

    Raises:
        UsageError: if options do not go together.
        MissingInputError: if there is no such file.
    """
    if engine is Engine.LOCAL and (master is not None or table is not None):
        raise UsageError(
            f"{'--table' if master is None else '--master'} is for --engine spark; add that or leave it out"
        )
    if engine is Engine.SPARK and checkpoint is not None:
        raise UsageError("--checkpoint is for --engine local; Spark begins lost work again by itself")
    if table is None and data is None:
        raise UsageError(
            "Missing argument 'DATA...': Parquet files, folders or patterns, or --table with --engine spark"
        )
    if table is not None and data:
        raise UsageError("--table and DATA both say which rows to count; give one of them")
    if any(map(PASSWORD.search, (*(data or ()), table or ""))):
        raise UsageError("a password in an address can be read by every user of the machine; use Spark's configuration")
    if engine is Engine.LOCAL:
        yield LocalFiles(data or (), checkpoint)
        return
    from dpnb_columnar.counting.engines.spark_inputs import LazySession, SparkFiles, SparkTable

    with ExitStack() as stack:
        session = LazySession(stack, master)
        yield SparkFiles(data or (), session) if table is None else SparkTable(table, session)


class LocalFiles:
    """Parquet files that Polars and DuckDB read.

    Attributes:
        files: The files.
        checkpoint: Folder of checkpoints, if any.
    """

    can_score = True

    def __init__(self, data: Sequence[str], checkpoint: Path | None = None) -> None:
        """Resolve paths and patterns.

        Raises:
            MissingInputError: if there is no such file.
        """
        from dpnb_columnar.rows.parquet import resolve_files

        self.files = resolve_files(data)
        self.checkpoint = checkpoint

    @property
    def names(self) -> Sequence[str]:
        """Absolute paths of the files."""
        return [str(file.resolve()) for file in self.files]

    def find_domain(self, dataset: str | None, label: str | None, catalogue: Path | None = None) -> ResolvedDomain:
        """Find the domain: of the entry named, in the files' metadata, or of an entry that claims the files."""
        from dpnb_columnar.counting.find_domain import find_domain

        return find_domain(self.files, dataset, label, catalogue=catalogue)

    def check(self, domain: Domain) -> OpenedRows:
        """Check the columns in the files' footers, and that no file is a copy of another.

        Raises:
            DataError: if a file lacks a column, has one of the wrong type, is damaged, or is a copy.
        """
        from dpnb_columnar.counting.file_parts import refuse_copies
        from dpnb_columnar.rows.parquet import open_parquet

        source = open_parquet(self.files, domain)
        try:
            refuse_copies(source.files)
        except OSError:
            raise source.unreadable() from None
        from dpnb_columnar.counting.engines.polars_gradients import differentiate_files
        from dpnb_columnar.counting.engines.polars_scores import score_files

        if self.checkpoint is None:
            from dpnb_columnar.counting.engines.local import aggregate

            return OpenedRows(source, domain, aggregate, score_files, differentiate_files)
        from dpnb_columnar.counting.checkpoints import aggregate_by_file, score_by_file

        count = partial(aggregate_by_file, folder=self.checkpoint)
        score = partial(score_by_file, folder=self.checkpoint)
        return OpenedRows(source, domain, count, score, differentiate_files)
