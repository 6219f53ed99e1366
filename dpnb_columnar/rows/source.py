"""Parquet input: which files, which columns, of which kind. Opens footers only."""

from __future__ import annotations

import difflib
import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import DataError, MissingInputError
from dpnb_columnar.rows.kinds import Kind, check_kinds, kind_of


@dataclass(frozen=True, slots=True)
class Source:
    """Parquet files whose columns fit a domain.

    Attributes:
        files: At least one file.
        kinds: What each column of the domain holds; the same in every file.
    """

    files: tuple[Path, ...]
    kinds: Mapping[str, Kind]


def resolve(inputs: Sequence[str | Path]) -> tuple[Path, ...]:
    """The files that paths, glob patterns and folders stand for, each once, in the order given and sorted within.

    Raises:
        MissingInputError: One of them stands for no file.
    """
    found: dict[Path, None] = {}
    for item in inputs:
        path = Path(item)
        if path.is_dir():
            matches = sorted(path.glob("*.parquet"))
        elif path.exists():
            matches = [path]
        else:
            matches = sorted(Path(match) for match in glob.glob(str(item), recursive=True))  # noqa: PTH207 patterns may be absolute
        if not matches:
            raise MissingInputError(f"{item}: no such file; give Parquet files, a folder of them, or a quoted pattern")
        found.update(dict.fromkeys(matches))
    return tuple(found)


def read_metadata(file: Path) -> dict[str, str]:
    """Key-value metadata of a Parquet file.

    Raises:
        MissingInputError, DataError: The file cannot be opened, or is not a whole Parquet file.
    """
    try:
        return pl.read_parquet_metadata(file)
    except OSError as error:
        raise _unreadable(file, error) from None
    except pl.exceptions.PolarsError:
        raise _not_parquet(file) from None


def open_source(files: Sequence[Path], domain: Domain) -> Source:
    """Check that every file has the domain's columns, of types it can be read from.

    Raises:
        MissingInputError: A file cannot be opened.
        DataError: A file is not Parquet, lacks a column, or has one of the wrong type.
    """
    kinds: dict[str, Kind] = {}
    for file in files:
        found = _kinds(file, domain)
        if kinds and found != kinds:
            column = next(column for column in domain.columns if found[column] is not kinds[column])
            raise DataError(
                f"{file}: column {column!r} is {found[column]} here and {kinds[column]} in {files[0]}; "
                "cast it to one type in all files"
            )
        kinds = found
    return Source(tuple(files), kinds)


def _kinds(file: Path, domain: Domain) -> dict[str, Kind]:
    try:
        schema = pl.read_parquet_schema(file)
    except OSError as error:
        raise _unreadable(file, error) from None
    except pl.exceptions.PolarsError:
        raise _not_parquet(file) from None
    missing = [column for column in domain.columns if column not in schema]
    if missing:
        hints = [f"{column!r}{_hint(column, list(schema))}" for column in missing]
        raise DataError(f"{file}: missing column {', '.join(hints)}; its columns are {', '.join(schema)}")
    types = {column: str(schema[column]) for column in domain.columns}
    kinds = {column: kind_of(schema[column]) for column in domain.columns}
    check_kinds(domain, kinds, types, file)
    return {column: kind for column, kind in kinds.items() if kind is not None}


def _hint(column: str, candidates: list[str]) -> str:
    close = difflib.get_close_matches(column, candidates, n=1)
    return f" (is it {close[0]!r}?)" if close else ""


def _unreadable(file: Path, error: OSError) -> MissingInputError:
    return MissingInputError(f"{file}: cannot be opened: {error.strerror or 'no such file'}; check the path and its permissions")


def _not_parquet(file: Path) -> DataError:
    return DataError(f"{file}: not a complete Parquet file (damaged or cut short); write or copy it again")
