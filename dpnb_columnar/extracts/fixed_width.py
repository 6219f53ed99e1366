"""Fixed-width extracts, rectangular or hierarchical, as Arrow batches: a row for each innermost record."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import IO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dpnb_columnar.domain.names import named
from dpnb_columnar.errors import ConfigurationError, DataError
from dpnb_columnar.extracts.arrow_columns import arrow, column_type
from dpnb_columnar.extracts.codebooks.codebook import Codebook
from dpnb_columnar.extracts.lines import Lines, RecordLayout, home, homes, line_width, place, read_lines
from dpnb_columnar.extracts.writer import ahead

# MERGED FROM dpnb_columnar/extracts/fixed_width.py: Lines of several record types: persons with what their
# household's line says, carried down to them.


@dataclass(slots=True)
class _Latest:
    """The last line of an outer record type in the lines read so far. Confidential.

    Attributes:
        number: Its number in the file; 0 before there is one.
        characters: What stands in it, shape (1, width) or, before there is one, (0, width).
    """

    number: int
    characters: npt.NDArray[np.uint8]


@dataclass(slots=True)
class Hierarchy:
    """Reads the lines of a hierarchical extract in their order, and remembers the record each further line is part of.

    Attributes:
        source: The extract, for messages.
        codebook: Names the record types, outermost first.
        layouts: One for each record type, in that order.
    """

    source: str
    codebook: Codebook
    layouts: Sequence[RecordLayout]
    _latest: list[_Latest] = field(init=False)
    _place: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        self._latest = [_Latest(0, np.empty((0, layout.width), np.uint8)) for layout in self.layouts[:-1]]
        self._place = place(home(self.codebook, str(self.codebook.record_type_variable))[1])

    def rows(self, lines: Lines) -> list[pa.Array]:
        """The columns of all layouts, one row for each line of the innermost record type.

        Raises:
            DataError: A line is of no record type, does not fit its layout, or comes before the line it is part of.
        """
        kinds = self._kinds(lines)
        positions = [np.flatnonzero(kinds == kind) for kind in range(len(self.layouts))]
        for layout, found in zip(self.layouts, positions, strict=True):
            layout.check_lengths(lines, found)
        *outer, inner = self.layouts
        rows = positions[-1]
        columns: list[pa.Array] = []
        above = np.zeros(len(rows), np.int64)
        for layout, latest, found in zip(outer, self._latest, positions, strict=False):
            numbers, carried = self._with_latest(layout, latest, lines, found)
            owners = np.searchsorted(found, rows) + (len(numbers) - len(found)) - 1
            above = self._check_owned(layout, lines, rows, np.concatenate([[0], numbers])[owners + 1], above)
            columns += [column.take(arrow(owners, pa.int64())) for column in layout.columns(carried, numbers)]
            if len(numbers):
                latest.number, latest.characters = int(numbers[-1]), carried[-1:].copy()
        return columns + inner.columns(lines.table(inner.width, rows), rows + lines.first)

    def _kinds(self, lines: Lines) -> npt.NDArray[np.int64]:
        """Position of each line's record type among the codebook's, shape (lines,)."""
        start, end = self._place
        short = lines.lengths < end
        if short.any():
            line = lines.first + int(short.argmax())
            raise DataError(
                f"{self.source}, line {line}: ends before its record type, at characters {start + 1} to {end}; the "
                "file is damaged: get it again"
            )
        told = lines.table(end)[:, start:]
        kinds = np.full(len(lines.starts), -1)
        for kind, layout in enumerate(self.layouts):
            spelled = layout.record_type.encode(self.codebook.encoding).ljust(end - start)
            if len(spelled) > end - start:
                raise ConfigurationError(
                    f"{self.codebook.source}: record type {layout.record_type} is longer than "
                    f"{self.codebook.record_type_variable}, which holds it; correct the codebook"
                )
            kinds[(told == np.frombuffer(spelled, np.uint8)).all(axis=1)] = kind
        if (kinds < 0).any():
            line = lines.first + int((kinds < 0).argmax())
            raise DataError(
                f"{self.source}, line {line}: has no record type of {self.codebook.source}, which has "
                f"{named(self.codebook.record_types)}, at characters {start + 1} to {end}; name the codebook of "
                "this extract with --codebook, or get the file again"
            )
        return kinds

    def _with_latest(
        self, layout: RecordLayout, latest: _Latest, lines: Lines, found: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
        """Numbers and characters of an outer type's lines, after the last one of what was read before, if any."""
        before = [latest.number] if latest.number else []
        numbers = np.concatenate([np.array(before, np.int64), found + lines.first])
        return numbers, np.concatenate([latest.characters, lines.table(layout.width, found)])

    def _check_owned(
        self,
        layout: RecordLayout,
        lines: Lines,
        rows: npt.NDArray[np.int64],
        owners: npt.NDArray[np.int64],
        above: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.int64]:
        """Refuse a row without a line of this outer type since the line of the type around it.

        Args:
            layout: The outer type's.
            lines: Where the rows are from.
            rows: Positions of the innermost type's lines.
            owners: Number of the last line of the outer type before each row, 0 if none.
            above: The same for the type around it.

        Returns:
            ``owners``.
        """
        orphan = owners <= above
        if orphan.any():
            line = lines.first + int(rows[orphan.argmax()])
            raise DataError(
                f"{self.source}, line {line}: record type {self.layouts[-1].record_type} without a record of type "
                f"{layout.record_type} before it, which it is part of; the file is damaged or cut: get it again"
            )
        return owners


LINES_AHEAD = 4
"""Blocks of lines decompressed while one is decoded."""


def read_fixed_width(
    stream: IO[bytes], source: str, codebook: Codebook, names: Sequence[str]
) -> Generator[pa.RecordBatch]:
    """Read the wanted variables, rows in the order of the file; other variables are not looked at.

    Args:
        stream: The extract's bytes, uncompressed.
        source: Its name, for messages.
        codebook: Where its variables stand.
        names: Variables wanted, in the order of the columns.

    Raises:
        DataError: A line is not as the codebook says.
    """
    known = homes(codebook)
    found = [known[name] for name in names]
    schema = pa.schema([(name, column_type(variable)) for name, (_, variable) in zip(names, found, strict=True)])
    layouts = [
        RecordLayout(
            source,
            codebook,
            record_type,
            line_width([v for v in codebook.variables if not record_type or record_type in v.record_types]),
            tuple(variable for owner, variable in found if owner == record_type),
        )
        for record_type in codebook.record_types or ("",)
    ]
    hierarchy = Hierarchy(source, codebook, layouts) if codebook.record_types else None
    for lines in ahead(read_lines(stream, source), depth=LINES_AHEAD):
        if hierarchy is None:
            (layout,) = layouts
            rows = np.arange(len(lines.starts))
            layout.check_lengths(lines, rows)
            columns = layout.columns(lines.table(layout.width), rows + lines.first)
        else:
            columns = hierarchy.rows(lines)
        named = {v.name: c for (v, c) in zip((v for layout in layouts for v in layout.variables), columns, strict=True)}
        yield pa.RecordBatch.from_arrays([named[name] for name in names], schema=schema)
