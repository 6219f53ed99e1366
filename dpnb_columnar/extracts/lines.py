"""Lines of a file, many at a time: where each begins and how long it is, found without a loop over lines."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import IO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dpnb_columnar.errors import DataError
from dpnb_columnar.extracts.arrow_columns import column
from dpnb_columnar.extracts.codebooks.codebook import Codebook, Form, Variable
from dpnb_columnar.extracts.decode import BLANK, MalformedFieldError, Table

BLOCK_BYTES = 2**19
"""Bytes of lines read together: with what is made of them they stay in a processor's cache."""

LONGEST_LINE = 2**20
"""Bytes; a file with longer lines is no table of lines at all."""

LINE_FEED, CARRIAGE_RETURN = b"\n\r"


@dataclass(frozen=True, slots=True)
class Lines:
    """Consecutive whole lines. Confidential.

    Attributes:
        data: Their bytes, line ends included, dtype uint8.
        starts: Offset of each line's first byte, shape (lines,), dtype int64.
        lengths: Bytes of each line without its end, shape (lines,), dtype int64.
        first: Number of the first line in its file, from 1.
    """

    data: npt.NDArray[np.uint8]
    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    first: int

    def table(self, width: int, rows: npt.NDArray[np.int64] | None = None) -> Table:
        """The first characters of each line, or of some, shape (lines, width).

        Args:
            width: No more than the shortest of these lines has.
            rows: Positions of the lines wanted; all if None.
        """
        starts = self.starts if rows is None else self.starts[rows]
        if not len(starts):
            return np.empty((0, width), np.uint8)
        steps = np.diff(starts)
        if steps.size and (steps == steps[0]).all():  # lines of one length: a table already
            return np.lib.stride_tricks.as_strided(self.data[starts[0] :], (len(starts), width), (int(steps[0]), 1))
        return np.lib.stride_tricks.sliding_window_view(self.data, width)[starts]


def read_lines(stream: IO[bytes], source: str) -> Generator[Lines]:
    """Whole lines, in blocks. Lines end in LF or CRLF; the end of the last may be missing.

    Args:
        stream: Where they are read from.
        source: Its name, for the error.

    Raises:
        DataError: There are no lines in it.
    """
    rest, first = b"", 1
    while piece := stream.read(BLOCK_BYTES):
        data = rest + piece
        end = data.rfind(b"\n") + 1
        if not end and len(data) > LONGEST_LINE:
            raise DataError(
                f"{source}, line {first}: has no end within {LONGEST_LINE} bytes; lines end in LF or CRLF: is this a "
                "fixed-width extract?"
            )
        if end:
            lines = _split(np.frombuffer(data, np.uint8, end), first)
            first += len(lines.starts)
            yield lines
        rest = data[end:]
    if rest:
        yield _split(np.frombuffer(rest + b"\n", np.uint8), first)


def _split(data: npt.NDArray[np.uint8], first: int) -> Lines:
    """Find the lines of bytes that end in a line feed."""
    is_end = data == LINE_FEED
    step = int(is_end.argmax()) + 1
    count = np.count_nonzero(is_end)
    if count * step == len(data) and is_end[step - 1 :: step].all():  # lines of one length are found at once
        ends = np.arange(step - 1, len(data), step)
    else:
        ends = np.flatnonzero(is_end)
    starts = np.concatenate([[0], ends[:-1] + 1])
    lengths = ends - starts
    lengths -= (lengths > 0) & (data[ends - 1] == CARRIAGE_RETURN)
    return Lines(data, starts, lengths, first)


# MERGED FROM dpnb_columnar/extracts/lines.py: Where the wanted variables of one record type stand, and the lines of
# that type read by it.


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


# MERGED FROM dpnb_columnar/extracts/lines.py: Which of a codebook's variables a column of the output is.


def column_names(codebook: Codebook) -> tuple[str, ...]:
    """The columns of an extract, in the codebook's order; a name on several record types is one column."""
    return tuple(dict.fromkeys(variable.name for variable in codebook.variables))


def homes(codebook: Codebook) -> dict[str, tuple[str, Variable]]:
    """Per column, the record type whose lines it is read from, empty in a rectangular extract, and its variable there.

    Of a name that several record types have, the innermost counts: it is what the row's own line says.
    """
    found = {variable.name: ("", variable) for variable in reversed(codebook.variables)}
    for record_type in codebook.record_types:
        on_it = {v.name: (record_type, v) for v in reversed(codebook.variables) if record_type in v.record_types}
        found |= on_it
    return found


def home(codebook: Codebook, name: str) -> tuple[str, Variable]:
    """The record type and the variable of one column, as ``homes`` finds them.

    Args:
        codebook: Has a variable of this name.
        name: The column.
    """
    return homes(codebook)[name]
