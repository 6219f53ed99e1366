"""What a name stands for: parsed once, before anything is opened. No row is read.

A name stands for files (a path, a folder or a pattern), a database, a lake table, or objects of a store. Extensions
read tables of lakes and objects of stores.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from dpnb_columnar.domain.database_address import parse_database
from dpnb_columnar.errors import UsageError
from dpnb_columnar.rows.table_formats import ICEBERG, TABLE_FORMATS, has_log, is_entry
from dpnb_columnar.runtime.paths import exists

PASSWORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/[^@]*:[^@]*@")
"""A password in an address. What merely looks like one is refused as well."""

SCHEMES = {
    "s3": "s3",
    "s3a": "s3",
    "gs": "gs",
    "gcs": "gs",
    "az": "az",
    "azure": "az",
    "abfs": "abfss",
    "abfss": "abfss",
    "http": "http",
    "https": "https",
}
"""Schemes of stores, and the one by which the libraries that read them know it."""

ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
"""An address; a Windows path has one letter before the colon."""

SNAPSHOT = "@"
"""What stands between the name of a table and the number of a snapshot."""

CATALOGUE = "iceberg:"
"""How the name of a table begins that the catalogue has which pyiceberg is configured with."""


class SourceKind(StrEnum):
    """What a name stands for."""

    FILES = "files"
    OBJECTS = "objects"
    DATABASE = "database"
    DELTA = "delta"
    ICEBERG = "iceberg"
    SPARK = "spark"
    FRAME = "frame"


EXTENSIONS = {
    SourceKind.OBJECTS: "stores",
    SourceKind.DELTA: "lakes",
    SourceKind.ICEBERG: "lakes",
    SourceKind.SPARK: "spark",
}
"""The extension that reads a source of each kind; the package itself reads the others."""


@dataclass(frozen=True, slots=True, repr=False)
class DataSource:
    """What a name stands for; or rows that are held in memory.

    Attributes:
        kind: What it is.
        address: The path, pattern or address; the database; or the frame, or the table that a library has opened.
        snapshot: Number of a table's snapshot; None for the newest.
    """

    kind: SourceKind
    address: Any
    snapshot: int | None = None

    @property
    def is_alone(self) -> bool:
        """Whether it is read alone: a database or a table, and no files."""
        return self.kind not in (SourceKind.FILES, SourceKind.OBJECTS)

    @property
    def is_opened(self) -> bool:
        """Whether it is a table that a library has opened."""
        return self.kind in (SourceKind.DELTA, SourceKind.ICEBERG) and not isinstance(self.address, str)


def parse_names(names: Sequence[str], *, spark: bool = False) -> tuple[DataSource, ...]:
    """Parse names; those that Spark reads, which has file systems of its own, stay as they are.

    Raises:
        UsageError: if one holds a password.
    """
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
