"""Rows that a function reads, as a lazy frame: Polars asks it for some columns each time that the frame is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def lazy_rows(read: Callable[[list[str]], Iterable[pl.DataFrame]], types: Mapping[str, pl.DataType]) -> pl.LazyFrame:
    """Return rows as a lazy frame.

    Args:
        types: The type of each column.

    What Arrow fails with reaches whoever computes the frame as Polars' own failures do.
    """
    import polars as pl
    import pyarrow as pa
    from polars.io.plugins import register_io_source

    def parts(columns: list[str] | None, *_: object) -> Iterator[pl.DataFrame]:
        """Read some columns of all rows: Polars is kept from asking for less."""
        try:
            yield from read(list(types) if columns is None else columns)
        except pa.ArrowException as error:
            raise pl.exceptions.ComputeError("Arrow cannot read the rows") from error

    return read_unfiltered(register_io_source(parts, schema=dict(types)))


def read_unfiltered(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return a lazy frame whose conditions are evaluated once its rows are read; only columns can be chosen before.

    Polars pickles a condition that it hands to a function which reads rows. A condition of the row rules may hold a
    function itself, and Polars pickles that with cloudpickle, which it does not depend on.
    """
    return rows.map_batches(
        lambda part: part,
        predicate_pushdown=False,
        projection_pushdown=True,
        validate_output_schema=False,
        streamable=True,
    )
