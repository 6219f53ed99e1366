"""The types of the output's columns, on which every extract must agree."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import pyarrow as pa

from dpnb_columnar.domain.fields import named
from dpnb_columnar.errors import DataError
from dpnb_columnar.ingest.columns import column_type
from dpnb_columnar.ingest.delimited import read_text
from dpnb_columnar.ingest.described import Described
from dpnb_columnar.ingest.extracts import Progress, opened
from dpnb_columnar.ingest.settling import settle


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
