"""Which files inputs stand for, and columns in the names of folders.

Each row of ``census/STATE=06/YEAR=2018/a.parquet`` has STATE 06 and YEAR 2018. Writers of partitioned data (Hive,
Spark, DuckDB, Polars) take such columns out of the files. Here they are texts, which the row rules read by their value,
and a column that the file itself has goes before one of its folders. Every engine is given these values by this module;
none looks at the names itself.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from dpnb_columnar.errors import MissingInputError
from dpnb_columnar.rows.database_address import POSTGRES_SCHEMES
from dpnb_columnar.rows.other_formats import BY_TABLE

if TYPE_CHECKING:
    import polars as pl

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The folder of rows without a value."""

FolderValues = dict[str, str | None]
"""Values by column, in the order of the folders; None where there is none."""

MOST_NAMED = 3
"""Kinds of files, and folders, that an error names."""


def resolve_files(inputs: Sequence[str | Path]) -> tuple[Path, ...]:
    """List the files that paths, glob patterns and folders stand for, in the order given and sorted within each.

    A file counts once, whatever names, links and patterns lead to it: each row is in the data once.

    Raises:
        MissingInputError: if an input stands for no file, or cannot be opened.
    """
    resolved: dict[tuple[int, int], Path] = {}
    for item in inputs:
        try:
            matches = _matches(str(item))
            identities = [(file.stat().st_dev, file.stat().st_ino) for file in matches]
        except OSError as error:
            raise cannot_be_opened(Path(item), error) from None
        if not matches:
            raise _no_files(str(item))
        for identity, file in zip(identities, matches, strict=True):
            resolved.setdefault(identity, file)
    if not resolved:
        raise MissingInputError("no input; give Parquet files, a folder of them, or a quoted pattern")
    return tuple(resolved.values())


def _matches(item: str) -> list[Path]:
    """List the files of a path or pattern; a folder stands for the Parquet files in it (``files_below``)."""
    path = Path(item)
    # An empty path, as from a variable that is not set, would be the working directory. A pattern may be absolute.
    matches = [path] if item and path.exists() else sorted(map(Path, glob.glob(item, recursive=True)))  # noqa: PTH207
    files = [file for match in matches for file in (files_below(match) if match.is_dir() else [match])]
    return [file for file in files if not file.is_dir()]


def files_below(folder: Path) -> list[Path]:
    """List the Parquet files in a folder, then those in its folders named ``COLUMN=VALUE``, in order."""
    inner = sorted(path for path in folder.iterdir() if "=" in path.name and path.is_dir())
    return [*sorted(folder.glob("*.parquet")), *(file for path in inner for file in files_below(path))]


def _no_files(item: str) -> MissingInputError:
    """Return the error to raise for an input that stands for no file: what is there in its place, and the remedy."""
    folder = Path(item)
    if item and folder.is_dir():
        other = sorted({path.suffix or "no suffix" for path in folder.iterdir() if path.is_file()})[:MOST_NAMED]
        inner = sorted(path.name for path in folder.iterdir() if path.is_dir())[:MOST_NAMED]
        held = [f"files with {', '.join(other)}"] * bool(other) + [f"folders such as {', '.join(inner)}"] * bool(inner)
        remedy = "make Parquet of an extract with dpnb-columnar ingest" if other else "check the path"
        if inner:
            remedy = f"for the files of its folders give the pattern '{folder}/**/*.parquet'"
        return MissingInputError(
            f"{item}: a folder without files named *.parquet; it holds {' and '.join(held) or 'nothing'}; {remedy}"
        )
    if item.startswith(POSTGRES_SCHEMES):
        return MissingInputError(f"a database, alone or beside files, is not read by this command; {BY_TABLE}")
    return MissingInputError(f"{item}: no such file; give Parquet files, a folder of them, or a quoted pattern")


def cannot_be_opened(file: Path, error: OSError) -> MissingInputError:
    """Return the error to raise for a file that the operating system does not open."""
    return MissingInputError(
        f"{file}: cannot be opened: {error.strerror or 'no such file'}; check the path and its permissions"
    )


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
