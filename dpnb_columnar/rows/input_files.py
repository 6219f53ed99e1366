"""Which files inputs stand for, here or in a store, what columns their folders have, and what a footer says.

Each row of ``census/STATE=06/YEAR=2018/a.parquet`` has STATE 06 and YEAR 2018, as texts; own columns override.
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

import glob
import io
import os
import re
import stat
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from operator import methodcaller
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import unquote

from dpnb_columnar.domain.names import listed
from dpnb_columnar.errors import DataError, Error, MissingInputError, TemporaryError, command, option
from dpnb_columnar.registry import extension
from dpnb_columnar.rows.sources import (
    DUCKDB_MAGIC,
    DUCKDB_MAGIC_PLACE,
    EXTENSIONS,
    POSTGRES_SCHEMES,
    SQLITE_MAGIC,
    DataSource,
    SourceKind,
    file_source,
    refuse_table_files,
)
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.outputs import is_utf8
from dpnb_columnar.runtime.unfinished import exists, is_file, is_folder, os_error_number

if TYPE_CHECKING:
    import polars as pl

Result = TypeVar("Result")
READERS = 16  # objects that are looked at, or folders that are listed, at the same time
NETWORK_ERROR = "object-store error"  # how Polars begins the text of an error of a store


class StoredObject(ABC):
    """An object of a store as it was when its address was resolved; it has what is asked of a ``Path`` to read."""

    key: str
    modified: str

    @property
    def name(self) -> str:
        return PurePosixPath(self.key).name

    @property
    def stem(self) -> str:
        return PurePosixPath(self.key).stem

    @property
    def pinned(self) -> str:
        """Its name in a ledger, which says nothing of rows, as ETag and length would (docs/privacy.md, section 8)."""
        return f"{self} of {self.modified}" if self.modified else str(self)

    @abstractmethod
    def open(self, mode: str = "rb") -> IO[bytes]:
        """Open it for reading by ranges."""

    @abstractmethod
    def look(self) -> None:
        """Ask its store whether it is still the same; refuse another."""


DataFile: TypeAlias = "Path | StoredObject"  # a file that rows are read from


def stored_objects(files: Iterable[DataFile]) -> list[StoredObject]:
    """Return those files that are objects of a store."""
    return [file for file in files if isinstance(file, StoredObject)]


def check_unchanged(files: Iterable[DataFile]) -> None:
    """Refuse objects that are not what they were when their addresses were resolved."""
    if objects := stored_objects(files):
        in_parallel(methodcaller("look"), objects)


def failure_of(files: Iterable[DataFile], failure: BaseException | None) -> Error | None:
    """Return the error to raise where an engine fails on files of which some are objects; None if it was not theirs."""
    if not (objects := stored_objects(files)):
        return None
    try:
        check_unchanged(objects)
    except Error as error:
        return error
    if NETWORK_ERROR in str(failure):
        return TemporaryError(f"{objects[0]}: its store did not give it out to the end, though it answers; try again")
    return None


def changed_error(item: object) -> DataError:
    """Return the error to raise for an object, or a file, that is not what it was."""
    return DataError(f"{item}: changed while it was read; start again when it is complete")


def in_parallel(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Do something for each item, several at a time; a signal does not wait for a store that does not answer."""
    readers = ThreadPoolExecutor(READERS)
    try:
        return list(readers.map(work, items))
    finally:
        readers.shutdown(wait=False, cancel_futures=True)


def lazy_rows(read: Callable[[list[str]], Iterable[pl.DataFrame]], types: Mapping[str, pl.DataType]) -> pl.LazyFrame:
    """Return rows as a lazy frame; what Arrow fails with reaches whoever computes it as Polars' own failures do."""
    import polars as pl
    import pyarrow as pa
    from polars.io.plugins import register_io_source

    def parts(columns: list[str] | None, *_: object) -> Iterator[pl.DataFrame]:
        """Read some columns of all rows: Polars is kept from asking for less."""
        try:
            yield from read(list(types) if columns is None else columns)
        except pa.ArrowException as error:
            raise pl.exceptions.ComputeError("Arrow cannot read the rows") from error

    return read_unfiltered(register_io_source(parts, schema=dict(types)))


def read_unfiltered(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return a lazy frame whose conditions are evaluated once its rows are read: Polars would pickle them before."""
    return rows.map_batches(
        lambda part: part,
        predicate_pushdown=False,
        projection_pushdown=True,
        validate_output_schema=False,
        streamable=True,
    )


MAGIC = b"PAR1"
TRAILER = 8  # bytes at the end of a Parquet file: the length of its footer, and the magic
ROW_GROUPS, CHUNKS, CHUNK, CHUNK_PATH, CHUNK_BYTES = 4, 1, 3, 3, 6
"""Fields: a footer's row groups; a group's column chunks; a chunk's ColumnMetaData; its path, its bytes unpacked."""

BOOLEANS, BYTE, WHOLE_NUMBERS, DOUBLE, BINARY, LISTS, STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12
"""Types of the protocol that a footer has."""

DEEPEST = 16  # levels of structs and lists; a footer has six


def footer_of(stream: IO[bytes], name: str) -> bytes:
    """Read the footer of an opened file, as ``read_footer`` does."""

    def read(start: int, length: int) -> bytes:
        stream.seek(start)
        return stream.read(length)

    return read_footer(stream.seek(0, 2), read, name)


def read_footer(size: int, read: Callable[[int, int], bytes], name: str) -> bytes:
    """Read the footer of a Parquet file, and its trailer; ``read`` takes a place and a number of bytes."""
    trailer = read(max(size - TRAILER, 0), TRAILER)
    length = int.from_bytes(trailer[:4], "little") + TRAILER
    if trailer[4:] != MAGIC or length > size:
        raise incomplete_file_error(name)
    return read(size - length, length)


def unpacked_bytes(footer: bytes, columns: Collection[str], name: str) -> Iterator[int]:
    """Yield each row group's unpacked bytes of some columns; loading a library instead takes 0.06 s of 0.78."""
    try:
        for group in _value(footer, 0, STRUCT, 0)[0][ROW_GROUPS]:
            # A chunk is not described where the column is encrypted, and is not read.
            chunks = [chunk[CHUNK] for chunk in group[CHUNKS] if chunk.get(CHUNK)]
            yield sum(max(each[CHUNK_BYTES], 0) for each in chunks if each[CHUNK_PATH][0].decode() in columns)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise incomplete_file_error(name) from None


def _value(data: bytes, place: int, kind: int, depth: int) -> tuple[Any, int]:
    """Read a value, a struct by its fields' numbers, and the place behind; LookupError if cut short, or ValueError."""
    if kind in WHOLE_NUMBERS:
        number, place = _varint(data, place)
        return number >> 1 ^ -(number & 1), place
    if kind == BINARY:
        size, place = _varint(data, place)
        return data[place : place + size], place + size
    if kind in BOOLEANS:
        return kind, place
    if depth == DEEPEST or kind not in (*LISTS, STRUCT, BYTE, DOUBLE):
        raise ValueError("nested too deep, or of a type that no footer has")
    if kind == STRUCT:
        struct, field = {}, 0
        while head := data[place]:
            step, place = (head >> 4, place + 1) if head > 15 else _value(data, place + 1, WHOLE_NUMBERS[0], depth)
            field = field + step if head > 15 else step
            struct[field], place = _value(data, place, head & 15, depth + 1)
        return struct, place + 1
    if kind in LISTS:
        size, kind, place = data[place] >> 4, data[place] & 15, place + 1
        if size == 15:
            size, place = _varint(data, place)
        if size > len(data):  # an item takes a byte at least
            raise IndexError("more items than bytes")
        items = []
        for _ in range(size):
            item, place = _value(data, place, BYTE if kind in BOOLEANS else kind, depth + 1)
            items.append(item)
        return items, place
    return None, place + (1 if kind == BYTE else 8)


def _varint(data: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while shift < 64:
        byte = data[place]
        number |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return number, place
    raise ValueError("a number of more than 64 bits")


def incomplete_file_error(name: object) -> DataError:
    """Return the error to raise for a file that is not complete Parquet."""
    return DataError(f"{name}: not a complete Parquet file (damaged or cut short); write or copy it again")


Item = TypeVar("Item")
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # the folder of rows without a value
FolderValues = dict[str, str | None]  # values by column, in the order of the folders; None where there is none
MOST_NAMED = 3  # kinds of files, and folders, that an error names


def resolve_files(names: Iterable[str | Path]) -> tuple[DataFile, ...]:
    """List the files that paths, addresses, patterns and folders stand for, as ``files_of`` does."""
    return files_of(map(file_source, names))


def files_of(sources: Iterable[DataSource]) -> tuple[DataFile, ...]:
    """List the files that sources stand for, in order, sorted within each; a file counts once, whatever leads to it."""
    resolved: dict[Hashable, DataFile] = {}
    searched: set[Path] = set()
    for source in sources:
        item = source.address
        if source.kind is SourceKind.OBJECTS:
            for found in extension(EXTENSIONS[source.kind]).resolve_address(item):
                resolved.setdefault(str(found), found)
            continue
        try:
            # An empty path, as from a variable that is not set, would be the working directory.
            at_hand = item and exists(Path(item))
            matches = [Path(item)] if at_hand else sorted(map(Path, glob.glob(item, recursive=True)))  # noqa: PTH207
            refuse_table_files(matches, searched)  # folders, too: tables keep files deeper than a folder stands for
            files = [file for match in matches for file in (files_below(match) if is_folder(match) else [match])]
            files = [file for file in files if not is_folder(file)]
            refuse_table_files(files, searched)
            identities = [(file.stat().st_dev, file.stat().st_ino) for file in files]
        except OSError as error:
            raise open_error(Path(item), error) from None
        if not files:
            raise _no_files(item)
        for identity, file in zip(identities, files, strict=True):
            resolved.setdefault(identity, file)
    if not resolved:
        raise MissingInputError("no input; give Parquet files, a folder of them, or a quoted pattern")
    return tuple(resolved.values())


def files_below(folder: Path) -> list[Path]:
    """List the Parquet files in a folder, then those in its folders named ``COLUMN=VALUE``, in order."""
    inner = sorted(path for path in folder.iterdir() if "=" in path.name and is_folder(path))
    return [*sorted(folder.glob("*.parquet")), *(file for path in inner for file in files_below(path))]


def _no_files(item: str) -> MissingInputError:
    folder = Path(item)
    if item and is_folder(folder):
        other = sorted({path.suffix or "no suffix" for path in folder.iterdir() if is_file(path)})[:MOST_NAMED]
        folders = sorted(path for path in folder.iterdir() if is_folder(path))
        refuse_table_files(folders)
        inner = [path.name for path in folders[:MOST_NAMED]]
        held = [f"files with {', '.join(other)}"] * bool(other) + [f"folders such as {', '.join(inner)}"] * bool(inner)
        remedy = f"make Parquet of an extract with {command('ingest')}" if other else "check the path"
        if inner:
            remedy = f"for the files of its folders give the pattern '{folder}/**/*.parquet'"
        return MissingInputError(
            f"{item}: a folder without files named *.parquet; it holds {' and '.join(held) or 'nothing'}; {remedy}"
        )
    if item.startswith(POSTGRES_SCHEMES):
        return MissingInputError(f"a database, alone or beside files, is not read by this command; {_by_table()}")
    return MissingInputError(f"{item}: no such file; give Parquet files, a folder of them, or a quoted pattern")


def open_error(file: DataFile, error: OSError) -> MissingInputError:
    """Return the error to raise for a file that the operating system does not open."""
    number = os_error_number(error)  # engines give it in their text alone
    reason = "no such file" if number is None else os.strerror(number)
    return MissingInputError(f"{file}: cannot be opened: {reason}; check the path and its permissions")


def folder_values(name: str | DataFile, columns: Iterable[str] = ()) -> FolderValues:
    """Return the columns in the names of a file's folders, as its path or address is typed."""
    own = {column.lower() for column in columns}
    parts = (part.partition("=") for part in str(name).split("/")[:-1])
    named = {unquote(key): None if value == NO_VALUE else unquote(value) for key, sign, value in parts if key and sign}
    return {key: value for key, value in named.items() if key.lower() not in own}


def scan_file(file: DataFile) -> pl.LazyFrame:
    """Return a Parquet file's rows with its folders' columns, without types unknown to Polars. Confidential."""
    import polars as pl

    if isinstance(file, StoredObject):
        # Its credentials are those of the environment, as obstore's are: without a provider it asks no other library.
        rows = pl.scan_parquet(str(file), glob=False, hive_partitioning=False, credential_provider=None)
    else:
        rows = pl.scan_parquet(file, glob=False, hive_partitioning=False)
    try:
        looked_at = pl.scan_parquet(footer_alone(file)) if isinstance(file, StoredObject) else rows
        looked_at.collect_schema()  # of a file Polars keeps what it has read of the footer
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        by_arrow = _scanned_by_arrow(file)
        rows = rows if by_arrow is None else by_arrow
    if not folder_values(file):
        return rows
    missing = folder_values(file, rows.collect_schema())
    return rows.with_columns(pl.lit(value, pl.String).alias(name) for name, value in missing.items())


def _scanned_by_arrow(file: DataFile) -> pl.LazyFrame | None:
    import polars as pl
    import pyarrow.parquet as pq

    types = readable_types(types_by_arrow(file))

    def read(names: list[str]) -> Iterator[pl.DataFrame]:
        wanted = names or [*types][:1]  # without a column there would be no row
        with pq.ParquetFile(arrow_file(file)) as opened:
            for batch in opened.iter_batches(columns=wanted):
                yield pl.DataFrame(batch).select(pl.col(name).cast(types[name]) for name in wanted)

    return lazy_rows(read, types) if types else None


def footer_alone(file: DataFile) -> Path | io.BytesIO:
    """Return an object as a file of which nothing but the footer is there, since that alone will be read."""
    return io.BytesIO(MAGIC + file_footer(file)) if isinstance(file, StoredObject) else file


def file_footer(file: DataFile) -> bytes:
    """Read the footer of a Parquet file, and its trailer."""
    try:
        with file.open("rb") as stream:
            return footer_of(stream, str(file))
    except DataError:
        raise failure_of([file], None) or not_parquet_error(file) from None


def arrow_file(file: DataFile) -> Any:
    """Return what Arrow reads a file from: its path, or the ranges of an object."""
    return file.open() if isinstance(file, StoredObject) else file


def find_copies(items: Iterable[Item], *properties: Callable[[Item], Hashable]) -> Iterator[list[Item]]:
    """Find the groups of two or more items that have every property in common, in their order."""
    groups: dict[Hashable, list[Item]] = defaultdict(list)
    first, *others = properties
    for item in items:
        groups[first(item)].append(item)
    for group in groups.values():
        if len(group) > 1:
            yield from find_copies(group, *others) if others else [group]


# Files that are not Parquet: what one is, by its first bytes, and which command makes Parquet of it.

HEAD = 4096  # bytes that are looked at
ENCRYPTED = b"PARE"  # the last bytes of a file whose footer is encrypted

FORMATS = (
    (0, b"ARROW1", "an Arrow file"),
    (0, b"\xff\xff\xff\xff", "an Arrow stream"),
    (0, b"FEA1", "a Feather file"),
    (0, b"\x1f\x8b", "a gzip archive"),
    (0, b"PK\x03\x04", "a ZIP archive"),
    (0, SQLITE_MAGIC, "a SQLite database"),
    (DUCKDB_MAGIC_PLACE, DUCKDB_MAGIC, "a DuckDB database"),
)
"""Place and bytes that a format is known by, and what to call it."""

OWN_JSON = re.compile(rb'"format": "dpnb_columnar ([a-z ]+)"')  # what a document of this program says of itself


def check_file(file: DataFile) -> None:
    """Refuse what no engine could read as a file, before anything waits for it."""
    if isinstance(file, StoredObject):
        return
    if not is_utf8(file):
        raise MissingInputError(f"{str(file)!a:.200}: its name is not UTF-8; rename the file or its folder")
    try:
        mode = file.stat().st_mode
    except OSError:  # the reader says what is wrong with it
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise MissingInputError(f"{file}: is a pipe or a device; write its rows to a file, and name that")


def own_file_error(file: DataFile, kind: str) -> DataError:
    """Return the error to raise for a file of this program where rows are expected."""
    place = {"model": "name a model where the usage says MODEL", "statistics": f"{command('release')} reads it"}
    said = f"; {place[kind]}" if kind in place else ""
    return DataError(
        f"{file}: holds no rows: it is a file of this program ({kind}); give the rows' Parquet file here{said}"
    )


def _by_table() -> str:
    return (
        f"its rows are read with {option('table', 'NAME')} by train, aggregate, check, evaluate, predict, split and "
        "suggest-domain; for another command, export them to Parquet"
    )


def not_parquet_error(file: DataFile) -> DataError:
    """Return the error to raise for a file that is not complete Parquet: what it is, and the remedy."""
    try:
        with file.open("rb") as stream:
            head = stream.read(HEAD)
            stream.seek(max(stream.seek(0, os.SEEK_END) - len(ENCRYPTED), 0))
            tail = stream.read()
    except OSError:
        head = tail = MAGIC
    if not head:
        return DataError(f"{file}: is empty, without a single byte; write or copy it again")
    if (own := OWN_JSON.search(head)) is not None:
        return own_file_error(file, own[1].decode())
    if tail == ENCRYPTED:
        return DataError(f"{file}: is encrypted; write it again without encryption where only you can read it")
    kinds = (kind for place, magic, kind in FORMATS if head[place:].startswith(magic))
    kind = next(kinds, "text, such as CSV or fixed width" if _is_text(head) else None)
    if kind is None and (unread := unread_columns(types_by_arrow(file))):
        return DataError(
            f"{file}: {listed(unread)}: of a type, or in a time zone, that cannot be read; cast or drop the columns"
        )
    if kind is None:
        return incomplete_file_error(file)
    if "database" in kind:
        remedy = _by_table()
    elif "archive" in kind or "text" in kind:
        stored = isinstance(file, StoredObject)
        ingest = command("ingest", file.name if stored else str(file), output="NAME.parquet")
        remedy = f"if it is an extract, {'copy it here, and ' * stored}make Parquet of it: {ingest}"
    else:
        remedy = "read it with polars, pandas or pyarrow, and write it as Parquet"
    return DataError(f"{file}: {kind}, not Parquet; {remedy}")


FOREIGN_TYPES = frozenset({"GEOMETRY", "GEOGRAPHY", "VARIANT", "UNDEFINED"})
"""Logical types of columns for which Polars refuses the whole footer, by Arrow's names."""


def types_by_arrow(file: DataFile) -> dict[str, pl.DataType]:
    """Read the types of the columns of a file that Polars refuses for some of them: Unknown for these."""
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(arrow_file(file)) as opened:
            leaves = map(opened.schema.column, range(len(opened.schema)))
            # pyarrow 23 calls a geometry unknown, and shows what it is.
            names = {f"{leaf.path}.": (leaf.logical_type.type, str(leaf.logical_type)) for leaf in leaves}
            foreign = [
                path
                for path, (type_, shown) in names.items()
                if {type_, shown.partition("(")[0].upper()} & FOREIGN_TYPES
            ]
            schema = opened.schema_arrow
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return {}
    types: dict[str, pl.DataType] = {}
    with confined():
        for field in schema:
            types[field.name] = pl.Unknown()
            if any(path.startswith(f"{field.name}.") for path in foreign):
                continue
            with suppress(
                pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException, ValueError, TypeError
            ):
                types[field.name] = pl.DataFrame(pa.schema([field]).empty_table()).schema[field.name]
    return types if len(types) == len(schema) and unread_columns(types) else {}


def unread_columns(types: Mapping[str, pl.DataType]) -> list[str]:
    """List the columns of a type that Polars does not know."""
    import polars as pl

    return [name for name, type_ in types.items() if type_ == pl.Unknown()]


def readable_types(
    types: Mapping[str, pl.DataType], wanted: Collection[str] | None = (), name: str = "", remedy: str = ""
) -> dict[str, pl.DataType]:
    """Return the types that Polars knows; refuse any other of the wanted columns, which are all where it is None."""
    unread = unread_columns(types)
    if refused := [each for each in unread if wanted is None or each in wanted]:
        raise DataError(f"{name}: column {listed(refused)} is of a type that cannot be read; {remedy}")
    return {each: type_ for each, type_ in types.items() if each not in unread}


def _is_text(head: bytes) -> bool:
    return not head.startswith(MAGIC) and b"\n" in head and not any(byte < 9 or 13 < byte < 32 for byte in head)
