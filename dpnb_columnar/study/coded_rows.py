"""CONFIDENTIAL. Rows of a data set in dictionary form: per column its distinct values, and the position of each row's.

Everything a cross-validation needs follows from this: counts of any rows under any bounds, and scores of any rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpnb_columnar.domain import Attribute, Domain, Numeric
from dpnb_columnar.rows.column_kinds import Kind
from dpnb_columnar.rows.parquet import ParquetSource, open_parquet
from dpnb_columnar.rows.row_rules import category_code, class_code, column, grid_code, row_fits
from dpnb_columnar.rows.streaming import stream

Integers = NDArray[np.int64]
Places = NDArray[np.unsignedinteger]

PLACE = "__place"
VALUE = "__value"
LABEL = "__class"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CodedColumn:
    """One column in dictionary form. Confidential.

    Attributes:
        values: The distinct values of some rows, as their file holds them; a series of the column's name.
        places: Shape (rows,), the narrowest unsigned type that holds them: position of each row's value.
    """

    values: pl.Series
    places: Places

    def of(self, rows: Integers) -> CodedColumn:
        """Select rows by their positions, with the values that occur in them."""
        places = self.places[rows]
        present = np.flatnonzero(np.bincount(places, minlength=len(self.values)))
        renumbered = np.zeros(len(self.values), dtype=places.dtype)
        renumbered[present] = np.arange(len(present))
        return CodedColumn(self.values.gather(present), renumbered[places])


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CodedRows:
    """The rows of a data set that fit its domain. Confidential.

    Attributes:
        kinds: Per column of the data set, the kind of its values.
        classes: Shape (rows,), int64: class codes.
        columns: Per attribute, its column.
    """

    kinds: Mapping[str, Kind]
    classes: Integers
    columns: Mapping[str, CodedColumn]

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.classes)

    def codes(self, attribute: Attribute) -> Integers:
        """Code each distinct value of an attribute, by the rule that every engine follows; shape (values,)."""
        return codes(attribute, self.columns[attribute.name].values, self.kinds[attribute.name])


def code_rows(files: Sequence[Path], domain: Domain) -> CodedRows:
    """Read the rows that fit a domain.

    Args:
        files: Parquet files; one column of them at a time has to fit in memory.
        domain: Their domain, of complete rows (``data_sets.complete_rows``). Bounds and steps of its numeric attributes
            do not matter.

    Raises:
        MissingInputError: if a file does not exist.
        DataError: if a file cannot be read, or does not fit the domain.
    """
    source = open_parquet(files, domain)
    return stream(source, partial(_coded_rows, source=source, domain=domain))


def _coded_rows(rows: pl.LazyFrame, source: ParquetSource, domain: Domain) -> CodedRows:
    fitting = rows.filter(row_fits(domain, source.kinds))
    labels = fitting.select(class_code(domain, source.kinds).alias(LABEL)).collect()[LABEL]
    columns = {each.name: _coded(fitting.select(column(each.name)).collect().to_series()) for each in domain.attributes}
    return CodedRows(source.kinds, labels.to_numpy().astype(np.int64), columns)


def codes(attribute: Attribute, values: pl.Series, kind: Kind) -> Integers:
    """Code values that fit the domain: grid codes or category codes; shape (values,), int64."""
    rule = grid_code if isinstance(attribute, Numeric) else category_code
    return values.to_frame().select(rule(attribute, kind)).to_series().to_numpy().astype(np.int64)  # type: ignore[arg-type]


def _coded(values: pl.Series) -> CodedColumn:
    frame = values.alias(VALUE).to_frame()
    distinct = frame.unique(maintain_order=True)
    numbered = distinct.with_row_index(PLACE)
    joined = frame.join(numbered, on=VALUE, how="left", nulls_equal=True, maintain_order="left")
    narrow = np.min_scalar_type(max(len(distinct) - 1, 0))
    return CodedColumn(distinct[VALUE].alias(values.name), joined[PLACE].to_numpy().astype(narrow))
