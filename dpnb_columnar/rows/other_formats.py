"""Tell by its first bytes what a file is that is not Parquet, and which command makes Parquet of it."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.database_address import DUCKDB_MAGIC, DUCKDB_MAGIC_PLACE, SQLITE_MAGIC

HEAD = 4096
"""Bytes that are looked at."""

PARQUET = b"PAR1"

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


def not_parquet(file: Path) -> DataError:
    """Return the error to raise for a file that is not complete Parquet: what it is, and the remedy."""
    try:
        with file.open("rb") as stream:
            head = stream.read(HEAD)
    except OSError:
        head = PARQUET
    kinds = (kind for place, magic, kind in FORMATS if head[place:].startswith(magic))
    kind = next(kinds, "text, such as CSV or fixed width" if _is_text(head) else None)
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


def _is_text(head: bytes) -> bool:
    """Test whether bytes are lines of text, in whichever 8-bit code."""
    return not head.startswith(PARQUET) and b"\n" in head and not any(byte < 9 or 13 < byte < 32 for byte in head)
