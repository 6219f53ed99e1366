"""Read the rows that a program holds: frames of Polars, Arrow or any library of narwhals; streams. CONFIDENTIAL."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from weakref import WeakSet

import polars as pl
import pyarrow as pa

from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import DataError, UnavailableError, UsageError
from dpnb_columnar.rows.databases import polars_types
from dpnb_columnar.rows.input_files import lazy_rows, read_unfiltered, readable_types
from dpnb_columnar.rows.row_rules import check_columns, column, series_of
from dpnb_columnar.rows.sources import DataSource, SourceKind, parse_names, refuse_table_files
from dpnb_columnar.rows.streaming import NAME, OpenedFrame, failed_query, query_errors, valid_texts
from dpnb_columnar.runtime.row_progress import Size, unknown_size

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    from narwhals.typing import IntoDataFrame, IntoLazyFrame
    from typing_extensions import TypeIs

BATCH_ROWS = 2**16  # rows of a data set that are read at a time
_read_stream: WeakSet[Any] = WeakSet()
"""Arrow's readers that were read here: they would hand out no row, and no error, once more."""


def _is_dataset(data: object) -> bool:
    dataset = sys.modules.get("pyarrow.dataset")  # who holds a data set has loaded it
    return dataset is not None and isinstance(data, dataset.Dataset)


def scan_stream(data: Any, names: Collection[str] | None = None) -> pl.LazyFrame:
    """Return the rows as a lazy frame of some columns or all, without those of types that Polars does not read."""
    batches: Callable[[list[str]], Iterable[pl.DataFrame]]
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
        if reader in _read_stream:
            raise _read_before()
        types = _types(reader.schema)
        kept = [name for name in types if names is None or name in names]
        batches = _kept(reader, lambda batch: _frame(batch.select(kept), kept, types))
        types = {name: types[name] for name in kept}

    return lazy_rows(batches, types)


def _kept(
    reader: Any, convert: Callable[[pa.RecordBatch], pl.DataFrame]
) -> Callable[[list[str]], Iterable[pl.DataFrame]]:
    """Return what hands out the rows of a stream, which are kept once read: a release may take several passes."""
    lock = Lock()

    @cache
    def frames() -> list[pl.DataFrame]:
        if reader in _read_stream:
            raise _read_before()
        _read_stream.add(reader)
        return [convert(batch) for batch in _guarded(reader)]

    def batches(names: list[str]) -> list[pl.DataFrame]:
        with lock:  # Polars may read for two threads
            return [frame.select(names) for frame in frames()]

    return batches


def _guarded(batches: Any) -> Iterator[pa.RecordBatch]:
    try:
        yield from batches
    except MemoryError:
        raise
    except Exception:
        raise DataError(f"{NAME}: its stream fails before its end; read it by itself to see why") from None


def _opened(data: Any) -> pa.RecordBatchReader:
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
    if len(set(schema.names)) < len(schema.names):
        raise DataError(f"{NAME}: it holds two columns of one name; rename one of them, or leave it out")
    return readable_types(polars_types(schema))


def _frame(batch: pa.RecordBatch, names: list[str], types: dict[str, pl.DataType]) -> pl.DataFrame:
    return pl.DataFrame(valid_texts(batch)).select(pl.col(name).cast(types[name]) for name in names)


Frame: TypeAlias = "pl.DataFrame | pl.LazyFrame | pa.Table | IntoDataFrame | IntoLazyFrame | Stream"


class Stream(Protocol):
    """Rows that are handed out as an Arrow stream."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


COLLECTED = ".collect() of Polars, .compute() of Dask, .to_pyarrow() of Ibis, .pl() of DuckDB, .read_all() of Arrow"


def is_frame(data: object) -> TypeIs[Frame]:
    """Test whether the data is a frame rather than names of files."""
    return (
        isinstance(data, pl.DataFrame | pl.LazyFrame | pa.Table) or _as_narwhals(data) is not None or _is_stream(data)
    )


def _is_stream(data: object) -> bool:
    """Test whether data are a data set of Arrow, or hand out a stream of rows; a series is a column and no row."""
    if isinstance(data, str | PathLike | Sequence) or not (
        _is_dataset(data) or hasattr(type(data), "__arrow_c_stream__")
    ):
        return False
    import narwhals.stable.v2 as nw

    return not isinstance(nw.from_native(data, pass_through=True, allow_series=True), nw.Series)


def _as_narwhals(data: object) -> nw.DataFrame[Any] | nw.LazyFrame[Any] | None:
    if isinstance(data, str | PathLike | Sequence):
        return None
    import narwhals.stable.v2 as nw

    try:
        wrapped = nw.from_native(data, pass_through=True)
    except nw.exceptions.DuplicateError:
        raise _read_error() from None
    return wrapped if isinstance(wrapped, nw.DataFrame | nw.LazyFrame) else None


def open_frame(frame: Frame, domain: Domain, name: str = NAME, size: Size = unknown_size) -> OpenedFrame:
    """Check that a frame has the domain's columns, of types that the domain can be read from. No row is read."""
    rows = to_polars(frame, domain.counted_columns)
    try:
        schema = rows.collect_schema()
    except query_errors():
        raise failed_query() from None
    types = check_columns(schema, domain, name)
    return OpenedFrame(read_unfiltered(rows.lazy()).select(map(column, types)), types, name, size)


def to_polars(frame: Frame, names: Collection[str] | None = None) -> pl.DataFrame | pl.LazyFrame:
    """Convert a frame to one of Polars; columns are not copied where their layout allows it."""
    if isinstance(frame, pl.DataFrame | pl.LazyFrame):
        return frame
    try:
        return pl.DataFrame(frame) if isinstance(frame, pa.Table) else _read(frame, names)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException):
        raise _read_error() from None
    except query_errors():
        raise failed_query() from None
    except ImportError as error:  # a library of lazy frames computes with packages of its own
        raise UnavailableError(
            f"{NAME}: its library cannot compute it ({error.name or error} is missing, or another version than it "
            f"needs); collect it first: {COLLECTED}"
        ) from None


def unknown_rows(data: object, *, read_files: bool = True) -> str:
    """Say that something is no rows, and what to give in its place."""
    taken = (
        "names of files or " * read_files + "a frame of a known library (Polars, Arrow, pandas, DuckDB and the like)"
    )
    names = [data] if isinstance(data, str | PathLike) else data
    remedy = ""
    if isinstance(names, Sequence) and names and all(isinstance(each, str | PathLike) for each in names):
        remedy = "; open files with polars.scan_parquet, and collect or write what comes back"
    elif isinstance(data, Mapping | Sequence):
        remedy = "; make a frame of it: polars.DataFrame(rows)"
    elif hasattr(data, "__array__"):
        remedy = "; name the columns of an array: polars.DataFrame(rows, schema=names)"
    return f"give {taken}; found {type(data).__name__}{remedy}"


def _read_error() -> DataError:
    return DataError(
        f"{NAME}: it holds two columns of one name, or a type that Polars does not read; rename or cast such columns, "
        "or leave them out"
    )


def _read(frame: Any, names: Collection[str] | None) -> pl.DataFrame | pl.LazyFrame:
    wrapped = _as_narwhals(frame)
    if wrapped is None and _is_stream(frame):
        return scan_stream(frame, names)
    if wrapped is None:
        raise UsageError(f"rows: {unknown_rows(frame, read_files=False)}")
    if wrapped.implementation.is_duckdb():
        lazy: pl.LazyFrame = frame.pl(lazy=True)
        return lazy
    import narwhals.stable.v2 as nw

    if isinstance(wrapped, nw.LazyFrame) or not wrapped.implementation.is_pandas_like():
        return pl.DataFrame(wrapped.lazy().collect("pyarrow").to_native())

    # A pandas column of type object may hold anything: each value is read by itself, whatever other rows hold.
    return pl.DataFrame(
        [
            series_of(values, str(name))
            if names is None or name in names
            else pl.Series(str(name), [None] * len(values))
            for name, values in wrapped.to_pandas().items()
        ]
    )


def opened_eagerly(frame: Frame) -> nw.DataFrame[Any]:
    """Return a frame that is held in memory as narwhals sees it."""
    import narwhals.stable.v2 as nw

    wrapped = _as_narwhals(frame)
    if not isinstance(wrapped, nw.DataFrame):
        raise UsageError(f"{NAME} is lazy, and would be computed twice; collect it first: {COLLECTED}")
    return wrapped


def in_form_of(result: pl.DataFrame | pl.LazyFrame, frame: Frame) -> Any:
    """Convert a result to the library, and the laziness, of the frame that it was made from."""
    if isinstance(frame, pl.LazyFrame):
        return result
    computed = result.collect() if isinstance(result, pl.LazyFrame) else result
    if isinstance(frame, pl.DataFrame):
        return computed
    wrapped = None if isinstance(frame, pa.Table) else _as_narwhals(frame)
    if wrapped is None:  # of a stream, too
        return computed.to_arrow()
    import narwhals.stable.v2 as nw

    if isinstance(wrapped, nw.LazyFrame):
        return nw.from_native(computed, eager_only=True).lazy(backend=wrapped.implementation).to_native()
    converted: Any = nw.from_arrow(computed.to_arrow(), backend=wrapped.implementation).to_native()
    if wrapped.implementation.is_pandas_like():
        converted.index = nw.maybe_get_index(wrapped)
    return converted


LIBRARIES = {SourceKind.DELTA: ("deltalake", "DeltaTable"), SourceKind.ICEBERG: ("pyiceberg.table", "Table")}
"""Module and class of the tables that libraries hand out."""


def parse_data(data: object, *, spark: bool = False) -> tuple[DataSource, ...]:
    """Parse what a caller of the Python interface gives: a frame, a library's table, or names."""
    if is_frame(data):
        return (DataSource(SourceKind.FRAME, data),)
    for kind, (module, table) in LIBRARIES.items():
        library = sys.modules.get(module)  # loaded where there is a table of it
        if library is not None and isinstance(data, getattr(library, table)):
            return (DataSource(kind, data),)
    return parse_names(names_of(data), spark=spark)


def names_of(data: object, argument: str = "data") -> list[str]:
    """List the names of files that are one, or several."""
    names = [data] if isinstance(data, str | PathLike) else data
    if not isinstance(names, Sequence) or not all(isinstance(name, str | PathLike) for name in names):
        framed = argument not in ("source", "extracts")
        raise UsageError(f"{argument}: {unknown_rows(data) if framed else 'not names of files'}")
    return [str(name) for name in names]
