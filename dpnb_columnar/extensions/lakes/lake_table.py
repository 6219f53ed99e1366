"""One snapshot of a lake table as rows to count. CONFIDENTIAL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpnb_columnar.core.queries.query import AnswerT, Query, digest_blocks, with_parts
from dpnb_columnar.counting.countable import OpenedRows, refuse_copies
from dpnb_columnar.domain.names import listed
from dpnb_columnar.errors import DataError, MissingInputError
from dpnb_columnar.rows.sources import SNAPSHOT, TableFormat
from dpnb_columnar.runtime.row_progress import Size
from dpnb_columnar.runtime.unfinished import is_file

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from dpnb_columnar.counting.find_domain import ResolvedDomain
    from dpnb_columnar.domain import Domain
    from dpnb_columnar.rows.parquet import Batches, NamedRows
    from dpnb_columnar.rows.streaming import OpenedFrame

PANIC = "PanicException"
"""Name of what native code of a library panics with."""


@dataclass(frozen=True, slots=True, repr=False)
class LakeTable:
    """The live rows of one snapshot of a lake table, whatever is written to the table meanwhile.

    Attributes:
        kind: Its format.
        table: The table in messages.
        place: Where it is, for a ledger.
        table_id: The id that the table was given when it was made; a copy has the same.
        snapshot: Number of the snapshot.
        schema: Its columns.
        files: Folders of its files; no output may be written into one.
        read: Reads the columns of these names, batch by batch, in the same order each time. Confidential.
        size: Returns about how many rows there are.
        data_files: Its Parquet files of this machine, of which none may be a copy of another.
    """

    kind: TableFormat
    table: str
    place: str
    table_id: str
    snapshot: int
    schema: pa.Schema
    files: Sequence[Path]
    read: Callable[[Sequence[str]], Iterator[Any]]
    size: Size
    data_files: Sequence[Path] = ()
    repeatable = True

    @property
    def name(self) -> str:
        """The snapshot in messages, as it can be named again."""
        return f"{self.table}{SNAPSHOT}{self.snapshot}"

    @property
    def names(self) -> Sequence[str]:
        """The snapshot and the table, for a ledger."""
        return [f"{self.place}{SNAPSHOT}{self.snapshot}", f"{self.kind.name} table {self.table_id}"]

    def scan(self, columns: Sequence[str] | None = None) -> list[NamedRows]:
        """Return the rows as one lazy frame, which reads the snapshot each time that it is computed.

        Args:
            columns: Columns that must be readable if they are there; None for all. Others that are not are left out.
        """
        import polars as pl

        from dpnb_columnar.rows.databases import polars_types
        from dpnb_columnar.rows.input_files import lazy_rows
        from dpnb_columnar.rows.parquet import NamedRows

        types = polars_types(self.schema)
        unread = [name for name, type_ in types.items() if type_ == pl.Unknown()]
        if refused := [name for name in unread if columns is None or name in columns]:
            raise DataError(f"{self.name}: column {listed(refused)} is of a type that cannot be read; leave it out")
        types = {name: type_ for name, type_ in types.items() if name not in unread}

        def read(names: list[str]) -> Iterator[pl.DataFrame]:
            for batch in self._batches(names):
                yield pl.DataFrame(batch).select(pl.col(name).cast(types[name]) for name in names)

        return [NamedRows(self.name, lazy_rows(read, types), types, self.size)]

    def batches(self, by: Sequence[str] = ()) -> Batches:
        """Return the rows in order, batch by batch, in the table's own types."""
        from dpnb_columnar.rows.parquet import Batches

        names = self.schema.names
        rows = (batch.select(names).cast(self.schema) for batch in self._batches(names))
        return Batches(self.name, self.schema, rows, self.size)

    def _batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read some columns.

        Raises:
            DataError: if a file is missing or damaged.
        """
        import pyarrow as pa

        try:
            for batch in self.read(names):
                yield pa.record_batch(batch)
        except BaseException as error:
            # Delta's library raises Exception itself, and what its native code panics with is none.
            if isinstance(error, MemoryError) or not (isinstance(error, Exception) or type(error).__name__ == PANIC):
                raise
            raise DataError(
                f"{self.name}: cannot be read to the end: a file of this snapshot is damaged, or went while it was "
                "read, as by VACUUM; restore it, or begin again with a newer snapshot"
            ) from None

    @property
    def parts(self) -> frozenset[str]:
        """Digests of the table and of the snapshot: rows of two snapshots of one table are never added up."""
        identity = [self.kind.name.encode(), self.table_id.encode()]
        snapshot = [*identity, str(self.snapshot).encode()]
        return frozenset([digest_blocks("table", identity), digest_blocks("snapshot", snapshot)])

    def find_domain(self, dataset: str | None, label: str | None) -> ResolvedDomain:
        """Find the domain: of the entry named, or of an entry that claims the table by the name of its folder."""
        from dpnb_columnar.counting.find_domain import find_domain

        path = Path(self.table)
        folder = path.parents[1] if is_file(path) else path  # of a metadata file
        return find_domain([folder], dataset, label, lambda _: {})

    def open(self, domain: Domain) -> OpenedFrame:
        """Check that the table has the domain's columns, of types that it can be read from. No row is read.

        Raises:
            DataError: if a column is missing, or of a type that does not fit.
        """
        from dpnb_columnar.rows.frames import open_frame

        (rows,) = self.scan(domain.counted_columns)
        return open_frame(rows.rows, domain, rows.name, rows.size)

    def open_once(self, domain: Domain) -> OpenedFrame:
        """Check the table as ``open`` does, and that no data file is a copy of another."""
        opened = self.open(domain)
        try:
            refuse_copies(self.data_files)
        except OSError:
            raise gone(self.name) from None
        return opened

    def check(self, domain: Domain) -> OpenedRows:
        """Check the table as ``open_once`` does, for counting."""
        from dpnb_columnar.counting import local

        def answer(source: OpenedFrame, query: Query[AnswerT]) -> AnswerT:
            return with_parts(local.answer(source, query), self.parts)

        return OpenedRows(self.open_once(domain), answer)


def gone(snapshot: str) -> MissingInputError:
    """Return the error to raise where files of a snapshot are gone."""
    return MissingInputError(
        f"{snapshot}: files of this snapshot are gone, as after VACUUM or the expiry of snapshots; name a newer one, "
        "or restore the files"
    )
