"""An extract together with its codebook: its columns, and its rows read by it."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from dpnb_columnar.domain.names import named
from dpnb_columnar.errors import ConfigurationError
from dpnb_columnar.extracts.codebooks.codebook import Codebook, Variable
from dpnb_columnar.extracts.delimited import read_delimited, read_header
from dpnb_columnar.extracts.extract_files import Extract, Progress, opened
from dpnb_columnar.extracts.fixed_width import read_fixed_width

if TYPE_CHECKING:
    import pyarrow as pa

DEFAULT_ENCODING = "utf-8"


@dataclass(frozen=True)
class DescribedExtract:
    """An extract whose columns are known; no row has been read.

    Attributes:
        extract: The extract.
        codebook: Codebook of the extract; None where a delimited extract has none.
        names: Columns of the extract, in its order.
    """

    extract: Extract
    codebook: Codebook | None
    names: tuple[str, ...]

    @property
    def encoding(self) -> str:
        """Character encoding of the extract."""
        return DEFAULT_ENCODING if self.codebook is None else self.codebook.encoding

    def variable(self, name: str) -> Variable | None:
        """Return the codebook's declaration of a column; None where there is none."""
        return self._variables.get(name)

    @cached_property
    def _variables(self) -> Mapping[str, Variable]:
        """Declaration of each column."""
        if self.codebook is None:
            return {}
        return {name: variable for name, (_, variable) in self.codebook.column_sources().items()}


def describe(extract: Extract, codebook: Codebook | None) -> DescribedExtract:
    """Find the columns of an extract: in its header if it has one, else in the codebook.

    Raises:
        ConfigurationError: If the codebook is missing, or describes another kind of extract.
        DataError: If there is no header, or one of another codebook.
    """
    if extract.delimited:
        if codebook is not None and codebook.record_types:
            raise ConfigurationError(
                f"{extract}: {codebook.source} describes lines of the record types {named(codebook.record_types)}, "
                "which a CSV file does not have; give the .dat file, or the codebook of the CSV file"
            )
        with opened(extract) as stream:
            if codebook is None:
                names = read_header(stream, str(extract), DEFAULT_ENCODING)
            else:
                names = read_header(stream, str(extract), codebook.encoding, frozenset(codebook.columns))
        return DescribedExtract(extract, codebook, names)
    if codebook is None:
        raise ConfigurationError(
            f"{extract}: fixed-width text does not name its columns; put its codebook beside it, as "
            f"{extract.path.with_suffix('').stem}.xml, or give it with --codebook"
        )
    if any(variable.start is None for variable in codebook.variables):
        raise ConfigurationError(
            f"{extract}: {codebook.source} gives no positions in a line; give the codebook of the .dat file with "
            "--codebook"
        )
    return DescribedExtract(extract, codebook, codebook.columns)


def read_batches(
    described: DescribedExtract, schema: pa.Schema, progress: Progress | None = None
) -> Generator[pa.RecordBatch]:
    """Read the rows of an extract, in its order.

    Args:
        described: The extract.
        schema: Columns wanted and their types.
        progress: Called with the number of bytes just read from disk.

    Yields:
        Batches of the schema. Confidential.

    Raises:
        MissingInputError: If the extract cannot be opened.
        DataError: If the extract is damaged, or not as its codebook says.
    """
    source = str(described.extract)
    with opened(described.extract, progress) as stream:
        if described.extract.delimited or described.codebook is None:
            yield from read_delimited(stream, source, schema, described.encoding)
        else:
            yield from read_fixed_width(stream, source, described.codebook, schema.names)
