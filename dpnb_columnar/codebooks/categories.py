"""The categorical attribute that a variable of names makes, its codes as the column will hold them."""

from __future__ import annotations

import re

from dpnb_columnar.codebooks.codebook import Code, Form, Variable
from dpnb_columnar.codebooks.meanings import Meaning, meaning_of
from dpnb_columnar.domain.attributes import Categorical, Missing
from dpnb_columnar.domain.fields import LARGEST_DECLARATION

WHOLE = re.compile(r"[-+]?\d{1,18}", re.ASCII)


def category(variable: Variable) -> Categorical | str:
    """The categorical attribute that a variable makes, or why it makes none.

    * A code of a number is the whole number without leading zeros (``01`` is 1), a code of text is stripped of trailing
      blanks: so the readers of extracts write them. A range of whole numbers is each of them.
    * Codes that mean "unknown" are missing values. They, and blanks, are one category of their own.
    * "Not in universe" is a value like any other: it describes children and people without work.
    """
    if variable.decimals:
        return "its codes are names with decimals"
    values: dict[str, None] = {}
    unknown: dict[str, None] = {}
    blank = False
    for code in variable.codes:
        if not code.value.strip():
            blank = True
            continue
        members = _members(code, variable.form)
        if isinstance(members, str):
            return members
        (unknown if meaning_of(code) is Meaning.UNKNOWN else values).update(dict.fromkeys(members))
        if len(values) + len(unknown) > LARGEST_DECLARATION:
            return f"it has more than {LARGEST_DECLARATION} codes"
    missing_values = tuple(code for code in unknown if code not in values)
    missing = Missing.CATEGORY if missing_values or blank else Missing.DROP
    attribute = Categorical(variable.name, tuple(values), missing, missing_values)
    if not values or attribute.size < 2:
        return "it has one value only"
    return attribute


def _members(code: Code, form: Form) -> tuple[str, ...] | str:
    """The values of a code or a range of codes, or why it has none."""
    if form is Form.TEXT:
        return "its codes are a range, not a list" if code.last else (code.value.rstrip(),)
    if not WHOLE.fullmatch(code.value) or not WHOLE.fullmatch(code.last or "0"):
        return "its codes are not whole numbers"
    first = int(code.value)
    last = int(code.last) if code.last else first
    if last - first >= LARGEST_DECLARATION:
        return f"it has more than {LARGEST_DECLARATION} codes"
    return tuple(str(value) for value in range(first, last + 1))
