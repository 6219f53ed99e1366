"""Split rows into rows to train on and rows held out, to choose by or to test on. CONFIDENTIAL, as the rows are.

Which part a row goes to depends on the row's own values and the seed, or on those of its unit's columns and the seed:
on no other row, no place and no number of rows. So each part is what a public rule on single rows, or units, leaves of
the data, and a release of a part keeps its guarantee for rows, or units, of the data (``docs/privacy.md``, Lemma 2.13).
A draw by a row's place would move thousands of rows for one less; secret draws could not be made again. The price is
that equal rows go together: parts differ from the size that is asked for the more, the more rows are alike.

The 64-bit number of a row is a function of its values, of the columns' names and of a public key, on every machine and
in every version. A column may be text, or of any objects, because of what one other row holds. So texts are read as the
values that a typed column has for them: numbers as the nearest 64-bit floats, truth values as 1 and 0, dates and points
in time by ISO 8601 as their nanoseconds, blanks as missing. Other texts keep their bytes.

A value becomes a 64-bit pattern, a column's pattern a random-looking number by a key of the column's name, and a row's
number is made of the sum of these, so that the order of columns does not matter either:

    row = mix(k + mix(k_1 xor p_1) + mix(k_2 xor p_2) + ...)  mod 2^64,   0 for a missing value

``mix`` is a fixed permutation of the 64-bit numbers, the finaliser of SplitMix64 (Steele, Lea and Flood 2014, mixer 13
of Stafford); keys are digests by BLAKE2b. That numbers look random matters to the sizes of the parts, never to privacy.
"""

from __future__ import annotations

import json
import math
import re
import sys
import weakref
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial
from hashlib import blake2b
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types

from dpnb_columnar.domain.declaration import DOMAIN_KEY
from dpnb_columnar.domain.groupings import PART_KEY, TEST, TRAIN, VALIDATION, SplitPart, parts_in
from dpnb_columnar.domain.names import (
    LONGEST_SPELLING,
    NUMBER_WORDS,
    SPELLED_NUMBER,
    TRUTHS,
    exact_number,
    listed,
    number_of_text,
    number_text,
)
from dpnb_columnar.errors import DataError, UsageError, option
from dpnb_columnar.rows.frames import Frame, opened_eagerly
from dpnb_columnar.rows.input_files import (
    DataFile,
    StoredObject,
    arrow_file,
    check_file,
    failure_of,
    folder_values,
    not_parquet_error,
)
from dpnb_columnar.rows.parquet import (
    ARROW_SCHEMA,
    BATCH_ROWS,
    HELD_BY_ARROW,
    Batches,
    check_texts,
    damaged_file_error,
    rows_in_footers,
)
from dpnb_columnar.rows.row_rules import finite_or_infinite, text_of
from dpnb_columnar.rows.streaming import NAME
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.outputs import atomic_output, check_parquet, check_target, default_name, parquet_writer
from dpnb_columnar.runtime.row_progress import begin_pass
from dpnb_columnar.runtime.unfinished import exists

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    from typing_extensions import TypeIs

Words: TypeAlias = NDArray[np.uint64]
Values: TypeAlias = "pa.Array | Sequence[object]"
"""A column: of Arrow, or Python's values where Arrow has no type for all of them."""

WORD = 2**64
INTEGERS = 2**63  # floats from minus this to below it that are whole are read as integers
NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
MICROSECOND = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1)
DAY = 86_400_000  # milliseconds of a day
LONG = 1024  # bytes of a text beyond which it is digested by itself, so that no row of any length holds up all others

TEXTS = (
    *(types.is_string, types.is_large_string, types.is_string_view),
    *(types.is_binary, types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary),
)
"""Tests for the types whose values are bytes."""

MISSING_WORDS = {**NUMBER_WORDS, "nan": math.nan, "NaN": math.nan, "": math.nan}
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
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words ^= words >> np.uint64(shift)
        words *= np.uint64(factor)
    words ^= words >> np.uint64(31)
    return words


def patterns_of(values: Values) -> tuple[Words, NDArray[np.bool_] | None]:
    """Return what ``_pattern`` does of each value, for a whole column, and which are missing; None where none is."""
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
    if types.is_date(type_):
        numbers, missing = _numbers(values.cast(pa.int32()) if types.is_date32(type_) else values, pa.int64())
        days = numbers if types.is_date32(type_) else numbers // DAY
        return days.view(np.uint64) * np.uint64(DAY * NANOSECONDS["ms"]), missing
    if types.is_time32(type_):
        values = values.cast(pa.int32())
    if types.is_time(type_) or types.is_timestamp(type_) or types.is_duration(type_):
        numbers, missing = _numbers(values, pa.int64())
        return numbers.view(np.uint64) * np.uint64(NANOSECONDS[type_.unit]), missing
    if types.is_integer(values.type):
        numbers, missing = _numbers(values, pa.uint64() if types.is_uint64(type_) else pa.int64())
        return _of_floats(numbers.astype(np.float64), missing)
    if any(is_text(type_) for is_text in TEXTS):
        return _of_bytes(values)
    if types.is_struct(type_):
        fields = dict(zip(type_.names, values.flatten(), strict=True))
        return row_words(fields, len(values), "struct"), values.is_null().to_numpy(zero_copy_only=False)
    if types.is_nested(type_) and not types.is_union(type_):
        return _of_lists(values)
    return _of_distinct(values)


def _numbers(values: pa.Array, type_: pa.DataType) -> tuple[Any, NDArray[np.bool_] | None]:
    missing = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
    values = values.cast(type_)
    if missing is not None:
        values = values.fill_null(0)
    return values.to_numpy(zero_copy_only=False).copy(), missing


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
    patterns, missing = patterns_of(values.dictionary)
    lost = np.zeros(len(patterns), np.bool_) if missing is None else missing
    places = values.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return np.append(patterns, np.uint64(0))[places], np.append(lost, True)[places]


def _of_lists(values: pa.Array) -> tuple[Words, NDArray[np.bool_]]:
    from pyarrow.compute import list_value_length

    if types.is_map(values.type):
        values = values.cast(pa.list_(pa.struct([values.type.key_field, values.type.item_field])))
    lengths = list_value_length(values).cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return _of_elements(values.flatten(), lengths), values.is_null().to_numpy(zero_copy_only=False)


def _of_elements(values: Values, lengths: NDArray[np.int64]) -> Words:
    ends = np.cumsum(lengths)
    elements, missing = patterns_of(values)
    places = np.arange(len(elements)) - np.repeat(ends - lengths, lengths)
    mixed = _mix(elements ^ _mix(places.astype(np.uint64) + np.uint64(digest_word("place"))))
    if missing is not None:
        mixed[missing] = 0
    sums = np.append(np.uint64(0), np.cumsum(mixed))  # modulo 2^64, as differences of them are
    return _mix(sums[ends] - sums[ends - lengths] + lengths.view(np.uint64))


def _of_bytes(values: pa.Array) -> tuple[Words, NDArray[np.bool_]]:
    """Return the patterns of texts: by the number or moment that they spell, else by their bytes, eight at a time."""
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
    is_word = is_in(values, pa.array(MISSING_WORDS, pa.large_binary())).to_numpy(zero_copy_only=False)
    for alike, word in _distinct(values, is_word):
        patterns[alike], missing[alike] = (found[0] for found in _of_floats(np.array([MISSING_WORDS[word]]), None))
    for alike, text in _distinct(values, _matching(values, MOMENT) & short):
        if (pattern := _of_moment(text)) is not None:
            patterns[alike] = pattern
    return patterns, missing


def _distinct(values: pa.Array, chosen: NDArray[np.bool_]) -> Iterable[tuple[NDArray[np.intp], str]]:
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
    """Return the pattern of a value that is no number or text: times by nanoseconds, nested ones by their parts."""
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


HISTORY_KEY = b"dpnb_columnar.split"  # key of the history of a part in the metadata of its file
OUTPUTS = {TRAIN: "train-output", VALIDATION: "validation-output", TEST: "test-output"}
"""The option that names the file of each part."""

TEXT_BYTES = 2**24  # bytes of texts that are written out at once: rows share long ones in the file, not in memory
BUFFER_BYTES = 2**20
"""Bytes of a column that are read at a time where one row of it is wanted: most dictionaries, by one request."""

SHARED_TEXTS = types.is_string, types.is_large_string, types.is_binary, types.is_large_binary
"""Tests for the types that Arrow can read as places in a dictionary."""

NO_TYPE = pa.ArrowException, pl.exceptions.PolarsError, pl.exceptions.PanicException
"""What libraries raise where Arrow has no type for all values of a column."""

FAR = 6  # standard deviations of a part's size beyond which it is told that the part is not as large as was asked for


@dataclass(frozen=True, slots=True)
class Split:
    """How rows are divided."""

    test: Fraction  # part that is held out to test on: above 0 and below 1
    by: tuple[str, ...] = ()  # columns that name a unit, whose rows stay together; none for rows by themselves
    seed: int = 0
    history: str = ""  # digest of the splits before, without which a part would hold no row for another part
    validation: Fraction = Fraction(0)  # part to choose a model by; the rows to test on are the same without it

    @property
    def shares(self) -> dict[str, Fraction]:
        """The share of each part, in the order of the numbers that rows are divided by."""
        validation = {VALIDATION: self.validation} if self.validation else {}
        return {TEST: self.test, **validation, TRAIN: 1 - self.test - self.validation}

    @property
    def key(self) -> tuple[int | str, ...]:
        return (self.seed, self.history) if self.history else (self.seed,)

    @property
    def of_parts(self) -> str:
        validation = (str(self.validation),) if self.validation else ()
        return f"{digest_word((*self.key, str(self.test), *validation, self.by)):016x}"


def split_of(test: object, by: Sequence[str], seed: int, validation: object = None) -> Split:
    """Check how rows are to be divided; parts are numbers or texts such as ``0.2`` or ``1/5``, taken exactly."""
    tested = _share(TEST, test)
    validated = Fraction(0) if validation is None else _share(VALIDATION, validation)
    if tested + validated >= 1:
        raise UsageError(
            f"{option(TEST, str(test))} and {option(VALIDATION, str(validation))} leave no row to train on; give "
            "shares whose sum is below 1, such as 0.2 and 0.2"
        )
    if seed < 0:
        raise UsageError(f"{option('seed')} {seed}: give a whole number from 0 on, such as {option('seed', 1)}")
    return Split(tested, tuple(by), seed, validation=validated)


def _share(part: str, typed: object) -> Fraction:
    try:
        share = exact_number(str(typed) if isinstance(typed, float) else typed)
    except ValueError as error:
        raise UsageError(f"{option(part)}: {error}") from None
    if not 0 < share < 1:
        raise UsageError(
            f"{option(part)}: {typed} is no part of the rows; give a number above 0 and below 1, such as 0.2"
        )
    return share


def split_outputs(
    data: Sequence[str], files: Sequence[DataFile], split: Split, named: Mapping[str, Path | None], overwrite: bool
) -> dict[str, Path]:
    """Name a file for each part, by the data where it is not named, and refuse those that cannot be written."""
    stem = data[0] if exists(Path(data[0])) or not files else str(files[0])  # a pattern names no file
    name = files[0].stem if files and isinstance(files[0], StoredObject) else stem
    if named.get(VALIDATION) is not None and not split.validation:
        raise UsageError(
            f"{option(OUTPUTS[VALIDATION])}: which share of the rows? Give it with {option(VALIDATION, '0.2')}"
        )
    outputs: dict[str, Path] = {}
    for part in reversed(split.shares):
        output = named.get(part) or default_name([stem], name, f".{part}.parquet")
        if same := [other for other, path in outputs.items() if path.resolve() == output.resolve()]:
            raise UsageError(f"{option(OUTPUTS[same[0]])} and {option(OUTPUTS[part])} are one file; name two")
        outputs[part] = output
    for output in outputs.values():
        check_parquet(output)
        check_target(output, overwrite, files)
    return outputs


_histories: dict[int, tuple[weakref.ref[Any], str]] = {}
"""By the identity of a frame that a split has made, the history of it, as long as there is the frame."""


def _remember(frame: Frame, history: str) -> Frame:
    place = id(frame)
    _histories[place] = (weakref.ref(frame, lambda _: _histories.pop(place, None)), history)
    return frame


@confined()
def split_frame(frame: Frame, split: Split) -> tuple[dict[str, Frame], dict[str, int]]:
    """Divide the rows of a frame, known by its history, as those of a file of the same rows would be."""
    opened = opened_eagerly(frame)
    if absent := [name for name in split.by if name not in opened.columns]:
        raise DataError(f"{NAME}: has no column {listed(absent)} to split by; its columns are {listed(opened.columns)}")
    if not len(opened):  # narwhals takes no filter of no rows
        return dict.fromkeys(reversed(split.shares), opened.to_native()), dict.fromkeys(split.shares, 0)
    known, history = _histories.get(id(frame), (lambda: None, ""))
    split = replace(split, history=history if known() is frame else "")
    columns = {name: _values(opened[name]) for name in opened.columns}
    places = _places(columns, len(opened), split)
    parts, sizes = {}, {}
    for place, part in reversed([*enumerate(split.shares)]):
        chosen = places == place
        parts[part] = _remember(opened.filter(chosen.tolist()).to_native(), split.of_parts)
        sizes[part] = int(chosen.sum())
    return parts, sizes


def size_remarks(split: Split, sizes: Mapping[str, int], named: Mapping[str, object]) -> list[str]:
    """Say which parts differ in size by far more than the variance share (1 - share) n explains. CONFIDENTIAL."""
    rows = sum(sizes.values())
    why = f"the rows, or units, are few or alike, or this seed divided them before: then give another {option('seed')}"
    remarks = []
    for part, share in split.shares.items():
        expected = float(share * rows)
        far = abs(sizes[part] - expected) > FAR * math.sqrt(expected * float(1 - share))
        if rows and not sizes[part]:
            remarks.append(f"{named[part]} has no row; {why}")
        elif far and part != TRAIN:  # which is as far off as another part
            size = "fewer" if sizes[part] < expected else "more"
            remarks.append(f"{named[part]} has {size} rows than {option(part, number_text(share))} asks for; {why}")
    return remarks


def _values(column: nw.Series[Any]) -> Values:
    import narwhals.stable.v2 as nw

    try:
        values: Any = None if column.dtype == nw.Object else column.to_arrow()
    except (*NO_TYPE, TypeError, ValueError, OverflowError):
        values = None
    if values is None:
        return column.to_list()
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


@confined()
def split_rows(rows: Batches, split: Split, outputs: Mapping[str, Path], *, overwrite: bool = False) -> dict[str, int]:
    """Write the rows of each part, in their order, for the owner alone, and return their numbers. Confidential."""
    metadata = rows.schema.metadata or {}
    split = replace(split, history=metadata.get(HISTORY_KEY, b"").decode("ascii", "replace"))
    schema = rows.schema.with_metadata({**metadata, HISTORY_KEY: split.of_parts.encode()})
    earlier = parts_in(metadata)
    if absent := [name for name in split.by if schema.names.count(name) != 1]:
        raise DataError(
            f"{rows.name}: has no column {listed(absent)} to split by; its columns are {listed(schema.names)}"
        )
    advance = begin_pass(rows.size)
    with ExitStack() as stack:
        # All are complete before one stands under its name.
        writers = {
            part: stack.enter_context(
                parquet_writer(
                    stack.enter_context(atomic_output(path, overwrite=overwrite, confidential=True)),
                    schema.with_metadata({**(schema.metadata or {}), PART_KEY: json.dumps([*earlier, told]).encode()}),
                )
            )
            for part, path in outputs.items()
            for told in [SplitPart(split=split.of_parts, part=part, by=[*split.by])]
        }
        sizes = dict.fromkeys(outputs, 0)
        for batch in rows.batches:
            places = _places(dict(zip(schema.names, batch.columns, strict=True)), len(batch), split)
            for place, part in enumerate(split.shares):
                chosen = places == place
                if chosen.any():
                    kept = batch.filter(pa.array(chosen))
                    writers[part].write_batch(pa.RecordBatch.from_arrays(kept.columns, schema=schema))
                    sizes[part] += len(kept)
            if advance is not None:
                advance(len(batch))
    return sizes


def parts_of(files: Iterable[DataFile]) -> list[SplitPart]:
    """Return the splits that made the rows of files, the latest last, as their metadata tell. Public."""
    import pyarrow.parquet as pq

    known: list[SplitPart] = []
    for place, file in enumerate(files):
        try:
            parts = parts_in(pq.read_metadata(arrow_file(file)).metadata or {})
        except (pa.ArrowException, OSError):
            return []
        if not parts or (place and parts != known):
            return []
        known = parts
    return known


def batches_of_files(
    files: Sequence[DataFile],
    beside: Mapping[DataFile, Mapping[str, str]] | None = None,
    columns: Collection[str] | None = None,
) -> Batches:
    """Return the rows of Parquet files, with the columns, some or all, and the metadata that all of them have."""
    import pyarrow.parquet as pq

    first: pa.Schema | None = None
    of_files = []
    for file in files:
        check_file(file)
        try:
            with pq.ParquetFile(arrow_file(file)) as opened:
                metadata = {
                    key: value
                    for key, value in (opened.metadata.metadata or {}).items()
                    if key != ARROW_SCHEMA.encode()
                }
                metadata |= {key.encode(): value.encode() for key, value in (beside or {}).get(file, {}).items()}
                schema = opened.schema_arrow.with_metadata(metadata)
                for name in folder_values(file, schema.names):
                    schema = schema.append(pa.field(name, pa.string()))
                if columns is not None:
                    schema = pa.schema([field for field in schema if field.name in columns], metadata)
        except (pa.ArrowException, OSError, UnicodeDecodeError):
            raise failure_of([file], sys.exception()) or not_parquet_error(file) from None
        check_texts(file, {field.name for field in schema if not pa.types.is_primitive(field.type)}, HELD_BY_ARROW)
        of_files.append(metadata)
        if first is None:
            first = schema
        elif schema.remove_metadata() != first.remove_metadata():
            raise DataError(f"{files[0]} and {file}: their columns differ in names, types or order; split them apart")
        elif (schema.metadata or {}).get(DOMAIN_KEY.encode()) != (first.metadata or {}).get(DOMAIN_KEY.encode()):
            raise DataError(f"{files[0]} and {file}: carry different domains; split them apart")
    assert first is not None
    first = first.with_metadata({**(first.metadata or {}), **split_metadata(of_files)})
    return Batches(str(files[0]), first, _batches(files, first), partial(rows_in_footers, files))


def split_metadata(of_files: Collection[Mapping[bytes, bytes]]) -> dict[bytes, bytes]:
    """Say in metadata which splits made the rows of files together; nothing where none did."""
    histories = {metadata.get(HISTORY_KEY, b"") for metadata in of_files}
    made_by = {metadata.get(PART_KEY, b"[]") for metadata in of_files}
    if len(made_by) > 1:  # parts of several splits, or both parts of one, are no part of any
        made_by = {b"[]"}
    told = {HISTORY_KEY: b" ".join(sorted(histories)), PART_KEY: made_by.pop()}
    return {key: text for key, text in told.items() if any(key in metadata for metadata in of_files)}


def _batches(files: Sequence[DataFile], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq

    for file in files:
        try:
            shared = _long_and_shared(file, schema)
            with pq.ParquetFile(arrow_file(file), pre_buffer=True, read_dictionary=shared) as opened:
                values = folder_values(file, opened.schema_arrow.names)
                values = {name: value for name, value in values.items() if name in schema.names}
                own = [name for name in schema.names if name not in values]
                for read in opened.iter_batches(BATCH_ROWS, columns=own):
                    for batch in _written_out(read.select(own), schema):
                        columns = [pa.array([value] * len(batch), pa.string()) for value in values.values()]
                        yield pa.RecordBatch.from_arrays([*batch.columns, *columns], names=schema.names)
        except (pa.ArrowException, OSError, UnicodeDecodeError):
            raise failure_of([file], sys.exception()) or damaged_file_error(file) from None


def _long_and_shared(file: DataFile, schema: pa.Schema) -> list[str]:
    """Name the text columns whose batches may exceed ``TEXT_BYTES``, as rows share texts in a dictionary."""
    import pyarrow.parquet as pq
    from pyarrow import compute

    own = {*pq.read_schema(arrow_file(file)).names}  # others are of its folders
    texts = [field.name for field in schema if field.name in own and any(test(field.type) for test in SHARED_TEXTS)]
    found: set[str] = set()
    with pq.ParquetFile(arrow_file(file), pre_buffer=False, buffer_size=BUFFER_BYTES, read_dictionary=texts) as opened:
        for group in range(opened.num_row_groups):
            left = [name for name in texts if name not in found]
            row = next(opened.iter_batches(1, [group], left), None) if left else None
            for column, name in zip(row.columns, row.schema.names, strict=True) if row is not None else ():
                longest = compute.max(compute.binary_length(column.dictionary)).as_py()
                if (longest or 0) * BATCH_ROWS > TEXT_BYTES:
                    found.add(name)
    return [*found]


def _written_out(batch: pa.RecordBatch, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Write out texts in a dictionary, for as many rows at a time as have ``TEXT_BYTES`` of them, one at least."""
    from pyarrow.compute import binary_length

    packed = [column.type != type_ for column, type_ in zip(batch.columns, schema.types, strict=False)]
    ends = np.zeros(len(batch), np.int64)
    for column in compress(batch.columns, packed):
        lengths = binary_length(column.dictionary).to_numpy(zero_copy_only=False)
        places = column.indices.fill_null(len(lengths)).to_numpy(zero_copy_only=False)
        ends += np.append(lengths, 0)[places]
    np.cumsum(ends, out=ends)
    start = 0
    while start < len(batch):
        most = TEXT_BYTES + (ends[start - 1] if start else 0)
        stop = max(int(np.searchsorted(ends, most, side="right")), start + 1)
        columns = [
            column.dictionary_decode().cast(type_) if in_dictionary else column
            for column, type_, in_dictionary in zip(
                batch.slice(start, stop - start).columns, schema.types, packed, strict=False
            )
        ]
        yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
        start = stop


def _places(columns: Mapping[str, Values], rows: int, split: Split) -> NDArray[np.intp]:
    """Choose the part of each row, by its place in ``Split.shares``; shape (rows,). By the row itself, or its unit."""
    limits = [int(sum([*split.shares.values()][: end + 1]) * WORD) for end in range(len(split.shares) - 1)]
    units = [*zip(*(_units(columns[name]) for name in split.by), strict=True)]
    if units and not any(None in unit for unit in units):
        places = np.empty(rows, np.intp)
    else:
        words = row_words(columns, rows, split.key)
        places = np.searchsorted(np.array(limits, np.uint64), words, side="right")
    known: dict[tuple[str | None, ...], int] = {}
    for place, unit in enumerate(units):
        if None in unit:
            continue
        if unit not in known:
            known[unit] = bisect_right(limits, digest_word((*split.key, unit)))
        places[place] = known[unit]
    return places


def _units(values: Values) -> list[str | None]:
    """Write the values of a unit's column as texts, numbers and truths by their value; None where one is missing."""
    _, missing = patterns_of(values)
    listed_values = _python_values(values)
    lost = [False] * len(values) if missing is None else missing.tolist()
    return [None if gone else _unit(value) for value, gone in zip(listed_values, lost, strict=True)]


def _python_values(values: Values) -> Sequence[object]:
    """Return values as Python's; of moments in nanoseconds, which Python does not have, their numbers."""
    if not isinstance(values, pa.Array):
        return values
    if types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if getattr(values.type, "unit", None) == "ns":
        values = values.cast(pa.int64())
    try:
        return [*values.to_pylist()]
    except (ValueError, OverflowError):
        return [*map(_python_value, values)]


def _python_value(value: pa.Scalar) -> object:
    """Return one value; the number of a date that no calendar has, the bytes of a text that is not UTF-8."""
    try:
        return value.as_py()
    except (ValueError, OverflowError):
        if types.is_string(value.type) or types.is_large_string(value.type):
            return value.as_buffer().to_pybytes()
        return getattr(value, "value", None)


def _unit(value: object) -> str:
    if isinstance(value, str) and (number := number_of_text(value)) is not None:
        value = TRUTHS.get(value, number)
    return text_of(value) or repr(value)
