"""Compute a 64-bit number of each row from its values and a public key: the same on every machine and in every version.

The number of a row is a function of this row, of the columns' names and of the key, and of nothing else: not of its
place, of another row, of how rows are divided into batches, of a column's width, or of the library that holds it. Equal
rows have equal numbers. A value becomes a 64-bit pattern, a column's pattern a random-looking number by a key of the
column's name, and a row's number is made of the sum of these, so that the order of columns does not matter either:

    row = mix(k + mix(k_1 xor p_1) + mix(k_2 xor p_2) + ...)  mod 2^64,   0 for a missing value

``mix`` is a fixed permutation of the 64-bit numbers, the finaliser of SplitMix64 (Steele, Lea and Flood 2014, mixer 13
of Stafford); keys are digests by BLAKE2b. That numbers look random matters to how large
the parts of a split are, never to privacy: for that it is enough that a row's number depends on this row alone. Library
hashes are not used, since they change from version to version.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types

from dpnb_columnar.domain.numbers import SPELLED_NUMBER, spelled_number

Words: TypeAlias = NDArray[np.uint64]

Values: TypeAlias = "pa.Array | Sequence[object]"
"""A column: of Arrow, or Python's values where Arrow has no type for all of them."""

WORD = 2**64
INTEGERS = 2**63
"""Floats from minus this to below it that are whole are read as integers."""

NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
MICROSECOND = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1)
DAY = 86_400_000
"""Milliseconds of a day."""

LONG = 1024
"""Bytes of a text beyond which it is digested by itself, so that no row of any length holds up all others."""

TEXTS = (
    *(types.is_string, types.is_large_string, types.is_string_view),
    *(types.is_binary, types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary),
)
"""Tests for the types whose values are bytes."""

WHOLE = r"\A-?[0-9]{1,18}\z"
"""Pattern of Arrow's for whole numbers, which a float might not hold exactly."""


def row_words(columns: Mapping[str, Values], rows: int, key: object) -> Words:
    """Return the number of each row, shape (rows,). Confidential.

    Args:
        columns: The columns by name; case does not matter, as databases change it.
        rows: Number of rows.
        key: A public value whose ``ascii`` is the same everywhere, such as a tuple of numbers and texts.
    """
    words = np.full(rows, digest_word(key), np.uint64)
    for name, values in columns.items():
        patterns, missing = _patterns(values)
        patterns ^= np.uint64(digest_word((key, name.lower())))
        mixed = _mix(patterns)
        if missing is not None:
            mixed[missing] = 0
        words += mixed
    return _mix(words)


def digest_word(value: object) -> int:
    """Return the number of a value by its ``ascii``, which unlike ``repr`` knows no version of Unicode."""
    return _digest(ascii(value).encode())


def _digest(content: bytes) -> int:
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "big")


def _mix(words: Words) -> Words:
    """Permute 64-bit numbers in place."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words ^= words >> np.uint64(shift)
        words *= np.uint64(factor)
    words ^= words >> np.uint64(31)
    return words


def _patterns(values: Values) -> tuple[Words, NDArray[np.bool_] | None]:
    """Return the pattern of each value of a column, and which values are missing; None where none is.

    They are those of ``_pattern``, made for the whole column at once where its type allows it.
    """
    if not isinstance(values, pa.Array):
        return _listed(map(_pattern, values))
    type_ = values.type
    if isinstance(values, pa.ExtensionArray):
        return _patterns(values.storage)
    if types.is_run_end_encoded(type_):
        from pyarrow.compute import run_end_decode

        return _patterns(run_end_decode(values))
    if types.is_dictionary(type_):
        return _of_dictionary(values)
    if types.is_boolean(type_):
        return _patterns(values.cast(pa.uint8()))
    if types.is_floating(type_):
        return _of_floats(*_numbers(values, pa.float64()))
    if types.is_date32(type_) or types.is_time32(type_):
        values = values.cast(pa.int32())
    if types.is_date64(type_):
        numbers, missing = _numbers(values, pa.int64())
        return (numbers // DAY).view(np.uint64), missing
    if types.is_time(type_) or types.is_timestamp(type_) or types.is_duration(type_):
        numbers, missing = _numbers(values, pa.int64())
        return numbers.view(np.uint64) * np.uint64(NANOSECONDS[type_.unit]), missing
    if types.is_integer(values.type):
        numbers, missing = _numbers(values, pa.uint64() if types.is_uint64(type_) else pa.int64())
        return numbers.view(np.uint64), missing
    if any(is_text(type_) for is_text in TEXTS):
        return _of_bytes(values)
    if types.is_struct(type_):
        return _of_struct(values)
    if types.is_nested(type_) and not types.is_union(type_):
        return _of_lists(values)
    return _of_distinct(values)


def _numbers(values: pa.Array, type_: pa.DataType) -> tuple[Any, NDArray[np.bool_] | None]:
    """Return a column as an array of its own, and which values are missing."""
    missing = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
    values = values.cast(type_)
    if missing is not None:
        values = values.fill_null(0)
    return values.to_numpy(zero_copy_only=False).copy(), missing


def _of_floats(numbers: NDArray[np.float64], missing: NDArray[np.bool_] | None) -> tuple[Words, NDArray[np.bool_]]:
    """Return the patterns of floats: whole ones as integers, whichever zero among them; NaN is missing."""
    whole = (np.floor(numbers) == numbers) & (numbers >= -INTEGERS) & (numbers < INTEGERS)
    patterns = np.where(whole, np.where(whole, numbers, 0).astype(np.int64), numbers.view(np.int64)).view(np.uint64)
    lost = np.isnan(numbers)
    return patterns, lost if missing is None else lost | missing


def _of_dictionary(values: pa.DictionaryArray) -> tuple[Words, NDArray[np.bool_]]:
    """Return the patterns of values in a dictionary: each of its entries is looked at once."""
    patterns, missing = _patterns(values.dictionary)
    lost = np.zeros(len(patterns), np.bool_) if missing is None else missing
    places = values.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return np.append(patterns, np.uint64(0))[places], np.append(lost, True)[places]


def _of_struct(values: pa.StructArray) -> tuple[Words, NDArray[np.bool_]]:
    """Return the patterns of nested rows: a field that is null is as one that is not there."""
    fields = dict(zip(values.type.names, values.flatten(), strict=True))
    return row_words(fields, len(values), "struct"), values.is_null().to_numpy(zero_copy_only=False)


def _of_lists(values: pa.Array) -> tuple[Words, NDArray[np.bool_]]:
    """Return the patterns of lists and maps: of each one's elements, by their places in it."""
    from pyarrow.compute import list_value_length

    if types.is_map(values.type):
        values = values.cast(pa.list_(pa.struct([values.type.key_field, values.type.item_field])))
    lengths = list_value_length(values).cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    ends = np.cumsum(lengths)
    elements, missing = _patterns(values.flatten())
    places = np.arange(len(elements)) - np.repeat(ends - lengths, lengths)
    mixed = _mix(elements ^ _mix(places.astype(np.uint64) + np.uint64(digest_word("place"))))
    if missing is not None:
        mixed[missing] = 0
    sums = np.append(np.uint64(0), np.cumsum(mixed))  # modulo 2^64, as differences of them are
    words = sums[ends] - sums[ends - lengths] + lengths.view(np.uint64)
    return _mix(words), values.is_null().to_numpy(zero_copy_only=False)


def _of_bytes(values: pa.Array) -> tuple[Words, NDArray[np.bool_]]:
    """Return the patterns of texts: of those that spell a number by its value, else by their bytes, UTF-8 or not.

    That of bytes is made of eight at a time, all rows at once: h = mix(h xor word), beginning with their number; that
    of more than ``LONG`` bytes is their digest.
    """
    if not len(values):
        return np.empty(0, np.uint64), np.empty(0, np.bool_)
    missing = values.is_null().to_numpy(zero_copy_only=False)
    values = values.cast(pa.large_binary()).fill_null(b"")
    _, offsets, content = values.buffers()
    ends = np.frombuffer(offsets, np.int64)[values.offset : values.offset + len(values) + 1]
    padded = bytes(7) if content is None else memoryview(content)[ends[0] : ends[-1]].tobytes() + bytes(7)
    every = np.ndarray((len(padded) - 7,), "<u8", padded, strides=(1,))  # the word that begins at each byte
    places, lengths = ends[:-1] - ends[0], np.diff(ends)
    patterns = lengths.astype(np.uint64) + np.uint64(digest_word("bytes"))
    for row in np.flatnonzero(lengths > LONG):
        patterns[row] = _digest(padded[places[row] : places[row] + lengths[row]])
    rows = np.flatnonzero(lengths <= LONG)
    for start in range(0, LONG, 8):
        rows = rows[lengths[rows] > start]
        if not rows.size:
            break
        beyond = np.maximum(8 - (lengths[rows] - start), 0).astype(np.uint64) * np.uint64(8)
        patterns[rows] = _mix(patterns[rows] ^ (every[places[rows] + start] & (np.uint64(WORD - 1) >> beyond)))
    whole = _matching(values, WHOLE)
    if whole.any():
        numbers = values.filter(pa.array(whole)).cast(pa.large_string()).cast(pa.int64())
        patterns[whole] = numbers.to_numpy(zero_copy_only=False).view(np.uint64)
    others = np.flatnonzero(_matching(values, SPELLED_NUMBER) & ~whole)
    for row, text in zip(others, values.take(pa.array(others)).to_pylist(), strict=True):
        pattern = _pattern(spelled_number(text.decode("ascii")))
        if pattern is not None:
            patterns[row] = pattern
    return patterns, missing


def _matching(values: pa.Array, pattern: str) -> NDArray[np.bool_]:
    from pyarrow.compute import match_substring_regex  # 20 ms that who splits nothing need not wait for

    matching: NDArray[np.bool_] = match_substring_regex(values, pattern).to_numpy(zero_copy_only=False)
    return matching


def _of_distinct(values: pa.Array) -> tuple[Words, NDArray[np.bool_]]:
    """Return the patterns of decimals and of rare types: each distinct value is looked at once."""
    try:
        encoded = values.dictionary_encode()
    except pa.ArrowNotImplementedError:
        return _listed(map(_pattern, values.to_pylist()))
    patterns, _ = _listed([*map(_pattern, encoded.dictionary.to_pylist()), None])
    places = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return patterns[places], places < 0


def _listed(patterns: Iterable[int | None]) -> tuple[Words, NDArray[np.bool_]]:
    """Return patterns as an array, and which are missing."""
    known = list(patterns)
    missing = np.array([pattern is None for pattern in known], np.bool_)
    return np.array([pattern or 0 for pattern in known], np.uint64), missing


def _pattern(value: object) -> int | None:
    """Return the pattern of one value; None if it is missing, null or NaN.

    Numbers count by their value, whatever type holds them, and so do texts that spell one, so that a column which is
    text because of what other rows hold moves no row; other texts and bytes count by their bytes, points in time and
    spans by their nanoseconds, dates by their days, anything else by its text.
    """
    match value:
        case None:
            return None
        case bool() | int() | np.integer() | np.bool_():
            return int(value) % WORD
        case Decimal() if value.is_finite() and value == value.to_integral_value():
            return int(value) % WORD
        case float() | np.floating() | Decimal():
            number = math.nan if isinstance(value, Decimal) and value.is_nan() else float(value)
            if math.isnan(number):
                return None
            if number.is_integer() and -INTEGERS <= number < INTEGERS:
                return int(number) % WORD
            return int.from_bytes(struct.pack(">d", number), "big")
        case str() | bytes() | bytearray() | memoryview():
            content = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else bytes(value)
            return int(_of_bytes(pa.array([content], pa.large_binary()))[0][0])
        case datetime() | timedelta() if value != value:  # that of pandas which is none
            return None
        case datetime():
            naive = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
            return (naive - EPOCH) // MICROSECOND * 1000 % WORD
        case timedelta():
            return value // MICROSECOND * 1000 % WORD
        case date():
            return (value - EPOCH.date()).days % WORD
        case time():
            return (datetime.combine(EPOCH, value.replace(tzinfo=None)) - EPOCH) // MICROSECOND * 1000
    return digest_word(str(value))
