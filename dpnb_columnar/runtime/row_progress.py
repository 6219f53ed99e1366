"""Report how far a pass over rows has come to whoever watches: a share of a public size, and nothing that rows decide.

Rows are counted as they are read, before any rule looks at them, and compared with the number in the files' footers.
Where nobody watches, as in a library's call, nothing is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import polars as pl

Advance = Callable[[float], None]
"""Takes each amount that is done; called from any thread, and never raises."""


class Watcher(Protocol):
    """Shows how far a pass has come."""

    def begin(self, total: float, unit: str) -> Advance:
        """Begin a pass over a total, a public size in this unit."""


_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(watcher: Watcher | None) -> Iterator[None]:
    """Report the passes within this block to a watcher; to nobody if there is none."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def begin_pass(files: Sequence[Path]) -> tuple[Advance, int] | None:
    """Begin a pass over the rows of Parquet files; None where nobody watches, or a file cannot be read.

    Returns:
        What takes numbers of rows, and how many rows the files have.
    """
    watcher = _watcher.get()
    if watcher is None or not files:
        return None
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        total = sum(pq.read_metadata(file).num_rows for file in files)
    except (OSError, pa.ArrowException):  # the pass itself tells what is wrong
        return None
    return watcher.begin(total, "rows"), total


def reported(rows: pl.LazyFrame, advance: Advance) -> pl.LazyFrame:
    """Report the rows of a frame as they are read.

    No condition is evaluated before: the rows that one leaves would be counted, and not those that were read.
    """

    def passed(part: pl.DataFrame) -> pl.DataFrame:
        advance(part.height)
        return part

    return rows.map_batches(
        passed, predicate_pushdown=False, slice_pushdown=False, streamable=True, validate_output_schema=False
    )
