"""Where the wanted variables of one record type stand, and the lines of that type read by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dpnb_columnar.codebooks.codebook import Codebook, Form, Variable
from dpnb_columnar.errors import DataError
from dpnb_columnar.ingest.columns import column
from dpnb_columnar.ingest.lines import Lines
from dpnb_columnar.ingest.malformed import MalformedFieldError
from dpnb_columnar.ingest.numbers import BLANK, Table


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """How lines of one record type are read.

    Attributes:
        source: The extract, for messages.
        codebook: What describes it.
        record_type: The record type; empty in a rectangular extract.
        width: Characters that the codebook gives a line of it.
        variables: The variables wanted of it, in order.
    """

    source: str
    codebook: Codebook
    record_type: str
    width: int
    variables: tuple[Variable, ...]

    def check_lengths(self, lines: Lines, rows: npt.NDArray[np.int64]) -> None:
        """Refuse lines that are shorter than the codebook says, or longer and not blank there.

        Args:
            lines: Lines of the extract.
            rows: Positions of those of this record type.

        Raises:
            DataError: With the first such line.
        """
        lengths = lines.lengths[rows]
        wrong = lengths < self.width
        if (lengths > self.width).any():  # some programs pad all lines to one length
            written = np.concatenate([[0], np.cumsum(lines.data != BLANK)])
            starts = lines.starts[rows]
            wrong |= written[starts + lengths] > written[np.minimum(starts + self.width, starts + lengths)]
        if wrong.any():
            row = int(rows[wrong.argmax()])
            record = f" of record type {self.record_type}" if self.record_type else ""
            raise DataError(
                f"{self.source}, line {lines.first + row}: has {lines.lengths[row]} characters, and a line{record} has "
                f"{self.width} by {self.codebook.source}; the codebook is of another extract, or the file is damaged: "
                "get both again, or name the right one with --codebook"
            )

    def columns(self, table: Table, numbers: npt.NDArray[np.int64]) -> list[pa.Array]:
        """The wanted variables of some lines.

        Args:
            table: Their characters, shape (lines, at least ``width``).
            numbers: Each line's number in the extract, from 1, for messages.

        Raises:
            DataError: A line does not hold what the codebook says.
        """
        found = []
        for variable in self.variables:
            start, end = place(variable)
            try:
                found.append(column(table[:, start:end], variable, self.codebook.encoding))
            except MalformedFieldError as malformed:
                raise self._malformed(variable, int(numbers[malformed.row])) from None
        return found

    def _malformed(self, variable: Variable, line: int) -> DataError:
        start, end = place(variable)
        wanted = f"{self.codebook.encoding} text" if variable.form is Form.TEXT else "a number or blanks"
        return DataError(
            f"{self.source}, line {line}: {variable.name}, characters {start + 1} to {end}, is not {wanted}; the "
            f"line is damaged, or {self.codebook.source} is the codebook of another extract: get both again, or name "
            "the right one with --codebook"
        )


def place(variable: Variable) -> tuple[int, int]:
    """Offsets of a variable's first character and of the one after its last."""
    if variable.start is None or variable.width is None:
        raise ValueError(f"{variable.name} has no place")
    return variable.start, variable.start + variable.width


def line_width(variables: Sequence[Variable]) -> int:
    """Characters of a line that holds these variables."""
    return max((place(variable)[1] for variable in variables), default=0)
