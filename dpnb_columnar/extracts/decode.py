"""Digits to numbers: one field of many lines at a time, without a loop over lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

# MERGED FROM dpnb_columnar/extracts/decode.py: What a reader says of a field that does not spell what its variable is
# declared to hold. Never what stands there.


class MalformedFieldError(ValueError):
    """One field of many that were read together is not as declared.

    Attributes:
        row: Its place among those read together, from 0.
    """

    def __init__(self, row: int) -> None:
        super().__init__("malformed field")
        self.row = row


Table = npt.NDArray[np.uint8]
"""Characters of many lines, shape (lines, width), in any memory order."""

Characters = npt.NDArray[np.uint8]
"""One field of many lines, shape (width, lines): row j holds the j-th character of every line's field."""

BLANK, PLUS, MINUS, ZERO = b" +-0"
GROUP = 4
"""Digits that a 16-bit integer takes; narrow integers are added up several at once."""
EXACT_WIDTH = 15
"""Digits that a 64-bit float always holds exactly."""
EXACT_DECIMALS = 22
"""The largest power of ten that a 64-bit float holds exactly."""


@dataclass(frozen=True, slots=True)
class Digits:
    """What the characters of a number field spell. Confidential.

    Attributes:
        places: 0 to 9, most significant first, shape (width, lines), dtype uint8.
        negative: Whether there is a minus sign, shape (lines,), bool; None where no line has a sign.
        missing: Whether the field is blank, shape (lines,), bool; None where no line's is.
    """

    places: Characters
    negative: npt.NDArray[np.bool_] | None
    missing: npt.NDArray[np.bool_] | None


def digits(characters: Characters) -> Digits:
    """Read a number field: blanks, a sign or none, digits, blanks; or blanks alone, which is missing.

    Args:
        characters: Shape (width, lines), dtype uint8.

    Raises:
        MalformedFieldError: A line has anything else there.
    """
    places = characters - np.uint8(ZERO)  # wraps round, so that whatever is no digit is above 9
    if places.max(initial=0) <= 9:
        return Digits(places, None, None)
    odd = np.flatnonzero((places > 9).any(axis=0))
    negative, missing = np.zeros((2, places.shape[1]), bool)
    places[:, odd], negative[odd], missing[odd] = _spelled(characters[:, odd], odd)
    return Digits(places, negative, missing)


def _spelled(
    fields: Characters, lines: npt.NDArray[np.intp]
) -> tuple[Characters, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Places, signs and blanks of fields that are not digits throughout; their lines are named in the error."""
    width, count = fields.shape
    written = fields != BLANK
    missing = ~written.any(axis=0)
    first = written.argmax(axis=0)
    last = width - 1 - written[::-1].argmax(axis=0)
    lead = fields[first, np.arange(count)]
    first = first + ((lead == PLUS) | (lead == MINUS))
    position = np.arange(width)[:, np.newaxis]
    inside = (position >= first) & (position <= last) & ~missing
    places = fields - np.uint8(ZERO)
    sound = ((places <= 9) | ~inside).all(axis=0) & (first <= last) | missing
    if not sound.all():
        raise MalformedFieldError(int(lines[sound.argmin()]))
    places[~inside] = 0
    shift = position - (width - 1 - last)  # blanks behind the digits go: the last digit is the units
    moved = np.take_along_axis(places, np.maximum(shift, 0), axis=0)
    moved[shift < 0] = 0
    return moved, lead == MINUS, missing


def whole_numbers(spelled: Digits, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """The whole numbers that digits spell, shape (lines,); 0 where missing.

    Args:
        spelled: At most as many places as ``dtype`` holds.
        dtype: A signed integer type.
    """
    width, count = spelled.places.shape
    total = np.zeros(count, dtype)
    start, stop = 0, width % GROUP or GROUP
    while start < width:
        group = spelled.places[start].astype(np.int16)
        for place in spelled.places[start + 1 : stop]:
            group *= 10
            group += place
        if start:
            total *= 10**GROUP
            total += group
        else:
            total = group.astype(dtype)
        start, stop = stop, stop + GROUP
    if spelled.negative is not None:
        np.negative(total, out=total, where=spelled.negative)
    return total


def decimal_numbers(spelled: Digits, decimals: int) -> npt.NDArray[np.float64]:
    """The numbers that digits with implied decimals spell, correctly rounded, shape (lines,); 0 where missing.

    Args:
        spelled: Any number of places.
        decimals: How many of the last digits stand behind the decimal point.
    """
    if len(spelled.places) <= EXACT_WIDTH and decimals <= EXACT_DECIMALS:
        # Both numbers are exact, so the quotient is what the decimal text would be rounded to.
        return whole_numbers(spelled, np.int64) / 10.0**decimals
    values = _parsed(spelled.places, decimals)
    if spelled.negative is not None:
        np.negative(values, out=values, where=spelled.negative)
    return values


def _parsed(places: Characters, decimals: int) -> npt.NDArray[np.float64]:
    """Numbers too long for exact integers, by way of their text."""
    import pyarrow as pa

    padded = np.pad(places, ((max(decimals - len(places), 0), 0), (0, 0))) + np.uint8(ZERO)
    point = len(padded) - decimals
    texts = np.ascontiguousarray(np.insert(padded, point, ord("."), axis=0).T)
    buffer = pa.py_buffer(texts.tobytes())
    binary = pa.FixedSizeBinaryArray.from_buffers(pa.binary(texts.shape[1]), len(texts), [None, buffer])
    values = binary.cast(pa.string()).cast(pa.float64())
    return np.frombuffer(values.buffers()[1], np.float64, len(values)).copy()  # Arrow's memory is read-only
