"""Split rows into rows to train on and rows held out to test on. CONFIDENTIAL, as the rows are.

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

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from dpnb_columnar.domain.declaration import DOMAIN_KEY
from dpnb_columnar.domain.names import listed
from dpnb_columnar.domain.numbers import exact_number
from dpnb_columnar.errors import DataError, UsageError, option
from dpnb_columnar.rows.frames import Frame, opened_eagerly
from dpnb_columnar.rows.input_files import check_file, folder_values, not_parquet_error
from dpnb_columnar.rows.parquet import ARROW_SCHEMA, BATCH_ROWS, Batches, damaged_file_error, rows_in_footers
from dpnb_columnar.rows.row_digest import Values, digest_word, row_words
from dpnb_columnar.rows.streaming import NAME
from dpnb_columnar.rows.untyped_values import text_of
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.outputs import atomic_output, check_target, default_name, parquet_writer
from dpnb_columnar.runtime.row_progress import begin_pass

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

WORDS = 2**64

HISTORY_KEY = b"dpnb_columnar.split"
"""Key of the history of a part in the metadata of its file."""


@dataclass(frozen=True, slots=True)
class Split:
    """How rows are divided.

    Attributes:
        test: Part of the rows, or of the units, that is held out: above 0 and below 1.
        by: Columns that name a unit, such as a household, whose rows stay together; none for rows by themselves.
        seed: The same seed puts the same row, or unit, into the same part.
        history: Digest of the splits that have made the rows, as the metadata of a part tells it; empty before the
            first. Without it, a part would hold no row that the same seed puts into the other part.
    """

    test: Fraction
    by: tuple[str, ...] = ()
    seed: int = 0
    history: str = ""

    @property
    def key(self) -> tuple[int | str, ...]:
        """The public key of all numbers that rows and units are divided by."""
        return (self.seed, self.history) if self.history else (self.seed,)

    @property
    def of_parts(self) -> str:
        """The history of the parts."""
        return f"{digest_word((*self.key, str(self.test), self.by)):016x}"


def split_of(test: object, by: Sequence[str], seed: int) -> Split:
    """Check how rows are to be divided.

    Args:
        test: The part to hold out: a number, or text such as ``0.2`` or ``1/5``, taken exactly.
        by: Columns that name a unit.
        seed: A whole number from 0 on.

    Raises:
        UsageError: if the part is not above 0 and below 1, or if the seed is out of range.
    """
    try:
        part = exact_number(str(test) if isinstance(test, float) else test)
    except ValueError as error:
        raise UsageError(f"{option('test')}: {error}") from None
    if not 0 < part < 1:
        raise UsageError(
            f"{option('test')}: {test} is no part of the rows; give a number above 0 and below 1, such as 0.2"
        )
    if seed < 0:
        raise UsageError(f"{option('seed')} {seed}: give a whole number from 0 on, such as {option('seed', 1)}")
    return Split(part, tuple(by), seed)


def split_outputs(
    data: Sequence[str], files: Sequence[Path], train: Path | None, test: Path | None, overwrite: bool
) -> tuple[Path, Path]:
    """Name the two files, by the data where they are not named, and refuse those that cannot be written.

    Args:
        data: Inputs as typed, or the name of a table.
        files: The files that they stand for.
        train: File for the rows to train on; None for ``NAME.train.parquet`` in the working directory.
        test: File for the rows that are held out; None for ``NAME.test.parquet`` there.
        overwrite: Whether to replace existing files.

    Raises:
        UsageError: if both are one file.
        OutputError: if one is refused.
    """
    named = data[0] if Path(data[0]).exists() or not files else str(files[0])  # a pattern names no file
    train = train or default_name([named], named, ".train.parquet")
    test = test or default_name([named], named, ".test.parquet")
    if train.resolve() == test.resolve():
        raise UsageError(f"{option('train-output')} and {option('test-output')} are one file; name two")
    for output in (train, test):
        check_target(output, overwrite, files)
    return train, test


@confined()
def split_frame(frame: Frame, split: Split) -> tuple[Frame, Frame]:
    """Divide the rows of a frame as those of a file of the same rows would be.

    Args:
        frame: The frame; not a lazy one, which would be computed twice.
        split: How to divide them.

    Returns:
        The rows to train on and those that are held out, each a frame of the same library.

    Raises:
        UsageError: if the frame is lazy.
        DataError: if a column of the unit is missing.
    """
    opened = opened_eagerly(frame)
    if absent := [name for name in split.by if name not in opened.columns]:
        raise DataError(f"{NAME}: has no column {listed(absent)} to split by; its columns are {listed(opened.columns)}")
    if not len(opened):  # narwhals takes no filter of no rows
        return opened.to_native(), opened.to_native()
    held_out = _held_out({name: _values(opened[name]) for name in opened.columns}, len(opened), split)
    return opened.filter((~held_out).tolist()).to_native(), opened.filter(held_out.tolist()).to_native()


def _values(column: nw.Series[Any]) -> Values:
    """Return a column of a frame; as Python's values where Arrow has no type for all of them."""
    try:
        values: Any = column.to_arrow()
    except (pa.ArrowException, pl.exceptions.PolarsError, pl.exceptions.PanicException, TypeError, ValueError):
        return column.to_list()
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


@confined()
def split_rows(rows: Batches, split: Split, train: Path, test: Path, *, overwrite: bool = False) -> None:
    """Write the rows to train on and the rows to test on, in their order; batches are streamed.

    Rows without a unit (a null in one of its columns) are divided by themselves. Both files keep the domain and all
    columns, tell in their metadata that they are parts, and are readable by their owner alone.

    Args:
        rows: The rows.
        split: How to divide them.
        train: File for the rows to train on.
        test: File for the rows that are held out.
        overwrite: Whether to replace existing files.

    Raises:
        DataError: if a file is damaged, or a column of the unit is missing.
        OutputError: if an output exists, or cannot be written.
    """
    metadata = rows.schema.metadata or {}
    split = replace(split, history=metadata.get(HISTORY_KEY, b"").decode("ascii", "replace"))
    schema = rows.schema.with_metadata({**metadata, HISTORY_KEY: split.of_parts.encode()})
    if absent := [name for name in split.by if schema.names.count(name) != 1]:
        raise DataError(
            f"{rows.name}: has no column {listed(absent)} to split by; its columns are {listed(schema.names)}"
        )
    advance = begin_pass(rows.size)
    with ExitStack() as stack:
        # Both are complete before either stands under its name.
        writers = [
            stack.enter_context(
                parquet_writer(stack.enter_context(atomic_output(path, overwrite=overwrite, confidential=True)), schema)
            )
            for path in (train, test)
        ]
        for batch in rows.batches:
            held_out = _held_out(dict(zip(schema.names, batch.columns, strict=True)), len(batch), split)
            for writer, chosen in zip(writers, (~held_out, held_out), strict=True):
                if chosen.any():
                    kept = batch.filter(pa.array(chosen))
                    writer.write_batch(pa.RecordBatch.from_arrays(kept.columns, schema=schema))
            if advance is not None:
                advance(len(batch))


def batches_of_files(files: Sequence[Path]) -> Batches:
    """Return the rows of Parquet files, with the columns and the metadata that all of them have.

    Raises:
        DataError: if a file is damaged, or has other columns, or another domain, than the first.
    """
    import pyarrow.parquet as pq

    first: pa.Schema | None = None
    histories: set[bytes] = set()
    for file in files:
        check_file(file)
        try:
            with pq.ParquetFile(file) as opened:
                metadata = {
                    key: value
                    for key, value in (opened.metadata.metadata or {}).items()
                    if key != ARROW_SCHEMA.encode()
                }
                schema = opened.schema_arrow.with_metadata(metadata)
                for name in folder_values(file, schema.names):
                    schema = schema.append(pa.field(name, pa.string()))
        except (pa.ArrowException, OSError, UnicodeDecodeError):
            raise not_parquet_error(file) from None
        histories.add(metadata.get(HISTORY_KEY, b""))
        if first is None:
            first = schema
        elif schema.remove_metadata() != first.remove_metadata():
            raise DataError(f"{files[0]} and {file}: their columns differ in names, types or order; split them apart")
        elif (schema.metadata or {}).get(DOMAIN_KEY.encode()) != (first.metadata or {}).get(DOMAIN_KEY.encode()):
            raise DataError(f"{files[0]} and {file}: carry different domains; split them apart")
    assert first is not None
    if histories != {b""}:
        first = first.with_metadata({**(first.metadata or {}), HISTORY_KEY: b" ".join(sorted(histories))})
    return Batches(str(files[0]), first, _batches(files), partial(rows_in_footers, files))


def _batches(files: Sequence[Path]) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq

    for file in files:
        try:
            with pq.ParquetFile(file) as opened:
                values = folder_values(file, opened.schema_arrow.names)
                for batch in opened.iter_batches(BATCH_ROWS):
                    columns = [pa.array([value] * len(batch), pa.string()) for value in values.values()]
                    yield pa.RecordBatch.from_arrays([*batch.columns, *columns], names=[*batch.schema.names, *values])
        except (pa.ArrowException, OSError, UnicodeDecodeError):
            raise damaged_file_error(file) from None


def _held_out(columns: Mapping[str, Values], rows: int, split: Split) -> NDArray[np.bool_]:
    """Choose the rows that are held out; shape (rows,). Each is decided by itself, or by its unit.

    Args:
        columns: The columns by name, those that name a unit among them.
        rows: Number of rows.
        split: How to divide them.
    """
    limit = int(split.test * WORDS)
    units = [*zip(*(map(_unit, _python_values(columns[name])) for name in split.by), strict=True)]
    if units and not any(None in unit for unit in units):
        held_out = np.empty(rows, np.bool_)
    else:
        held_out = row_words(columns, rows, split.key) < limit
    known: dict[tuple[str | None, ...], bool] = {}
    for place, unit in enumerate(units):
        if None in unit:
            continue
        if unit not in known:
            known[unit] = digest_word((*split.key, unit)) < limit
        held_out[place] = known[unit]
    return held_out


def _python_values(values: Values) -> Sequence[object]:
    return values.to_pylist() if isinstance(values, pa.Array) else values


def _unit(value: object) -> str | None:
    """Write a value of a unit's column as text, numbers by their value; None if it is missing."""
    missing = value is None or value != value  # NaN
    return None if missing else text_of(value) or repr(value)
