"""Files and tables that Spark reads, as rows to count. CONFIDENTIAL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from dpnb_columnar.counting.countable import OpenedRows, copies_error
from dpnb_columnar.counting.find_domain import ResolvedDomain, find_domain
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.names import entry_and_file
from dpnb_columnar.errors import UsageError, option
from dpnb_columnar.extensions.spark.spark import answer, open_files, open_table
from dpnb_columnar.extensions.spark.spark_files import SparkFile, is_address, read_beginning, read_footers
from dpnb_columnar.extensions.spark.spark_session import counting_session
from dpnb_columnar.rows.input_files import DataFile, find_copies, resolve_files
from dpnb_columnar.rows.sources import PASSWORD, DataSource


@contextmanager
def opened(sources: Sequence[DataSource] | None, table: str | None) -> Iterator[SparkFiles | SparkTable]:
    """Open files, or a table of Spark's catalogs. The session begins when it is first used."""
    data = None if sources is None else [str(source.address) for source in sources]
    if table is None and data is None:
        raise UsageError(f"Missing argument 'DATA...': Parquet files, folders or patterns, or {option('table')}")
    if table is not None and data:
        raise UsageError(
            f"{option('table')} and DATA both say which rows to count; give one of them, or, for a database's table, "
            f"leave out {option('engine', 'spark')}"
        )
    if any(map(PASSWORD.search, (*(data or ()), table or ""))):
        raise UsageError("a password in an address can be read by every user of the machine; use Spark's configuration")
    with ExitStack() as stack:
        session = LazySession(stack)
        yield SparkFiles(data or (), session) if table is None else SparkTable(table, session)


@dataclass(frozen=True)
class LazySession:
    """A session of Spark that begins when it is first used."""

    stack: ExitStack

    @cached_property
    def spark(self) -> Any:
        """The session."""
        return self.stack.enter_context(counting_session())


@dataclass(frozen=True)
class SparkFiles:
    """Parquet files that Spark reads."""

    data: Sequence[str]
    session: LazySession
    repeatable = True

    @cached_property
    def files(self) -> Sequence[DataFile]:
        """Those of this machine's files that are read; no output may replace them."""
        if not any(map(is_address, self.data)):
            return self._without_addresses
        return [*self._without_addresses, *(file.local for file in self._opened if file.local)]

    @property
    def names(self) -> Sequence[str]:
        """Absolute paths and addresses of the files."""
        if any(map(is_address, self.data)):
            return [str(file.local or file.address) for file in self._opened]
        return [str(Path(str(file)).resolve()) for file in self.files]

    def find_domain(self, dataset: str | None, label: str | None) -> ResolvedDomain:
        """Find the domain: of the entry named, in the files' metadata, or of an entry that claims the files."""
        named = dataset is not None and entry_and_file(dataset)[0] is not None
        opened = {} if named else {_place(file): file for file in self._opened}
        return find_domain([*opened], dataset, label, lambda name: opened[name].metadata)

    def check(self, domain: Domain) -> OpenedRows:
        """Check the columns in the files' footers, and that no file is a copy of another."""
        session = self.session.spark
        with_rows = [file for file in self._opened if file.part is not None]
        for first, second, *_ in find_copies(with_rows, _part_and_folder, partial(read_beginning, session)):
            raise copies_error(first.name, second.name)
        return OpenedRows(open_files(session, self._opened, domain), answer)

    @cached_property
    def _without_addresses(self) -> Sequence[DataFile]:
        """The files of inputs that are paths."""
        paths = [item for item in self.data if not is_address(item)]
        return resolve_files(paths) if paths or not self.data else ()

    @cached_property
    def _opened(self) -> tuple[SparkFile, ...]:
        _ = self._without_addresses  # refused, if they are, before Java starts
        return read_footers(self.session.spark, self.data)


def _place(file: SparkFile) -> Path | str:
    """Return where a file is, for what may be beside it: its path as typed, that of this machine, or its address."""
    return file.local or file.name if is_address(file.name) else Path(file.name)


def _part_and_folder(file: SparkFile) -> tuple[object, ...]:
    return file.part, *file.folder.items()


@dataclass(frozen=True)
class SparkTable:
    """A table or view in a catalog of Spark's."""

    table: str
    session: LazySession
    files: Sequence[DataFile] = ()
    repeatable = True

    @property
    def names(self) -> Sequence[str]:
        """The table."""
        return [f"table {self.table}"]

    def find_domain(self, dataset: str | None, label: str | None) -> ResolvedDomain:
        """Take the domain of a catalogue entry, since a table carries none."""
        if dataset is None:
            raise UsageError(
                f"table {self.table}: carries no domain; name an entry of datasets.toml with {option('dataset')}"
            )
        return find_domain([], dataset, label)

    def check(self, domain: Domain) -> OpenedRows:
        """Check the table's columns."""
        return OpenedRows(open_table(self.session.spark, self.table, domain), answer)
