"""What a name stands for: files, a database, a lake table or objects of a store, parsed before anything is opened.

Parquet files of Delta, Iceberg and Hudi tables are refused: they hold deleted and replaced rows too, so that a person
may be in them five times, and would lose an epsilon of 5 where 1 is stated. A table is recognised by its log in a
folder above a file. Not recognised are copied files, and those that a frame, a view or a catalog's table names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import parse_qsl, urlencode

from dpnb_columnar.errors import DataError, UsageError, option
from dpnb_columnar.runtime.unfinished import exists, is_file, is_folder


@dataclass(frozen=True, slots=True)
class TableFormat:
    """A format of tables that keep their past."""

    name: str
    log: str  # folder that holds its log
    entry: str | None  # pattern of a file that tells the log; None where the folder's name does
    rows: str  # how live rows are read, ``{table}`` being the folder, and written to a file
    extra: str | None = None  # extra whose library reads such a table (the extension ``lakes``)


DELTA = TableFormat("Delta", "_delta_log", None, "pl.scan_delta({table!r}).sink_parquet('live.parquet')", extra="delta")
ICEBERG = TableFormat(
    "Iceberg",
    "metadata",
    "*.metadata.json*",
    "pl.scan_iceberg('{table}/metadata/CURRENT.metadata.json').sink_parquet('live.parquet')",
    extra="iceberg",
)
HUDI = TableFormat("Hudi", ".hoodie", None, "spark.read.format('hudi').load({table!r}).write.parquet('live')")
TABLE_FORMATS = (DELTA, ICEBERG, HUDI)


def refuse_table_files(paths: Iterable[Path], searched: set[Path] | None = None) -> None:
    """Refuse files, and folders, that are in the folder of a table at whatever depth. No file is opened."""
    searched = set() if searched is None else searched
    for path in paths:
        given = Path(os.path.normpath(path.absolute()))
        for place in [given, given.resolve()] if given.is_symlink() else [given]:
            for folder in _upwards(place if is_folder(place) else place.parent, searched):
                for kind in TABLE_FORMATS:
                    if has_log(folder, kind):
                        raise table_error(path, folder, kind)


def _upwards(folder: Path, searched: set[Path]) -> Iterator[Path]:
    """List a folder and those above it, also where links lead, that were not searched; add them to these."""
    while folder not in searched:
        searched.add(folder)
        yield folder
        if folder.is_symlink():
            yield from _upwards(folder.resolve(), searched)
        folder = folder.parent


def has_log(folder: Path, kind: TableFormat) -> bool:
    """Test whether a folder holds the log of a table; one that cannot be listed holds none."""
    log = folder / kind.log
    try:
        return is_folder(log) and (kind.entry is None or any(is_entry(each, kind) for each in log.iterdir()))
    except OSError:
        return False


def is_entry(file: Path, kind: TableFormat) -> bool:
    """Test whether a file is an entry of a log that tells the log by it."""
    return kind.entry is not None and file.parent.name == kind.log and fnmatchcase(file.name, kind.entry)


def table_error(path: object, table: object, kind: TableFormat) -> DataError:
    """Return the error to raise for a path within a table: why its files are not the rows, and how to get these."""
    place = str(table).rstrip("/")
    whole = f"give the table itself, {place}, alone to a verb that takes tables, or " * (kind.extra is not None)
    return DataError(
        f"{path}: belongs to the {kind.name} table {place} (see its {kind.log}), whose files hold deleted and replaced "
        f"rows too; {whole}write the live rows to a file elsewhere, {kind.rows.format(table=place)}"
    )


POSTGRES_SCHEMES = ("postgresql://", "postgres://")
SQLITE_MAGIC = b"SQLite format 3\0"
DUCKDB_MAGIC = b"DUCK"
DUCKDB_MAGIC_PLACE = 8
"""Bytes that a file of a database is known by, whatever its name; those of DuckDB follow a checksum."""

PLACE = ("host", "hostaddr", "port", "dbname", "service")  # parameters of a connection URI that say where it leads
SECRETS = ("password", "secret", "scram")  # parts of the names of secret ones, as ``oauth_client_secret``


class Dialect(StrEnum):
    """SQL of a database that queries are written for, by the name that sqlglot gives it."""

    DUCKDB = "duckdb"
    POSTGRES = "postgres"
    SPARK = "spark"
    BIGQUERY = "bigquery"
    SNOWFLAKE = "snowflake"
    SQLITE = "sqlite"

    @classmethod
    def _missing_(cls, value: object) -> Dialect | None:
        name = str(value).lower()
        return {"postgresql": cls.POSTGRES, **{each.value: each for each in cls}}.get(name)


class Spelling(StrEnum):
    """How a table's columns are spelled, by the names of a domain."""

    LOWER = "lower"
    UPPER = "upper"
    DECLARED = "declared"


DialectName: TypeAlias = (
    Literal["duckdb", "postgres", "postgresql", "spark", "bigquery", "snowflake", "sqlite"] | Dialect
)

FILES = {Dialect.DUCKDB: ("duckdb:", (".duckdb", ".ddb")), Dialect.SQLITE: ("sqlite:", (".sqlite", ".sqlite3"))}
"""The prefix, and the suffixes, by which a path is that of a database."""


@dataclass(frozen=True, slots=True)
class Database:
    """A database to read from."""

    dialect: Dialect
    address: str  # path of a file, or the connection URI of a PostgreSQL server as typed
    name: str  # for messages and records: the path, or the URI written anew without user information

    def __str__(self) -> str:
        return self.name

    @property
    def file(self) -> Path | None:
        return Path(self.address) if self.dialect in FILES else None


def parse_dialect(name: str) -> Dialect:
    """Return the dialect of a name."""
    try:
        return Dialect(name)
    except ValueError:
        raise UsageError(f"no dialect {name!r:.80}; known: {', '.join(Dialect)}") from None


def parse_spelling(name: str) -> Spelling:
    """Return the spelling of a name."""
    try:
        return Spelling(name)
    except ValueError:
        raise UsageError(f"{option('names')}: no spelling {name!r:.80}; known: {', '.join(Spelling)}") from None


def parse_database(text: str) -> Database | None:
    """Return the database that an argument names, None for files; a PostgreSQL URI may leave out what libpq finds."""
    for dialect, (prefix, suffixes) in FILES.items():
        if text.startswith(prefix) or text.lower().endswith(suffixes):
            path = text.removeprefix(prefix)
            return Database(dialect, path, path)
    if not text.startswith(POSTGRES_SCHEMES):
        by_content = _dialect_of_file(Path(text))
        return None if by_content is None else Database(by_content, text, text)
    scheme, _, rest = text.partition("://")
    user, _, place = rest.rpartition("@")
    location, _, query = place.partition("?")
    parameters = parse_qsl(query, keep_blank_values=True)
    # libpq takes a colon before the last @ for the beginning of a password in more cases than a parser of URIs does.
    named = [name.lower() for name, _ in [*parameters, *parse_qsl(user.partition("?")[2])]]
    if ":" in user or any(word in name for name in named for word in SECRETS):
        raise UsageError(
            "a password in a database address can be read by every user of the machine; leave it out and set "
            "PGPASSWORD, or use ~/.pgpass (PGPASSFILE) or a service file"
        )
    shown = urlencode([(name, value) for name, value in parameters if name in PLACE], safe="/")
    return Database(Dialect.POSTGRES, text, f"{scheme}://{location}{'?' if shown else ''}{shown}")


def _dialect_of_file(path: Path) -> Dialect | None:
    try:
        if not is_file(path):
            return None
        with path.open("rb") as stream:
            head = stream.read(len(SQLITE_MAGIC))
    except (OSError, ValueError):  # also a name that no file can have
        return None
    if head == SQLITE_MAGIC:
        return Dialect.SQLITE
    return Dialect.DUCKDB if head[DUCKDB_MAGIC_PLACE:].startswith(DUCKDB_MAGIC) else None


PASSWORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/[^@]*:[^@]*@")
"""A password in an address. What merely looks like one is refused as well."""

SCHEMES = {name: name for name in ("s3", "gs", "az", "abfss", "http", "https")}
SCHEMES |= {"s3a": "s3", "gcs": "gs", "azure": "az", "abfs": "abfss"}
"""Schemes of stores, and the one by which the libraries that read them know it."""

ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
"""An address; a Windows path has one letter before the colon."""

SNAPSHOT = "@"  # between the name of a table and the number of a snapshot
CATALOGUE = "iceberg:"  # how the name of a table begins that the catalogue has which pyiceberg is configured with


class SourceKind(StrEnum):
    """What a name stands for."""

    FILES = "files"
    OBJECTS = "objects"
    DATABASE = "database"
    DELTA = "delta"
    ICEBERG = "iceberg"
    SPARK = "spark"
    FRAME = "frame"


EXTENSIONS = dict.fromkeys((SourceKind.DELTA, SourceKind.ICEBERG), "lakes.lakes")
EXTENSIONS |= {SourceKind.OBJECTS: "stores.stored", SourceKind.SPARK: "spark.spark"}
"""The module, of an extension, that reads a source of each kind; the package itself reads the others."""


@dataclass(frozen=True, slots=True, repr=False)
class DataSource:
    """What a name stands for; or rows that are held in memory."""

    kind: SourceKind
    address: Any  # path, pattern or address; database; frame, or table that a library has opened
    snapshot: int | None = None  # None for the newest

    @property
    def is_alone(self) -> bool:
        """Whether it is read alone: a database or a table, and no files."""
        return self.kind not in (SourceKind.FILES, SourceKind.OBJECTS)

    @property
    def is_opened(self) -> bool:
        """Whether it is a table that a library has opened."""
        return self.kind in (SourceKind.DELTA, SourceKind.ICEBERG) and not isinstance(self.address, str)


def parse_names(names: Sequence[str], *, spark: bool = False) -> tuple[DataSource, ...]:
    """Parse names, none of which may hold a password; those for Spark, with file systems of its own, stay."""
    return tuple(DataSource(SourceKind.SPARK, name) if spark else _parsed(name) for name in names)


def _parsed(name: str) -> DataSource:
    if (database := parse_database(name)) is not None:
        return DataSource(SourceKind.DATABASE, database)
    if PASSWORD.search(name):
        raise UsageError("a password in an address can be read by every user of the machine; leave it out")
    return _table_source(name) or file_source(name)


def file_source(name: str | Path) -> DataSource:
    """Parse a name that can stand for nothing but files."""
    stored = isinstance(name, str) and is_address(name)
    return DataSource(SourceKind.OBJECTS if stored else SourceKind.FILES, str(name))


def is_address(name: str) -> bool:
    """Test whether a name is an address in a store, such as ``s3://census/2018/``."""
    match = ADDRESS.match(name)
    return match is not None and match[1].lower() in SCHEMES


def _table_source(name: str) -> DataSource | None:
    """Parse the name of a lake table, such as ``lake/people`` or, at an earlier time, ``lake/people@12``."""
    path, snapshot = Path(name), None
    if not exists(path):
        place, at, number = name.rpartition(SNAPSHOT)
        if at and number.isascii() and number.isdigit():
            name, path, snapshot = place, Path(place), int(number)
    if name.startswith(CATALOGUE) and not exists(path):
        return DataSource(SourceKind.ICEBERG, name, snapshot)
    for kind in TABLE_FORMATS:
        if kind.extra is not None and has_log(path, kind):
            return DataSource(SourceKind(kind.extra), name, snapshot)
    return DataSource(SourceKind.ICEBERG, name, snapshot) if is_entry(path, ICEBERG) else None
