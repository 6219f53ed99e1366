"""Split rows into rows to train on and rows held out to test on. CONFIDENTIAL, as the rows are.

Which side a row goes to depends on the seed and its place, or on the seed and its unit, and on no other row's values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.domain.metadata import DOMAIN_KEY
from dpnb_columnar.domain.names import listed
from dpnb_columnar.domain.numbers import exact_number
from dpnb_columnar.errors import DataError, UsageError
from dpnb_columnar.rows.batches import BATCH_ROWS, Batches
from dpnb_columnar.rows.frames import NAME, Frame, opened_eagerly
from dpnb_columnar.rows.input_files import check_file, folder_values, not_parquet
from dpnb_columnar.rows.parquet import ARROW_SCHEMA, damaged, rows_in_footers
from dpnb_columnar.rows.untyped_values import text_of
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.output_checks import check_target, default_name
from dpnb_columnar.runtime.outputs import atomic_output
from dpnb_columnar.runtime.parquet_output import parquet_writer
from dpnb_columnar.runtime.row_progress import begin_pass

if TYPE_CHECKING:
    import pyarrow as pa

WORDS = 2**64


@dataclass(frozen=True, slots=True)
class Split:
    """How rows are divided.

    Attributes:
        test: Part of the rows, or of the units, that is held out: above 0 and below 1.
        by: Columns that name a unit, such as a household, whose rows stay together; none for rows by themselves.
        seed: The same seed divides the same rows in the same way.
    """

    test: Fraction
    by: tuple[str, ...] = ()
    seed: int = 0


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
        raise UsageError(f"--test: {error}") from None
    if not 0 < part < 1:
        raise UsageError(f"--test: {test} is no part of the rows; give a number above 0 and below 1, such as 0.2")
    if seed < 0:
        raise UsageError(f"--seed {seed}: give a whole number from 0 on, such as --seed 1")
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
        raise UsageError("--train-output and --test-output are one file; name two")
    for output in (train, test):
        check_target(output, overwrite, files)
    return train, test


@confined()
def split_frame(frame: Frame, split: Split) -> tuple[Frame, Frame]:
    """Divide the rows of a frame as those of a file of the same rows would be.

    Args:
        frame: The frame; not a lazy one, since the order of its rows decides.
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
    units = [opened[name].to_arrow().to_pylist() for name in split.by]
    held_out = _held_out(units, split, np.random.PCG64(split.seed).random_raw(len(opened)))
    return opened.filter((~held_out).tolist()).to_native(), opened.filter(held_out.tolist()).to_native()


@confined()
def split_rows(rows: Batches, split: Split, train: Path, test: Path, *, overwrite: bool = False) -> None:
    """Write the rows to train on and the rows to test on, in their order; batches are streamed.

    Rows without a unit (a null in one of its columns) are divided by themselves. Both files keep the domain and all
    columns, and are readable by their owner alone.

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
    import pyarrow as pa

    schema = rows.schema
    if absent := [name for name in split.by if schema.names.count(name) != 1]:
        raise DataError(
            f"{rows.name}: has no column {listed(absent)} to split by; its columns are {listed(schema.names)}"
        )
    draws, advance = np.random.PCG64(split.seed), begin_pass(rows.size)
    with ExitStack() as stack:
        # Both are complete before either stands under its name.
        writers = [
            stack.enter_context(
                parquet_writer(stack.enter_context(atomic_output(path, overwrite=overwrite, confidential=True)), schema)
            )
            for path in (train, test)
        ]
        for batch in rows.batches:
            units = [batch.column(name).to_pylist() for name in split.by]
            held_out = _held_out(units, split, draws.random_raw(len(batch)))
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
    import pyarrow as pa
    import pyarrow.parquet as pq

    first: pa.Schema | None = None
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
            raise not_parquet(file) from None
        if first is None:
            first = schema
        elif schema.remove_metadata() != first.remove_metadata():
            raise DataError(f"{files[0]} and {file}: their columns differ in names, types or order; split them apart")
        elif (schema.metadata or {}).get(DOMAIN_KEY.encode()) != (first.metadata or {}).get(DOMAIN_KEY.encode()):
            raise DataError(f"{files[0]} and {file}: carry different domains; split them apart")
    assert first is not None
    return Batches(str(files[0]), first, _batches(files), partial(rows_in_footers, files))


def _batches(files: Sequence[Path]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for file in files:
        try:
            with pq.ParquetFile(file) as opened:
                values = folder_values(file, opened.schema_arrow.names)
                for batch in opened.iter_batches(BATCH_ROWS):
                    columns = [pa.array([value] * len(batch), pa.string()) for value in values.values()]
                    yield pa.RecordBatch.from_arrays([*batch.columns, *columns], names=[*batch.schema.names, *values])
        except (pa.ArrowException, OSError, UnicodeDecodeError):
            raise damaged(file) from None


def _held_out(columns: Sequence[Sequence[object]], split: Split, draws: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Choose the rows of a batch that are held out; shape (rows,).

    Args:
        columns: The values of the columns that name a unit.
        split: How to divide them.
        draws: Shape (rows,): a random word for each row.
    """
    limit = int(split.test * WORDS)
    rows = draws < limit
    if not split.by:
        return rows
    units = zip(*(map(_unit, values) for values in columns), strict=True)
    known: dict[tuple[str | None, ...], bool] = {}
    for place, unit in enumerate(units):
        if None in unit:
            continue
        if unit not in known:
            known[unit] = _word(split.seed, unit) < limit
        rows[place] = known[unit]
    return rows


def _unit(value: object) -> str | None:
    """Write a value of a unit's column as text, numbers by their value; None if it is missing."""
    missing = value is None or value != value  # NaN
    return None if missing else text_of(value) or repr(value)


def _word(seed: int, unit: tuple[str | None, ...]) -> int:
    """Compute the word of a unit: uniform from 0 to 2^64 - 1, and the same wherever its rows stand."""
    digest = blake2b(repr((seed, unit)).encode(), digest_size=8)
    return int.from_bytes(digest.digest(), "big")
