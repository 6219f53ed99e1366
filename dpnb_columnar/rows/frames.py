"""Rows that a program holds: Polars frames, lazy or not, and Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl
import pyarrow as pa

from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.expressions import column
from dpnb_columnar.rows.parquet import check_columns

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Frame: TypeAlias = pl.DataFrame | pl.LazyFrame | pa.Table

NAME = "the frame"
"""What messages call it."""


@dataclass(frozen=True, slots=True)
class OpenedFrame:
    """A frame whose columns fit a domain.

    Attributes:
        rows: The domain's columns. Confidential; a query that is not yet computed, if it came as one.
        types: The type of each.
    """

    rows: pl.LazyFrame
    types: Mapping[str, pl.DataType]


def is_frame(data: object) -> TypeIs[Frame]:
    """Whether this is a frame, and not names of files."""
    return isinstance(data, pl.DataFrame | pl.LazyFrame | pa.Table)


def open_frame(frame: Frame, domain: Domain) -> OpenedFrame:
    """Check that a frame has the domain's columns, of types it can be read from. No row is looked at.

    Raises:
        DataError: It lacks a column, has one of the wrong type, or two of one name; or its query is at fault.
    """
    rows = in_polars(frame)
    try:
        schema = rows.collect_schema()
    except pl.exceptions.PolarsError:
        raise unusable() from None
    types = check_columns(schema, domain, NAME)
    return OpenedFrame(rows.lazy().select(column(name) for name in types), types)


def in_polars(frame: Frame) -> pl.DataFrame | pl.LazyFrame:
    """The frame as one of Polars, its columns not copied where their layout allows it.

    Raises:
        DataError: An Arrow table has two columns of one name, or a type that Polars does not know.
    """
    if isinstance(frame, pl.DataFrame | pl.LazyFrame):
        return frame
    try:
        return pl.DataFrame(frame)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException):
        raise DataError(
            f"{NAME}: the Arrow table holds two columns of one name, or a type that Polars does not read; rename or "
            "cast such columns, or leave them out"
        ) from None


def like(result: pl.LazyFrame, frame: Frame) -> Any:
    """The result in the form of the frame it was made from.

    Raises:
        polars.exceptions.PolarsError: The computation fails.
    """
    if isinstance(frame, pl.LazyFrame):
        return result
    computed = result.collect()
    return computed if isinstance(frame, pl.DataFrame) else computed.to_arrow()


def unusable() -> DataError:
    """What to raise where the query behind a lazy frame fails: the engine's own text may quote values."""
    return DataError(f"{NAME}: its query fails; collect it by itself to see why")
