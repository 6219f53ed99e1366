"""The columns of the output and their types, on which all extracts must agree.

A codebook declares a type, or ``column_types`` does; without one, a column is text. No row is read for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from dpnb_columnar.domain.names import named
from dpnb_columnar.errors import DataError
from dpnb_columnar.extracts.arrow_columns import column_type
from dpnb_columnar.extracts.described_extract import DescribedExtract


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
    extracts: Sequence[DescribedExtract], names: Sequence[str], types: Mapping[str, pa.DataType]
) -> pa.Schema:
    """Build the schema of the columns: types as declared, and text where none is. No row is read.

    Args:
        extracts: At least one, all alike.
        names: Columns that are read.
        types: Types of columns that no codebook declares.
    """
    return pa.schema([(name, _declared_type(extracts[0], name) or types.get(name, pa.string())) for name in names])


def _declared_type(extract: DescribedExtract, name: str) -> pa.DataType | None:
    variable = extract.variable(name)
    return None if variable is None else column_type(variable)
