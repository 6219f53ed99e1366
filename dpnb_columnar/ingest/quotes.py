"""Bytes of CSV on their way to the parser, which would take everything behind an unclosed quote for one field."""

from __future__ import annotations

import io
from typing import IO

import numpy as np

QUOTE, LINE_FEED, CARRIAGE_RETURN = b'"'[0], b"\n"[0], b"\r"[0]


class ClosedQuotes(io.RawIOBase):
    """A stream of CSV that ends at the first line with a quote left open: whoever reads it to its end has to look.

    Extracts have no line breaks within fields, so a line holds an even number of quotes. An error is not raised from
    here, since the parser reads in a thread of its own.

    Attributes:
        unclosed: The line, from 1, once it was met; None before.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__()
        self.unclosed: int | None = None
        self._stream = stream
        self._lines = 1
        self._open = False

    def readable(self) -> bool:
        """It is."""
        return True

    def read(self, size: int = -1) -> bytes:
        """As the stream does, but nothing from a piece on in which a line with an open quote ends."""
        if self.unclosed is not None:
            return b""
        data = self._stream.read(size)
        if self._open or QUOTE in data:
            self.unclosed = self._unclosed(data)
        self._lines += data.count(b"\n")
        return data if self.unclosed is None else b""

    def _unclosed(self, data: bytes) -> int | None:
        """The first line that ends in this piece with a quote left open; the last piece, empty, ends a line as well."""
        codes = np.frombuffer(data, np.uint8)
        marks = np.flatnonzero((codes == QUOTE) | (codes == LINE_FEED) | (codes == CARRIAGE_RETURN))
        quotes = codes[marks] == QUOTE
        is_open = (np.cumsum(quotes) + self._open) % 2 == 1
        if len(wrong := np.flatnonzero(is_open & ~quotes)):
            return self._lines + data.count(b"\n", 0, int(marks[wrong[0]]))
        self._open = bool(is_open[-1]) if len(marks) else self._open
        return self._lines if self._open and not data else None
