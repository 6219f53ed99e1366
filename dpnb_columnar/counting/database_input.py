"""Rows of a database as an input: those of a table, or of a query."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpnb_columnar.counting.countable import OpenedRows
from dpnb_columnar.counting.engines.database import DatabaseRows
from dpnb_columnar.domain.database_address import Database, Dialect
from dpnb_columnar.errors import DataError, MissingInputError, UsageError
from dpnb_columnar.rows.column_checks import matched_columns
from dpnb_columnar.rows.database_query import SelectedRows, query_columns
from dpnb_columnar.rows.parquet import BATCH_ROWS, Batches, NamedRows

if TYPE_CHECKING:
    from dpnb_columnar.counting.find_domain import ResolvedDomain
    from dpnb_columnar.domain import Domain
    from dpnb_columnar.rows.streaming import OpenedFrame

COMMENTS_AND_BLANKS = re.compile(r"--[^\n]*|/\*.*?\*/|[;\s]", re.DOTALL)
"""Comments, blanks and semicolons."""

MAX_QUERY_BYTES = 16 * 2**20
"""Largest file that is read as a query."""


@dataclass(frozen=True)
class DatabaseInput:
    """Rows of a table, or of a query, in a database.

    Attributes:
        database: The database.
        table: Table or view, as the database's dialect writes its name.
        query: File with one SELECT, which is run as it is; one of the two is given.
    """

    database: Database
    table: str | None
    query: Path | None = None
    can_score = True

    @property
    def files(self) -> Sequence[Path]:
        """The database's file, and the query's."""
        return [file for file in (self.database.file, self.query) if file is not None]

    @property
    def names(self) -> Sequence[str]:
        """The database and its rows, for a ledger."""
        file = self.database.file
        name = self.database.name if file is None else str(file.resolve())
        return [name, f"table {self.table}" if self.query is None else f"query {self.query.resolve()}"]

    @property
    def name(self) -> str:
        """The rows, for messages."""
        return f"{self.database}, table {self.table}" if self.query is None else f"{self.database}, query {self.query}"

    def select(self) -> str:
        """Return the query that selects the rows.

        Raises:
            UsageError: if not exactly one of table and query is given, or if the name is not the name of a table.
            MissingInputError: if the query's file cannot be opened.
            DataError: if the query's file holds no query.
        """
        from dpnb_columnar.dialects.rendering import select_columns

        if (self.table is None) == (self.query is None):
            raise UsageError(
                f"{self.database}: say which rows: --table NAME, or where it is an option --query FILE.sql"
            )
        if self.table is not None:
            return select_columns(self.table, None, self.database.dialect)
        assert self.query is not None
        return _read_query(self.query)

    def find_domain(self, dataset: str | None, label: str | None, catalogue: Path | None = None) -> ResolvedDomain:
        """Take the domain of a catalogue entry, since a database carries none.

        Raises:
            UsageError: if no entry is named.
        """
        from dpnb_columnar.counting.find_domain import find_domain

        if dataset is None:
            raise UsageError(f"{self.database}: carries no domain; name an entry of datasets.toml with --dataset")
        return find_domain((), dataset, label, catalogue=catalogue)

    def check(self, domain: Domain) -> OpenedRows:
        """Check the columns of a table. DuckDB and PostgreSQL count by themselves; SQLite's rows are counted here.

        Raises:
            UsageError, MissingInputError, TemporaryError, DataError, UnavailableError: as ``DatabaseRows.check``.
        """
        if self.database.dialect is not Dialect.SQLITE:
            return DatabaseRows(self.database, self.select(), self.table).check(domain)
        from dpnb_columnar.counting.engines.local import aggregate_frame
        from dpnb_columnar.counting.engines.polars_further_passes import differentiate_frame, score_frame

        return OpenedRows(self.open(domain), domain, aggregate_frame, score_frame, differentiate_frame)

    def open(self, domain: Domain) -> OpenedFrame:
        """Check that the rows have the domain's columns, of types that it can be read from. No row is read.

        Raises:
            UsageError, MissingInputError, TemporaryError, DataError, UnavailableError: as ``DatabaseRows.check``.
        """
        from dpnb_columnar.rows.frames import open_frame

        (rows,) = self.scan(domain.counted_columns)
        return open_frame(rows.rows, domain, rows.name, rows.size)

    open_once = open
    """A row of a table is in it once, whatever other rows are alike."""

    def scan(self, columns: Sequence[str] | None = None) -> list[NamedRows]:
        """Return the rows as one lazy frame; the query is run each time that it is computed.

        Args:
            columns: Columns that will be asked for, and match whatever their case; None for all of them as they are.

        Raises:
            UsageError, MissingInputError, TemporaryError, DataError, UnavailableError: as ``DatabaseRows.check``.
        """
        selected = self._selected(columns)
        rows = selected.scan(columns)
        return [NamedRows(self.name, rows, rows.collect_schema(), selected.size)]

    def batches(self, by: Sequence[str] = ()) -> Batches:
        """Return the rows in order, batch by batch.

        Args:
            by: Columns that match whatever their case.

        Raises:
            UsageError, MissingInputError, TemporaryError, DataError, UnavailableError: as ``DatabaseRows.check``.
        """
        rows = self._selected(by)
        schema = rows.scan(None).clear().collect().to_arrow().schema
        parts = (batch for part in rows.parts() for batch in part.to_arrow().cast(schema).to_batches(BATCH_ROWS))
        return Batches(self.name, schema, parts, rows.size)

    def _selected(self, columns: Sequence[str] | None) -> SelectedRows:
        from dpnb_columnar.dialects.rendering import parse_table
        from dpnb_columnar.dialects.table_size import size_query

        query = self.select()
        table = None if self.table is None else parse_table(self.table, self.database.dialect).name
        there = query_columns(self.database, query, table=table)
        names = matched_columns(columns or (), there, self.name)
        size = None if self.table is None else size_query(self.table, self.database.dialect)
        types = {name: (own, there[own]) for name, own in names.items()}
        return SelectedRows(self.database, query, table, types, size)


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
