"""Text of delimited files as values: what spells a number, and what is blank."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dpnb_columnar.ingest.columns import NUMPY_TYPES
from dpnb_columnar.ingest.malformed import MalformedFieldError
from dpnb_columnar.ingest.numbers import BLANK

WHOLE = r"^ *[+-]?[0-9]+$"
NUMBER = r"^ *[+-]?([0-9]+\.?|[0-9]*\.[0-9]+)([eE][+-]?[0-9]+)?$"


def without_blanks(strings: pa.Array) -> pa.Array:
    """Texts without the blanks behind them; null where nothing is left."""
    if not (_data(strings) == BLANK).any():
        return strings
    trimmed = pc.utf8_rtrim(strings, " ")
    return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)


def typed(strings: pa.Array, type_: pa.DataType) -> pa.Array:
    """Texts as values of a type; null stays null.

    Args:
        strings: Texts.
        type_: A string, a 64-bit float or a signed integer.

    Raises:
        MalformedFieldError: A text does not spell such a value, or not one that the type holds.
    """
    if type_ == pa.string():
        return strings
    if not _letters(strings, type_).any():  # Arrow would also take nan, inf and 0x1F
        try:
            return strings.cast(type_)
        except pa.ArrowInvalid:
            pass
    spelled = pc.match_substring_regex(strings, NUMBER if type_ == pa.float64() else WHOLE)
    _check(spelled)
    plain = pc.replace_substring_regex(strings, r"^ *\+?", "")
    if type_ in NUMPY_TYPES:  # what is too large is a number all the same
        bounds = np.iinfo(NUMPY_TYPES[type_])
        values = plain.cast(pa.float64())
        _check(pc.and_(pc.greater_equal(values, float(bounds.min)), pc.less(values, float(bounds.max) + 1)))
    return plain.cast(type_)


def _check(sound: pa.Array) -> None:
    row = pc.index(pc.fill_null(sound, True), False).as_py()
    if row >= 0:
        raise MalformedFieldError(row)


def _letters(strings: pa.Array, type_: pa.DataType) -> npt.NDArray[np.bool_]:
    """Where the texts have characters that a number of this type does not."""
    data = _data(strings)
    letters: npt.NDArray[np.bool_] = data > ord("9")
    return letters & ((data | 0x20) != ord("e")) if type_ == pa.float64() else letters


def _data(strings: pa.Array) -> npt.NDArray[np.uint8]:
    """All characters of all texts."""
    data = strings.buffers()[2]
    return np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
