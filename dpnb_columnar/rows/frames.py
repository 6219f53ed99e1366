"""Read the rows that a program holds in memory: Polars frames, lazy or not, and Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl
import pyarrow as pa

from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.column_checks import check_columns
from dpnb_columnar.rows.row_rules import column

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Frame: TypeAlias = pl.DataFrame | pl.LazyFrame | pa.Table

NAME = "the frame"
"""Name of a frame in messages."""


@dataclass(frozen=True, slots=True)
class OpenedFrame:
    """A frame whose columns fit a domain.

    Attributes:
        rows: The domain's columns. Confidential. Of a lazy frame, a query that is not computed yet.
        types: The type of each column.
    """

    rows: pl.LazyFrame
    types: Mapping[str, pl.DataType]


def is_frame(data: object) -> TypeIs[Frame]:
    """Test whether the data is a frame rather than names of files."""
    return isinstance(data, pl.DataFrame | pl.LazyFrame | pa.Table)


def open_frame(frame: Frame, domain: Domain) -> OpenedFrame:
    """Check that a frame has the domain's columns, of types that the domain can be read from. No row is read.

    Raises:
        DataError: if a column is missing, stands twice or is of a type that does not fit, or if the query behind a
            lazy frame fails.
    """
    rows = to_polars(frame)
    try:
        schema = rows.collect_schema()
    except pl.exceptions.PolarsError:
        raise failed_query() from None
    types = check_columns(schema, domain, NAME)
    return OpenedFrame(rows.lazy().select(column(name) for name in types), types)


def to_polars(frame: Frame) -> pl.DataFrame | pl.LazyFrame:
    """Convert a frame to one of Polars; columns are not copied where their layout allows it.

    Raises:
        DataError: if an Arrow table has two columns of one name, or a type that Polars does not read.
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


def in_form_of(result: pl.LazyFrame, frame: Frame) -> Any:
    """Convert a result to the type of the frame that it was made from: lazy, Polars or Arrow.

    Raises:
        polars.exceptions.PolarsError: if the computation of the result fails.
    """
    if isinstance(frame, pl.LazyFrame):
        return result
    computed = result.collect()
    return computed if isinstance(frame, pl.DataFrame) else computed.to_arrow()


def failed_query() -> DataError:
    """Return the error to raise where the query behind a lazy frame fails; the engine's own text may quote values."""
    return DataError(f"{NAME}: its query fails; collect it by itself to see why")
