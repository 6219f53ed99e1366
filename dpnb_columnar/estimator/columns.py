"""Columns of known types from array-likes, and the labels of y. No error text holds a value or a number of rows.

scikit-learn's own ``check_array`` would quote both, and raise errors that depend on single rows.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from dpnb_columnar.domain import Domain, Numeric
from dpnb_columnar.domain.names import listed
from dpnb_columnar.rows.column_kinds import Kind, kind_of, value_keys
from dpnb_columnar.rows.frames import to_polars


def table_of(X: Any) -> Any:
    """Return the rows as a Polars frame, a pandas frame or an array of two dimensions.

    Raises:
        TypeError: if X is sparse, or a lazy frame.
        ValueError: if X has not two dimensions, no column, or two of one name, or holds complex numbers.
        dpnb_columnar.errors.DataError: if X is an Arrow table that Polars does not read.
    """
    if isinstance(X, pl.LazyFrame):
        raise TypeError("X is a LazyFrame; collect it first")
    table: Any
    if isinstance(X, pl.DataFrame | pa.Table):
        table = to_polars(X)
    elif _is_pandas(X, "DataFrame"):
        table = X
        if twice := [str(name) for name, times in Counter(X.columns).items() if times > 1]:
            raise ValueError(f"X: expected unique column names; drop all but one of those named {listed(twice)}")
    else:
        table = array_of(X, "X")
        if table.ndim != 2:
            raise ValueError(
                f"Expected 2D array, got {table.ndim}D array instead. Reshape your data: array.reshape(-1, 1) if it is "
                "one column, array.reshape(1, -1) if it is one row"
            )
    if table.shape[1] == 0:  # in scikit-learn's words, the number of rows left out
        raise ValueError("X: found 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.")
    return table


def array_of(values: Any, name: str) -> np.ndarray[Any, Any]:
    """Return lists and arrays as an array; values of different types stay what they are.

    Raises:
        TypeError: if the values are sparse.
        ValueError: if rows are not equally long, or numbers are complex.
    """
    if hasattr(values, "toarray"):
        raise TypeError(f"{name}: sparse data was passed, but dense data is required; use {name}.toarray()")
    try:
        array = np.asarray(values)
        if array.dtype.kind in "US" and isinstance(values, Sequence):  # of numbers beside text, numpy makes text
            array = np.asarray(values, dtype=object)
    except ValueError:
        raise ValueError(f"{name}: not an array; are all rows equally long?") from None
    if array.dtype.kind == "c":
        raise ValueError(f"{name}: Complex data not supported")
    return array


def frame_of(table: Any, names: Sequence[str], domain: Domain, *others: pl.Series) -> pl.DataFrame:
    """Select the columns that are attributes of the domain, and add others.

    Args:
        table: What ``table_of`` returns.
        names: Names of all its columns, in order.
        domain: The declared domain.
        *others: Columns of as many rows.
    """
    attributes = {attribute.name: attribute for attribute in domain.attributes}
    columns = [
        series_of(values, name, numeric=isinstance(attributes[name], Numeric))
        for name, values in zip(names, _columns(table), strict=True)
        if name in attributes
    ]
    return pl.DataFrame([*columns, *others])


def series_of(values: Any, name: str, *, numeric: bool = False) -> pl.Series:
    """Return one column: of its own type; of type ``object``, as text or as numbers read from that text.

    Args:
        values: A column of a frame, or an array of one dimension.
        name: Name of the result.
        numeric: Whether values of type ``object`` are to be numbers; those that are not become null.
    """
    values = plain(values)
    if isinstance(values, pl.Series):
        return values.alias(name)
    kind = values.dtype.kind
    if kind != "O":  # in this machine's byte order, and no wider than Polars knows
        return pl.Series(name, values.astype(np.float64 if kind == "f" else values.dtype.newbyteorder("="), copy=False))
    written = pl.Series(name, [text_of(value) for value in values], dtype=pl.String)
    return written.replace({"true": "1", "false": "0"}).cast(pl.Float64, strict=False) if numeric else written


def plain(values: Any) -> Any:
    """Return a column as a Polars series or an array; missing values of a pandas column of pandas' types are None."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return pl.Series(values)
    if _is_pandas(values, "Series"):
        typed = isinstance(values.dtype, np.dtype) and values.dtype.kind != "O"
        return values.to_numpy() if typed else values.to_numpy(dtype=object, na_value=None)
    return values


def text_of(value: object) -> str | None:
    """Write a value as declarations do: 7 for 7.0, ``true`` for True; None if it is missing."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def _columns(table: Any) -> Iterator[Any]:
    if isinstance(table, pl.DataFrame):
        return iter(table.get_columns())
    if isinstance(table, np.ndarray):
        return iter(table.T)
    return (table.iloc[:, position] for position in range(table.shape[1]))


def _is_pandas(data: object, name: str) -> bool:
    """Say whether this is a pandas object of this class, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, getattr(pandas, name))


NUMBERED = (Kind.INTEGER, Kind.UNSIGNED, Kind.FLOAT, Kind.BOOLEAN)
"""Kinds of columns whose labels are numbers."""


def distinct(labels: pl.Series | NDArray[Any]) -> list[Any]:
    """List the labels that occur, sorted, without those that are missing. For public labels only.

    Raises:
        ValueError: if there are fewer than two, or if they are no labels.
    """
    values = labels.to_list() if isinstance(labels, pl.Series) else labels.tolist()
    try:
        occurring = sorted({value for value in values if text_of(value) is not None})
    except TypeError:
        raise ValueError("Unknown label type: labels in y are of several types; make them text") from None
    if any(isinstance(label, float) and not label.is_integer() for label in occurring):
        raise ValueError("Unknown label type: continuous. Labels are text or whole numbers")
    if len(occurring) < 2:
        raise ValueError('classes="public": y holds one class or none, and a classifier needs two')
    return occurring


def labels_of(domain: Domain, labels: pl.Series) -> NDArray[Any]:
    """Name the classes of a domain as y does: by numbers where y holds numbers and every class is one."""
    kind = kind_of(labels.dtype)
    if kind in NUMBERED and len(numbers := value_keys(domain.classes, kind)) == len(domain.classes):
        return np.array(list(numbers))
    return np.array(domain.classes)
