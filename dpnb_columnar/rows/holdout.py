"""Split rows into rows to train on and rows held out, to choose by or to test on. CONFIDENTIAL, as the rows are.

Which part a row goes to depends on the row's own values and the seed, or on those of its unit's columns and the seed:
on no other row, no place and no number of rows. So each part is what a public rule on single rows, or units, leaves of
the data, and a release of a part keeps its guarantee for rows, or units, of the data (``docs/privacy.md``, Lemma 2.13).

Why not a draw for each row? One from a seed goes by the row's place, and one row less would move thousands of others.
Secret draws would do; but then no split could be made again, after a crash or for a check, the next version of the data
would put the same persons into other parts, and whoever split twice would test on rows that were trained on. The price
of the rule is that equal rows go together: parts have the size that is asked for on average over seeds, and differ
from it the more, the more rows are alike.
"""

from __future__ import annotations

import json
import math
import sys
import weakref
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types

from dpnb_columnar.domain.declaration import DOMAIN_KEY
from dpnb_columnar.domain.names import listed
from dpnb_columnar.domain.numbers import TRUTHS, exact_number, number_of_text, number_text
from dpnb_columnar.domain.split_parts import PART_KEY, TEST, TRAIN, VALIDATION, SplitPart, parts_in
from dpnb_columnar.errors import DataError, UsageError, option
from dpnb_columnar.rows.frames import Frame, opened_eagerly
from dpnb_columnar.rows.input_files import arrow_file, check_file, folder_values, not_parquet_error
from dpnb_columnar.rows.object_stores import DataFile, StoredObject, failure_of
from dpnb_columnar.rows.parquet import (
    ARROW_SCHEMA,
    BATCH_ROWS,
    HELD_BY_ARROW,
    Batches,
    check_texts,
    damaged_file_error,
    rows_in_footers,
)
from dpnb_columnar.rows.row_digest import Values, digest_word, patterns_of, row_words
from dpnb_columnar.rows.streaming import NAME
from dpnb_columnar.rows.untyped_values import text_of
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.outputs import atomic_output, check_parquet, check_target, default_name, parquet_writer
from dpnb_columnar.runtime.paths import exists
from dpnb_columnar.runtime.row_progress import begin_pass

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

WORDS = 2**64

HISTORY_KEY = b"dpnb_columnar.split"
"""Key of the history of a part in the metadata of its file."""

OUTPUTS = {TRAIN: "train-output", VALIDATION: "validation-output", TEST: "test-output"}
"""The option that names the file of each part."""

TEXT_BYTES = 2**24
"""Bytes of texts that are written out at once: rows share long ones in the file, not in memory."""

BUFFER_BYTES = 2**20
"""Bytes of a column that are read at a time where one row of it is wanted: most dictionaries, by one request."""

SHARED_TEXTS = types.is_string, types.is_large_string, types.is_binary, types.is_large_binary
"""Tests for the types that Arrow can read as places in a dictionary."""

NO_TYPE = pa.ArrowException, pl.exceptions.PolarsError, pl.exceptions.PanicException
"""What libraries raise where Arrow has no type for all values of a column."""

FAR = 6
"""Standard deviations of a part's size beyond which it is told that the part is not as large as was asked for."""


@dataclass(frozen=True, slots=True)
class Split:
    """How rows are divided.

    Attributes:
        test: Part of the rows, or of the units, that is held out to test on: above 0 and below 1.
        by: Columns that name a unit, such as a household, whose rows stay together; none for rows by themselves.
        seed: The same seed puts the same row, or unit, into the same part.
        history: Digest of the splits that have made the rows, as the metadata of a part tells it; empty before the
            first. Without it, a part would hold no row that the same seed puts into another part.
        validation: Part that is held out to choose a model by; 0 for none. The rows to test on are the same without it.
    """

    test: Fraction
    by: tuple[str, ...] = ()
    seed: int = 0
    history: str = ""
    validation: Fraction = Fraction(0)

    @property
    def shares(self) -> dict[str, Fraction]:
        """The share of each part, in the order of the numbers that rows are divided by."""
        validation = {VALIDATION: self.validation} if self.validation else {}
        return {TEST: self.test, **validation, TRAIN: 1 - self.test - self.validation}

    @property
    def key(self) -> tuple[int | str, ...]:
        """The public key of all numbers that rows and units are divided by."""
        return (self.seed, self.history) if self.history else (self.seed,)

    @property
    def of_parts(self) -> str:
        """The history of the parts."""
        validation = (str(self.validation),) if self.validation else ()
        return f"{digest_word((*self.key, str(self.test), *validation, self.by)):016x}"


def split_of(test: object, by: Sequence[str], seed: int, validation: object = None) -> Split:
    """Check how rows are to be divided.

    Args:
        test: The part to test on: a number, or text such as ``0.2`` or ``1/5``, taken exactly.
    """
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
    """Read the share of a part."""
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
    """Keep the history of a part beside its frame, which has no metadata as a file has."""
    place = id(frame)
    _histories[place] = (weakref.ref(frame, lambda _: _histories.pop(place, None)), history)
    return frame


def _history_of(frame: Frame) -> str:
    """Return the history of a frame; empty where no split of this process has made it."""
    known, history = _histories.get(id(frame), (lambda: None, ""))
    return history if known() is frame else ""


@confined()
def split_frame(frame: Frame, split: Split) -> tuple[dict[str, Frame], dict[str, int]]:
    """Divide the rows of a frame as those of a file of the same rows would be.

    A part that is divided again is known by its history, as its file is.
    """
    opened = opened_eagerly(frame)
    if absent := [name for name in split.by if name not in opened.columns]:
        raise DataError(f"{NAME}: has no column {listed(absent)} to split by; its columns are {listed(opened.columns)}")
    if not len(opened):  # narwhals takes no filter of no rows
        return dict.fromkeys(reversed(split.shares), opened.to_native()), dict.fromkeys(split.shares, 0)
    split = replace(split, history=_history_of(frame))
    columns = {name: _values(opened[name]) for name in opened.columns}
    places = _places(columns, len(opened), split)
    parts, sizes = {}, {}
    for place, part in reversed([*enumerate(split.shares)]):
        chosen = places == place
        parts[part] = _remember(opened.filter(chosen.tolist()).to_native(), split.of_parts)
        sizes[part] = int(chosen.sum())
    return parts, sizes


def size_remarks(split: Split, sizes: Mapping[str, int], named: Mapping[str, object]) -> list[str]:
    """Say which parts are not as large as was asked for, by far more than chance explains. CONFIDENTIAL.

    A part of n different rows has share times n of them, with a variance of share (1 - share) n.
    """
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
    """Return a column of a frame; as Python's values where its type does not say what they are, or Arrow has none."""
    import narwhals.stable.v2 as nw

    try:
        values: Any = None if column.dtype == nw.Object else column.to_arrow()
    except (*NO_TYPE, TypeError, ValueError, OverflowError):
        values = None
    if values is None:
        return column.to_list()
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


@confined()
def split_rows(
    rows: Batches,
    split: Split,
    outputs: Mapping[str, Path],
    *,
    overwrite: bool = False,
) -> dict[str, int]:
    """Write the rows of each part, in their order; batches are streamed.

    Rows without a unit (a null in one of its columns) are divided by themselves. All files keep the domain and all
    columns, tell in their metadata that they are parts, and are readable by their owner alone.

    Returns:
        The number of rows of each part. Confidential.
    """
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
                    _of_part(schema, [*earlier, {"split": split.of_parts, "part": part, "by": [*split.by]}]),
                )
            )
            for part, path in outputs.items()
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


def _of_part(schema: pa.Schema, parts: Sequence[SplitPart]) -> pa.Schema:
    """Tell in a schema's metadata which splits made the rows."""
    return schema.with_metadata({**(schema.metadata or {}), PART_KEY: json.dumps(parts).encode()})


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
    """Return the rows of Parquet files, with the columns and the metadata that all of them have.

    Args:
        columns: Columns wanted, in the files' order; None for all.
    """
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
    """Name the columns of texts that may have more than ``TEXT_BYTES`` in a batch because rows share them in the file.

    They share what is in the dictionary of a row group, and whoever reads one row of it as a place in the dictionary is
    given the whole.
    """
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
    limits = [int(sum([*split.shares.values()][: end + 1]) * WORDS) for end in range(len(split.shares) - 1)]
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
