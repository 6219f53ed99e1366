"""The numeric attribute of a variable of amounts: bounds, step, and codes that mean a missing value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from dpnb_columnar.domain.attribute_reader import grid_fault
from dpnb_columnar.domain.attributes import MAXIMUM_CELLS, Missing, Numeric
from dpnb_columnar.domain.field_reader import LARGEST_DECLARATION
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.extracts.codebooks.codebook import Code, Form, Meaning, Variable, meaning_of
from dpnb_columnar.extracts.codebooks.facts import AmountFact

NUMBER = re.compile(r"[-+]?\d{1,18}(?:\.\d{1,18})?", re.ASCII)
WHOLE = re.compile(r"[-+]?\d{1,18}", re.ASCII)
LEADING_NUMBER = re.compile(r"(\d{1,18})(?!\d)(?!\s*-\s*\d)", re.ASCII)
"""A number at the beginning of a label, unless it begins an interval such as ``1-13 weeks``."""

WIDEST = 18
"""Most digits of a variable whose bounds may follow from its width."""

MOSTLY = Fraction(3, 4)
"""Share of a list of codes whose labels must begin with the code itself, for the list to be one of amounts."""

FEWEST_AMOUNTS = 10
"""Fewest values of a list of amounts; a shorter list says more as categories, "not in universe" among them."""


def spells_numbers(variable: Variable) -> bool:
    """Whether a list of codes is one of amounts: most labels begin with the code itself, as in ``2 = 2 children``.

    At least ten codes must be values, and three in four of those labelled so: ``0 = Less than 1 year old`` and
    ``99 = Unknown`` may be among them.
    """
    if variable.form is not Form.NUMBER or variable.decimals:
        return False
    values = [code for code in variable.codes if code.value and meaning_of(code) is Meaning.VALUE]
    return len(values) >= FEWEST_AMOUNTS and sum(map(_spells_itself, values)) >= MOSTLY * len(values)


def numeric_attribute(variable: Variable, fact: AmountFact) -> Numeric | str:
    """Build the numeric attribute of a variable.

    * The step is one unit of the last implied decimal.
    * Where codes are ranges, or spell their numbers, the bounds are the lowest and the highest of them that are
      amounts. Elsewhere they follow from the width: 0 to as many nines as it has, and down to as many nines as fit
      behind a minus sign if amounts can be negative, by the fact or by a negative code that is an amount.
    * Bounds of the fact take precedence over those of codes, and over those of the width where they are narrower.
    * Codes that mean "not in universe" or "unknown" are missing values. A code with a decimal point is the amount
      itself; one without is written as in the data, implied decimals included.
    * Where a code means "not in universe", or a blank is listed, to be missing is a category of its own: it describes
      children and people without work. Where nobody knows a few amounts, the row leaves this attribute out.

    Returns:
        The attribute, or the reason why there is none.
    """
    unit = Fraction(1, 10**variable.decimals)
    codes = [code for code in variable.codes if code.value]
    if not all(NUMBER.fullmatch(part) for code in codes for part in (code.value, code.last or "0")):
        return "its codes are not numbers"
    values = [code for code in codes if meaning_of(code) is Meaning.VALUE]
    lowest = min((_first(code, unit) for code in values), default=None)
    highest = max((_last(code, unit) for code in values), default=None)
    nines = None if variable.width is None or variable.width > WIDEST else unit * (10**variable.width - 1)
    lower, upper = fact.lower, fact.upper
    if any(code.last for code in values) or spells_numbers(variable):
        lower, upper = lowest if lower is None else lower, highest if upper is None else upper
    elif nines is not None:
        upper = nines if upper is None else min(upper, nines)
        negative = any(bound is not None and bound < 0 for bound in (fact.lower, lowest))
        least = -Fraction(int(nines / unit) // 10) * unit if negative else Fraction(0)
        lower = least if lower is None else max(lower, least)
    if lower is None or upper is None:
        return "its width gives no bounds"
    missing = [*fact.missing_values, *fact.unknown_values]
    not_asked = bool(fact.missing_values or fact.missing_at_top or len(codes) < len(variable.codes))
    for code in codes:
        meaning = meaning_of(code)
        not_asked |= meaning is Meaning.NOT_IN_UNIVERSE
        if meaning is not Meaning.VALUE:
            if len(missing) + _size(code, unit) > LARGEST_DECLARATION:
                return f"more than {LARGEST_DECLARATION} of its codes mean that the value is missing"
            missing += _members(code, unit)
    if nines is not None:
        missing += [nines - unit * position for position in range(fact.missing_at_top)]
    treatment = Missing.CATEGORY if not_asked else None
    missing_values = tuple(dict.fromkeys(missing))
    return _checked(Numeric(variable.name, lower, upper, unit, fact.transform, missing_values, treatment))


def amount_labels(variable: Variable) -> dict[str, str]:
    """Return the labels of single codes, by the amounts that they stand for; not of those that spell their number."""
    unit = Fraction(1, 10**variable.decimals)
    labels: dict[str, str] = {}
    for code in variable.codes:
        if code.value and not code.last and not _spells_itself(code):
            labels.setdefault(number_text(_first(code, unit)), code.label)
    return labels


def _checked(attribute: Numeric) -> Numeric | str:
    """Return the attribute, or the reason why a domain cannot have it."""
    if attribute.lower >= attribute.upper:
        return "it has one value only"
    if grid_fault(attribute, attribute.name) is not None:
        values = f"{number_text(attribute.lower)} to {number_text(attribute.upper)}"
        return f"its values, {values}, are more than a grid can hold ({MAXIMUM_CELLS} cells)"
    return attribute


def _spells_itself(code: Code) -> bool:
    """Whether the label of a code begins with the code."""
    leading = LEADING_NUMBER.match(code.label.strip())
    return bool(leading and WHOLE.fullmatch(code.value) and not code.last and int(code.value) == int(leading[1]))


def _first(code: Code, unit: Fraction) -> Fraction:
    return _number(code.value, unit)


def _last(code: Code, unit: Fraction) -> Fraction:
    return _number(code.last or code.value, unit)


def _number(written: str, unit: Fraction) -> Fraction:
    """The amount that a code stands for."""
    return Fraction(written) if "." in written else Fraction(int(written)) * unit


def _size(code: Code, unit: Fraction) -> int:
    """Count the numbers of a code or a range of codes."""
    return int((_last(code, unit) - _first(code, unit)) / unit) + 1


def _members(code: Code, unit: Fraction) -> Iterator[Fraction]:
    """List the numbers of a code or a range of codes."""
    first = _first(code, unit)
    for position in range(_size(code, unit)):
        yield first + position * unit
