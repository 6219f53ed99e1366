"""Columns of known types from array-likes, and the labels of y. No error text holds a value or a number of rows.

scikit-learn's own ``check_array`` would quote both, and raise errors that depend on single rows. So would a type that
numpy chooses for a list: one row's None or word would change how the numbers of all other rows are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from dpnb_columnar.domain import Domain, Numeric
from dpnb_columnar.domain.column_kinds import Kind, kind_of, value_keys
from dpnb_columnar.domain.names import listed
from dpnb_columnar.rows.frames import to_polars
from dpnb_columnar.rows.untyped_values import cell_of, is_pandas, series_of, text_of


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
    elif is_pandas(X, "DataFrame"):
        table = X
        if twice := [str(name) for name, times in Counter(X.columns).items() if times > 1]:
            raise ValueError(f"X: expected unique column names; drop all but one of those named {listed(twice)}")
    else:
        table = _rows_of(X) if _is_sequence(X) else array_of(X, "X")
        if table.ndim != 2:
            raise ValueError(
                f"Expected 2D array, got {table.ndim}D array instead. Reshape your data: array.reshape(-1, 1) if it is "
                "one column, array.reshape(1, -1) if it is one row"
            )
    if table.shape[1] == 0:  # in scikit-learn's words, the number of rows left out
        raise ValueError("X: found 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.")
    return table


def array_of(values: Any, name: str) -> np.ndarray[Any, Any]:
    """Return values as an array: arrays of their own type, a sequence as its elements, of type ``object``.

    Raises:
        TypeError: if the values are sparse.
        ValueError: if they do not convert to an array, or numbers are complex.
    """
    if hasattr(values, "toarray"):
        raise TypeError(f"{name}: sparse data was passed, but dense data is required; use {name}.toarray()")
    if _is_sequence(values):
        return np.fromiter(values, dtype=object, count=len(values))
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name}: not an array; are all rows equally long?") from None
    if array.dtype.kind == "c":
        raise ValueError(f"{name}: Complex data not supported")
    return array


def _rows_of(rows: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Return a sequence of rows as an array of type ``object``, of one dimension where an element is no row.

    Raises:
        ValueError: if rows are not equally long.
    """
    if not rows or not all(_is_sequence(row) or getattr(row, "ndim", 0) for row in rows):
        return array_of(rows, "X")
    if len({len(row) for row in rows}) > 1:
        raise ValueError("X: not an array; are all rows equally long?")
    shape = len(rows), len(rows[0])
    return np.fromiter(chain.from_iterable(rows), dtype=object, count=shape[0] * shape[1]).reshape(shape)


def _is_sequence(values: object) -> bool:
    """Test for a list, tuple or the like, whose elements are of no declared type."""
    return isinstance(values, Sequence) and not isinstance(values, str | bytes)


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


def _untyped(values: pl.Series | NDArray[Any]) -> bool:
    return not isinstance(values, pl.Series) and values.dtype == object


def _columns(table: Any) -> Iterator[Any]:
    if isinstance(table, pl.DataFrame):
        return iter(table.get_columns())
    if isinstance(table, np.ndarray):
        return iter(table.T)
    return (table.iloc[:, position] for position in range(table.shape[1]))


NUMBERED = (Kind.INTEGER, Kind.UNSIGNED, Kind.FLOAT, Kind.BOOLEAN)
"""Kinds of columns whose labels are numbers."""

UNTYPED = (Kind.INTEGER, Kind.BOOLEAN)
"""Kinds that the classes of labels without a type may be of, if they are not text."""


def distinct(labels: pl.Series | NDArray[Any]) -> list[Any]:
    """List the labels that occur, sorted, without those that are missing. For public labels only.

    Raises:
        ValueError: if there are fewer than two, or if they are no labels.
    """
    if isinstance(labels, pl.Series):
        values = labels.to_list()
    else:
        values = list(map(cell_of, labels)) if _untyped(labels) else labels.tolist()
    present = [value for value in values if text_of(value) is not None]
    if len({type(label) if isinstance(label, bool | str) else object for label in present}) > 1:
        raise ValueError("Unknown label type: labels in y are of several types; make them text")
    occurring = sorted(set(present))
    if any(isinstance(label, float) and not label.is_integer() for label in occurring):
        raise ValueError("Unknown label type: continuous. Labels are text or whole numbers")
    if len(occurring) < 2:
        raise ValueError('classes="public": y holds one class or none, and a classifier needs two')
    return occurring


def labels_of(domain: Domain, labels: pl.Series | NDArray[Any]) -> NDArray[Any]:
    """Name the classes of a domain as y does: by numbers where y holds numbers and every class is one.

    Of labels without a type, whose values say nothing here, the classes alone decide.
    """
    for kind in UNTYPED if _untyped(labels) else [kind_of(series_of(labels, "y").dtype)]:
        if kind in NUMBERED and len(numbers := value_keys(domain.classes, kind)) == len(domain.classes):
            return np.array(list(numbers))
    return np.array(domain.classes)
