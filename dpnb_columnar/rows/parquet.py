"""Parquet input: which files, which columns, of which kind. Opens footers only."""

from __future__ import annotations

import difflib
import glob
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from dpnb_columnar.domain import Declaration, Domain
from dpnb_columnar.domain.metadata import domain_metadata
from dpnb_columnar.domain.validation import MOST_NAMED, listed, named
from dpnb_columnar.errors import DataError, MissingInputError, shown
from dpnb_columnar.rows.columns import Kind, check_kinds, common_type, kind_of, kinds_of, type_name
from dpnb_columnar.runtime.outputs import atomic_output

if TYPE_CHECKING:
    import pyarrow as pa

# MERGED FROM dpnb_columnar/rows/parquet.py: Arrow types whose values are numbers or text: all that a file of ours
# holds.


def is_plain(type_: pa.DataType) -> bool:
    """Whether values are numbers or text. Of other types, one library or another takes none, or fails."""
    from pyarrow import types

    if types.is_dictionary(type_):
        return is_plain(type_.value_type)
    numbers = types.is_integer(type_) or types.is_floating(type_) or types.is_decimal128(type_)
    return bool(numbers or is_text(type_) or types.is_null(type_))


def is_text(type_: pa.DataType) -> bool:
    """Whether values are text, each written out."""
    from pyarrow import types

    return bool(types.is_string(type_) or types.is_large_string(type_))


# MERGED FROM dpnb_columnar/rows/parquet.py: A Parquet file once more, with another domain in its metadata.


def copy_with_domain(source: Path, domain: Declaration, output: Path, *, overwrite: bool = False) -> None:
    """Copy the rows of a Parquet file, one row group at a time, and put a domain in the copy's metadata.

    Rows, their order, types, row groups and other metadata stay as they are. The copy can be read by its owner alone,
    since it holds confidential rows.

    Args:
        source: Parquet file.
        domain: The domain that the copy is to carry; the file has its columns.
        output: File to write.
        overwrite: Replace an existing file.

    Raises:
        MissingInputError, DataError: The source cannot be read, or lacks a column of the domain.
        OutputError: The output exists, or cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        opened = pq.ParquetFile(source)
    except pa.ArrowException:
        raise _damaged(source) from None
    except OSError as error:
        raise MissingInputError(f"{source}: cannot be opened: {error.strerror}; check the path") from None
    with opened as file:
        schema = file.schema_arrow
        if absent := [column for column in domain.columns if column not in schema.names]:
            raise DataError(
                f"{source}: has no column {', '.join(map(repr, absent))}; take it out of the domain with --drop"
            )
        carrying = schema.with_metadata({**(schema.metadata or {}), **domain_metadata(domain)})
        with (
            atomic_output(output, overwrite=overwrite, confidential=True) as partial,
            pq.ParquetWriter(partial, carrying, version="2.6", compression="zstd") as writer,
        ):
            for group in range(file.num_row_groups):
                try:
                    rows = file.read_row_group(group)
                except (pa.ArrowException, OSError):
                    raise _damaged(source) from None
                writer.write_table(rows, row_group_size=max(rows.num_rows, 1))


def _damaged(source: Path) -> DataError:
    return DataError(f"{source}: cannot be read to the end (damaged or cut short); write or copy it again")


@dataclass(frozen=True, slots=True)
class Source:
    """Parquet files whose columns fit a domain.

    Attributes:
        files: At least one file.
        types: Of each column of the domain, the type that holds its values of every file.
    """

    files: tuple[Path, ...]
    types: Mapping[str, pl.DataType]

    @property
    def kinds(self) -> dict[str, Kind]:
        """What each column of the domain holds; the same in every file."""
        return kinds_of(self.types)

    @property
    def names(self) -> str:
        """The files, as messages name them."""
        return ", ".join(str(file) for file in self.files[:3]) + (" ..." if len(self.files) > 3 else "")

    def unreadable(self) -> DataError:
        """What to raise where an engine fails on the files."""
        return DataError(f"{self.names}: cannot be read to the end (damaged or cut short); write or copy it again")


def resolve(inputs: Sequence[str | Path]) -> tuple[Path, ...]:
    """The files that paths, glob patterns and folders stand for, in the order given and sorted within.

    A file counts once, whatever names, links and patterns lead to it: each row is in the data once.

    Raises:
        MissingInputError: One of them stands for no file.
    """
    found: dict[tuple[int, int], Path] = {}
    for item in inputs:
        try:
            matches = _matches(str(item))
            identities = [(file.stat().st_dev, file.stat().st_ino) for file in matches]
        except OSError as error:
            raise _unreadable(Path(item), error) from None
        if not matches:
            raise MissingInputError(f"{item}: no such file; give Parquet files, a folder of them, or a quoted pattern")
        for identity, file in zip(identities, matches, strict=True):
            found.setdefault(identity, file)
    if not found:
        raise MissingInputError("no input; give Parquet files, a folder of them, or a quoted pattern")
    return tuple(found.values())


def _matches(item: str) -> list[Path]:
    """The files that a path or pattern stands for; a folder stands for the Parquet files directly in it."""
    path = Path(item)
    # An empty path, as from a variable that is not set, would be the working directory. A pattern may be absolute.
    matches = [path] if item and path.exists() else sorted(map(Path, glob.glob(item, recursive=True)))  # noqa: PTH207
    files = [file for match in matches for file in (sorted(match.glob("*.parquet")) if match.is_dir() else [match])]
    return [file for file in files if not file.is_dir()]


def read_metadata(file: Path) -> dict[str, str]:
    """Key-value metadata of a Parquet file.

    Raises:
        MissingInputError, DataError: The file cannot be opened, or is not a whole Parquet file.
    """
    with _footer_errors(file):
        return pl.read_parquet_metadata(file)


def open_source(files: Sequence[Path], domain: Domain) -> Source:
    """Check that every file has the domain's columns, of types it can be read from.

    Raises:
        MissingInputError: A file cannot be opened.
        DataError: A file is not Parquet, lacks a column, or has one of the wrong type.
    """
    schema = _schema(files[0], domain)
    types = {column: common_type(type_, type_) for column, type_ in schema.items()}
    for file in files[1:]:
        other = _schema(file, domain)
        check_alike(schema, str(files[0]), other, str(file))
        types = {column: common_type(type_, other[column]) for column, type_ in types.items()}
    return Source(tuple(files), types)


def check_alike(
    types: Mapping[str, pl.DataType], name: str, others: Mapping[str, pl.DataType], other_name: str
) -> None:
    """Refuse two files that hold a column in two kinds.

    Raises:
        DataError: With the column.
    """
    for column, type_ in types.items():
        if _form(others[column]) != _form(type_):
            raise DataError(
                f"{other_name}: column {column!r} is {_form(others[column])} here and {_form(type_)} in {name}; "
                "cast it to one type in all files"
            )


def _schema(file: Path, domain: Domain) -> dict[str, pl.DataType]:
    """The types of the domain's columns, checked."""
    with _footer_errors(file):
        schema = pl.scan_parquet(file, glob=False).collect_schema()
    return check_columns(schema, domain, str(file))


def check_columns(schema: Mapping[str, pl.DataType], domain: Domain, name: str) -> dict[str, pl.DataType]:
    """The types of the domain's columns.

    Args:
        schema: Every column there is, with its type.
        domain: The domain to read.
        name: What messages call the data.

    Raises:
        DataError: A column is missing, has a namesake, or is of a type it cannot be read from.
    """
    missing = [column for column in domain.columns if column not in schema]
    if missing:
        hints = [f"{shown(column)}{_hint(column, list(schema))}" for column in missing[:MOST_NAMED]]
        more = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
        raise DataError(
            f"{name}: missing column {', '.join(hints)}{more}; its columns are {named([*schema])}; "
            "add or rename columns, or correct the domain"
        )
    spellings = Counter(column.lower() for column in schema)
    for column in domain.columns:
        if spellings[column.lower()] > 1:  # DuckDB would read either for the other
            alike = listed([other for other in schema if other.lower() == column.lower()])
            raise DataError(f"{name}: columns {alike} differ in upper and lower case only; rename or drop all but one")
    types = {column: schema[column] for column in domain.columns}
    check_kinds(domain, types, name)
    return types


def _form(type_: pl.DataType) -> str:
    """What has to agree between files: the kind, and of decimals the scale, since it shows in their text."""
    kind = kind_of(type_)
    return type_name(type_) if kind is Kind.DECIMAL else str(kind)


def _hint(column: str, candidates: list[str]) -> str:
    close = difflib.get_close_matches(column, candidates, n=1)
    return f" (is it {shown(close[0])}?)" if close else ""


@contextmanager
def _footer_errors(file: Path) -> Iterator[None]:
    """Errors of reading a file's footer in our words."""
    try:
        with file.open("rb"):  # Polars reports a folder, or a file without permission, in many ways
            pass
        yield
    except OSError as error:
        raise _unreadable(file, error) from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise _not_parquet(file) from None


def _unreadable(file: Path, error: OSError) -> MissingInputError:
    return MissingInputError(
        f"{file}: cannot be opened: {error.strerror or 'no such file'}; check the path and its permissions"
    )


def _not_parquet(file: Path) -> DataError:
    return DataError(f"{file}: not a complete Parquet file (damaged or cut short); write or copy it again")
