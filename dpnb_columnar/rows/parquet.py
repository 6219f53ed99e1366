"""Open Parquet files by their footers alone, and hand out their rows, lazily or in batches. CONFIDENTIAL."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from dpnb_columnar.domain.catalogue import entry_of_file
from dpnb_columnar.domain.column_kinds import Kind, common_type, kinds_of
from dpnb_columnar.domain.declaration import domain_from_metadata
from dpnb_columnar.domain.declared_domain import Declaration, Domain
from dpnb_columnar.domain.names import listed
from dpnb_columnar.errors import DataError, Error, MissingInputError
from dpnb_columnar.rows.input_files import (
    DataFile,
    arrow_file,
    check_file,
    check_unchanged,
    failure_of,
    file_footer,
    folder_values,
    footer_alone,
    not_parquet_error,
    open_error,
    own_file_error,
    scan_file,
    stored_objects,
    types_by_arrow,
    unpacked_bytes,
    unread_columns,
)
from dpnb_columnar.rows.row_rules import check_alike, check_columns, check_nesting, nested_too_deep
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.resources import machine_memory
from dpnb_columnar.runtime.row_progress import Size

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

BATCH_ROWS = 2**16  # rows that are read at a time


@dataclass(frozen=True, slots=True)
class NamedRows:
    """Rows of a file, or of a table, with their name in messages. Confidential."""

    name: str
    rows: pl.LazyFrame
    types: Mapping[str, pl.DataType]
    size: Size  # as far as it is public
    file: DataFile | None = None  # None for a table


@dataclass(frozen=True, slots=True)
class Batches:
    """Rows in their order, with their name in messages. Confidential."""

    name: str
    schema: pa.Schema  # columns, and the metadata to keep with them
    batches: Iterator[pa.RecordBatch]  # they can be read once
    size: Size  # as far as it is public


def check_read(rows: Sequence[NamedRows]) -> None:
    """Refuse rows of objects that changed while they were read, once they are."""
    check_unchanged(_files_of(rows))


def read_error(rows: Sequence[NamedRows]) -> Error:
    """Return the error to raise where an engine fails on rows; the engine's own text may quote values."""
    names = ", ".join(each.name for each in rows[:3]) + (" ..." if len(rows) > 3 else "")
    return store_failure(rows) or damaged_file_error(names)


def store_failure(rows: Sequence[NamedRows]) -> Error | None:
    """Return the error to raise where an engine has just failed on objects; None if it was not the store's."""
    return failure_of(_files_of(rows), sys.exception())


def _files_of(rows: Sequence[NamedRows]) -> list[DataFile]:
    return [each.file for each in rows if each.file is not None]


def size_of(rows: Sequence[NamedRows]) -> int | None:
    """Add up how many rows there are; None where one of them does not say."""
    sizes = [each.size() for each in rows]
    return None if None in sizes else sum(size or 0 for size in sizes)


ARROW_SCHEMA = "ARROW:schema"  # key of the Arrow schema in a file's metadata, which Arrow writes for itself

OWN_TABLES = {
    frozenset(("attribute", "class", "cell", "parameter", "released", "value")): "model",
    frozenset(("attribute", "class", "code", "count")): "statistics",
}
"""Columns of files that this program writes and that hold no rows, and what they hold."""


@dataclass(frozen=True, slots=True)
class ParquetSource:
    """Parquet files, one at least, whose columns fit a domain."""

    files: tuple[DataFile, ...]
    types: Mapping[str, pl.DataType]  # for each column of the domain, one that holds its values of every file

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kind of each column of the domain; the same in every file."""
        return kinds_of(self.types)

    @property
    def names(self) -> str:
        return ", ".join(str(file) for file in self.files[:3]) + (" ..." if len(self.files) > 3 else "")

    def size(self) -> int | None:
        return rows_in_footers(self.files)

    @property
    def is_stored(self) -> bool:
        return bool(stored_objects(self.files))

    def unreadable(self) -> Error:
        """Return the error to raise where an engine fails on the files; the engine's own text may quote values."""
        return failure_of(self.files, sys.exception()) or damaged_file_error(self.names)


def read_metadata(file: DataFile) -> dict[str, str]:
    """Read the key-value metadata of a Parquet file."""
    with _footer_errors(file):
        try:
            return pl.read_parquet_metadata(footer_alone(file))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            if (footer := _footer_by_arrow(file)) is None:
                raise
            pairs = (footer.metadata or {}).items()
            return {key.decode(errors="replace"): value.decode(errors="replace") for key, value in pairs}


def read_schema(file: DataFile) -> Mapping[str, pl.DataType]:
    """Read the names and types of a Parquet file's columns, those of its folders last; Unknown if Polars has none."""
    with _footer_errors(file):
        try:
            schema = pl.scan_parquet(footer_alone(file), glob=False, hive_partitioning=False).collect_schema()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            schema = pl.Schema(types_by_arrow(file))
            if len(unread_columns(schema)) == len(schema):
                raise
        schema = pl.Schema({**schema, **dict.fromkeys(folder_values(file, schema), pl.String())})
    check_nesting(schema, str(file))
    if (kind := OWN_TABLES.get(frozenset(schema))) is not None:
        raise own_file_error(file, kind)
    return schema


def _footer_by_arrow(file: DataFile) -> pq.FileMetaData | None:
    import pyarrow.parquet as pq

    return pq.read_metadata(arrow_file(file)) if types_by_arrow(file) else None


def rows_in_footers(files: Sequence[DataFile]) -> int | None:
    """Add up the numbers of rows in the footers of Parquet files; None where one cannot be read."""
    try:
        return sum(map(number_of_rows, files))
    except (MissingInputError, DataError):  # whoever reads the rows tells what is wrong
        return None


def number_of_rows(file: DataFile) -> int:
    """Return the number of rows in the footer of a Parquet file."""
    with _footer_errors(file):
        rows = pl.scan_parquet(footer_alone(file), glob=False, hive_partitioning=False)
        try:
            return int(rows.select(pl.len()).collect().item())
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            if (footer := _footer_by_arrow(file)) is None:
                raise
            return int(footer.num_rows)


HELD_BY_POLARS, HELD_BY_ARROW = 4, 8
"""How often a text is held at most: while its column is unpacked, read and looked at, and while it is written again."""


def check_texts(file: DataFile, texts: Collection[str], held: int = HELD_BY_POLARS) -> None:
    """Refuse a file whose texts of a row group, unpacked at once as the footer says, would take half of the memory."""
    memory = machine_memory()
    if not texts or not memory:
        return
    limit = memory // 2 // held
    with _footer_errors(file):
        footer = file_footer(file)
    for group in unpacked_bytes(footer, texts, str(file)):
        if group > limit:
            raise DataError(  # not which of them is long: that is the rows' secret
                f"{file}: the texts of a row group ({listed(sorted(texts))}) are unpacked at once and have more than "
                f"{limit} bytes, the most that is read with the memory of this machine; write the file again with "
                "smaller row groups, or without the column that takes them"
            )


def _texts_among(types: Mapping[str, pl.DataType]) -> set[str]:
    return {name for name, type_ in types.items() if not type_.is_numeric() and not type_.is_temporal()}


def scan_files(files: Sequence[DataFile], columns: Collection[str] | None = None) -> list[NamedRows]:
    """Return the rows of Parquet files as they are, a lazy frame for each file, of some columns or of all."""
    scanned = []
    for file in files:
        types = read_schema(file)
        if refused := [name for name in unread_columns(types) if name in (columns or ())]:
            raise DataError(f"{file}: column {listed(refused)} is of a type that cannot be read; cast it first")
        check_texts(file, _texts_among({name: types[name] for name in types if columns is None or name in columns}))
        scanned.append(NamedRows(str(file), scan_file(file), types, partial(rows_in_footers, [file]), file))
    return scanned


def open_parquet(files: Sequence[DataFile], domain: Domain) -> ParquetSource:
    """Check that every file has the domain's columns, of types that the domain can be read from."""
    schema = types = _schema(files[0], domain)
    for file in files[1:]:
        other = _schema(file, domain)
        check_alike(schema, str(files[0]), other, str(file))
        types = {column: common_type(type_, other[column]) for column, type_ in types.items()}
    return ParquetSource(tuple(files), types)


def _schema(file: DataFile, domain: Domain) -> dict[str, pl.DataType]:
    types = check_columns(read_schema(file), domain, str(file))
    check_texts(file, _texts_among(types))
    return types


def is_plain(type_: pa.DataType) -> bool:
    """Test whether an Arrow type's values are numbers or text; some library fails on each of the other types."""
    from pyarrow import types

    if types.is_dictionary(type_):
        return is_plain(type_.value_type)
    numbers = types.is_integer(type_) or types.is_floating(type_) or types.is_decimal128(type_)
    return bool(numbers or is_text(type_) or types.is_null(type_))


def is_text(type_: pa.DataType) -> bool:
    """Test whether an Arrow type's values are text, each written out and not in a dictionary."""
    from pyarrow import types

    return bool(types.is_string(type_) or types.is_large_string(type_))


@contextmanager
def _footer_errors(file: DataFile) -> Iterator[None]:
    check_file(file)
    try:
        with file.open("rb"):  # Polars reports a folder, or a file without permission, in many ways
            pass
        with confined():
            yield
    except OSError as error:
        raise open_error(file, error) from None
    except pl.exceptions.DuplicateError:
        import pyarrow.parquet as pq

        twice = [name for name, times in Counter(pq.read_schema(arrow_file(file)).names).items() if times > 1]
        raise DataError(
            f"{file}: has more than one column named {listed(twice)}; rename or drop all but one of a name"
        ) from None
    except RecursionError:
        raise nested_too_deep("a column", str(file)) from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise not_parquet_error(file) from None


def damaged_file_error(source: object) -> DataError:
    """Return the error to raise where rows of Parquet files cannot be read, though the footers can."""
    return DataError(f"{source}: cannot be read to the end (damaged, cut short or encrypted); write or copy it again")


def own_declaration(file: Path) -> Declaration | None:
    """Return what declares the domain of a Parquet file: the file beside it, else its metadata; None for neither."""
    entry = entry_of_file(file)
    return domain_from_metadata(read_metadata(file), str(file)) if entry is None else entry.declared
