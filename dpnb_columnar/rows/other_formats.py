"""Tell by its first bytes what a file is that is not Parquet, and which command makes Parquet of it."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from shlex import quote

from dpnb_columnar.domain.names import listed
from dpnb_columnar.errors import DataError, MissingInputError
from dpnb_columnar.rows.database_address import DUCKDB_MAGIC, DUCKDB_MAGIC_PLACE, SQLITE_MAGIC
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.outputs import is_utf8

HEAD = 4096
"""Bytes that are looked at."""

PARQUET = b"PAR1"
ENCRYPTED = b"PARE"
"""The last bytes of a file whose footer is encrypted."""

BY_TABLE = (
    "its rows are read with --table NAME by train, aggregate, check, evaluate, predict, split and suggest-domain; for "
    "another command, export them to Parquet"
)
"""What to do where a database is given to a command that reads Parquet alone."""

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


def check_file(file: Path) -> None:
    """Refuse what no engine could read as a file, before anything waits for it.

    Raises:
        MissingInputError: if it is a pipe or a device, or if its name is not UTF-8, which engines refuse.
    """
    if not is_utf8(file):
        raise MissingInputError(f"{str(file)!a:.200}: its name is not UTF-8; rename the file or its folder")
    try:
        mode = file.stat().st_mode
    except OSError:  # the reader says what is wrong with it
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise MissingInputError(f"{file}: is a pipe or a device; write its rows to a file, and name that")


def not_parquet(file: Path) -> DataError:
    """Return the error to raise for a file that is not complete Parquet: what it is, and the remedy."""
    try:
        with file.open("rb") as stream:
            head = stream.read(HEAD)
            stream.seek(max(stream.seek(0, os.SEEK_END) - len(ENCRYPTED), 0))
            tail = stream.read()
    except OSError:
        head = tail = PARQUET
    if tail == ENCRYPTED:
        return DataError(f"{file}: is encrypted; write it again without encryption where only you can read it")
    kinds = (kind for place, magic, kind in FORMATS if head[place:].startswith(magic))
    kind = next(kinds, "text, such as CSV or fixed width" if _is_text(head) else None)
    if kind is None and (unread := _unread_columns(file)):
        return DataError(
            f"{file}: {listed(unread)}: of a type, or in a time zone, that cannot be read; cast or drop the columns"
        )
    if kind is None:
        return DataError(f"{file}: not a complete Parquet file (damaged or cut short); write or copy it again")
    if "database" in kind:
        remedy = BY_TABLE
    elif "archive" in kind or "text" in kind:
        remedy = (
            f"if it is an extract, make Parquet of it: dpnb-columnar ingest {quote(str(file))} --output NAME.parquet"
        )
    else:
        remedy = "read it with polars, pandas or pyarrow, and write it as Parquet"
    return DataError(f"{file}: {kind}, not Parquet; {remedy}")


def _unread_columns(file: Path) -> list[str]:
    """Name the columns of which Polars cannot read the footer, though Arrow can."""
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(file)
        names = schema.names
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return []
    unread = []
    with confined():
        for name, field in zip(names, schema, strict=True):
            try:
                pl.Schema(pa.schema([field]))
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError, TypeError):
                unread.append(name)
    return unread


def _is_text(head: bytes) -> bool:
    """Test whether bytes are lines of text, in whichever 8-bit code."""
    return not head.startswith(PARQUET) and b"\n" in head and not any(byte < 9 or 13 < byte < 32 for byte in head)
