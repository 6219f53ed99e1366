"""The Arrow column of a variable: its type, set by the declaration alone, and its values at fixed positions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dpnb_columnar.extracts.codebooks.codebook import Form, Variable
from dpnb_columnar.extracts.decode import BLANK, MalformedFieldError, decimal_numbers, read_digits, whole_numbers

Table = npt.NDArray[np.uint8]
"""One field of many lines, shape (lines, width), in any memory order. Confidential."""

Offsets = npt.NDArray[np.int64]

UTF_8 = "utf-8"

WIDTHS = ((2, pa.int8()), (4, pa.int16()), (9, pa.int32()), (18, pa.int64()))
"""The most digits of which an integer type holds every number, and the type."""

NUMPY_TYPES: dict[pa.DataType, type[np.signedinteger[Any]]] = {
    pa.int8(): np.int8,
    pa.int16(): np.int16,
    pa.int32(): np.int32,
    pa.int64(): np.int64,
}


def column_type(variable: Variable) -> pa.DataType:
    """Choose the type of a variable's column: never by the rows of a file, so that all files agree.

    Text is a string and a number with implied decimals a 64-bit float. A whole number gets the narrowest integer that
    holds all numbers of its width; 64 bits where the codebook gives no width. A number of more than 18 characters is an
    identifier that no integer holds: a string.
    """
    if variable.form is Form.TEXT:
        return pa.string()
    if variable.decimals:
        return pa.float64()
    if variable.width is None:
        return pa.int64()
    return next((type_ for width, type_ in WIDTHS if variable.width <= width), pa.string())


def decode_column(table: Table, variable: Variable, encoding: str) -> pa.Array:
    """Decode the values of a variable, null where they are blank.

    Args:
        table: Characters of the variable, shape (lines, width), uint8. Confidential.
        variable: Declaration of the variable.
        encoding: Encoding of the extract, for text.

    Returns:
        Shape (lines,), of ``column_type(variable)``. Confidential.

    Raises:
        MalformedFieldError: If the field of a line is not as declared.
    """
    type_ = column_type(variable)
    if type_ == pa.string():
        return decode_texts(table, encoding)
    digits = read_digits(np.ascontiguousarray(table.T))
    if type_ == pa.float64():
        return arrow_array(decimal_numbers(digits, variable.decimals), type_, digits.missing)
    return arrow_array(whole_numbers(digits, NUMPY_TYPES[type_]), type_, digits.missing)


def decode_texts(table: Table, encoding: str) -> pa.Array:
    """Decode the texts of a field without the blanks behind them; null where the field is blank.

    Args:
        table: Characters of the field, shape (lines, width), uint8. Confidential.
        encoding: UTF-8, or an encoding in which each character is one byte.

    Returns:
        Strings, shape (lines,). Confidential.

    Raises:
        MalformedFieldError: If the bytes of a line are not of the encoding.
    """
    lines = np.ascontiguousarray(table)
    count, width = lines.shape
    written = lines != BLANK
    lengths = np.where(written.any(axis=1), width - written[:, ::-1].argmax(axis=1), 0)
    data = lines[np.arange(width) < lengths[:, np.newaxis]]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    encoded = data.tobytes()
    if not encoded.isascii():
        encoded, ends = _recode_to_utf_8(encoded, ends, encoding)
    present = np.packbits(lengths > 0, bitorder="little")
    buffers = [pa.py_buffer(present.tobytes()), pa.py_buffer(ends.astype(np.int32).tobytes()), pa.py_buffer(encoded)]
    return pa.StringArray.from_buffers(count, buffers[1], buffers[2], buffers[0])


def _recode_to_utf_8(data: bytes, ends: Offsets, encoding: str) -> tuple[bytes, Offsets]:
    """Recode texts to UTF-8 and move their ends accordingly.

    Args:
        data: The texts, laid end to end.
        ends: 0, then the offset at which each text ends, shape (texts + 1,).
        encoding: Encoding of the texts.
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
    cut = (codes[ends[filled]] & 0xC0) == 0x80  # a text that begins with the middle of a character
    if cut.any():
        raise MalformedFieldError(int(filled[cut.argmax()]))
    return data, ends


def arrow_array(values: npt.NDArray[Any], type_: pa.DataType, missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Wrap numbers in an Arrow array without a copy; ``pa.array`` would load pandas for it, where it is installed.

    Args:
        values: Shape (lines,), C-contiguous, of the NumPy type that corresponds to ``type_``.
        type_: The Arrow type.
        missing: Which values are null, shape (lines,); none if None.
    """
    present = None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    return pa.Array.from_buffers(type_, len(values), [present, pa.py_buffer(values)])
