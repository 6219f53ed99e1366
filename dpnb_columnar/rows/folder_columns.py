"""Columns in the names of folders: each row of ``census/STATE=06/YEAR=2018/a.parquet`` has STATE 06 and YEAR 2018.

Writers of partitioned data (Hive, Spark, DuckDB, Polars) take such columns out of the files. Here they are texts, which
the row rules read by their value, and a column that the file itself has goes before one of its folders. Every engine is
given these values by this module; none looks at the names itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    import polars as pl

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The folder of rows without a value."""

FolderValues = dict[str, str | None]
"""Values by column, in the order of the folders; None where there is none."""


def folder_values(name: str | Path, columns: Iterable[str] = ()) -> FolderValues:
    """Return the columns in the names of a file's folders, as its path or address is typed.

    Args:
        name: Path or address of a file.
        columns: Columns of the file itself, which are left out.
    """
    own = {column.lower() for column in columns}
    parts = (part.partition("=") for part in str(name).split("/")[:-1])
    named = {unquote(key): None if value == NO_VALUE else unquote(value) for key, sign, value in parts if key and sign}
    return {key: value for key, value in named.items() if key.lower() not in own}


def scan_file(file: Path) -> pl.LazyFrame:
    """Return the rows of a Parquet file, with the columns of its folders. Confidential."""
    import polars as pl

    rows = pl.scan_parquet(file, glob=False, hive_partitioning=False)
    if not folder_values(file):
        return rows
    missing = folder_values(file, rows.collect_schema())
    return rows.with_columns(pl.lit(value, pl.String).alias(name) for name, value in missing.items())


def files_below(folder: Path) -> list[Path]:
    """List the Parquet files in a folder, then those in its folders named ``COLUMN=VALUE``, in order."""
    inner = sorted(path for path in folder.iterdir() if "=" in path.name and path.is_dir())
    return [*sorted(folder.glob("*.parquet")), *(file for path in inner for file in files_below(path))]
