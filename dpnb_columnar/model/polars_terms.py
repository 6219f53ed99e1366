"""The terms of an attribute: tables, and the formula of one that a table would not fit.

Polars reads a row's place in the tables, or its number, by an expression that looks at one row only. Where a column can
hold only few values that differ in their terms, the terms of each value are computed once, by the expressions below,
and stand in tables: a row then costs one look-up per class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from dpnb_columnar.domain import Attribute, Categorical, Numeric, Transform
from dpnb_columnar.domain.column_kinds import Kind, kind_of
from dpnb_columnar.model.likelihood import NormalTerms, Values, bin_starts, cell_terms, missing_terms, normal_terms
from dpnb_columnar.model.parameters import AttributeParameters, Histogram, Normal
from dpnb_columnar.rows.row_rules import MOST_STEPPED, category_code, grid_code, number, numbered_values, once_per_entry

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_CELLS = 2**17
"""Most numbers in the tables of an attribute, values times classes: 1 MiB, which a processor keeps at hand."""

VALUE = "value"

SKIPPED = "skipped"
"""Column of scored rows: how many attributes a row's score leaves out."""


def prepared_value(attribute: Attribute, parameters: AttributeParameters, kind: Kind) -> pl.Expr:
    """Read the number on the attribute's scale, the category's code or the bin; null where it is to be left out."""
    if isinstance(attribute, Categorical):
        return category_code(attribute, kind)
    if isinstance(parameters, Histogram):
        code, starts = grid_code(attribute, kind), bin_starts(attribute, parameters.edges)
        if attribute.cells < MOST_STEPPED:
            bins = np.searchsorted(starts, np.arange(attribute.cells + 1), side="right")
            return pl.lit(pl.Series(bins)).gather(code)
        reached = [(code >= start).cast(pl.Int64) for start in starts]
        return pl.sum_horizontal(code * 0, *reached, ignore_nulls=False)
    value = number(attribute.name, kind, attribute.missing_values).clip(float(attribute.lower), float(attribute.upper))
    return value.log1p() if attribute.transform is Transform.LOG1P else value


def terms(attribute: Attribute, parameters: AttributeParameters, value: pl.Expr, weight: float = 1.0) -> list[pl.Expr]:
    """Compute the prepared value's weighted log-likelihood within each class, up to a number common to all.

    Where the value is null, the terms are those of a missing value, or null if it leaves the attribute out.
    """
    if isinstance(parameters, Normal):
        assert isinstance(attribute, Numeric)
        present = normal_terms(attribute, parameters, weight).of(value)
    else:
        present = [pl.lit(pl.Series(row)).gather(value) for row in cell_terms(parameters, weight)]
    missing = missing_terms(parameters, weight)
    if missing is None:
        return present
    return [term.fill_null(without) for term, without in zip(present, missing, strict=True)]


@dataclass(frozen=True, slots=True)
class ComputedTerms:
    """Terms of a normal attribute, computed for every row.

    Attributes:
        value: The number on the attribute's scale, as read from the row.
        formula: The terms of a number.
        missing: Per class, the term where there is none; None where the attribute is then left out.
    """

    value: pl.Expr
    formula: NormalTerms
    missing: Sequence[float] | None

    def present(self, value: Values) -> Iterator[tuple[int, Values, float]]:
        """Yield each class but that of no terms, its term of a value, and its term where there is none."""
        absent = [0.0] * len(self.formula.mean) if self.missing is None else self.missing
        for klass, (term, without) in enumerate(zip(self.formula.of(value), absent, strict=True)):
            if klass != self.formula.reference:
                yield klass, term, without


@dataclass(frozen=True, slots=True)
class TabulatedTerms:
    """Terms that are looked up.

    Attributes:
        value: The place in the tables, as read from the row; at most the last, which holds 0.0.
        tables: Per class, the term of every place.
        first, last: The places between which no attribute is left out; all others are left out.
        prepared: Of every place, the value that the terms are of: a category's code or a bin, say; null for none.
    """

    value: pl.Expr
    tables: list[pl.Series]
    first: int
    last: int
    prepared: pl.Series

    def left_out(self, place: NDArray[Any]) -> Any:
        """Say whether the attribute is left out of rows with these places, which are unsigned: shape (rows,)."""
        return place - self.first > self.last - self.first  # what is before the first is far behind the last


Terms = ComputedTerms | TabulatedTerms


def attribute_terms(
    attribute: Attribute, parameters: AttributeParameters, weight: float, kind: Kind, type_: pl.DataType
) -> Terms:
    """Choose how an attribute's terms are obtained from a column."""
    classes = len(parameters.mean if isinstance(parameters, Normal) else parameters.probability)
    if (numbered := numbered_values(attribute, type_, MOST_CELLS // classes)) is not None:
        return _tabulated_by_value(attribute, parameters, weight, *numbered)
    value = once_per_entry(attribute, type_, prepared_value(attribute, parameters, kind))
    if isinstance(parameters, Normal):
        assert isinstance(attribute, Numeric)
        formula = normal_terms(attribute, parameters, weight)
        return ComputedTerms(value, formula, missing_terms(parameters, weight))
    size = len(parameters.probability[0])
    codes = pl.DataFrame({VALUE: [*range(size), None]})
    tables = codes.select(_numbered(terms(attribute, parameters, pl.col(VALUE), weight)))
    last = size - 1 if missing_terms(parameters) is None else size
    return _tabulated(value.fill_null(size), tables, 0, last, codes[VALUE])


def _tabulated_by_value(
    attribute: Attribute, parameters: AttributeParameters, weight: float, number: pl.Expr, values: pl.Series
) -> TabulatedTerms:
    """Tabulate values themselves, by their numbers (``value_codes.numbered_values``)."""
    kind, size = kind_of(values.dtype), len(values) - 1
    assert kind is not None
    known = values.to_frame().select(prepared_value(attribute, parameters, kind).alias(VALUE))
    tables = known.select(_numbered(terms(attribute, parameters, pl.col(VALUE), weight)))
    place, fits = number.cast(pl.UInt32, wrap_numerical=True).fill_null(size), tables.to_series().is_not_null()
    if fits.any() and fits.arg_true()[-1] - fits.arg_true()[0] < fits.sum():
        return _tabulated(place, tables, fits.arg_true()[0], fits.arg_true()[-1], known[VALUE])
    # What is left out has places between the others: it is sent to a place of its own, behind them all.
    places = known.select(pl.when(fits).then(pl.int_range(pl.len(), dtype=pl.UInt32)).otherwise(size + 1)).to_series()
    return _tabulated(pl.lit(places).gather(place), tables, 0, size, known[VALUE])


def _tabulated(place: pl.Expr, tables: pl.DataFrame, first: int, last: int, prepared: pl.Series) -> TabulatedTerms:
    """Close tables of terms, one column per class, with a place for what is left out."""
    left_out = pl.DataFrame({name: [0.0] for name in tables.columns})
    closed = tables.fill_null(0.0).vstack(left_out).rechunk().get_columns()
    place, prepared = place.cast(pl.UInt32, wrap_numerical=True), prepared.extend_constant(None, 1)
    return TabulatedTerms(place, closed, first, last, prepared)


def _numbered(classes: list[pl.Expr]) -> list[pl.Expr]:
    return [term.alias(str(klass)) for klass, term in enumerate(classes)]
