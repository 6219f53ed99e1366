"""Read the live rows of one snapshot of a lake table. CONFIDENTIAL.

The library of the format reads the snapshot that is chosen when the table is opened: Polars' own scan of Delta refuses
tables whose columns were renamed, and lists the files anew for every pass. A log can name any file, and name it again,
so that another data set's rows would be read, or a person would count twice at the stated epsilon: so files are checked
first (``_checked_files``). Errors of a library may quote values, and are not shown.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from dpnb_columnar.core.queries.query import AnswerT, Query, digest_blocks, with_parts
from dpnb_columnar.counting.countable import OpenedRows, refuse_copies
from dpnb_columnar.domain.names import listed
from dpnb_columnar.errors import DataError, Error, MissingInputError, TemporaryError, UnavailableError
from dpnb_columnar.rows.sources import (
    CATALOGUE,
    DELTA,
    ICEBERG,
    SCHEMES,
    SNAPSHOT,
    DataSource,
    SourceKind,
    TableFormat,
    is_entry,
)
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.row_progress import Size
from dpnb_columnar.runtime.unfinished import exists, is_file, is_folder

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from dpnb_columnar.counting.find_domain import ResolvedDomain
    from dpnb_columnar.domain import Domain
    from dpnb_columnar.rows.parquet import Batches, NamedRows
    from dpnb_columnar.rows.streaming import OpenedFrame


PANIC = "PanicException"  # name of what native code of a library panics with


@dataclass(frozen=True, slots=True, repr=False)
class LakeTable:
    """The live rows of one snapshot of a lake table; ``read`` has the same order each time. Confidential."""

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
        return f"{self.table}{SNAPSHOT}{self.snapshot}"

    @property
    def names(self) -> Sequence[str]:
        return [f"{self.place}{SNAPSHOT}{self.snapshot}", f"{self.kind.name} table {self.table_id}"]

    def scan(self, columns: Sequence[str] | None = None) -> list[NamedRows]:
        """Return the rows as one lazy frame, which reads the snapshot each time that it is computed."""
        import polars as pl

        from dpnb_columnar.rows.databases import polars_types
        from dpnb_columnar.rows.input_files import lazy_rows, readable_types
        from dpnb_columnar.rows.parquet import NamedRows

        types = readable_types(polars_types(self.schema), columns, self.name, "leave it out")

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
        """Check that the table has the domain's columns, of types that it can be read from. No row is read."""
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


ONE_BY_ONE = {"datafusion.execution.target_partitions": "1", "datafusion.execution.batch_size": "65536"}
"""Settings by which Delta's library reads one file after the other, so that every pass has the same order."""

FORMATS = {SourceKind.DELTA: DELTA, SourceKind.ICEBERG: ICEBERG}


@confined()
def open_table(source: DataSource) -> LakeTable:
    """Open a table that is named, or that a library has opened: read its log, and no row."""
    kind, table, snapshot = FORMATS[source.kind], source.address, source.snapshot
    try:
        if kind is DELTA:
            from deltalake import DeltaTable
        else:
            from pyiceberg.io.pyarrow import PyArrowFileIO  # noqa: F401
    except ImportError:
        raise UnavailableError(
            f"reading {kind.name} tables needs a library; install it with: pip install 'dpnb-columnar[{kind.extra}]'"
        ) from None
    if not isinstance(table, str):
        with _log_errors("the table", kind):
            if kind is DELTA:
                return delta_snapshot(table)
            return iceberg_snapshot(table, ".".join(table.name()), table.location())
    with _log_errors(table, kind, snapshot):
        if kind is DELTA:
            return delta_snapshot(DeltaTable(table, version=snapshot), table)
        if table.startswith(CATALOGUE):
            return iceberg_snapshot(_of_catalogue(table), table, table, snapshot)
        file = _metadata_file(Path(table)).absolute()
        return iceberg_snapshot(_of_metadata(file), table, str(file.parents[1].resolve()), snapshot)


UNSUPPORTED = ("not supported", "unsupported", "not yet support", "unrecognized filesystem")
"""Parts of the libraries' texts, in lower case, where a table needs what they do not know."""

NOT_THAT_FAR = ("logsegment end version", "no files in log segment", "snapshot not found")
"""Parts of their texts where a log does not have a snapshot."""


@contextmanager
def _log_errors(table: str, kind: TableFormat, snapshot: int | None = None) -> Iterator[None]:
    """Report a log that cannot be read as an error of this package; the libraries' own texts are not shown."""
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
        if snapshot is not None and (isinstance(error, OverflowError) or any(part in text for part in NOT_THAT_FAR)):
            raise MissingInputError(
                f"{table}: has no snapshot {snapshot}, or its log does not reach back to it any more; leave "
                f"{SNAPSHOT}{snapshot} out for the newest"
            ) from None
        raise DataError(
            f"{table}: the log of the {kind.name} table ({kind.log}) is damaged, incomplete or cannot be opened; "
            "restore it, or write the live rows to Parquet with what writes the table"
        ) from None


def delta_snapshot(table: Any, name: str | None = None) -> LakeTable:
    """Return the snapshot that a table of Delta's library has loaded; what that loads later changes nothing."""
    import pyarrow as pa
    from deltalake import QueryBuilder

    version, place, path = table.version(), table.table_uri, None
    files = table.file_uris()
    if (folder := urlsplit(place)).scheme in ("file", ""):
        # The library escapes characters in the address of the folder, and not in what follows it.
        path = Path(unquote(folder.path)).resolve()
        place, files = str(path), [str(path / file.removeprefix(folder.path)) for file in files]
    shown = name or place
    # Of another machine's table the library opens no file that lies elsewhere.
    local = _checked_files(f"{shown}{SNAPSHOT}{version}", files, home=path)
    numbers = pa.table(table.get_add_actions())["num_records"].to_pylist()
    live = QueryBuilder(ONE_BY_ONE).register("live", table)  # the snapshot that is loaded now

    def read(names: Sequence[str]) -> Iterator[Any]:
        columns = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        return iter(live.execute(f"SELECT {columns} FROM live"))

    rows = None if None in numbers else sum(numbers)
    schema = pa.schema(table.schema().to_arrow())
    folders = () if path is None else (path,)
    return LakeTable(DELTA, shown, place, str(table.metadata().id), version, schema, folders, read, lambda: rows, local)


VERSION_HINT = "version-hint.text"  # file that tells the newest version of a table without a catalogue


def _metadata_file(table: Path) -> Path:
    """Return the metadata file of a table's newest version: itself, or by the hint in its folder, or by its number."""
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
            return folder / Path(hinted if hinted.endswith(".json") else f"{hinted}.metadata.json").name
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
    """Return a table of pyiceberg's by its metadata file, whose author is not trusted to lead to other machines."""
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


def _of_catalogue(table: str) -> Any:
    """Return a table of pyiceberg's from the catalogue that it is configured with."""
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import NoSuchIdentifierError, NoSuchNamespaceError, NoSuchTableError

    name = table.removeprefix(CATALOGUE)
    try:
        return load_catalog().load_table(name)
    except (NoSuchTableError, NoSuchNamespaceError, NoSuchIdentifierError):
        raise MissingInputError(
            f"{table}: the catalogue has no such table; give {CATALOGUE}NAMESPACE.TABLE as it names it"
        ) from None
    except Exception:  # whatever a catalogue's client fails with; its text may hold credentials
        raise TemporaryError(
            f"{table}: the catalogue does not answer, or none is configured; check ~/.pyiceberg.yaml or "
            "PYICEBERG_CATALOG__DEFAULT__URI, and try again"
        ) from None


def iceberg_snapshot(table: Any, name: str, address: str, snapshot: int | None = None) -> LakeTable:
    """Return a snapshot of a table of pyiceberg's; what that loads later changes nothing."""
    from pyiceberg.expressions import AlwaysTrue
    from pyiceberg.io.pyarrow import ArrowScan, schema_to_pyarrow
    from pyiceberg.manifest import FileFormat

    from dpnb_columnar.rows.streaming import valid_texts

    metadata, files_of = table.metadata, table.io
    current = metadata.current_snapshot_id if snapshot is None else snapshot
    if current is None:
        raise DataError(f"{name}: has no snapshot: nothing was written to the table yet")
    columns = table.scan(snapshot_id=snapshot)
    # The files are listed once, and every pass reads these.
    tasks = list(table.scan(snapshot_id=current).plan_files())
    data = [task.file.file_path for task in tasks]
    deletes = [each.file_path for task in tasks for each in task.delete_files]  # one is of several data files
    for location in (*data, *deletes):
        files_of.new_input(location)  # refused where it may not be opened
    local = _checked_files(f"{name}{SNAPSHOT}{current}", data, deletes, _iceberg_home(table.metadata_location))

    def read(names: Sequence[str]) -> Iterator[Any]:
        scan = ArrowScan(metadata, files_of, columns.select(*names).projection(), AlwaysTrue())
        for task in tasks:  # of several at once, it would hold the rows of all of them
            for batch in scan.to_record_batches([task]):
                yield valid_texts(batch)

    rows = sum(task.file.record_count for task in tasks)
    places = [_local_path(each) for each in (address, metadata.location)]
    folders = tuple(dict.fromkeys(place for place in places if place is not None and is_folder(place)))
    place = address if places[0] is None or not folders else str(places[0])
    schema = schema_to_pyarrow(columns.projection())
    parquet = local if all(task.file.file_format == FileFormat.PARQUET for task in tasks) else ()
    identity = str(metadata.table_uuid)
    return LakeTable(ICEBERG, name, place, identity, current, schema, folders, read, lambda: rows, parquet)


def _iceberg_home(metadata_file: str) -> PurePath:
    """Return the place of a table's files: what holds the folder ``metadata`` of its metadata file."""
    # Not the location that the metadata give: who writes these can write any, such as the root of the file system.
    folder = posixpath.dirname(metadata_file)
    above = posixpath.dirname(folder)
    return _place_of(folder if posixpath.basename(folder) != ICEBERG.log or above.endswith(":") else above)


def _local_path(address: str) -> Path | None:
    """Return the path that an address of this machine's file system stands for; None for another machine's."""
    parts = urlsplit(address)  # the libraries open a path as it is written, percent signs and a host with it
    if parts.scheme == "file":
        return Path(parts.netloc + parts.path).resolve()
    return None if parts.scheme else Path(address).resolve()


def _place_of(address: str) -> PurePath:
    """Return what an address stands for: a path with its links followed, or the parts of another machine's address."""
    if (path := _local_path(address)) is not None:
        return path
    parts = urlsplit(address)
    return PurePosixPath(f"{SCHEMES.get(parts.scheme, parts.scheme)}:{parts.netloc}", parts.path.lstrip("/"))


def _checked_files(
    snapshot: str, data: Sequence[str], deletes: Sequence[str] = (), home: PurePath | None = None
) -> list[Path]:
    """Check that files of a snapshot are there, that they are its table's, and that no data file is listed twice."""
    places = {address: _place_of(address) for address in (*data, *deletes)}
    for address, place in places.items():
        # What a library makes of two dots may be another place than where they lead from a link.
        if home is not None and (".." in address.split("/") or not place.is_relative_to(home)):
            raise DataError(
                f"{snapshot}: {address} lies outside the table's folder, and may hold another data set's rows; rewrite "
                "the data files into the folder, or write the live rows to a file, with what writes the table"
            )
        if isinstance(place, Path) and not exists(place):
            raise gone(snapshot)
    listed_as: dict[Hashable, str] = {}
    files = []
    for address in data:
        place = places[address]
        identity: Hashable = place
        if isinstance(place, Path):
            files.append(place)
            identity = (place.stat().st_dev, place.stat().st_ino)
        if identity in listed_as:
            first = listed_as[identity]
            also = "" if first == address else f" (also as {address})"
            raise DataError(
                f"{snapshot}: {first} is listed twice{also}: its rows would count twice; drop one entry with what "
                "writes the table"
            )
        listed_as[identity] = address
    return files
