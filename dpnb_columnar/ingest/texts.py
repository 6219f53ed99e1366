"""Characters to text: one field of many lines at a time, as Arrow strings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dpnb_columnar.ingest.malformed import MalformedFieldError
from dpnb_columnar.ingest.numbers import BLANK, Table

Offsets = npt.NDArray[np.int64]

UTF_8 = "utf-8"


def texts(table: Table, encoding: str) -> pa.Array:
    """The texts of a field without the blanks behind them; null where the field is blank.

    Args:
        table: What stands there, shape (lines, width), dtype uint8.
        encoding: As a codebook names it: UTF-8, or one in which each character is one byte.

    Raises:
        MalformedFieldError: A line's bytes are not of the encoding.
    """
    lines = np.ascontiguousarray(table)
    count, width = lines.shape
    written = lines != BLANK
    lengths = np.where(written.any(axis=1), width - written[:, ::-1].argmax(axis=1), 0)
    data = lines[np.arange(width) < lengths[:, np.newaxis]]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    encoded = data.tobytes()
    if not encoded.isascii():
        encoded, ends = _in_utf_8(encoded, ends, encoding)
    missing = np.packbits(lengths > 0, bitorder="little")
    buffers = [pa.py_buffer(missing.tobytes()), pa.py_buffer(ends.astype(np.int32).tobytes()), pa.py_buffer(encoded)]
    return pa.StringArray.from_buffers(count, buffers[1], buffers[2], buffers[0])


def _in_utf_8(data: bytes, ends: Offsets, encoding: str) -> tuple[bytes, Offsets]:
    """Texts laid end to end, and where each ends, in UTF-8.

    Args:
        data: The texts.
        ends: 0, then the offset at which each ends, shape (texts + 1,).
        encoding: Theirs.
    """
    try:
        recoded = data.decode(encoding).encode()
    except UnicodeDecodeError as error:
        raise MalformedFieldError(int(np.searchsorted(ends, error.start, side="right")) - 1) from None
    codes = np.frombuffer(data, np.uint8)
    if encoding != UTF_8:
        widths = [len(bytes([byte]).decode(encoding, "replace").encode()) for byte in range(256)]
        return recoded, np.concatenate([[0], np.cumsum(np.array(widths)[codes])])[ends]
    filled = np.flatnonzero(np.diff(ends))
    cut = (codes[ends[filled]] & 0xC0) == 0x80  # a text that begins within a character
    if cut.any():
        raise MalformedFieldError(int(filled[cut.argmax()]))
    return data, ends
