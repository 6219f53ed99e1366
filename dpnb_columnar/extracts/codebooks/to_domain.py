"""The domain that a codebook declares: which variables are attributes, and how. No row is read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dpnb_columnar.domain.attributes import Attribute, Categorical, Missing, Numeric
from dpnb_columnar.domain.declared_domain import UnlabelledDomain
from dpnb_columnar.domain.field_reader import LARGEST_DECLARATION
from dpnb_columnar.domain.names import did_you_mean
from dpnb_columnar.domain.value_labels import LONGEST_VALUE_LABEL, fitting, within_bounds
from dpnb_columnar.errors import UsageError, excerpt
from dpnb_columnar.extracts.codebooks.codebook import Code, Codebook, Form, Meaning, Measure, Variable, meaning_of
from dpnb_columnar.extracts.codebooks.facts import amount_fact, technical_reason, unit_of, weight_of
from dpnb_columnar.extracts.codebooks.numeric_attribute import amount_labels, numeric_attribute, spells_numbers

WHOLE = re.compile(r"[-+]?\d{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A variable that is no attribute.

    Attributes:
        name: Name of the variable.
        reason: Why it is left out, in words that continue "left out:".
    """

    name: str
    reason: str


def domain_of(codebook: Codebook, columns: Sequence[str] | None = None) -> tuple[UnlabelledDomain, tuple[LeftOut, ...]]:
    """Build the domain that a codebook declares, its label still to be chosen.

    The first of these rules that applies to a variable decides:

    1. Identifiers, weights, flags and other technical variables (``facts/technical.toml``) are left out.
    2. Numbers that are continuous, or whose list of codes spells numbers (ages, counts), are numeric: see
       ``numeric_attribute``.
    3. Variables with a list of codes are categorical: see ``categorical_attribute``.
    4. All others are left out: text, and names that the codebook does not list.

    The labels of codes become value labels, each cut to what a domain takes; the longest lists are left out where all
    are more than that.

    Args:
        codebook: Codebook of the extract.
        columns: Variables to consider, in the order wanted; all of them in the codebook's order, if None.

    Returns:
        The domain, with the household and the weight of its records where these are known, and the variables left out
        of it.

    Raises:
        UsageError: If the codebook has no variable of a column's name.
    """
    known: dict[str, Variable] = {}
    for variable in codebook.variables:  # a variable of several record types appears once for each
        known.setdefault(variable.name, variable)
    attributes: list[Attribute] = []
    left_out = []
    for name in known if columns is None else dict.fromkeys(columns):
        if name not in known:
            hint = did_you_mean(name, known, "choose among the variables it describes")
            raise UsageError(f"{codebook.source}: the codebook has no variable {excerpt(name)}; {hint}")
        attribute = _attribute(known[name], codebook.collection)
        if isinstance(attribute, str):
            left_out.append(LeftOut(name, attribute))
        else:
            attributes.append(attribute)
    names = [each.name for each in left_out]
    unit, weight = unit_of(codebook.collection, names), weight_of(codebook.collection, names)
    domain = UnlabelledDomain(codebook.name, tuple(attributes), available_unit=unit, available_weight=weight)
    labels = {attribute.name: _value_labels(known[attribute.name], attribute) for attribute in attributes}
    return replace(domain, value_labels=within_bounds(fitting(domain, labels))), tuple(left_out)


def _value_labels(variable: Variable, attribute: Attribute) -> Mapping[str, str]:
    """Return the labels of a variable's codes, by the values that the readers of extracts write for them."""
    if isinstance(attribute, Numeric):
        labels = amount_labels(variable)
    else:
        labels = {}
        for code in variable.codes:
            for value in _values_of(code, variable.form):
                labels.setdefault(value, code.label)
    return {value: cut for value, label in labels.items() if (cut := _cut(label)) and cut != value}


def _cut(label: str) -> str:
    """Put a label on one line that is no longer than a value label may be."""
    line = " ".join(label.split())
    return line if len(line) <= LONGEST_VALUE_LABEL else f"{line[: LONGEST_VALUE_LABEL - 3].rstrip()}..."


def _attribute(variable: Variable, collection: str) -> Attribute | str:
    """Build the attribute of a variable, or return the reason why there is none."""
    if reason := technical_reason(variable, collection):
        return reason
    continuous = variable.measure is Measure.CONTINUOUS
    if variable.form is Form.NUMBER and (continuous or spells_numbers(variable)):
        return numeric_attribute(variable, amount_fact(variable, collection))
    if variable.codes:
        return categorical_attribute(variable)
    if variable.form is Form.TEXT:
        return "text, and the codebook lists no codes"
    return "names, and the codebook does not list their codes"


def categorical_attribute(variable: Variable) -> Categorical | str:
    """Build the categorical attribute of a variable.

    * The values are those that the readers of extracts write: of a number, the whole number without leading zeros
      (``01`` is 1); of a text, the code without trailing blanks. A range of whole numbers is each of them.
    * Codes that mean "unknown" are missing values. They, and blanks, are one category of their own.
    * "Not in universe" is a value like any other: it describes children and people without work.

    Returns:
        The attribute, or the reason why there is none.
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
        members = _values_of(code, variable.form)
        if isinstance(members, str):
            return members
        (unknown if meaning_of(code) is Meaning.UNKNOWN else values).update(dict.fromkeys(members))
        if len(values) + len(unknown) > LARGEST_DECLARATION:
            return f"it has more than {LARGEST_DECLARATION} codes"
    missing_values = tuple(code for code in unknown if code not in values)
    missing = Missing.CATEGORY if missing_values or blank else None
    attribute = Categorical(variable.name, tuple(values), missing, missing_values)
    if not values or attribute.size < 2:
        return "it has one value only"
    return attribute


def _values_of(code: Code, form: Form) -> tuple[str, ...] | str:
    """List the values of a code or a range of codes, or return the reason why there are none."""
    if form is Form.TEXT:
        return "its codes are a range, not a list" if code.last else (code.value.rstrip(),)
    if not WHOLE.fullmatch(code.value) or (code.last and not WHOLE.fullmatch(code.last)):
        return "its codes are not whole numbers"
    first = int(code.value)
    if not code.last:
        return (str(first),)
    last = int(code.last)
    if last - first >= LARGEST_DECLARATION:
        return f"it has more than {LARGEST_DECLARATION} codes"
    return tuple(str(value) for value in range(first, last + 1))
