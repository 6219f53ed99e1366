"""From extracts and codebooks to one Parquet file that carries its domain."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from dpnb_columnar.domain.attributes import UnlabelledDomain
from dpnb_columnar.domain.metadata import domain_metadata
from dpnb_columnar.domain.names import named
from dpnb_columnar.errors import ConfigurationError, DataError
from dpnb_columnar.extracts.arrow_columns import column_type
from dpnb_columnar.extracts.codebooks.codebook import Codebook
from dpnb_columnar.extracts.codebooks.read import codebook_beside, read_codebook
from dpnb_columnar.extracts.codebooks.to_domain import LeftOut, domain_of
from dpnb_columnar.extracts.decode import EXACT_WIDTH, MalformedFieldError
from dpnb_columnar.extracts.delimited import read_text, typed
from dpnb_columnar.extracts.described_extract import Described, describe, read_batches
from dpnb_columnar.extracts.extract_files import Extract, Progress, opened
from dpnb_columnar.extracts.selection import Selection, check_condition, keep_rows, select
from dpnb_columnar.extracts.writer import ahead, row_groups, write_parquet
from dpnb_columnar.runtime.outputs import check_output

# MERGED FROM dpnb_columnar/extracts/convert.py: Types of columns that no codebook declares: by every value of every
# file, so that no later row can be a surprise.

CANDIDATES = (pa.int64(), pa.float64(), pa.string())
"""Types tried, each taking all that the one before takes."""

LONG = rf"^ *[+-]?[0-9]{{{EXACT_WIDTH + 1},}}$"
"""A whole number that a 64-bit float may not hold: as one, two identifiers could become alike."""


def settle(batches: Iterable[pa.RecordBatch], names: Sequence[str]) -> dict[str, pa.DataType]:
    """The first of whole number, number and text that every value of a column spells; text where there is no value.

    Args:
        batches: All rows of all files as text, confidential.
        names: The columns.
    """
    places = dict.fromkeys(names, 0)
    filled, long = dict.fromkeys(names, False), dict.fromkeys(names, False)
    for batch in batches:
        for name in names:
            strings = batch.column(name)
            filled[name] |= strings.null_count < len(strings)
            while not _spells(strings, CANDIDATES[places[name]]):
                places[name] += 1
            long[name] |= CANDIDATES[places[name]] != pa.string() and _is_long(strings)
    types = {name: CANDIDATES[place] for name, place in places.items()}
    for name, type_ in types.items():
        if not filled[name] or (long[name] and type_ == pa.float64()):
            types[name] = pa.string()
    return types


def _spells(strings: pa.Array, type_: pa.DataType) -> bool:
    try:
        typed(strings, type_)
    except MalformedFieldError:
        return False
    return True


def _is_long(strings: pa.Array) -> bool:
    """Whether a whole number among them has more digits than a float holds."""
    lengths = pc.max(pc.binary_length(strings)).as_py()
    if lengths is None or lengths <= EXACT_WIDTH:
        return False
    return bool(pc.any(pc.match_substring_regex(strings, LONG)).as_py())


# MERGED FROM dpnb_columnar/extracts/convert.py: The types of the output's columns, on which every extract must agree.


def check_alike(extracts: Sequence[Described], names: Sequence[str]) -> None:
    """Refuse extracts that lack a column, or declare it otherwise than the first does.

    Args:
        extracts: At least one.
        names: Columns that are read.

    Raises:
        DataError: With the columns.
    """
    first, *others = extracts
    for other in others:
        if absent := [name for name in names if name not in other.names]:
            raise DataError(
                f"{other.extract}: has no column {named(absent)}, as {first.extract} has; choose columns that all "
                "extracts have with --columns, or ingest them apart"
            )
        for name in names:
            mine, theirs = _declared(first, name), _declared(other, name)
            if mine != theirs:
                raise DataError(
                    f"{other.extract}: {name} is {theirs or 'not declared'} by its codebook and "
                    f"{mine or 'not declared'} by that of {first.extract}; give one codebook for all with "
                    "--codebook, or ingest them apart"
                )


def undeclared(extract: Described, names: Sequence[str]) -> tuple[str, ...]:
    """The columns that no codebook declares."""
    return tuple(name for name in names if extract.variable(name) is None)


def schema_of(extracts: Sequence[Described], names: Sequence[str], progress: Progress | None = None) -> pa.Schema:
    """The columns' types: declared, or settled by reading every extract to its end.

    Args:
        extracts: At least one, all alike.
        names: Columns that are read.
        progress: Told how much is read, where that is needed.

    Raises:
        MissingInputError, DataError: An extract cannot be read.
    """
    unknown = undeclared(extracts[0], names)
    settled = settle(_texts(extracts, unknown, progress), unknown) if unknown else {}
    return pa.schema([(name, settled.get(name) or _declared(extracts[0], name)) for name in names])


def _declared(extract: Described, name: str) -> pa.DataType | None:
    variable = extract.variable(name)
    return None if variable is None else column_type(variable)


def _texts(extracts: Sequence[Described], names: Sequence[str], progress: Progress | None) -> Generator[pa.RecordBatch]:
    for described in extracts:
        with opened(described.extract, progress) as stream:
            yield from read_text(stream, str(described.extract), names, described.encoding)


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
