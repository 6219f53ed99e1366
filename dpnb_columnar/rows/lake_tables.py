"""Read the live rows of one snapshot of a lake table. CONFIDENTIAL.

Such a table is a log of changes beside its files (``table_formats``), and its library knows the format: which files are
alive, what was deleted of them, partition columns, columns that were added or renamed. So the library reads, batch by
batch, and this module says what of it: a snapshot is chosen once, when the table is opened, and every pass reads that
one, whatever is written to the table meanwhile. It is named by the table's own id and by its own number, which
together stand for the same rows for ever.

A library's own errors may quote values, so none of their texts is shown.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from dpnb_columnar.domain.names import listed
from dpnb_columnar.errors import DataError, Error, MissingInputError, TemporaryError, UnavailableError
from dpnb_columnar.rows.table_formats import DELTA, ICEBERG, TABLE_FORMATS, TableFormat, has_log, is_entry
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.paths import exists, is_file, is_folder
from dpnb_columnar.runtime.row_progress import Size

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from dpnb_columnar.rows.parquet import Batches, NamedRows

SNAPSHOT = "@"
"""What stands between the name of a table and the number of a snapshot."""

ONE_BY_ONE = {"datafusion.execution.target_partitions": "1", "datafusion.execution.batch_size": "65536"}
"""Settings by which Delta's library reads one file after the other, so that every pass has the same order."""

PANIC = "PanicException"
"""Name of what native code of a library panics with."""


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A lake table that a user names.

    Attributes:
        table: Its folder, or one of its metadata files, or its name in a catalogue.
        kind: Its format.
        snapshot: Number of the snapshot; None for the newest.
    """

    table: str
    kind: TableFormat
    snapshot: int | None = None


@dataclass(frozen=True, slots=True, repr=False)
class LakeTable:
    """One snapshot of a lake table.

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

    @property
    def name(self) -> str:
        """The snapshot in messages, as it can be named again."""
        return f"{self.table}{SNAPSHOT}{self.snapshot}"

    @property
    def names(self) -> Sequence[str]:
        """The snapshot and the table, for a ledger."""
        return [f"{self.place}{SNAPSHOT}{self.snapshot}", f"{self.kind.name} table {self.table_id}"]

    def scan(self, columns: Collection[str] | None = None) -> NamedRows:
        """Return the rows as a lazy frame, which reads the snapshot each time that it is computed.

        Args:
            columns: Columns that must be readable if they are there; None for all. Others that are not are left out.

        Raises:
            DataError: if one is not.
        """
        import polars as pl

        from dpnb_columnar.rows.database_query import polars_types
        from dpnb_columnar.rows.lazy_rows import lazy_rows
        from dpnb_columnar.rows.parquet import NamedRows

        types = polars_types(self.schema)
        unread = [name for name, type_ in types.items() if type_ == pl.Unknown()]
        if refused := [name for name in unread if columns is None or name in columns]:
            raise DataError(f"{self.name}: column {listed(refused)} is of a type that cannot be read; leave it out")
        types = {name: type_ for name, type_ in types.items() if name not in unread}

        def read(names: list[str]) -> Iterator[pl.DataFrame]:
            for batch in self._batches(names):
                yield pl.DataFrame(batch).select(pl.col(name).cast(types[name]) for name in names)

        return NamedRows(self.name, lazy_rows(read, types), types, self.size)

    def batches(self) -> Batches:
        """Return the rows batch by batch, in the table's own types."""
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


CATALOGUE = "iceberg:"
"""How the name of a table begins that the catalogue has which pyiceberg is configured with."""


def named_table(name: str) -> NamedTable | None:
    """Return the lake table that a name stands for, such as ``lake/people`` or, at an earlier time, ``lake/people@12``.

    Returns:
        The table; None if the name stands for none whose format is read.
    """
    path, snapshot = Path(name), None
    if not exists(path):
        place, at, number = name.rpartition(SNAPSHOT)
        if at and number.isascii() and number.isdigit():
            name, path, snapshot = place, Path(place), int(number)
    if name.startswith(CATALOGUE) and not exists(path):
        return NamedTable(name, ICEBERG, snapshot)
    for kind in TABLE_FORMATS:
        if kind.extra is not None and has_log(path, kind):
            return NamedTable(name, kind, snapshot)
    return NamedTable(name, ICEBERG, snapshot) if is_entry(path, ICEBERG) else None


@confined()
def open_table(named: NamedTable) -> LakeTable:
    """Open a table: read its log, and no row.

    Raises:
        UnavailableError: if the library of its format is not installed.
        MissingInputError: if there is no such table or snapshot, or if a file of it is gone.
        DataError: if the log is damaged, or needs what the library does not support.
        TemporaryError: if the catalogue of the table does not answer.
    """
    try:
        if named.kind is DELTA:
            from deltalake import DeltaTable
        else:
            from pyiceberg.io.pyarrow import PyArrowFileIO  # noqa: F401
    except ImportError:
        kind, extra = named.kind.name, named.kind.extra
        raise UnavailableError(
            f"reading {kind} tables needs a library; install it with: pip install 'dpnb-columnar[{extra}]'"
        ) from None
    with _log_errors(named):
        if named.kind is DELTA:
            return delta_snapshot(DeltaTable(named.table, version=named.snapshot), named.table)
        if named.table.startswith(CATALOGUE):
            return iceberg_snapshot(_of_catalogue(named), named.table, named.table, named.snapshot)
        file = _metadata_file(Path(named.table))
        return iceberg_snapshot(_of_metadata(file), named.table, str(file.resolve().parents[1]), named.snapshot)


@confined()
def table_object(data: object) -> LakeTable | None:
    """Return the snapshot that a table of Delta's library, or of pyiceberg, has loaded; None if the data is no such.

    Raises:
        MissingInputError, DataError: as ``open_table``.
    """
    # Who holds a table of a library has loaded that.
    deltalake, pyiceberg = sys.modules.get("deltalake"), sys.modules.get("pyiceberg.table")
    if deltalake is not None and isinstance(data, deltalake.DeltaTable):
        with _log_errors(NamedTable("the table", DELTA)):
            return delta_snapshot(data)
    if pyiceberg is not None and isinstance(data, pyiceberg.Table):
        with _log_errors(NamedTable("the table", ICEBERG)):
            return iceberg_snapshot(data, ".".join(data.name()), data.location())
    return None


UNSUPPORTED = ("not supported", "unsupported", "not yet support", "unrecognized filesystem")
"""Parts of the libraries' texts, in lower case, where a table needs what they do not know."""

NOT_THAT_FAR = ("logsegment end version", "no files in log segment", "snapshot not found")
"""Parts of their texts where a log does not have a snapshot."""


@contextmanager
def _log_errors(named: NamedTable) -> Iterator[None]:
    """Report a log that cannot be read as an error of this package; the libraries' own texts are not shown."""
    table, kind = named.table, named.kind
    try:
        yield
    except (Error, MemoryError):
        raise
    except Exception as error:  # whatever a parser fails with
        text = str(error).lower()
        if any(part in text for part in UNSUPPORTED):
            raise DataError(
                f"{table}: needs a feature of {kind.name} that its library does not support; install a newer version "
                f"of that (the extra {kind.extra}), or write the live rows to Parquet with what writes the table"
            ) from None
        if named.snapshot is not None and (
            isinstance(error, OverflowError) or any(part in text for part in NOT_THAT_FAR)
        ):
            raise MissingInputError(
                f"{table}: has no snapshot {named.snapshot}, or its log does not reach back to it any more; leave "
                f"{SNAPSHOT}{named.snapshot} out for the newest"
            ) from None
        raise DataError(
            f"{table}: the log of the {kind.name} table ({kind.log}) is damaged, incomplete or cannot be opened; "
            "restore it, or write the live rows to Parquet with what writes the table"
        ) from None


def delta_snapshot(table: Any, name: str | None = None) -> LakeTable:
    """Return the snapshot that a table of Delta's library has loaded; what that loads later changes nothing.

    Args:
        table: The table.
        name: Its name in messages; None for its address.

    Raises:
        MissingInputError: if files of the snapshot are gone.
    """
    import pyarrow as pa
    from deltalake import DeltaTable, QueryBuilder

    version, path = table.version(), _local_path(table.table_uri)
    place = table.table_uri if path is None else str(path)
    pinned = DeltaTable(path or place, version=version, storage_options=table._storage_options)
    shown = name or place
    if path is not None:
        _check_files(f"{shown}{SNAPSHOT}{version}", pinned.file_uris())

    def read(names: Sequence[str]) -> Iterator[Any]:
        columns = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        return iter(QueryBuilder(ONE_BY_ONE).register("live", pinned).execute(f"SELECT {columns} FROM live"))

    def size() -> int | None:
        rows = pa.table(pinned.get_add_actions())["num_records"].to_pylist()
        return None if None in rows else sum(rows)

    schema = pa.schema(pinned.schema().to_arrow())
    files = () if path is None else (path,)
    return LakeTable(DELTA, shown, place, str(pinned.metadata().id), version, schema, files, read, size)


VERSION_HINT = "version-hint.text"
"""File by which a table without a catalogue tells which version is the newest."""


def _metadata_file(table: Path) -> Path:
    """Return the metadata file of a table's newest version: itself, or by the hint in its folder, or by its number.

    Raises:
        DataError: if two files have the highest number, so that nothing here says which one counts.
    """
    if is_file(table):
        return table
    folder = table / ICEBERG.log
    numbered: dict[int, list[Path]] = {}
    for file in sorted(folder.iterdir()):
        if (number := re.match(r"v?(\d+)", file.name)) and is_entry(file, ICEBERG):
            numbered.setdefault(int(number[1]), []).append(file)
    newest = max(numbered)
    if is_file(hint := folder / VERSION_HINT):
        hinted = hint.read_text("utf-8").strip()
        if not hinted.isdigit():
            return folder / (hinted if hinted.endswith(".json") else f"{hinted}.metadata.json")
        newest = int(hinted)
        while newest + 1 in numbered:  # the hint is written after its version
            newest += 1
    if len(numbered[newest]) > 1:
        raise DataError(
            f"{table}: {listed([file.name for file in numbered[newest]])} are both of the newest version, and its "
            "catalogue alone knows which one counts; give that file in place of the folder"
        )
    return numbered[newest][0]


def _of_metadata(file: Path) -> Any:
    """Return a table of pyiceberg's by its metadata file, which reads files of this machine alone.

    Its author is not trusted: what metadata say of how to read, and where from, is not followed elsewhere.
    """
    from pyiceberg.catalog.noop import NoopCatalog
    from pyiceberg.io.pyarrow import PyArrowFileIO
    from pyiceberg.serializers import FromInputFile
    from pyiceberg.table import Table

    files: Any = PyArrowFileIO()
    opened = files.fs_by_scheme

    def local(scheme: str, netloc: str | None = None) -> Any:
        if scheme != "file":
            raise DataError(
                f"{file}: some of its files lie at an address ({scheme}:); open it by its catalogue, {CATALOGUE}"
                "NAMESPACE.TABLE, or give a table of pyiceberg's in Python"
            )
        return opened(scheme, netloc)

    files.fs_by_scheme = local
    metadata = FromInputFile.table_metadata(files.new_input(str(file.resolve())))
    return Table((file.stem,), metadata, str(file), files, NoopCatalog("none"))


def _of_catalogue(named: NamedTable) -> Any:
    """Return a table of pyiceberg's from the catalogue that it is configured with.

    Raises:
        MissingInputError: if the catalogue has no such table.
        TemporaryError: if it is not configured, or does not answer.
    """
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import NoSuchIdentifierError, NoSuchNamespaceError, NoSuchTableError

    name = named.table.removeprefix(CATALOGUE)
    try:
        return load_catalog().load_table(name)
    except (NoSuchTableError, NoSuchNamespaceError, NoSuchIdentifierError):
        raise MissingInputError(
            f"{named.table}: the catalogue has no such table; give {CATALOGUE}NAMESPACE.TABLE as it names it"
        ) from None
    except Exception:  # whatever a catalogue's client fails with; its text may hold credentials
        raise TemporaryError(
            f"{named.table}: the catalogue does not answer, or none is configured; check ~/.pyiceberg.yaml or "
            "PYICEBERG_CATALOG__DEFAULT__URI, and try again"
        ) from None


def iceberg_snapshot(table: Any, name: str, address: str, snapshot: int | None = None) -> LakeTable:
    """Return a snapshot of a table of pyiceberg's; what that loads later changes nothing.

    Args:
        table: The table.
        name: Its name in messages.
        address: Where it is.
        snapshot: Number of the snapshot; None for the current one.

    Raises:
        MissingInputError: if files of the snapshot are gone.
        DataError: if nothing was ever written to the table.
    """
    from pyiceberg.expressions import AlwaysTrue
    from pyiceberg.io.pyarrow import ArrowScan, schema_to_pyarrow

    from dpnb_columnar.rows.streaming import valid_texts

    metadata, files_of = table.metadata, table.io
    current = metadata.current_snapshot_id if snapshot is None else snapshot
    if current is None:
        raise DataError(f"{name}: has no snapshot: nothing was written to the table yet")
    columns = table.scan(snapshot_id=snapshot)
    # The files are listed once, and every pass reads these.
    tasks = list(table.scan(snapshot_id=current).plan_files())
    locations = [each.file_path for task in tasks for each in (task.file, *task.delete_files)]
    for location in locations:
        files_of.new_input(location)  # refused where it may not be opened
    _check_files(f"{name}{SNAPSHOT}{current}", locations)

    def read(names: Sequence[str]) -> Iterator[Any]:
        scan = ArrowScan(metadata, files_of, columns.select(*names).projection(), AlwaysTrue())
        for task in tasks:  # of several at once, it would hold the rows of all of them
            for batch in scan.to_record_batches([task]):
                yield valid_texts(batch)

    def size() -> int:
        return sum(task.file.record_count for task in tasks)

    places = [_local_path(each) for each in (address, metadata.location)]
    folders = tuple(dict.fromkeys(place for place in places if place is not None and is_folder(place)))
    place = address if places[0] is None or not folders else str(places[0])
    schema = schema_to_pyarrow(columns.projection())
    return LakeTable(ICEBERG, name, place, str(metadata.table_uuid), current, schema, folders, read, size)


def _local_path(address: str) -> Path | None:
    """Return the path that an address of this machine's file system stands for; None for another machine's."""
    parts = urlsplit(address)
    if parts.scheme == "file":
        return Path(unquote(parts.path)).resolve()
    return None if parts.scheme else Path(address).resolve()


def _check_files(snapshot: str, files: Iterable[str]) -> None:
    """Check that files of a snapshot are there.

    Raises:
        MissingInputError: if one is not.
    """
    for file in files:
        path = _local_path(file)
        if path is not None and not exists(path):
            raise gone(snapshot)


def gone(snapshot: str) -> MissingInputError:
    """Return the error to raise where files of a snapshot are gone."""
    return MissingInputError(
        f"{snapshot}: files of this snapshot are gone, as after VACUUM or the expiry of snapshots; name a newer one, "
        "or restore the files"
    )
