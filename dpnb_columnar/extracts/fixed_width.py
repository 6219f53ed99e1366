"""Fixed-width extracts, rectangular or hierarchical, as Arrow batches: one row for each innermost record.

Many lines are read at a time: the start and length of each are computed without a loop over lines.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import IO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dpnb_columnar.domain.names import named
from dpnb_columnar.errors import ConfigurationError, DataError, option
from dpnb_columnar.extracts.codebooks.codebook import Codebook, Form, Variable
from dpnb_columnar.extracts.decode import BLANK, MalformedFieldError, Table, arrow_array, column_type, decode_column
from dpnb_columnar.runtime.workers import prefetch

BLOCK_BYTES = 2**19
"""Bytes of lines read together; with all that is decoded from them they fit into a processor's cache."""

LONGEST_LINE = 2**20
"""Bytes; a file with longer lines is no table of lines at all."""

LINE_FEED, CARRIAGE_RETURN = b"\n\r"


@dataclass(frozen=True, slots=True)
class Lines:
    """Consecutive whole lines. Confidential.

    Attributes:
        data: Bytes of the lines, line ends included, shape (bytes,), uint8.
        starts: Offset of each line's first byte, shape (lines,), int64.
        lengths: Bytes of each line without its end, shape (lines,), int64.
        first: Number of the first line in its file, from 1.
    """

    data: npt.NDArray[np.uint8]
    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    first: int

    def table(self, width: int, rows: npt.NDArray[np.int64] | None = None) -> npt.NDArray[np.uint8]:
        """Gather the first characters of each line.

        Returns:
            Shape (lines, width), uint8; a view of ``data`` where all lines are of one length. Confidential.
        """
        starts = self.starts if rows is None else self.starts[rows]
        if not len(starts):
            return np.empty((0, width), np.uint8)
        steps = np.diff(starts)
        if steps.size and (steps == steps[0]).all():  # lines of one length: a table already
            return np.lib.stride_tricks.as_strided(self.data[starts[0] :], (len(starts), width), (int(steps[0]), 1))
        return np.lib.stride_tricks.sliding_window_view(self.data, width)[starts]


def read_lines(stream: IO[bytes], source: str) -> Generator[Lines]:
    """Read whole lines, in blocks. Lines end in LF or CRLF; the end of the last may be missing.

    Yields:
        Blocks of at least one line. Confidential.
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
    if count * step == len(data) and is_end[step - 1 :: step].all():  # all of one length: no search for each end
        ends = np.arange(step - 1, len(data), step)
    else:
        ends = np.flatnonzero(is_end)
    starts = np.concatenate([[0], ends[:-1] + 1])
    lengths = ends - starts
    lengths -= (lengths > 0) & (data[ends - 1] == CARRIAGE_RETURN)
    return Lines(data, starts, lengths, first)


BLOCKS_AHEAD = 4
"""Blocks of lines decompressed while one is decoded."""

Integers = npt.NDArray[np.int64]


def read_fixed_width(
    stream: IO[bytes], source: str, codebook: Codebook, names: Sequence[str]
) -> Generator[pa.RecordBatch]:
    """Read the wanted variables, rows in the order of the file; other variables are not decoded.

    Args:
        names: Variables wanted, in the order of the columns.

    Yields:
        One batch for each block of lines. Confidential.
    """
    sources = codebook.column_sources()
    wanted = [sources[name] for name in names]
    schema = pa.schema([(variable.name, column_type(variable)) for _, variable in wanted])
    layouts = [
        RecordLayout(
            source,
            codebook,
            record_type,
            max((variable.span[1] for variable in codebook.variables_of(record_type)), default=0),
            tuple(variable for owner, variable in wanted if owner == record_type),
        )
        for record_type in codebook.record_types or ("",)
    ]
    order = [variable.name for layout in layouts for variable in layout.variables]
    hierarchy = Hierarchy(source, codebook, layouts) if codebook.record_types else None
    for lines in prefetch(read_lines(stream, source), depth=BLOCKS_AHEAD):
        if hierarchy is None:
            (layout,) = layouts
            rows = np.arange(len(lines.starts))
            layout.check_lengths(lines, rows)
            columns = layout.columns(lines.table(layout.width), rows + lines.first)
        else:
            columns = hierarchy.rows(lines)
        by_name = dict(zip(order, columns, strict=True))
        yield pa.RecordBatch.from_arrays([by_name[name] for name in names], schema=schema)


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """Positions of the wanted variables on the lines of one record type.

    Attributes:
        source: Name of the extract, for messages.
        codebook: Codebook of the extract.
        record_type: The record type; empty in a rectangular extract.
        width: Characters that a line of this record type has by the codebook.
        variables: Variables wanted of it, in order.
    """

    source: str
    codebook: Codebook
    record_type: str
    width: int
    variables: tuple[Variable, ...]

    def check_lengths(self, lines: Lines, rows: Integers) -> None:
        """Refuse lines that are shorter than the codebook says, or longer and not blank there.

        Args:
            rows: Positions of those of this record type, shape (rows,).
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
                f"get both again, or name the right one with {option('codebook')}"
            )

    def columns(self, table: Table, numbers: Integers) -> list[pa.Array]:
        """Decode the wanted variables of some lines.

        Args:
            table: Characters of the lines, shape (lines, at least ``width``), uint8. Confidential.
            numbers: Number of each line in the extract, from 1, for messages; shape (lines,).

        Returns:
            One array of shape (lines,) for each of ``variables``. Confidential.
        """
        columns = []
        for variable in self.variables:
            start, end = variable.span
            try:
                columns.append(decode_column(table[:, start:end], variable, self.codebook.encoding))
            except MalformedFieldError as malformed:
                raise self._malformed(variable, int(numbers[malformed.row])) from None
        return columns

    def _malformed(self, variable: Variable, line: int) -> DataError:
        start, end = variable.span
        wanted = f"{self.codebook.encoding} text" if variable.form is Form.TEXT else "a number or blanks"
        return DataError(
            f"{self.source}, line {line}: {variable.name}, characters {start + 1} to {end}, is not {wanted}; the "
            f"line is damaged, or {self.codebook.source} is the codebook of another extract: get both again, or name "
            f"the right one with {option('codebook')}"
        )


@dataclass(slots=True)
class _LatestRecord:
    """The last line of an outer record type in the lines read so far. Confidential.

    Attributes:
        number: Number of the line in the file; 0 before there is one.
        characters: Characters of the line, shape (1, width) or, before there is one, (0, width); uint8.
    """

    number: int
    characters: npt.NDArray[np.uint8]


@dataclass(slots=True)
class Hierarchy:
    """Reader of a hierarchical extract: the line of a household is carried down to the persons that follow it.

    Blocks of lines are read in their order; the last line of each outer record type is remembered from block to block.

    Attributes:
        source: Name of the extract, for messages.
        codebook: Codebook with the record types, outermost first.
        layouts: One for each record type, in that order.
    """

    source: str
    codebook: Codebook
    layouts: Sequence[RecordLayout]
    _latest: list[_LatestRecord] = field(init=False)
    _record_type_span: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        """Start before the first line."""
        self._latest = [_LatestRecord(0, np.empty((0, layout.width), np.uint8)) for layout in self.layouts[:-1]]
        self._record_type_span = self.codebook.column_sources()[str(self.codebook.record_type_variable)][1].span

    def rows(self, lines: Lines) -> list[pa.Array]:
        """Decode the columns of all layouts, one row for each line of the innermost record type."""
        record_types = self._record_types(lines)
        positions = [np.flatnonzero(record_types == index) for index in range(len(self.layouts))]
        for layout, its_lines in zip(self.layouts, positions, strict=True):
            layout.check_lengths(lines, its_lines)
        *outer, inner = self.layouts
        rows = positions[-1]
        columns: list[pa.Array] = []
        enclosing = np.zeros(len(rows), np.int64)
        for layout, latest, its_lines in zip(outer, self._latest, positions, strict=False):
            numbers, characters = self._after_latest(layout, latest, lines, its_lines)
            # Each row belongs to the last line of the outer type before it; position -1 stands for none.
            owners = np.searchsorted(its_lines, rows) + (len(numbers) - len(its_lines)) - 1
            owner_numbers = np.concatenate([[0], numbers])[owners + 1]
            self._check_owned(layout, lines, rows, owner_numbers, enclosing)
            columns += [column.take(arrow_array(owners, pa.int64())) for column in layout.columns(characters, numbers)]
            if len(numbers):
                latest.number, latest.characters = int(numbers[-1]), characters[-1:].copy()
            enclosing = owner_numbers
        return columns + inner.columns(lines.table(inner.width, rows), rows + lines.first)

    def _record_types(self, lines: Lines) -> npt.NDArray[np.int64]:
        """Index of each line's record type among the codebook's, shape (lines,)."""
        start, end = self._record_type_span
        short = lines.lengths < end
        if short.any():
            line = lines.first + int(short.argmax())
            raise DataError(
                f"{self.source}, line {line}: ends before its record type, at characters {start + 1} to {end}; the "
                "file is damaged: get it again"
            )
        fields = lines.table(end)[:, start:]
        indices = np.full(len(lines.starts), -1)
        for index, layout in enumerate(self.layouts):
            spelled = layout.record_type.encode(self.codebook.encoding).ljust(end - start)
            if len(spelled) > end - start:
                raise ConfigurationError(
                    f"{self.codebook.source}: record type {layout.record_type} is longer than "
                    f"{self.codebook.record_type_variable}, which holds it; correct the codebook"
                )
            indices[(fields == np.frombuffer(spelled, np.uint8)).all(axis=1)] = index
        if (indices < 0).any():
            line = lines.first + int((indices < 0).argmax())
            raise DataError(
                f"{self.source}, line {line}: has no record type of {self.codebook.source}, which has "
                f"{named(self.codebook.record_types)}, at characters {start + 1} to {end}; name the codebook of "
                f"this extract with {option('codebook')}, or get the file again"
            )
        return indices

    def _after_latest(
        self, layout: RecordLayout, latest: _LatestRecord, lines: Lines, its_lines: Integers
    ) -> tuple[Integers, npt.NDArray[np.uint8]]:
        """Numbers and characters of an outer type's lines, after its last line of the blocks before, if any."""
        before = [latest.number] if latest.number else []
        numbers = np.concatenate([np.array(before, np.int64), its_lines + lines.first])
        return numbers, np.concatenate([latest.characters, lines.table(layout.width, its_lines)])

    def _check_owned(
        self, layout: RecordLayout, lines: Lines, rows: Integers, owners: Integers, enclosing: Integers
    ) -> None:
        """Refuse a row without a line of an outer type since the line of the type around that.

        Args:
            rows: Positions of the innermost type's lines, shape (rows,).
            owners: Number of the last line of the outer type before each row, 0 if none; shape (rows,).
        """
        orphan = owners <= enclosing
        if orphan.any():
            line = lines.first + int(rows[orphan.argmax()])
            raise DataError(
                f"{self.source}, line {line}: record type {self.layouts[-1].record_type} without a record of type "
                f"{layout.record_type} before it, which it is part of; the file is damaged or cut: get it again"
            )
