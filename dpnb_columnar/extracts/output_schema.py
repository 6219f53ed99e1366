"""The columns of the output and their types, on which all extracts must agree.

A codebook declares a type; where none does, every value of every file decides, so that no later row can be a surprise.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from dpnb_columnar.domain.names import named
from dpnb_columnar.errors import DataError
from dpnb_columnar.extracts.arrow_columns import column_type
from dpnb_columnar.extracts.decode import EXACT_WIDTH, MalformedFieldError
from dpnb_columnar.extracts.delimited import convert_texts, read_text
from dpnb_columnar.extracts.described_extract import DescribedExtract
from dpnb_columnar.extracts.extract_files import Progress, opened

CANDIDATES = (pa.int64(), pa.float64(), pa.string())
"""Types tried in turn; each can hold what the one before holds."""

LONG_NUMBER = rf"^ *[+-]?[0-9]{{{EXACT_WIDTH + 1},}}$"
"""A whole number that a 64-bit float may not hold: as floats, two identifiers could become alike."""


def check_alike(extracts: Sequence[DescribedExtract], names: Sequence[str]) -> None:
    """Refuse extracts that lack a column, or declare it otherwise than the first does.

    Args:
        extracts: At least one.
        names: Columns that are read.

    Raises:
        DataError: If there is such an extract; the text names the columns.
    """
    first, *others = extracts
    for other in others:
        if absent := [name for name in names if name not in other.names]:
            raise DataError(
                f"{other.extract}: has no column {named(absent)}, as {first.extract} has; choose columns that all "
                "extracts have with --columns, or ingest them apart"
            )
        for name in names:
            mine, theirs = _declared_type(first, name), _declared_type(other, name)
            if mine != theirs:
                raise DataError(
                    f"{other.extract}: {name} is {theirs or 'not declared'} by its codebook and "
                    f"{mine or 'not declared'} by that of {first.extract}; give one codebook for all with "
                    "--codebook, or ingest them apart"
                )


def undeclared_columns(extract: DescribedExtract, names: Sequence[str]) -> tuple[str, ...]:
    """Select the columns that no codebook declares."""
    return tuple(name for name in names if extract.variable(name) is None)


def output_schema(
    extracts: Sequence[DescribedExtract], names: Sequence[str], progress: Progress | None = None
) -> pa.Schema:
    """Build the schema of the columns: types as declared, or settled by reading every extract to its end.

    Args:
        extracts: At least one, all alike.
        names: Columns that are read.
        progress: Called with the number of bytes just read from disk, where that is needed.

    Raises:
        MissingInputError: If an extract cannot be opened.
        DataError: If an extract is damaged.
    """
    undeclared = undeclared_columns(extracts[0], names)
    settled = settle_types(_texts(extracts, undeclared, progress), undeclared) if undeclared else {}
    return pa.schema([(name, settled.get(name) or _declared_type(extracts[0], name)) for name in names])


def _declared_type(extract: DescribedExtract, name: str) -> pa.DataType | None:
    variable = extract.variable(name)
    return None if variable is None else column_type(variable)


def _texts(
    extracts: Sequence[DescribedExtract], names: Sequence[str], progress: Progress | None
) -> Generator[pa.RecordBatch]:
    for described in extracts:
        with opened(described.extract, progress) as stream:
            yield from read_text(stream, str(described.extract), names, described.encoding)


def settle_types(batches: Iterable[pa.RecordBatch], names: Sequence[str]) -> dict[str, pa.DataType]:
    """Choose the first of whole number, number and text that every value of a column spells.

    A column without a value is text, and so is one of numbers with fractions and whole numbers too long for a float.

    Args:
        batches: All rows of all files as text. Confidential.
        names: The columns.

    Returns:
        Type of each column.
    """
    candidate = dict.fromkeys(names, 0)  # index into CANDIDATES
    filled, long = dict.fromkeys(names, False), dict.fromkeys(names, False)
    for batch in batches:
        for name in names:
            texts = batch.column(name)
            filled[name] |= texts.null_count < len(texts)
            while not _all_spell(texts, CANDIDATES[candidate[name]]):
                candidate[name] += 1
            long[name] |= CANDIDATES[candidate[name]] != pa.string() and _has_long_number(texts)
    types = {name: CANDIDATES[index] for name, index in candidate.items()}
    for name, type_ in types.items():
        if not filled[name] or (long[name] and type_ == pa.float64()):
            types[name] = pa.string()
    return types


def _all_spell(texts: pa.Array, type_: pa.DataType) -> bool:
    """Whether every text spells a value of the type."""
    try:
        convert_texts(texts, type_)
    except MalformedFieldError:
        return False
    return True


def _has_long_number(texts: pa.Array) -> bool:
    """Whether a text is a whole number of more digits than a float holds."""
    longest = pc.max(pc.binary_length(texts)).as_py()
    if longest is None or longest <= EXACT_WIDTH:
        return False
    return bool(pc.any(pc.match_substring_regex(texts, LONG_NUMBER)).as_py())
