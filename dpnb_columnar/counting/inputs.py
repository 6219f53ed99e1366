"""Rows, wherever they are, from what a user names: one door for every verb, and the one place that chooses an engine.

Rows are checked before one is opened. Whatever the engine, the statistics are the same integers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dpnb_columnar.counting.countable import OpenedRows, Rows, refuse_copies
from dpnb_columnar.errors import DataError, MissingInputError, UsageError, option
from dpnb_columnar.registry import extension
from dpnb_columnar.rows.sources import EXTENSIONS, Database, DataSource, Dialect, SourceKind, parse_names

if TYPE_CHECKING:
    from dpnb_columnar.counting.find_domain import ResolvedDomain
    from dpnb_columnar.domain import Domain
    from dpnb_columnar.rows.databases import SelectedRows
    from dpnb_columnar.rows.frames import Frame
    from dpnb_columnar.rows.input_files import DataFile
    from dpnb_columnar.rows.parquet import Batches, NamedRows, ParquetSource
    from dpnb_columnar.rows.streaming import OpenedFrame, Source


class Engine(StrEnum):
    """Engine that counts the rows."""

    LOCAL = "local"
    SPARK = "spark"


class Input(Rows, Protocol):
    """Rows that a user names."""

    @property
    def files(self) -> Sequence[DataFile]:
        """The files that are read; no output may replace one of this machine's."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the rows in a ledger."""

    def find_domain(self, dataset: str | None, label: str | None) -> ResolvedDomain:
        """Find the domain of the rows; see ``counting.find_domain``."""


class OpenInput(Input, Protocol):
    """Rows that are read here."""

    def open(self, domain: Domain) -> Source:
        """Check that the rows have the domain's columns, of types that it can be read from. No row is read."""

    def open_once(self, domain: Domain) -> Source:
        """Check the rows as ``open`` does, and that none stands in the data twice as a copy of a file."""


class LocalInput(OpenInput, Protocol):
    """Rows that are read here, and not held in memory."""

    @property
    def name(self) -> str:
        """The rows, for messages."""

    def scan(self, columns: Sequence[str] | None = None) -> list[NamedRows]:
        """Return the rows as lazy frames, one for each file or table, of some columns or of all as they are."""

    def batches(self, by: Sequence[str] = ()) -> Batches:
        """Return the rows in their order, batch by batch."""


def opened_input(engine: Engine, data: Sequence[str] | None, table: str | None) -> AbstractContextManager[Input]:
    """Open the rows that options name, as ``opened`` does."""
    return opened(None if data is None else parse_names(data, spark=engine is Engine.SPARK), table, engine)


@contextmanager
def opened(sources: Sequence[DataSource] | None, table: str | None, engine: Engine) -> Iterator[Input]:
    """Open the rows of sources, else of a table of Spark's catalogs; what an engine starts ends with the block."""
    if engine is Engine.LOCAL:
        yield open_rows(sources, table)
        return
    with extension(EXTENSIONS[SourceKind.SPARK]).opened(sources, table) as rows:
        yield rows


def local_input(data: Sequence[str] | None, table: str | None = None, query: Path | None = None) -> LocalInput:
    """Return the rows that a user names, to be read here: the one door of every verb that reads rows."""
    return open_sources(None if data is None else parse_names(data), table, query)


def open_rows(sources: Sequence[DataSource] | None, table: str | None = None) -> OpenInput:
    """Return the rows that sources stand for, or those of a frame."""
    if sources and sources[0].kind is SourceKind.FRAME:
        return FrameInput(sources[0].address)
    return open_sources(sources, table)


def open_sources(
    sources: Sequence[DataSource] | None, table: str | None = None, query: Path | None = None
) -> LocalInput:
    """Return the rows that sources stand for."""
    if sources is None:
        raise UsageError(
            f"Missing argument 'DATA...': Parquet files, folders or patterns, or a database with {option('table')}"
            + (f"; a table of Spark's catalogs takes {option('engine', 'spark')}" if table is not None else "")
        )
    if (database := database_among(sources, table, query)) is not None:
        return DatabaseInput(database, table, query)
    if (lake := next((source for source in sources if source.is_alone), None)) is None:
        return LocalFiles.of(sources)
    if len(sources) > 1:
        raise UsageError(f"{lake.address}: a table is read alone; run the command once for each input")
    rows: LocalInput = extension(EXTENSIONS[lake.kind]).open_table(lake)
    return rows


def local_files(data: Sequence[str], name: str) -> LocalFiles:
    """Return rows that stand in files, for what reads them more than once, in one order."""
    sources = parse_names(data)
    if any(source.is_alone for source in sources):
        raise UsageError(
            f"{option(name)}: reads files; write the table to Parquet first, or give a frame of it in Python"
        )
    return LocalFiles.of(sources)


def database_among(sources: Sequence[DataSource], table: str | None, query: Path | None = None) -> Database | None:
    """Return the database among what a user names; None if there is none."""
    databases: list[Database] = [source.address for source in sources if source.kind is SourceKind.DATABASE]
    if not databases:
        if table is not None or query is not None:
            raise UsageError(
                f"{option('table' if query is None else 'query')} is for a database: give a DuckDB file (.duckdb), a "
                "SQLite file (.sqlite), or postgresql://USER@HOST/NAME"
            )
        return None
    if len(sources) > 1:
        raise UsageError(f"{databases[0]}: a database is read alone; run the command once for each input")
    return databases[0]


@dataclass(frozen=True, slots=True, repr=False)
class FrameInput:
    """A frame as rows to count; it has no file, and no name by which a ledger could tell it from another."""

    frame: Frame
    files: Sequence[DataFile] = ()
    names: Sequence[str] = ()
    repeatable = True

    def find_domain(self, dataset: str | None, label: str | None) -> ResolvedDomain:
        from dpnb_columnar.counting.find_domain import find_domain

        if dataset is None:
            raise UsageError("a frame carries no domain; give domain=, such as dpnb_columnar.read_domain reads")
        return find_domain((), dataset, label)

    def open(self, domain: Domain) -> OpenedFrame:
        from dpnb_columnar.rows.frames import open_frame

        return open_frame(self.frame, domain)

    open_once = open  # two rows of a frame that are alike are two people's

    def check(self, domain: Domain) -> OpenedRows:
        from dpnb_columnar.counting import local

        return OpenedRows(self.open(domain), local.answer)


@dataclass(frozen=True, slots=True)
class LocalFiles:
    """Parquet files, of this machine and of object stores, that Polars and DuckDB read."""

    files: Sequence[DataFile]
    repeatable = True

    @classmethod
    def of(cls, sources: Sequence[DataSource]) -> LocalFiles:
        from dpnb_columnar.rows.input_files import files_of

        return cls(files_of(sources))

    @property
    def name(self) -> str:
        return str(self.files[0])

    @property
    def names(self) -> Sequence[str]:
        return [str(file.resolve()) if isinstance(file, Path) else file.pinned for file in self.files]

    def find_domain(self, dataset: str | None, label: str | None) -> ResolvedDomain:
        from dpnb_columnar.counting.find_domain import find_domain

        return find_domain(self.files, dataset, label)

    def open(self, domain: Domain) -> ParquetSource:
        from dpnb_columnar.rows.parquet import open_parquet

        return open_parquet(self.files, domain)

    def open_once(self, domain: Domain) -> ParquetSource:

        source = self.open(domain)
        try:
            refuse_copies(source.files)
        except OSError:
            raise source.unreadable() from None
        return source

    def scan(self, columns: Sequence[str] | None = None) -> list[NamedRows]:
        from dpnb_columnar.rows.parquet import scan_files

        return scan_files(self.files, columns)

    def batches(self, by: Sequence[str] = ()) -> Batches:
        from dpnb_columnar.domain.catalogue import entry_of_file
        from dpnb_columnar.domain.declaration import domain_metadata
        from dpnb_columnar.rows.holdout import batches_of_files

        beside: dict[DataFile, dict[str, str]] = {}
        for file in self.files:
            if isinstance(file, Path) and (entry := entry_of_file(file)) is not None:
                beside[file] = domain_metadata(entry.declared)
        return batches_of_files(self.files, beside)

    def check(self, domain: Domain) -> OpenedRows:
        from dpnb_columnar.counting import local

        return OpenedRows(self.open_once(domain), local.answer)


COMMENTS_AND_BLANKS = re.compile(r"--[^\n]*|/\*.*?\*/|[;\s]", re.DOTALL)  # comments, blanks and semicolons
MAX_QUERY_BYTES = 16 * 2**20  # largest file that is read as a query


@dataclass(frozen=True)
class DatabaseInput:
    """Rows of a table, or of a query, in a database."""

    database: Database
    table: str | None  # as the database's dialect writes its name
    query: Path | None = None  # file with one SELECT, which is run as it is; one of the two is given
    repeatable = True

    @property
    def files(self) -> Sequence[DataFile]:
        return [file for file in (self.database.file, self.query) if file is not None]

    @property
    def names(self) -> Sequence[str]:
        file = self.database.file
        name = self.database.name if file is None else str(file.resolve())
        return [name, f"table {self.table}" if self.query is None else f"query {self.query.resolve()}"]

    @property
    def name(self) -> str:
        return f"{self.database}, table {self.table}" if self.query is None else f"{self.database}, query {self.query}"

    def select(self) -> str:
        from dpnb_columnar.dialects.rendering import select_columns

        if (self.table is None) == (self.query is None):
            raise UsageError(
                f"{self.database}: say which rows: {option('table', 'NAME')}, or where it is an option "
                f"{option('query', 'FILE.sql')}"
            )
        if self.table is not None:
            return select_columns(self.table, None, self.database.dialect)
        assert self.query is not None
        return _read_query(self.query)

    def find_domain(self, dataset: str | None, label: str | None) -> ResolvedDomain:
        from dpnb_columnar.counting.find_domain import find_domain

        if dataset is None:
            raise UsageError(
                f"{self.database}: carries no domain; name an entry of datasets.toml with {option('dataset')}"
            )
        return find_domain((), dataset, label)

    def check(self, domain: Domain) -> OpenedRows:
        """Check the columns of a table. A server counts by itself; rows of a file are counted here."""
        if self.database.dialect is Dialect.POSTGRES:
            from dpnb_columnar.counting.database import DatabaseRows

            return DatabaseRows(self.database, self.select(), self.table).check(domain)
        from dpnb_columnar.counting import local

        return OpenedRows(self.open(domain), local.answer)

    def open(self, domain: Domain) -> OpenedFrame:
        from dpnb_columnar.rows.frames import open_frame

        units = () if domain.unit is None else domain.unit.columns
        # A long text is a unit of its own, and another text than the one that a condition names.
        compared = () if domain.label.condition is None else domain.label.columns
        bounded = {*domain.counted_columns}.difference(units, compared)
        rows = self._named(domain.counted_columns, bounded)
        return open_frame(rows.rows, domain, rows.name, rows.size)

    open_once = open  # A row of a table is in it once, whatever other rows are alike

    def scan(self, columns: Sequence[str] | None = None) -> list[NamedRows]:
        return [self._named(columns)]

    def _named(self, columns: Sequence[str] | None, bounded: Collection[str] = ()) -> NamedRows:
        from dpnb_columnar.rows.parquet import NamedRows

        selected = self._selected(columns, bounded)
        rows = selected.scan(columns)
        return NamedRows(self.name, rows, rows.collect_schema(), selected.size)

    def batches(self, by: Sequence[str] = ()) -> Batches:
        from dpnb_columnar.rows.parquet import BATCH_ROWS, Batches

        rows = self._selected(by)
        schema = rows.scan(None).clear().collect().to_arrow().schema
        parts = (
            batch for part in rows.parts(rows.columns) for batch in part.to_arrow().cast(schema).to_batches(BATCH_ROWS)
        )
        return Batches(self.name, schema, parts, rows.size)

    def _selected(self, columns: Sequence[str] | None, bounded: Collection[str] = ()) -> SelectedRows:
        import polars as pl

        from dpnb_columnar.dialects.rendering import parse_table, select_columns, size_query
        from dpnb_columnar.rows.databases import SelectedRows, query_columns
        from dpnb_columnar.rows.row_rules import matched_columns

        query = self.select()
        table = None if self.table is None else parse_table(self.table, self.database.dialect).name
        there = query_columns(self.database, query, table=table)
        names = matched_columns(columns or (), there, self.name)
        types = {name: (own, there[own]) for name, own in names.items()}
        texts = frozenset(own for own, type_ in types.values() if type_ == pl.String)
        if self.table is None:
            return SelectedRows(self.database, query, None, types, texts)
        short = texts.intersection(names[name] for name in bounded if name in names)
        select = partial(select_columns, self.table, dialect=self.database.dialect, bounded=short)
        size = size_query(self.table, self.database.dialect)
        return SelectedRows(self.database, query, table, types, texts - short, select, size)


def _read_query(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            content = stream.read(MAX_QUERY_BYTES + 1)
        if len(content) > MAX_QUERY_BYTES:
            raise DataError(f"{file}: more than {MAX_QUERY_BYTES} bytes; give a file with one SELECT")
        query = content.decode("utf-8").strip().rstrip(";")
    except UnicodeDecodeError:
        raise DataError(f"{file}: not a text in UTF-8; give a file with one SELECT") from None
    except OSError as error:
        raise MissingInputError(f"{file}: cannot be read: {error.strerror}; give a file with one SELECT") from None
    if not COMMENTS_AND_BLANKS.sub("", query):
        raise DataError(f"{file}: holds no query; give a file with one SELECT")
    return query
