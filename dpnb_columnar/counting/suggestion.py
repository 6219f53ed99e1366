"""Draft a domain from the profiles of columns: attributes, and remarks for the curator.

CONFIDENTIAL. A domain is public: the curator replaces what a draft discloses of the rows by public facts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from dpnb_columnar.counting.column_profiles import MEASURED, ColumnProfile, Number
from dpnb_columnar.domain import Attribute, Categorical, Numeric
from dpnb_columnar.domain.attributes import DEFAULT_CELLS, MAXIMUM_CELLS
from dpnb_columnar.domain.column_kinds import Kind
from dpnb_columnar.domain.declaration import LARGEST_BOUND, DeclarationReader, attribute_document

FAR = 2
"""A code for "missing" is at least this many times the largest ordinary number."""

NEARLY_ALL = 0.9
"""Share of distinct values among a column's rows from which on the column is taken for an identifier."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Draft of a domain. Confidential.

    Attributes:
        attributes: Attributes, their bounds rounded outwards.
        remarks: Per attribute, what the curator should check.
        left_out: Per column without an attribute, the reason.
    """

    attributes: tuple[Attribute, ...]
    remarks: dict[str, list[str]]
    left_out: dict[str, str]


def draft(columns: Sequence[ColumnProfile]) -> Draft:
    """Suggest an attribute for each column that can be one.

    Args:
        columns: Profiles of the columns. Confidential.
    """
    attributes: list[Attribute] = []
    remarks: dict[str, list[str]] = {}
    left_out: dict[str, str] = {}
    for profile in columns:
        if reason := _unfit(profile):
            left_out[profile.name] = reason
            continue
        attribute = (
            _numeric(profile, profile.largest) if profile.values is None else Categorical(profile.name, profile.values)
        )
        if reason := _refused(attribute):
            left_out[profile.name] = reason
            continue
        attributes.append(attribute)
        if profile.values is not None:
            code = _stray_code(profile.values) if profile.kind in MEASURED else None
            if code is not None:
                remarks[profile.name] = [
                    f'{code} may be a code for "missing": if so, move it from values to missing_values = [{code}]'
                ]
        elif _likely_codes(profile.nines, profile.ordinary):
            codes = ", ".join(map(str, profile.nines))
            upper = _numeric(profile, profile.ordinary).upper
            remarks[profile.name] = [
                f'{codes} may mean "missing": if so, add missing_values = [{codes}], and upper = {upper} or so'
            ]
    return Draft(tuple(attributes), remarks, left_out)


def _unfit(column: ColumnProfile) -> str | None:
    """Return the reason why a column cannot be an attribute, if there is one."""
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
    """Return the faults of an attribute's declaration, if any: one fault makes the whole entry unreadable."""
    reader = DeclarationReader("the rows")
    reader.attribute(attribute.name, attribute_document(attribute, defaults=False), "")
    return "; ".join(fault.problem for fault in reader.faults) or None


def _numeric(column: ColumnProfile, largest: Number | None) -> Numeric:
    """Return a grid around the numbers of a column; of whole numbers, in steps of one or of a power of ten."""
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
    """Round bounds outwards, to 1, 2 or 5 times a power of ten, or to multiples of one where zero is far away.

    Args:
        smallest: Least number within the bounds.
        largest: Greatest number within the bounds.
    """
    low, high = Fraction(smallest), Fraction(largest)
    if low > 0 and 2 * low > high:
        unit = _round_above(high - low) if high > low else _round_above(high) / 10
        return Fraction(low // unit * unit), -(-high // unit) * unit
    return (-_round_above(-low) if low < 0 else Fraction(0)), (_round_above(high) if high > 0 else Fraction(0))


def _round_above(number: Fraction) -> Fraction:
    """Return the least of 1, 2 and 5 times a power of ten that is no smaller than a positive number."""
    exponent = (Decimal(number.numerator) / Decimal(number.denominator)).adjusted() - 1
    steps = (factor * Fraction(10) ** (exponent + more) for more in range(4) for factor in (1, 2, 5))
    return next(step for step in steps if step >= number)


def _likely_codes(codes: Sequence[int], ordinary: int | float | None) -> bool:
    """Test whether codes are so far above the ordinary numbers that they are hardly numbers themselves."""
    return bool(codes) and ordinary is not None and ordinary * FAR <= min(codes)


def _stray_code(values: Sequence[str]) -> str | None:
    """Return the last of few whole numbers in order if it is of nines and leaves a gap: the 9 of 1, 2, 3, 9."""
    last = values[-1]
    if len(values) < 2 or set(last) != {"9"} or not values[-2].lstrip("-").isdigit():
        return None
    return last if int(last) - int(values[-2]) > 1 else None
