"""Lines of a file, many at a time: the start and length of each, computed without a loop over lines."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import IO

import numpy as np
import numpy.typing as npt

from dpnb_columnar.errors import DataError

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

        Args:
            width: Characters wanted; no more than the shortest of these lines has.
            rows: Positions of the lines wanted; all if None.

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

    Args:
        stream: Where the lines are read from.
        source: Name of the file, for the error.

    Yields:
        Blocks of at least one line. Confidential.

    Raises:
        DataError: If a line is longer than ``LONGEST_LINE``.
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
