"""Compute a 64-bit number of each row from its values and a public key: the same on every machine and in every version.

The number of a row is a function of this row, of the columns' names and of the key, and of nothing else: not of its
place, of another row, of how rows are divided into batches, of a column's width, or of the library that holds it. Equal
rows have equal numbers. A column may be text, or of any objects, because of what one other row holds. So texts are read
as the values that a typed column has for them: numbers as the nearest 64-bit floats, truth values as 1 and 0, dates and
points in time by ISO 8601 as their nanoseconds, blanks as missing. What is written in another way keeps its bytes, and
its row moves if the type of its column does.

A value becomes a 64-bit pattern, a column's pattern a random-looking number by a key of the column's name, and a row's
number is made of the sum of these, so that the order of columns does not matter either:

    row = mix(k + mix(k_1 xor p_1) + mix(k_2 xor p_2) + ...)  mod 2^64,   0 for a missing value

``mix`` is a fixed permutation of the 64-bit numbers, the finaliser of SplitMix64 (Steele, Lea and Flood 2014, mixer 13
of Stafford); keys are digests by BLAKE2b. That numbers look random matters to how large
the parts of a split are, never to privacy: for that it is enough that a row's number depends on this row alone. Library
hashes are not used, since they change from version to version.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types

from dpnb_columnar.domain.numbers import LONGEST_SPELLING, NUMBER_WORDS, SPELLED_NUMBER
from dpnb_columnar.rows.untyped_values import finite_or_infinite

if TYPE_CHECKING:
    from typing_extensions import TypeIs

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

WORDS = {**NUMBER_WORDS, "nan": math.nan, "NaN": math.nan, "": math.nan}
"""The words that stand for numbers, and those that stand for none: what is missing in a column of another type."""

CLOCK = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?"
MOMENT = rf"\A([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([ T]{CLOCK}(Z|[-+][0-9]{{2}}:?[0-9]{{2}})?)?|{CLOCK})\z"
"""Pattern of Arrow's for the texts of dates, of points in time and of times, by ISO 8601."""

BEYOND_MICROSECONDS = re.compile("[.][0-9]{6}([0-9]{1,3})")


def row_words(columns: Mapping[str, Values], rows: int, key: object) -> Words:
    """Return the number of each row, shape (rows,). Confidential."""
    words = np.full(rows, digest_word(key), np.uint64)
    for name, values in columns.items():
        patterns, missing = patterns_of(values)
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


def patterns_of(values: Values) -> tuple[Words, NDArray[np.bool_] | None]:
    """Return the pattern of each value of a column, and which values are missing; None where none is.

    They are those of ``_pattern``, made for the whole column at once where its type allows it.
    """
    if not isinstance(values, pa.Array):
        return _of_python(values)
    type_ = values.type
    if isinstance(values, pa.ExtensionArray):
        return patterns_of(values.storage)
    if types.is_run_end_encoded(type_):
        from pyarrow.compute import run_end_decode

        return patterns_of(run_end_decode(values))
    if types.is_dictionary(type_):
        return _of_dictionary(values)
    if types.is_boolean(type_):
        return patterns_of(values.cast(pa.uint8()))
    if types.is_floating(type_):
        return _of_floats(*_numbers(values, pa.float64()))
    if types.is_date32(type_):
        numbers, missing = _numbers(values.cast(pa.int32()), pa.int64())
        return _of_days(numbers), missing
    if types.is_time32(type_):
        values = values.cast(pa.int32())
    if types.is_date64(type_):
        numbers, missing = _numbers(values, pa.int64())
        return _of_days(numbers // DAY), missing
    if types.is_time(type_) or types.is_timestamp(type_) or types.is_duration(type_):
        numbers, missing = _numbers(values, pa.int64())
        return numbers.view(np.uint64) * np.uint64(NANOSECONDS[type_.unit]), missing
    if types.is_integer(values.type):
        numbers, missing = _numbers(values, pa.uint64() if types.is_uint64(type_) else pa.int64())
        return _of_floats(numbers.astype(np.float64), missing)
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


def _of_days(days: NDArray[np.int64]) -> Words:
    """Return the patterns of dates: those of their midnights, since libraries read a column of dates as either."""
    return days.view(np.uint64) * np.uint64(DAY * NANOSECONDS["ms"])


def _of_python(values: Sequence[object]) -> tuple[Words, NDArray[np.bool_]]:
    """Return the patterns of Python's values: of texts and of numbers all at once, of others one by one."""
    patterns, missing = np.zeros(len(values), np.uint64), np.ones(len(values), np.bool_)
    texts: dict[int, bytes] = {}
    numbers: dict[int, float] = {}
    for place, value in enumerate(values):
        match value:
            case None:
                pass
            case str():
                texts[place] = value.encode("utf-8", "surrogatepass")
            case bytes() | bytearray() | memoryview():
                texts[place] = bytes(value)
            case _ if _is_number(value):
                number = finite_or_infinite(value)
                numbers[place] = math.nan if number is None else float(number)
            case _ if (pattern := _pattern(value)) is not None:
                patterns[place], missing[place] = pattern, False
    for places, (found, lost) in (
        ([*texts], _of_bytes(pa.array([*texts.values()], pa.large_binary()))),
        ([*numbers], _of_floats(np.array([*numbers.values()], np.float64), None)),
    ):
        patterns[places], missing[places] = found, lost
    return patterns, missing


def _is_number(value: object) -> TypeIs[int | float | np.number | Decimal | Fraction]:
    numbers = int, float, np.bool_, np.integer, np.floating, Decimal, Fraction
    return isinstance(value, numbers) and not isinstance(value, np.timedelta64)  # which numpy takes for an integer


def _of_floats(numbers: NDArray[np.float64], missing: NDArray[np.bool_] | None) -> tuple[Words, NDArray[np.bool_]]:
    """Return the patterns of floats: whole ones as integers, whichever zero among them; NaN is missing."""
    whole = (np.floor(numbers) == numbers) & (numbers >= -INTEGERS) & (numbers < INTEGERS)
    patterns = np.where(whole, np.where(whole, numbers, 0).astype(np.int64), numbers.view(np.int64)).view(np.uint64)
    lost = np.isnan(numbers)
    return patterns, lost if missing is None else lost | missing


def _of_dictionary(values: pa.DictionaryArray) -> tuple[Words, NDArray[np.bool_]]:
    """Return the patterns of values in a dictionary: each of its entries is looked at once."""
    patterns, missing = patterns_of(values.dictionary)
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
    return _of_elements(values.flatten(), lengths), values.is_null().to_numpy(zero_copy_only=False)


def _of_elements(values: Values, lengths: NDArray[np.int64]) -> Words:
    """Return the patterns of lists of these lengths, whose elements stand one after the other."""
    ends = np.cumsum(lengths)
    elements, missing = patterns_of(values)
    places = np.arange(len(elements)) - np.repeat(ends - lengths, lengths)
    mixed = _mix(elements ^ _mix(places.astype(np.uint64) + np.uint64(digest_word("place"))))
    if missing is not None:
        mixed[missing] = 0
    sums = np.append(np.uint64(0), np.cumsum(mixed))  # modulo 2^64, as differences of them are
    return _mix(sums[ends] - sums[ends - lengths] + lengths.view(np.uint64))


def _of_bytes(values: pa.Array) -> tuple[Words, NDArray[np.bool_]]:
    """Return the patterns of texts: of those that spell a number or a moment by it, else by their bytes, UTF-8 or not.

    That of bytes is made of eight at a time, all rows at once: h = mix(h xor word), beginning with their number; that
    of more than ``LONG`` bytes is their digest.
    """
    if not len(values):
        return np.empty(0, np.uint64), np.empty(0, np.bool_)
    from pyarrow.compute import is_in, utf8_ltrim, utf8_rtrim

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
    short = lengths <= LONGEST_SPELLING
    if (spelled := _matching(values, SPELLED_NUMBER) & short).any():
        digits = utf8_ltrim(values.filter(pa.array(spelled)).cast(pa.large_string()), characters=" +")
        patterns[spelled], _ = _of_floats(utf8_rtrim(digits, characters=" ").cast(pa.float64()).to_numpy(), None)
    is_word = is_in(values, pa.array(WORDS, pa.large_binary())).to_numpy(zero_copy_only=False)
    for alike, word in _distinct(values, is_word):
        patterns[alike], missing[alike] = (found[0] for found in _of_floats(np.array([WORDS[word]]), None))
    for alike, text in _distinct(values, _matching(values, MOMENT) & short):
        if (pattern := _of_moment(text)) is not None:
            patterns[alike] = pattern
    return patterns, missing


def _distinct(values: pa.Array, chosen: NDArray[np.bool_]) -> Iterable[tuple[NDArray[np.intp], str]]:
    """List the different texts among chosen ones, with the rows that each stands in."""
    encoded = values.filter(pa.array(chosen)).dictionary_encode()
    entries, places = encoded.indices.to_numpy(zero_copy_only=False), np.flatnonzero(chosen)
    rows = np.split(places[np.argsort(entries, kind="stable")], np.cumsum(np.bincount(entries))[:-1])
    return zip(rows, (text.decode("ascii") for text in encoded.dictionary.to_pylist()), strict=False)


def _of_moment(text: str) -> int | None:
    """Return the pattern of a date, of a point in time or of a time by its text; None where the calendar has none."""
    try:
        moment = time.fromisoformat(text) if text[2] == ":" else datetime.fromisoformat(text)
    except ValueError:
        return None
    pattern, rest = _pattern(moment), BEYOND_MICROSECONDS.search(text)
    return pattern if pattern is None or rest is None else (pattern + int(rest[1].ljust(3, "0"))) % WORD


def _matching(values: pa.Array, pattern: str) -> NDArray[np.bool_]:
    from pyarrow.compute import match_substring_regex  # 20 ms that who splits nothing need not wait for

    matching: NDArray[np.bool_] = match_substring_regex(values, pattern).to_numpy(zero_copy_only=False)
    return matching


def _of_distinct(values: pa.Array) -> tuple[Words, NDArray[np.bool_]]:
    """Return the patterns of decimals and of rare types: each distinct value is looked at once."""
    try:
        encoded = values.dictionary_encode()
    except pa.ArrowNotImplementedError:
        return _of_python(values.to_pylist())
    patterns, _ = _of_python([*encoded.dictionary.to_pylist(), None])
    places = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return patterns[places], places < 0


def _pattern(value: object) -> int | None:
    """Return the pattern of one value that is neither a number nor a text; None if it is missing.

    Points in time, dates and spans count by their nanoseconds, lists by their elements, mappings by their fields, as
    nested columns of Arrow do, anything else by its text.
    """
    match value:
        case datetime() | timedelta() | np.datetime64() | np.timedelta64() if value != value:  # NaT
            return None
        case datetime():
            since = value.replace(tzinfo=None) - EPOCH - (value.utcoffset() or timedelta(0))
            return (since // MICROSECOND * 1000 + getattr(value, "nanosecond", 0)) % WORD
        case timedelta():
            return (value // MICROSECOND * 1000 + getattr(value, "nanoseconds", 0)) % WORD
        case date():
            return (value - EPOCH.date()).days * DAY * NANOSECONDS["ms"] % WORD
        case time():
            return (datetime.combine(EPOCH, value.replace(tzinfo=None)) - EPOCH) // MICROSECOND * 1000
        case np.datetime64() | np.timedelta64():
            try:
                return int(patterns_of(pa.array([value]))[0][0])
            except pa.ArrowNotImplementedError:  # of years, months, weeks and the like
                return digest_word(str(value))
        case np.ndarray():
            return _pattern(value.tolist())
        case list() | tuple():
            return int(_of_elements([*value], np.array([len(value)]))[0])
        case Mapping():
            return int(row_words({str(name): [held] for name, held in value.items()}, 1, "struct")[0])
    pandas = sys.modules.get("pandas")
    return None if pandas is not None and value is pandas.NA else digest_word(str(value))
