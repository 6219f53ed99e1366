"""Which files inputs stand for, columns in the names of folders, copies, and what a file is that is not Parquet.

Each row of ``census/STATE=06/YEAR=2018/a.parquet`` has STATE 06 and YEAR 2018. Writers of partitioned data (Hive,
Spark, DuckDB, Polars) take such columns out of the files. Here they are texts, which the row rules read by their value,
and a column that the file itself has overrides one of its folders. Every engine is given these values by this module;
none looks at the names itself.
"""

from __future__ import annotations

import glob
import io
import os
import re
import stat
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from dpnb_columnar.domain.database_address import DUCKDB_MAGIC, DUCKDB_MAGIC_PLACE, POSTGRES_SCHEMES, SQLITE_MAGIC
from dpnb_columnar.domain.names import listed
from dpnb_columnar.errors import DataError, MissingInputError, command, option
from dpnb_columnar.registry import extension
from dpnb_columnar.rows.data_files import DataFile, StoredObject, failure_of, scan_stored
from dpnb_columnar.rows.lazy_rows import lazy_rows
from dpnb_columnar.rows.parquet_footer import MAGIC, footer_of
from dpnb_columnar.rows.sources import EXTENSIONS, DataSource, SourceKind, file_source
from dpnb_columnar.rows.table_formats import refuse_table_files
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.outputs import is_utf8
from dpnb_columnar.runtime.paths import exists, is_file, is_folder
from dpnb_columnar.runtime.unfinished import os_error_number

if TYPE_CHECKING:
    import polars as pl

Item = TypeVar("Item")

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The folder of rows without a value."""

FolderValues = dict[str, str | None]
"""Values by column, in the order of the folders; None where there is none."""

MOST_NAMED = 3
"""Kinds of files, and folders, that an error names."""


def resolve_files(names: Iterable[str | Path]) -> tuple[DataFile, ...]:
    """List the files that paths, addresses, patterns and folders stand for, as ``files_of`` does."""
    return files_of(map(file_source, names))


def files_of(sources: Iterable[DataSource]) -> tuple[DataFile, ...]:
    """List the files that sources stand for, in the order given and sorted within each.

    A file counts once, whatever names, links and patterns lead to it: each row is in the data once.
    """
    resolved: dict[Hashable, DataFile] = {}
    searched: set[Path] = set()
    for source in sources:
        item = source.address
        if source.kind is SourceKind.OBJECTS:
            for found in extension(EXTENSIONS[source.kind]).objects_at(item):
                resolved.setdefault(str(found), found)
            continue
        try:
            matches = _matches(item)
            refuse_table_files(matches, searched)  # folders, too: tables keep files deeper than a folder stands for
            files = _files_at(matches)
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


def _matches(item: str) -> list[Path]:
    """List the files and folders of a path or pattern."""
    path = Path(item)
    # An empty path, as from a variable that is not set, would be the working directory. A pattern may be absolute.
    return [path] if item and exists(path) else sorted(map(Path, glob.glob(item, recursive=True)))  # noqa: PTH207


def _files_at(matches: Iterable[Path]) -> list[Path]:
    """List the files among paths; a folder stands for the Parquet files in it (``files_below``)."""
    files = [file for match in matches for file in (files_below(match) if is_folder(match) else [match])]
    return [file for file in files if not is_folder(file)]


def files_below(folder: Path) -> list[Path]:
    """List the Parquet files in a folder, then those in its folders named ``COLUMN=VALUE``, in order."""
    inner = sorted(path for path in folder.iterdir() if "=" in path.name and is_folder(path))
    return [*sorted(folder.glob("*.parquet")), *(file for path in inner for file in files_below(path))]


def _no_files(item: str) -> MissingInputError:
    """Return the error to raise for an input that stands for no file: what is there in its place, and the remedy."""
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
    """Return the rows of a Parquet file, with the columns of its folders. Confidential.

    Columns of types that Polars does not know are left out, where it refuses the file for these.
    """
    import polars as pl

    if isinstance(file, StoredObject):
        rows = scan_stored(file)
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
    """Return the columns that can be read of a file which Polars refuses for others; None where there are no such."""
    import polars as pl
    import pyarrow.parquet as pq

    types = types_by_arrow(file)
    types = {name: types[name] for name in types if name not in unread_columns(types)}

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
    """Find the groups of two or more items that have every property in common.

    Yields:
        The items of a group in their order.
    """
    groups: dict[Hashable, list[Item]] = defaultdict(list)
    first, *others = properties
    for item in items:
        groups[first(item)].append(item)
    for group in groups.values():
        if len(group) > 1:
            yield from find_copies(group, *others) if others else [group]


# Files that are not Parquet: what one is, by its first bytes, and which command makes Parquet of it.

HEAD = 4096
"""Bytes that are looked at."""

PARQUET = b"PAR1"
ENCRYPTED = b"PARE"
"""The last bytes of a file whose footer is encrypted."""

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


OWN_JSON = re.compile(rb'"format": "dpnb_columnar ([a-z ]+)"')
"""What a document of this program says of itself."""


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
    """Say what to do where a database is given to a command that reads Parquet alone."""
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
        head = tail = PARQUET
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
        return DataError(f"{file}: not a complete Parquet file (damaged or cut short); write or copy it again")
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


def _type_names(logical_type: Any) -> set[str]:
    """Name a logical type by Arrow's two names; pyarrow 23 calls a geometry unknown, and shows what it is."""
    return {logical_type.type, str(logical_type).partition("(")[0].upper()}


def types_by_arrow(file: DataFile) -> dict[str, pl.DataType]:
    """Read the types of the columns of a file that Polars refuses for some of them: Unknown for these."""
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(arrow_file(file)) as opened:
            leaves = map(opened.schema.column, range(len(opened.schema)))
            foreign = [f"{leaf.path}." for leaf in leaves if _type_names(leaf.logical_type) & FOREIGN_TYPES]
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


def _is_text(head: bytes) -> bool:
    """Test whether bytes are lines of text, in whichever 8-bit code."""
    return not head.startswith(PARQUET) and b"\n" in head and not any(byte < 9 or 13 < byte < 32 for byte in head)
