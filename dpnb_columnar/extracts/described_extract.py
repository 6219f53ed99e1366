"""An extract together with its codebook: its columns and their types, and its rows read by it."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from dpnb_columnar.domain import Numeric
from dpnb_columnar.domain.declared_domain import Declaration, UnlabelledDomain
from dpnb_columnar.domain.field_reader import LARGEST_DOCUMENT, parse_toml
from dpnb_columnar.domain.names import did_you_mean, named
from dpnb_columnar.errors import ConfigurationError, DataError, MissingInputError, UsageError, excerpt, option
from dpnb_columnar.extracts.codebook_domain import for_columns, notes_on, stated_universe, unused_names
from dpnb_columnar.extracts.codebooks.codebook import Codebook, Variable
from dpnb_columnar.extracts.codebooks.to_domain import LeftOut
from dpnb_columnar.extracts.decode import column_type
from dpnb_columnar.extracts.delimited import read_delimited, read_header
from dpnb_columnar.extracts.extract_files import Extract, FileKind, Progress, open_extract
from dpnb_columnar.extracts.fixed_width import read_fixed_width

if TYPE_CHECKING:
    import polars as pl

DEFAULT_ENCODING = "utf-8"


@dataclass(frozen=True)
class DescribedExtract:
    """An extract whose columns are known; no row has been read.

    Attributes:
        extract: The extract.
        codebook: Codebook of the extract; None where an extract that names its columns has none.
        names: Columns of the extract, in its order.
        header: Whether the first line of a delimited extract names them.
        schema: Columns of Parquet, and the metadata of the file; None of text.
        types: The types of the columns of Parquet, as Polars has them.
    """

    extract: Extract
    codebook: Codebook | None
    names: tuple[str, ...]
    header: bool = True
    schema: pa.Schema | None = None
    types: Mapping[str, pl.DataType] = field(default_factory=dict)

    @property
    def encoding(self) -> str:
        """Character encoding of the extract."""
        return DEFAULT_ENCODING if self.codebook is None else self.codebook.encoding

    @property
    def universe(self) -> str:
        """Who the persons of Parquet are by the domain that it carries; empty where nothing says it."""
        return "" if self.schema is None else stated_universe(self.extract.path)

    def unused(self) -> Iterator[LeftOut]:
        """List the columns of Parquet that its codebook does not declare as they are."""
        if self.schema is not None and self.codebook is not None:
            yield from unused_names(self.codebook, self.types)

    def notes_on(self, domain: UnlabelledDomain) -> Iterator[str]:
        """Say what rows and values of Parquet have to be, where its codebook and its types leave it open."""
        if self.schema is not None and self.codebook is not None:
            yield from notes_on(self.codebook, domain, self.types)

    def variable(self, name: str) -> Variable | None:
        """Return the codebook's declaration of a column; None where there is none."""
        return self._variables.get(name)

    @cached_property
    def _variables(self) -> Mapping[str, Variable]:
        """Declaration of each column."""
        if self.codebook is None:
            return {}
        return {name: variable for name, (_, variable) in self.codebook.column_sources().items()}


def describe(extract: Extract, codebook: Codebook | None, names: tuple[str, ...] | None = None) -> DescribedExtract:
    """Find the columns of an extract: in its header or footer if it has one, else in the codebook.

    Args:
        names: Columns of a delimited extract without a header; None of one that has a header.
    """
    if names is not None and extract.kind is not FileKind.DELIMITED:
        raise ConfigurationError(f"{extract}: {option('no-header')} is for CSV; this is {extract.kind}")
    if extract.kind is FileKind.PARQUET:
        return _describe_parquet(extract, codebook)
    if extract.kind is FileKind.DELIMITED:
        if codebook is not None and codebook.record_types:
            raise ConfigurationError(
                f"{extract}: {codebook.source} describes lines of the record types {named(codebook.record_types)}, "
                "which a CSV file does not have; give the .dat file, or the codebook of the CSV file"
            )
        if names is not None:
            return DescribedExtract(extract, codebook, names, header=False)
        with open_extract(extract) as stream:
            if codebook is None:
                names = read_header(stream, str(extract), DEFAULT_ENCODING)
            else:
                names = read_header(stream, str(extract), codebook.encoding, frozenset(codebook.columns))
        return DescribedExtract(extract, codebook and codebook.in_spelling_of(names), names)
    if codebook is None:
        raise ConfigurationError(
            f"{extract}: fixed-width text does not name its columns; put its codebook beside it, as "
            f"{extract.path.with_suffix('').stem}.xml, or give it with {option('codebook')}"
        )
    if any(variable.start is None for variable in codebook.variables):
        raise ConfigurationError(
            f"{extract}: {codebook.source} gives no positions in a line; give the codebook of the .dat file with "
            f"{option('codebook')}"
        )
    return DescribedExtract(extract, codebook, codebook.columns)


def _describe_parquet(extract: Extract, codebook: Codebook | None) -> DescribedExtract:
    """Find the columns of Parquet in its footer, and those of its folders."""
    from dpnb_columnar.rows.holdout import batches_of_files
    from dpnb_columnar.rows.parquet import read_schema

    types, schema = read_schema(extract.path), batches_of_files([extract.path]).schema
    book = None if codebook is None else for_columns(codebook, types)
    return DescribedExtract(extract, book, tuple(schema.names), schema=schema, types=types)


def read_batches(
    described: DescribedExtract, schema: pa.Schema, progress: Progress | None = None
) -> Generator[pa.RecordBatch]:
    """Read the rows of an extract, in its order.

    Args:
        progress: Called with the number of bytes just read from disk.

    Yields:
        Batches of the schema. Confidential.
    """
    source = str(described.extract)
    if described.extract.kind is FileKind.PARQUET:
        yield from _read_parquet(described.extract, schema, progress)
        return
    with open_extract(described.extract, progress) as stream:
        if described.extract.kind is FileKind.DELIMITED or described.codebook is None:
            yield from read_delimited(
                stream, source, schema, described.encoding, described.names, header=described.header
            )
        else:
            yield from read_fixed_width(stream, source, described.codebook, schema.names)


def _read_parquet(extract: Extract, schema: pa.Schema, progress: Progress | None) -> Iterator[pa.RecordBatch]:
    """Read the wanted columns of Parquet, a row group's batches at a time; the rows' part of its bytes is reported."""
    from dpnb_columnar.rows.holdout import batches_of_files

    rows = batches_of_files([extract.path], columns=schema.names)
    size, total, read = extract.path.stat().st_size, rows.size() or 1, 0
    for batch in rows.batches:
        yield pa.RecordBatch.from_arrays(batch.select(schema.names).columns, schema=schema)
        if progress is not None:
            progress(size * (read + len(batch)) // total - size * read // total)
        read += len(batch)


# The columns of the output and their types, on which all extracts must agree. Parquet has its types, and a codebook
# declares those of text. Without one they are what a file of types or a catalogue's entry says, else text; never what
# the rows say: one row with a word would change the type of its column, and how all other rows are read.

TYPES: Mapping[str, pa.DataType] = {"integer": pa.int64(), "number": pa.float64(), "text": pa.string()}
"""Types that a file may name, as columns are written."""


def read_types(path: Path) -> dict[str, pa.DataType]:
    """Read a TOML file of types, such as ``AGE = "integer"``."""
    try:
        with path.open("rb") as stream:
            document = parse_toml(stream.read(LARGEST_DOCUMENT + 1))
    except OSError as error:
        raise MissingInputError(f"{path}: cannot be read: {error.strerror}; check the path") from None
    except ValueError as error:
        raise ConfigurationError(f'{path}: not a TOML file of types such as AGE = "integer": {error}') from None
    for name, type_ in document.items():
        if not isinstance(type_, str) or type_ not in TYPES:
            raise ConfigurationError(
                f"{path}: {excerpt(name)}: expected one of {', '.join(TYPES)}, found {excerpt(type_)}; write such as "
                'AGE = "integer"'
            )
    return {name: TYPES[type_] for name, type_ in document.items()}


def types_of(domain: Declaration) -> dict[str, pa.DataType]:
    """Choose the types of a domain's columns: numeric attributes are numbers, all other columns are text."""
    numeric = {attribute.name for attribute in domain.attributes if isinstance(attribute, Numeric)}
    return {name: TYPES["number" if name in numeric else "text"] for name in domain.columns}


def check_types(
    types: Mapping[str, pa.DataType], extract: Extract, names: Sequence[str], undeclared: Sequence[str], source: str
) -> None:
    """Refuse types of columns that the extracts do not have, or whose type a codebook or Parquet declares."""
    for name in types:
        if name not in names:
            hint = did_you_mean(name, names, f"it has {named(names)}")
            raise UsageError(f"{source}: {extract} has no column {excerpt(name)}; {hint}")
        if name not in undeclared:
            raise UsageError(f"{source}: the type of {excerpt(name)} is declared already; take the column out")


def check_alike(extracts: Sequence[DescribedExtract], names: Sequence[str]) -> None:
    """Refuse extracts that lack a column, or declare it otherwise than the first does."""
    first, *others = extracts
    for other in others:
        if absent := [name for name in names if name not in other.names]:
            raise DataError(
                f"{other.extract}: has no column {named(absent)}, as {first.extract} has; choose columns that all "
                f"extracts have with {option('columns')}, or ingest them apart"
            )
        for name in names:
            mine, theirs = _declared_type(first, name), _declared_type(other, name)
            if mine != theirs:
                raise DataError(
                    f"{other.extract}: {name} is {theirs or 'not declared'}, and {mine or 'not declared'} in "
                    f"{first.extract}; give one codebook for all with {option('codebook')}, or ingest them apart"
                )


def undeclared_columns(extract: DescribedExtract, names: Sequence[str]) -> tuple[str, ...]:
    """Select the columns whose type neither a codebook nor a Parquet file says."""
    return tuple(name for name in names if _declared_type(extract, name) is None)


def output_schema(
    extracts: Sequence[DescribedExtract], names: Sequence[str], types: Mapping[str, pa.DataType]
) -> pa.Schema:
    """Build the schema of the columns: types as declared, and text where none is. No row is read."""
    return pa.schema([(name, _declared_type(extracts[0], name) or types.get(name, pa.string())) for name in names])


def _declared_type(extract: DescribedExtract, name: str) -> pa.DataType | None:
    if extract.schema is not None:
        return extract.schema.field(name).type
    variable = extract.variable(name)
    return None if variable is None else column_type(variable)
