"""The conversion of extracts and their codebooks to one Parquet file that carries its domain."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from dpnb_columnar.domain.catalogue import entry_named
from dpnb_columnar.domain.declaration import Declaration
from dpnb_columnar.domain.metadata import domain_metadata
from dpnb_columnar.errors import UsageError, excerpt
from dpnb_columnar.extracts.codebook_domain import domain_by, first_names, left_out_lines
from dpnb_columnar.extracts.codebooks.codebook import Codebook
from dpnb_columnar.extracts.codebooks.read import codebook_beside, read_codebook
from dpnb_columnar.extracts.codebooks.to_domain import LeftOut
from dpnb_columnar.extracts.described_extract import (
    DescribedExtract,
    check_alike,
    check_types,
    describe,
    output_schema,
    read_batches,
    read_types,
    types_of,
    undeclared_columns,
)
from dpnb_columnar.extracts.extract_files import Extract, Progress, refuse_changed
from dpnb_columnar.extracts.selection import Selection, check_condition, keep_rows, select
from dpnb_columnar.runtime.outputs import atomic_output, check_output
from dpnb_columnar.runtime.parquet_output import parquet_writer
from dpnb_columnar.runtime.workers import prefetch

GROUP_ROWS = 2**19
"""Rows of a row group."""

GROUP_BYTES = 2**26
"""Bytes of a row group in memory; wide rows make shorter groups."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """Everything to read and write, known before a row is read.

    Attributes:
        extracts: At least one, alike in the columns that are read.
        selection: Columns and rows wanted.
        domain: Domain of the columns to write by the codebooks, its label still to be chosen; None where they declare
            no attribute.
        left_out: Declared columns that are no attributes, and why.
        undeclared: Columns that neither a codebook nor ``types`` declares; they are kept as text.
        types: Types of columns that no codebook declares.
    """

    extracts: tuple[DescribedExtract, ...]
    selection: Selection
    domain: Declaration | None
    left_out: tuple[LeftOut, ...]
    undeclared: tuple[str, ...]
    types: Mapping[str, pa.DataType] = field(default_factory=dict)


def plan_conversion(
    extracts: Sequence[Extract],
    codebook: str | None,
    columns: str | None,
    where: str | None,
    name: str | None = None,
    *,
    dataset: str | None = None,
    catalogue: Path | None = None,
    types: Path | None = None,
) -> Conversion:
    """Find the codebooks, the columns and the domain; only headers of the extracts are read.

    Args:
        extracts: At least one.
        codebook: File or packaged layout that describes all extracts; if None, the codebook beside each.
        columns: Columns to write: names set apart by commas, or ``adult-like``; all if None.
        where: Condition on the rows to write; all if None.
        name: Name of the data set; None for the one that the codebooks give it.
        dataset: Entry of a catalogue, the domain of extracts without a codebook; it sets the types of its columns.
        catalogue: Catalogue to look for the entry in; None for the usual places.
        types: File with the types of columns that no codebook declares.

    Raises:
        UsageError: If a column or an entry does not exist, the condition cannot be parsed, or the name cannot be one.
        MissingInputError: If a codebook or the file of types is not there.
        ConfigurationError: If a codebook cannot be used.
        DataError: If the extracts are not alike.
    """
    codebooks: dict[str, Codebook] = {}
    described = []
    for extract in extracts:
        path = codebook or codebook_beside(extract.path)
        if path is not None and str(path) not in codebooks:
            codebooks[str(path)] = read_codebook(path)
        described.append(describe(extract, None if path is None else codebooks[str(path)]))
    selection = select(described[0].names, columns, where)
    check_alike(described, selection.read)
    unknown = undeclared_columns(described[0], selection.columns)
    declared = [name for name in selection.columns if name not in unknown]
    domain: Declaration | None
    domain, left_out = domain_by([*codebooks.values()], declared, name)
    if name is not None and domain is None:
        raise UsageError(f"name {excerpt(name)}: names a domain, and no codebook declares one; leave it out")
    given: dict[str, pa.DataType] = {}
    if dataset is not None:
        if codebooks:
            raise UsageError(f"--dataset {excerpt(dataset)}: the extracts get the domain of their codebook; drop it")
        domain = entry_named(dataset, catalogue).declared
        given = types_of(domain)
        check_types(given, selection.columns, selection.columns, f"--dataset {excerpt(dataset)}")
    if types is not None:
        listed, names = read_types(types), described[0].names
        check_types(listed, names, undeclared_columns(described[0], names), f"--types {types}")
        given |= listed
    kept = [name for name in undeclared_columns(described[0], selection.read) if name not in given]
    return Conversion(tuple(described), selection, domain, left_out, tuple(kept), given)


def convert(conversion: Conversion, output: Path, *, overwrite: bool = False, progress: Progress | None = None) -> None:
    """Read the extracts into one Parquet file, rows in their order. Memory does not grow with the rows.

    Reading, decoding and writing go on side by side.

    Args:
        conversion: The plan.
        output: Parquet file; it appears complete or not at all, readable by its owner alone.
        overwrite: Replace an existing file.
        progress: Called with the number of bytes just read from disk.

    Raises:
        MissingInputError: If an extract cannot be opened.
        DataError: If an extract is damaged, or not as its codebook says.
        UsageError: If the condition does not fit the types of the columns.
        OutputError: If the output exists, or cannot be written.
    """
    check_output(output, overwrite)
    selection = conversion.selection
    schema = output_schema(conversion.extracts, selection.read, conversion.types)
    if selection.condition is not None:
        check_condition(selection.condition, schema)
    metadata = {} if conversion.domain is None else domain_metadata(conversion.domain)
    written = pa.schema([schema.field(name) for name in selection.columns])
    rows = (batch for extract in conversion.extracts for batch in _whole(extract, schema, progress))
    with closing(prefetch(row_groups(keep_rows(rows, selection, schema), written), depth=1)) as groups:
        write_parquet(groups, written, metadata, output, overwrite=overwrite)


def _whole(extract: DescribedExtract, schema: pa.Schema, progress: Progress | None) -> Iterator[pa.RecordBatch]:
    """Read an extract to its end, and refuse one that was written to meanwhile.

    Raises:
        MissingInputError, DataError: As ``convert``.
    """
    yield from read_batches(extract, schema, progress)
    refuse_changed(extract.extract)


def result_lines(conversion: Conversion, output: Path) -> Iterator[str]:
    """Yield lines on what was written, and what was left out of the domain. Public facts alone."""
    written = len(conversion.selection.columns)
    domain = f"domain {conversion.domain.name}" if conversion.domain else "no domain"
    yield f"wrote {output}: {written} column{'s' if written > 1 else ''}, {domain}"
    if conversion.selection.absent_roles:
        yield f"no column for: {', '.join(conversion.selection.absent_roles)}"
    yield from left_out_lines(conversion.left_out)
    if conversion.undeclared:
        yield f"not declared by a codebook: {first_names(conversion.undeclared)}: kept as text; numbers match by value"


def row_groups(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Generator[pa.Table]:
    """Gather the rows of batches into groups of the size that is written at once; no group for no rows."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= GROUP_ROWS or size >= GROUP_BYTES:
            yield pa.Table.from_batches(waiting, schema)
            waiting, rows, size = [], 0, 0
    if rows:
        yield pa.Table.from_batches(waiting, schema)


def write_parquet(
    groups: Iterable[pa.Table], schema: pa.Schema, metadata: Mapping[str, str], output: Path, *, overwrite: bool
) -> None:
    """Write rows in their order. The file is confidential, and readable by its owner alone.

    Args:
        groups: Row groups. Confidential.
        schema: Their columns.
        metadata: Key-value pairs for the file.
        output: Parquet file; it appears complete or not at all.
        overwrite: Replace an existing file.

    Raises:
        OutputError: If the output exists, or cannot be written.
    """
    with (
        atomic_output(output, overwrite=overwrite, confidential=True) as partial,
        parquet_writer(partial, schema.with_metadata(dict(metadata))) as writer,
    ):
        for group in groups:
            writer.write_table(group, row_group_size=group.num_rows)
