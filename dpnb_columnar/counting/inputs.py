"""Rows to count, wherever they are: check them without opening one, then count them.

One place where an engine is chosen. Whatever it is, the statistics are the same integers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dpnb_columnar.errors import UsageError

if TYPE_CHECKING:
    from dpnb_columnar.counting.engines.spark import SparkSource
    from dpnb_columnar.counting.engines.spark_files import SparkFile
    from dpnb_columnar.counting.find_domain import FoundDomain
    from dpnb_columnar.counting.statistics import Statistics
    from dpnb_columnar.domain import Domain
    from dpnb_columnar.rows.frames import Frame
    from dpnb_columnar.rows.parquet import ParquetSource

PASSWORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/[^@]*:[^@]*@")
"""In an address. What merely looks like one is refused as well."""


class Engine(StrEnum):
    """What counts the rows."""

    LOCAL = "local"
    SPARK = "spark"


class CheckedRows(Protocol):
    """Rows that have every column of a domain."""

    def count(self) -> Statistics:
        """Count every cell of the domain. Confidential."""


class Rows(Protocol):
    """Rows that can be counted in a domain."""

    def check(self, domain: Domain) -> CheckedRows:
        """Check that the rows have the domain's columns, in types that the domain can be read from. Opens no row."""


class Input(Rows, Protocol):
    """Rows that a user names."""

    @property
    def files(self) -> Sequence[Path]:
        """Those of this machine's files that are read; no output may replace them."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the rows in a ledger."""

    def find_domain(self, dataset: str | None, label: str | None) -> FoundDomain:
        """Find the domain of the rows; see ``counting.find_domain``."""


@dataclass(frozen=True, slots=True, repr=False)
class Counted:
    """Rows that have been counted before. Confidential."""

    statistics: Statistics

    def check(self, domain: Domain) -> Counted:
        return self

    def count(self) -> Statistics:
        return self.statistics


@dataclass(frozen=True, slots=True, repr=False)
class FrameInput:
    """A frame as rows to count; it has no file, and no name by which a ledger could tell it from another."""

    frame: Frame
    files: Sequence[Path] = ()
    names: Sequence[str] = ()

    def find_domain(self, dataset: str | None, label: str | None) -> FoundDomain:
        """Take the domain of a catalogue entry, since a frame carries none.

        Raises:
            UsageError: if no entry is named.
        """
        from dpnb_columnar.counting.find_domain import find_domain

        if dataset is None:
            raise UsageError("a frame carries no domain; give domain=, such as dpnb_columnar.domain.read_domain makes")
        return find_domain((), dataset, label)

    def check(self, domain: Domain) -> CheckedFrame:
        from dpnb_columnar.rows.frames import open_frame

        open_frame(self.frame, domain)
        return CheckedFrame(self.frame, domain)


@dataclass(frozen=True, slots=True, repr=False)
class CheckedFrame:
    """A frame that has every column of a domain."""

    frame: Frame
    domain: Domain

    def count(self) -> Statistics:
        from dpnb_columnar.counting.engines.local import aggregate_frame

        return aggregate_frame(self.frame, self.domain)


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
    with ExitStack() as stack:
        session = _Session(stack, master)
        yield SparkFiles(data or (), session) if table is None else SparkTable(table, session)


class LocalFiles:
    """Parquet files that Polars and DuckDB read."""

    def __init__(self, data: Sequence[str], checkpoint: Path | None = None) -> None:
        from dpnb_columnar.rows.parquet import resolve_files

        self.files = resolve_files(data)
        self.checkpoint = checkpoint

    @property
    def names(self) -> Sequence[str]:
        return [str(file.resolve()) for file in self.files]

    def find_domain(self, dataset: str | None, label: str | None) -> FoundDomain:
        from dpnb_columnar.counting.find_domain import find_domain

        return find_domain(self.files, dataset, label)

    def check(self, domain: Domain) -> CheckedFiles:
        from dpnb_columnar.rows.parquet import open_parquet

        return CheckedFiles(open_parquet(self.files, domain), domain, self.checkpoint)


@dataclass(frozen=True, slots=True)
class CheckedFiles:
    """Parquet files that have every column of a domain."""

    source: ParquetSource
    domain: Domain
    checkpoint: Path | None

    def count(self) -> Statistics:
        if self.checkpoint is None:
            from dpnb_columnar.counting.engines.local import aggregate

            return aggregate(self.source, self.domain)
        from dpnb_columnar.counting.checkpoints import aggregate_by_file

        return aggregate_by_file(self.source, self.domain, self.checkpoint)


@dataclass(frozen=True)
class _Session:
    """A session of Spark that begins when it is first used."""

    stack: ExitStack
    master: str | None

    @cached_property
    def spark(self) -> Any:
        from dpnb_columnar.counting.engines.spark_session import counting_session

        return self.stack.enter_context(counting_session(self.master))


@dataclass(frozen=True)
class SparkFiles:
    """Parquet files that Spark reads."""

    data: Sequence[str]
    session: _Session

    @cached_property
    def files(self) -> Sequence[Path]:
        from dpnb_columnar.counting.engines.spark_files import is_address
        from dpnb_columnar.rows.parquet import resolve_files

        local = [item for item in self.data if not is_address(item)]
        found = resolve_files(local) if local or not self.data else ()
        if len(local) == len(self.data):
            return found
        return [*found, *(file.local for file in self._opened if file.local)]

    @property
    def names(self) -> Sequence[str]:
        from dpnb_columnar.counting.engines.spark_files import is_address

        if any(map(is_address, self.data)):
            return [str(file.local or file.address) for file in self._opened]
        return [str(file.resolve()) for file in self.files]

    def find_domain(self, dataset: str | None, label: str | None) -> FoundDomain:
        from dpnb_columnar.counting.find_domain import find_domain

        opened = {} if dataset else {file.name: file for file in self._opened}
        return find_domain([*opened], dataset, label, lambda name: opened[name].metadata)

    def check(self, domain: Domain) -> CheckedSparkRows:
        from dpnb_columnar.counting.engines.spark import open_files

        return CheckedSparkRows(open_files(self.session.spark, self._opened, domain), domain)

    @cached_property
    def _opened(self) -> tuple[SparkFile, ...]:
        from dpnb_columnar.counting.engines.spark_files import read_footers

        return read_footers(self.session.spark, self.data)


@dataclass(frozen=True)
class SparkTable:
    """A table or view in a catalog of Spark's."""

    table: str
    session: _Session
    files: Sequence[Path] = ()

    @property
    def names(self) -> Sequence[str]:
        return [f"table {self.table}" + (f" of {self.session.master}" if self.session.master else "")]

    def find_domain(self, dataset: str | None, label: str | None) -> FoundDomain:
        from dpnb_columnar.counting.find_domain import find_domain

        if dataset is None:
            raise UsageError(f"table {self.table}: carries no domain; name an entry of datasets.toml with --dataset")
        return find_domain([], dataset, label)

    def check(self, domain: Domain) -> CheckedSparkRows:
        from dpnb_columnar.counting.engines.spark import open_table

        return CheckedSparkRows(open_table(self.session.spark, self.table, domain), domain)


@dataclass(frozen=True, slots=True)
class CheckedSparkRows:
    """Files or a table that Spark has opened, with every column of a domain."""

    source: SparkSource
    domain: Domain

    def count(self) -> Statistics:
        from dpnb_columnar.counting.engines.spark import aggregate

        return aggregate(self.source, self.domain)
