"""How an attribute is read from a row: one number, and per class the term of the joint log-likelihood it stands for.

Where a column can hold only few values that differ in what they say, each of them is looked at once: their terms, by
the expressions of ``terms``, stand in tables, and a row costs one look-up per class. It is given the very numbers that
the expressions give.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from dpnb_columnar.domain import Attribute
from dpnb_columnar.model.parameters import AttributeParameters, Normal
from dpnb_columnar.model.terms import prepared, terms
from dpnb_columnar.rows.cell_codes import INTEGER_RANGES, distinguished_range
from dpnb_columnar.rows.column_kinds import Kind
from dpnb_columnar.rows.row_rules import column

MOST_CELLS = 2**17
"""Most numbers in the tables of an attribute, values times classes: 1 MiB, which a processor keeps at hand."""

VALUE = "value"


@dataclass(frozen=True, slots=True)
class Reading:
    """One attribute of a row.

    Attributes:
        value: The number that is read from the row.
        terms: From the column that holds this number to a term per class, 0.0 where the attribute is left out.
        left_out: From the same column to whether the attribute is left out (never null).
    """

    value: pl.Expr
    terms: Callable[[pl.Expr], list[pl.Expr]]
    left_out: Callable[[pl.Expr], pl.Expr]


def reading(attribute: Attribute, parameters: AttributeParameters, kind: Kind, type_: pl.DataType) -> Reading:
    """How to read an attribute.

    Args:
        attribute: The attribute as declared.
        parameters: Its parameters.
        kind: What its column holds.
        type_: The column's type.
    """
    whole = _small_extent(attribute, parameters, type_)
    if whole is not None:
        return _by_value(attribute, parameters, kind, type_, whole)
    value = prepared(attribute, parameters, kind)
    if isinstance(parameters, Normal):
        return Reading(
            value,
            lambda number: [term.fill_null(0.0) for term in terms(attribute, parameters, number)],
            pl.Expr.is_null,
        )
    size = len(parameters.probability[0])
    codes = pl.DataFrame({VALUE: range(size)})
    tables = codes.select(_numbered(terms(attribute, parameters, pl.col(VALUE))))
    return _looked_up(value.fill_null(size), tables, (0, size - 1))


def _by_value(
    attribute: Attribute, parameters: AttributeParameters, kind: Kind, type_: pl.DataType, whole: tuple[int, int]
) -> Reading:
    """A reading that looks up a whole number, or a truth value, itself."""
    first, last = whole
    number = column(attribute.name)
    if INTEGER_RANGES[type_] == whole and last < 2**8:  # its byte, in which what is below zero comes last
        place = number.cast(pl.UInt8, wrap_numerical=True).cast(pl.UInt32)
        numbers = [*range(max(first, 0), last + 1), *range(first, 0)]
    else:
        place = (number.clip(first, last).cast(pl.Int64) - first).cast(pl.UInt32, wrap_numerical=True)
        numbers = list(range(first, last + 1))
    size = len(numbers)
    # Named last: Polars takes some names for patterns.
    values = pl.Series(numbers, dtype=pl.Int64).extend_constant(None, 1).cast(type_)
    known = values.alias(attribute.name).to_frame().select(prepared(attribute, parameters, kind).alias(VALUE))
    tables = known.select(_numbered(terms(attribute, parameters, pl.col(VALUE))))
    place, fits = place.fill_null(size), known[VALUE].is_not_null()
    if fits.any() and fits.arg_true()[-1] - fits.arg_true()[0] < fits.sum():
        return _looked_up(place, tables, (fits.arg_true()[0], fits.arg_true()[-1]))
    # What is left out has places between the others: it is sent to a place of its own, behind them all.
    places = known.select(pl.when(fits).then(pl.int_range(pl.len(), dtype=pl.UInt32)).otherwise(size + 1)).to_series()
    return _looked_up(pl.lit(places).gather(place), tables, (0, size))


def _looked_up(place: pl.Expr, tables: pl.DataFrame, fits: tuple[int, int]) -> Reading:
    """A reading of places in tables of terms.

    Args:
        place: The place, at most one behind the last of the tables'.
        tables: Terms by place, one column per class.
        fits: The first and the last place of those that are not left out.
    """
    found = [pl.lit(table.fill_null(0.0).extend_constant(0.0, 1)) for table in tables]
    first, last = fits
    return Reading(
        place.cast(pl.UInt32, wrap_numerical=True),
        lambda place: [table.gather(place) for table in found],
        lambda place: place - first > last - first,  # without a sign, what is before the first is far behind the last
    )


def _numbered(classes: list[pl.Expr]) -> list[pl.Expr]:
    return [term.alias(str(klass)) for klass, term in enumerate(classes)]


def _small_extent(attribute: Attribute, parameters: AttributeParameters, type_: pl.DataType) -> tuple[int, int] | None:
    """First and last of the whole numbers to look at; None where there are none, or too many."""
    found = distinguished_range(attribute, type_)
    classes = len(parameters.mean if isinstance(parameters, Normal) else parameters.probability)
    return found if found and (found[1] - found[0] + 1) * classes <= MOST_CELLS else None
