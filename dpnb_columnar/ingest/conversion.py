"""From extracts and codebooks to one Parquet file that carries its domain."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from dpnb_columnar.codebooks.codebook import Codebook
from dpnb_columnar.codebooks.domains import LeftOut, domain_of
from dpnb_columnar.codebooks.reading import codebook_beside, read_codebook
from dpnb_columnar.domain.metadata import domain_metadata
from dpnb_columnar.domain.unlabelled import UnlabelledDomain
from dpnb_columnar.errors import ConfigurationError
from dpnb_columnar.files import check_output
from dpnb_columnar.ingest.ahead import ahead
from dpnb_columnar.ingest.described import Described, describe, read_batches
from dpnb_columnar.ingest.extracts import Extract, Progress
from dpnb_columnar.ingest.schemas import check_alike, schema_of, undeclared
from dpnb_columnar.ingest.selection import Selection, check_condition, keep_rows, select
from dpnb_columnar.ingest.writer import row_groups, write_parquet


@dataclass(frozen=True, slots=True)
class Conversion:
    """What is to be read and written, known before a row is looked at.

    Attributes:
        extracts: At least one, alike in the columns that are read.
        selection: What is wanted of them.
        domain: What the codebooks declare of the columns to write, its label still to be chosen; None where they
            declare no attribute.
        left_out: Declared columns that are no attributes, and why.
        undeclared: Columns that no codebook declares; their types are settled by reading everything.
    """

    extracts: tuple[Described, ...]
    selection: Selection
    domain: UnlabelledDomain | None
    left_out: tuple[LeftOut, ...]
    undeclared: tuple[str, ...]


def plan_conversion(
    extracts: Sequence[Extract], output: Path, codebook: str | None, columns: str | None, where: str | None
) -> Conversion:
    """Find codebooks, columns and the domain; of the extracts, read headers alone.

    Args:
        extracts: At least one.
        output: Parquet file to be written; its name is the domain's.
        codebook: File or packaged layout that describes all of them; if None, what lies beside each.
        columns: Columns to write: names set apart by commas, or ``adult-like``; all if None.
        where: Condition on the rows to write; all if None.

    Raises:
        UsageError: A column does not exist, or the condition cannot be understood.
        MissingInputError, ConfigurationError: A codebook is missing, or cannot be used.
        DataError: The extracts are not alike.
    """
    codebooks: dict[str, Codebook] = {}
    described = []
    for extract in extracts:
        found = codebook or codebook_beside(extract.path)
        if found is not None and str(found) not in codebooks:
            codebooks[str(found)] = read_codebook(found)
        described.append(describe(extract, None if found is None else codebooks[str(found)]))
    selection = select(described[0].names, columns, where)
    check_alike(described, selection.read)
    unknown = undeclared(described[0], selection.columns)
    known = [name for name in selection.columns if name not in unknown]
    domain, left_out = _domain(list(codebooks.values()), known, output)
    return Conversion(tuple(described), selection, domain, left_out, undeclared(described[0], selection.read))


def convert(conversion: Conversion, output: Path, *, overwrite: bool = False, progress: Progress | None = None) -> None:
    """Read the extracts into one Parquet file, rows in their order. Memory does not grow with the rows.

    Reading, decoding and writing go on side by side.

    Args:
        conversion: What is to be done.
        output: Parquet file; it appears complete or not at all, readable by its owner alone.
        overwrite: Replace an existing file.
        progress: Called with the number of bytes just read from disk; where ``conversion.undeclared`` is not empty,
            every byte is read twice.

    Raises:
        MissingInputError, DataError: An extract cannot be read, or is not as its codebook says.
        UsageError: The condition does not fit the types of the columns.
        OutputError: The output exists, or cannot be written.
    """
    check_output(output, overwrite)
    selection = conversion.selection
    schema = schema_of(conversion.extracts, selection.read, progress)
    if selection.condition is not None:
        check_condition(selection.condition, schema)
    metadata = {} if conversion.domain is None else domain_metadata(conversion.domain)
    written = pa.schema([schema.field(name) for name in selection.columns])
    batches = keep_rows(_rows(conversion, schema, progress), selection, schema)
    with closing(ahead(row_groups(batches, written), depth=1)) as groups:
        write_parquet(groups, written, metadata, output, overwrite=overwrite)


def _rows(conversion: Conversion, schema: pa.Schema, progress: Progress | None) -> Generator[pa.RecordBatch]:
    for described in conversion.extracts:
        yield from read_batches(described, schema, progress)


def _domain(
    codebooks: Sequence[Codebook], names: Sequence[str], output: Path
) -> tuple[UnlabelledDomain | None, tuple[LeftOut, ...]]:
    """What codebooks say of some columns; all must say the same.

    Raises:
        ConfigurationError: They do not.
    """
    if not codebooks:
        return None, ()
    domain, left_out = domain_of(codebooks[0], names)
    for codebook in codebooks[1:]:
        if domain_of(codebook, names)[0].attributes != domain.attributes:
            raise ConfigurationError(
                f"{codebook.source}: declares other values than {codebooks[0].source} for the columns to write; give "
                "one codebook for all extracts with --codebook, or ingest them apart"
            )
    return replace(domain, name=output.stem) if domain.attributes else None, left_out
