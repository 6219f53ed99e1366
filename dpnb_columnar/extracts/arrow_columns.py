"""The column of a variable: its Arrow type, which its declaration alone decides, and its values."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dpnb_columnar.extracts.codebooks.codebook import Form, Variable
from dpnb_columnar.extracts.decode import BLANK, MalformedFieldError, Table, decimal_numbers, digits, whole_numbers

# MERGED FROM dpnb_columnar/extracts/arrow_columns.py: Characters to text: one field of many lines at a time, as Arrow
# strings.

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


WIDTHS = ((2, pa.int8()), (4, pa.int16()), (9, pa.int32()), (18, pa.int64()))
"""The widest number of digits that each integer type holds, whatever they are, and the type."""

NUMPY_TYPES: dict[pa.DataType, type[np.signedinteger[Any]]] = {
    pa.int8(): np.int8,
    pa.int16(): np.int16,
    pa.int32(): np.int32,
    pa.int64(): np.int64,
}


def column_type(variable: Variable) -> pa.DataType:
    """The type of a variable's column: never by what a file holds, so that all files agree.

    Text is a string and a number with implied decimals a 64-bit float. A whole number gets the narrowest integer that
    all numbers of its width fit in; 64 bits where the codebook names no width. One of more than 18 characters is an
    identifier that no integer holds: a string.
    """
    if variable.form is Form.TEXT:
        return pa.string()
    if variable.decimals:
        return pa.float64()
    if variable.width is None:
        return pa.int64()
    return next((type_ for width, type_ in WIDTHS if variable.width <= width), pa.string())


def column(table: Table, variable: Variable, encoding: str) -> pa.Array:
    """The values of a variable at fixed positions, null where they are blank.

    Args:
        table: What stands there, shape (lines, width), dtype uint8.
        variable: Which.
        encoding: The extract's, for text.

    Raises:
        MalformedFieldError: A line has something else there.
    """
    type_ = column_type(variable)
    if type_ == pa.string():
        return texts(table, encoding)
    spelled = digits(np.ascontiguousarray(table.T))
    if type_ == pa.float64():
        return arrow(decimal_numbers(spelled, variable.decimals), type_, spelled.missing)
    return arrow(whole_numbers(spelled, NUMPY_TYPES[type_]), type_, spelled.missing)


def arrow(values: npt.NDArray[Any], type_: pa.DataType, missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Numbers as an Arrow array, without a copy; ``pa.array`` would load pandas for it, if there is one.

    Args:
        values: Shape (lines,), C-contiguous, of the NumPy type that ``type_`` is.
        type_: The Arrow type.
        missing: Which are null; none if None.
    """
    present = None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    return pa.Array.from_buffers(type_, len(values), [present, pa.py_buffer(values)])
