"""Rows that a function reads, as a lazy frame: Polars asks it for some columns each time that the frame is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def lazy_rows(read: Callable[[list[str]], Iterable[pl.DataFrame]], types: Mapping[str, pl.DataType]) -> pl.LazyFrame:
    """Return rows as a lazy frame.

    Args:
        read: Returns all rows, part by part: of some columns, in this order and of their types.
        types: The type of each column.

    What Arrow fails with reaches whoever computes the frame as Polars' own failures do.
    """
    import polars as pl
    import pyarrow as pa
    from polars.io.plugins import register_io_source

    def parts(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _batch: int | None
    ) -> Iterator[pl.DataFrame]:
        """Read the rows as Polars asks for them: some columns, rows of a predicate, at most so many rows."""
        try:
            for frame in read(list(types) if columns is None else columns):
                if rows is not None:
                    frame, rows = frame.head(rows), max(rows - len(frame), 0)
                yield frame if predicate is None else frame.filter(predicate)
                if rows == 0:
                    return
        except pa.ArrowException as error:
            raise pl.exceptions.ComputeError("Arrow cannot read the rows") from error

    return register_io_source(parts, schema=dict(types))
