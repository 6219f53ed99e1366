"""From a codebook to a domain: what may serve as an attribute, and how it is declared. No row is looked at."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dpnb_columnar.domain.attributes import Attribute, Categorical, Missing, UnlabelledDomain
from dpnb_columnar.domain.fields import LARGEST_DECLARATION
from dpnb_columnar.errors import UsageError, shown
from dpnb_columnar.extracts.codebooks.codebook import Code, Codebook, Form, Measure, Variable
from dpnb_columnar.extracts.codebooks.facts import amount_fact, technical_reason
from dpnb_columnar.extracts.codebooks.labels import Meaning, meaning_of
from dpnb_columnar.extracts.codebooks.numeric_attribute import amount, spells_numbers

# MERGED FROM dpnb_columnar/extracts/codebooks/to_domain.py: The categorical attribute that a variable of names makes,
# its codes as the column will hold them.

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


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A variable that is no attribute.

    Attributes:
        name: Its name.
        reason: Why, in words that continue "left out:".
    """

    name: str
    reason: str


def domain_of(codebook: Codebook, columns: Sequence[str] | None = None) -> tuple[UnlabelledDomain, tuple[LeftOut, ...]]:
    """The domain that a codebook declares, its label still to be chosen, and what is left out of it.

    Each variable takes the first of these that fits:

    1. Identifiers, weights, flags and other technical variables (``facts/technical.toml``) are left out.
    2. Numbers that are continuous, or whose list of codes spells numbers (ages, counts), are numeric: see ``amount``.
    3. Variables with a list of codes are categorical: see ``category``.
    4. What remains is left out: text and names that the codebook does not list.

    Args:
        codebook: What is known of the extract.
        columns: Variables to look at, in the order wanted; all of them in the codebook's order, where None.

    Raises:
        UsageError: A column is none of the codebook's.
    """
    known: dict[str, Variable] = {}
    for variable in codebook.variables:  # one that stands on several record types appears once for each
        known.setdefault(variable.name, variable)
    attributes: list[Attribute] = []
    left_out = []
    for name in known if columns is None else dict.fromkeys(columns):
        if name not in known:
            raise _unknown(name, known, codebook.source)
        made = _made_of(known[name], codebook.collection)
        if isinstance(made, str):
            left_out.append(LeftOut(name, made))
        else:
            attributes.append(made)
    return UnlabelledDomain(codebook.name, tuple(attributes)), tuple(left_out)


def _unknown(name: str, known: Iterable[str], source: str) -> UsageError:
    """The error for a column that no variable has; names differ by case alone more often than not."""
    by_case = {candidate.casefold(): candidate for candidate in known}
    close = difflib.get_close_matches(name.casefold(), by_case, n=1)
    hint = f"did you mean {by_case[close[0]]}?" if close else "choose among the variables it describes"
    return UsageError(f"{source}: the codebook has no variable {shown(name)}; {hint}")


def _made_of(variable: Variable, collection: str) -> Attribute | str:
    """The attribute that a variable makes, or why it makes none."""
    if reason := technical_reason(variable, collection):
        return reason
    continuous = variable.measure is Measure.CONTINUOUS
    if variable.form is Form.NUMBER and (continuous or spells_numbers(variable)):
        return amount(variable, amount_fact(variable, collection))
    if variable.codes:
        return category(variable)
    if variable.form is Form.TEXT:
        return "text, and the codebook lists no codes"
    return "names, and the codebook does not list their codes"
