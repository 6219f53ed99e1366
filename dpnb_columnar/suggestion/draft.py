"""CONFIDENTIAL. From profiles of columns to a draft of a domain, with remarks for the curator. Pure rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from dpnb_columnar.domain import Attribute, Categorical, Numeric
from dpnb_columnar.domain.attribute_reader import LARGEST_BOUND, AttributeReader
from dpnb_columnar.domain.attributes import DEFAULT_CELLS, MAXIMUM_CELLS
from dpnb_columnar.domain.declaration import attribute_document
from dpnb_columnar.rows.kinds import Kind
from dpnb_columnar.suggestion.missing_codes import likely, stray
from dpnb_columnar.suggestion.profile import MEASURED, ColumnProfile, Number

NEARLY_ALL = 0.9
"""Share of rows with a value of their own from which on a column looks like an identifier."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What is suggested. Confidential.

    Attributes:
        attributes: Attributes, bounds rounded outwards.
        remarks: Per attribute, what the curator should look at.
        left_out: Per column of which no attribute was made, why.
    """

    attributes: tuple[Attribute, ...]
    remarks: dict[str, list[str]]
    left_out: dict[str, str]


def draft(columns: Sequence[ColumnProfile]) -> Draft:
    """Suggest an attribute for each column that can be one."""
    attributes: list[Attribute] = []
    remarks: dict[str, list[str]] = {}
    left_out: dict[str, str] = {}
    for column in columns:
        if reason := _unfit(column):
            left_out[column.name] = reason
            continue
        made = _numeric(column, column.largest) if column.values is None else Categorical(column.name, column.values)
        if reason := _refused(made):
            left_out[column.name] = reason
            continue
        attributes.append(made)
        if column.values is not None:
            code = stray(column.values) if column.kind in MEASURED else None
            if code is not None:
                remarks[column.name] = [
                    f'{code} may be a code for "missing": if so, move it from values to missing_values = [{code}]'
                ]
        elif likely(column.nines, column.ordinary):
            codes = ", ".join(map(str, column.nines))
            upper = _numeric(column, column.ordinary).upper
            remarks[column.name] = [
                f'{codes} may mean "missing": if so, add missing_values = [{codes}], and upper = {upper} or so'
            ]
    return Draft(tuple(attributes), remarks, left_out)


def _unfit(column: ColumnProfile) -> str | None:
    """Why no attribute is made of a column, if so."""
    if column.kind is None:
        return f"type {column.type_name} can be no attribute; cast it"
    if not column.present:
        return "no value in any row"
    if column.values is not None:
        if any(not value.isprintable() for value in column.values):
            return "holds control characters; clean it"
        return "one value only" if column.distinct == 1 else None
    if column.kind not in (Kind.FLOAT, Kind.DECIMAL) and column.distinct >= NEARLY_ALL * column.present:
        return "another value in nearly every row: an identifier?"
    if column.kind not in MEASURED:
        return "many values: group them by a public map, or raise --most-values"
    if column.smallest is None or max(abs(column.smallest), abs(column.largest or 0)) > LARGEST_BOUND:
        return "numbers beyond every sensible range"
    return "one value only" if column.smallest == column.largest else None


def _refused(attribute: Attribute) -> str | None:
    """Why a declaration of the attribute would not be read, if so: one that is not spoils all others of its entry."""
    reader = AttributeReader()
    reader.attribute(attribute.name, attribute_document(attribute, defaults=False), "")
    return "; ".join(fault.problem for fault in reader.faults) or None


def _numeric(column: ColumnProfile, largest: Number | None) -> Numeric:
    """A grid around the numbers seen; of whole numbers, in steps of one or of a power of ten."""
    assert column.smallest is not None
    assert largest is not None
    lower, upper = outward(column.smallest, largest)
    step = (upper - lower) / DEFAULT_CELLS
    if column.kind in (Kind.INTEGER, Kind.UNSIGNED):
        step = Fraction(1)
        while (upper - lower) / step > MAXIMUM_CELLS:
            step *= 10
    return Numeric(column.name, lower, upper, step)


def outward(smallest: Number, largest: Number) -> tuple[Fraction, Fraction]:
    """Round bounds around some numbers: 1, 2 or 5 times a power of ten, or multiples of one where zero is far away."""
    low, high = Fraction(smallest), Fraction(largest)
    if low > 0 and 2 * low > high:
        unit = _round_above(high - low) if high > low else _round_above(high) / 10
        return Fraction(low // unit * unit), -(-high // unit) * unit
    return (-_round_above(-low) if low < 0 else Fraction(0)), (_round_above(high) if high > 0 else Fraction(0))


def _round_above(number: Fraction) -> Fraction:
    """The least of 1, 2 and 5 times a power of ten that is no smaller than a positive number."""
    exponent = (Decimal(number.numerator) / Decimal(number.denominator)).adjusted() - 1
    steps = (factor * Fraction(10) ** (exponent + more) for more in range(4) for factor in (1, 2, 5))
    return next(step for step in steps if step >= number)
