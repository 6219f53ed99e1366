"""Read data sets of Arrow, and whatever hands out its rows as an Arrow stream (the PyCapsule interface). CONFIDENTIAL.

A data set is read anew by every pass, batch by batch. A stream can be read once, and a release may take several passes:
so the columns that are asked for are kept in memory as they are read, and later passes read them there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakSet

import polars as pl
import pyarrow as pa

from dpnb_columnar.errors import DataError, UsageError
from dpnb_columnar.rows.database_query import polars_types
from dpnb_columnar.rows.lazy_rows import lazy_rows
from dpnb_columnar.rows.streaming import NAME, valid_texts
from dpnb_columnar.rows.table_formats import refuse_table_files

BATCH_ROWS = 2**16
"""Rows of a data set that are read at a time."""

_read: WeakSet[Any] = WeakSet()
"""Arrow's readers that were read here: they would hand out no row, and no error, once more."""


def is_stream(data: object) -> bool:
    """Test whether data are a data set of Arrow, or hand out a stream of record batches."""
    return _is_dataset(data) or hasattr(type(data), "__arrow_c_stream__")


def _is_dataset(data: object) -> bool:
    dataset = sys.modules.get("pyarrow.dataset")  # who holds a data set has loaded it
    return dataset is not None and isinstance(data, dataset.Dataset)


def scan_stream(data: Any, names: Collection[str] | None = None) -> pl.LazyFrame:
    """Return the rows as a lazy frame; columns of types that Polars does not read are left out.

    Args:
        names: Columns that will be asked for, which are kept of a stream; None for all.
    """
    batches: Callable[[list[str]], Iterator[pl.DataFrame]]
    if _is_dataset(data):
        if getattr(getattr(data, "filesystem", None), "type_name", None) == "local":
            refuse_table_files(map(Path, data.files))
        types = _types(data.schema)

        def scanned(wanted: list[str]) -> Iterator[pl.DataFrame]:
            rows = data.to_batches(columns=wanted, batch_size=BATCH_ROWS)
            return (_frame(batch, wanted, types) for batch in _guarded(rows))

        batches = scanned
    else:
        reader = data if isinstance(data, pa.RecordBatchReader) else _opened(data)
        if reader in _read:
            raise _read_before()
        types = _types(reader.schema)
        kept = [name for name in types if names is None or name in names]
        batches = _Kept(reader, lambda batch: _frame(batch.select(kept), kept, types)).batches
        types = {name: types[name] for name in kept}

    return lazy_rows(batches, types)


@dataclass(slots=True)
class _Kept:
    """Rows of a stream, which are kept as they are read.

    Attributes:
        reader: The stream.
        convert: Converts a batch.
        frames: What was read so far.
        rest: What was not; None before the first.
    """

    reader: Any
    convert: Callable[[pa.RecordBatch], pl.DataFrame]
    frames: list[pl.DataFrame] = field(default_factory=list)
    rest: Iterator[pa.RecordBatch] | None = None
    lock: Any = field(default_factory=Lock)

    def batches(self, names: list[str]) -> Iterator[pl.DataFrame]:
        """Read some columns, from the first row on."""
        place = 0
        while self._read_to(place):
            yield self.frames[place].select(names)
            place += 1

    def _read_to(self, place: int) -> bool:
        """Read on until there is a frame at this place; return whether there is one."""
        with self.lock:  # Polars may read for two threads
            if self.rest is None:
                if self.reader in _read:
                    raise _read_before()
                _read.add(self.reader)
                self.rest = _guarded(self.reader)
            if len(self.frames) <= place and (batch := next(self.rest, None)) is not None:
                self.frames.append(self.convert(batch))
            return place < len(self.frames)


def _guarded(batches: Any) -> Iterator[pa.RecordBatch]:
    """Read batches."""
    try:
        yield from batches
    except MemoryError:
        raise
    except Exception:
        raise DataError(f"{NAME}: its stream fails before its end; read it by itself to see why") from None


def _opened(data: Any) -> pa.RecordBatchReader:
    """Open the stream of an object that has one."""
    try:
        return pa.RecordBatchReader.from_stream(data)
    except MemoryError:
        raise
    except Exception:  # a stream that was read before fails in ways of its library's own
        raise DataError(
            f"{NAME}: gives no Arrow stream of record batches; give a table, whose columns have names, or, if it was "
            "read before, make the stream anew"
        ) from None


def _read_before() -> UsageError:
    return UsageError(
        f"{NAME}: is a stream that was read before, and gives its rows once; make it anew, or give a table "
        "(.read_all()), a data set or files"
    )


def _types(schema: pa.Schema) -> dict[str, pl.DataType]:
    """Return Polars' type of each column that it reads."""
    if len(set(schema.names)) < len(schema.names):
        raise DataError(f"{NAME}: it holds two columns of one name; rename one of them, or leave it out")
    return {name: type_ for name, type_ in polars_types(schema).items() if type_ != pl.Unknown()}


def _frame(batch: pa.RecordBatch, names: list[str], types: dict[str, pl.DataType]) -> pl.DataFrame:
    return pl.DataFrame(valid_texts(batch)).select(pl.col(name).cast(types[name]) for name in names)
