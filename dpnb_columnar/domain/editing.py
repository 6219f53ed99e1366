"""Choices made in place of what a domain declares, and read again, so that faults are found as in any declaration.

``--label`` names a categorical attribute, whose values become the classes, or is a condition such as
``INCWAGE > 1500``. Columns of the label are no longer attributes, and their missing values become the label's.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import TypeVar

from dpnb_columnar.domain.attributes import Attribute, Categorical, Numeric, missing_texts
from dpnb_columnar.domain.condition import Comparison, Condition, comparisons, only_outcome, possible_values
from dpnb_columnar.domain.declaration import read_declaration, read_domain
from dpnb_columnar.domain.declared_domain import (
    MOST_UNIT_COLUMNS,
    Declaration,
    Domain,
    Label,
    Unit,
    UnlabelledDomain,
    document_of,
    weight_document,
)
from dpnb_columnar.domain.field_reader import parse_condition
from dpnb_columnar.domain.names import did_you_mean, exact_number, identity, number_text
from dpnb_columnar.domain.words import keep_words
from dpnb_columnar.errors import ConfigurationError, UsageError, excerpt, option

OPPOSITE = {">": "<=", "<=": ">", "<": ">=", ">=": "<"}
NOT_CHOSEN = "not chosen"  # text of the condition of a label that is still to be chosen
MOST_LISTED = 8  # columns that a message names


@dataclass(frozen=True, slots=True)
class _Column:
    """Declaration of a column that a label may be read from."""

    missing_values: tuple[str, ...]  # as text
    attribute: Attribute | None  # None where the column is known from the present label alone

    def admits(self, value: str) -> bool:
        if identity(value) in map(identity, self.missing_values):
            return False
        if self.attribute is None:
            return True
        if isinstance(self.attribute, Numeric):
            try:
                return self.attribute.lower <= exact_number(value) <= self.attribute.upper
            except ValueError:
                return False
        return identity(value) in map(identity, self.attribute.members)


def labelled(domain: Declaration, label: str) -> Domain:
    """Choose the label of a domain; a column that was the label becomes an attribute, those of a condition do not."""
    columns = _columns(domain)
    if label not in columns:
        chosen = _condition_label(label, columns)
    elif isinstance(column := columns[label].attribute, Categorical):
        chosen = Label(column.values, label, None, column.missing_values, column.groups)
    else:
        raise UsageError(
            f"{option('label')} {label}: has no declared values to be classes; give a condition, such as "
            f'"{label} > 1000"'
        )
    attributes = tuple(
        column.attribute
        for name, column in columns.items()
        if column.attribute is not None and name not in chosen.columns
    )
    document = document_of(Domain(domain.name, chosen, attributes, **domain.shared_fields), words=False)
    read = read_domain(domain.name, document, f"{option('label')} {excerpt(label)}")
    return keep_words(read, domain)


def no_label(domain: Declaration, source: str) -> ConfigurationError:
    """Build the error for training with a domain that has no label."""
    return ConfigurationError(
        f'{source}: declares no label: name what to predict, such as {option("label")} "COLUMN > 1000"; '
        f"its columns are {_listed([attribute.name for attribute in domain.attributes])}"
    )


def provisional(domain: UnlabelledDomain) -> Domain:
    """Give a domain two classes of no meaning, to plan with until its label is chosen: every column is an attribute."""
    column = domain.attributes[0]
    constant = Decimal(0) if isinstance(column, Numeric) else column.values[0]
    condition = Condition(NOT_CHOSEN, Comparison(column.name, "=", constant))
    label = Label(("first class", "second class"), None, condition)
    return Domain(domain.name, label, domain.attributes, **domain.shared_fields)


def _columns(domain: Declaration) -> dict[str, _Column]:
    columns = {attribute.name: _Column(missing_texts(attribute), attribute) for attribute in domain.attributes}
    if isinstance(domain, Domain):
        present = domain.label
        attribute = None if present.column is None else present.categories
        columns |= {name: _Column(present.missing_values, attribute) for name in present.columns}
    return columns


def _condition_label(label: str, columns: Mapping[str, _Column]) -> Label:
    try:
        condition = parse_condition(label)
    except ValueError as error:
        if label.isidentifier():
            raise _unknown_in_label(label, label, columns) from None
        raise UsageError(f"{option('label')} {excerpt(label)}: {error}") from None
    for name in condition.columns:
        if name not in columns:
            raise _unknown_in_label(label, name, columns)
    _check_constants(condition, columns)
    read = {name: columns[name] for name in condition.columns}
    return Label(_classes(condition), None, condition, _shared_missing_values(label, read))


def _check_constants(condition: Condition, columns: Mapping[str, _Column]) -> None:
    """Refuse comparisons that no declared value of a column can meet: a misspelt one would leave a class empty."""
    for comparison in comparisons(condition.root):
        attribute = columns[comparison.column].attribute
        if not isinstance(attribute, Categorical) or comparison.operator not in ("=", "<>"):
            continue
        constant = comparison.constant
        value = constant if isinstance(constant, str) else number_text(exact_number(constant))
        if identity(value) not in map(identity, attribute.members):
            group = next((group for group in attribute.groups if group.name == value), None)
            hint = (
                f"it names a group; compare with its members, such as {excerpt(group.members[0])}"
                if group
                else (f"declared are {_listed(list(attribute.members), value)}")
            )
            raise UsageError(
                f"{option('label')} {excerpt(condition.text)}: {excerpt(value)} is no declared value of "
                f"{comparison.column}; {hint}"
            )
    values = {name: _values_of(condition, name, columns[name]) for name in condition.columns}
    outcome = only_outcome(condition, values)
    if outcome is not None:
        bounds = ", ".join(
            f"{name} {number_text(attribute.lower)} to {number_text(attribute.upper)}"
            for name in condition.columns
            if isinstance(attribute := columns[name].attribute, Numeric)
        )
        declared = f" (declared: {bounds})" if bounds else ""
        raise UsageError(
            f"{option('label')} {excerpt(condition.text)}: {'every' if outcome else 'no'} declared value meets it"
            f"{declared}, so one class would be empty; give a condition that divides the rows, or, if the codebook "
            "knows other values, declare them first (lower and upper of a number)"
        )


def _values_of(condition: Condition, name: str, column: _Column) -> list[Fraction | str]:
    """List what a column may hold: one value at least for every combination of outcomes of its comparisons."""
    attribute = column.attribute
    if isinstance(attribute, Categorical):
        spelled = [each.constant for each in comparisons(condition.root) if isinstance(each.constant, str)]
        return [value for value in [*attribute.members, *spelled] if column.admits(value)]
    bounds = (attribute.lower, attribute.upper) if isinstance(attribute, Numeric) else ()
    missing = {*map(identity, column.missing_values)}
    values = possible_values(condition, name, *bounds)
    return [value for value in values if (identity(value) if isinstance(value, str) else float(value)) not in missing]


def _classes(condition: Condition) -> tuple[str, str]:
    """Name the classes: where the condition is false, then where it is true."""
    root = condition.root
    if isinstance(root, Comparison) and root.operator in OPPOSITE:
        assert not isinstance(root.constant, str)
        number = number_text(exact_number(root.constant))
        return f"{OPPOSITE[root.operator]}{number}", f"{root.operator}{number}"
    return f"not ({condition.text})", condition.text


def _shared_missing_values(label: str, columns: Mapping[str, _Column]) -> tuple[str, ...]:
    """Unite the missing values of the label's columns, since a label has one list of them."""
    missing_values = tuple(dict.fromkeys(value for column in columns.values() for value in column.missing_values))
    for name, column in columns.items():
        if clash := [value for value in missing_values if column.admits(value)]:
            raise ConfigurationError(
                f"{option('label')} {excerpt(label)}: {_listed(clash)} means missing in one of its columns but may be "
                f"a value of {name}; declare [label] with condition, classes and missing_values in datasets.toml"
            )
    return missing_values


def _unknown_in_label(label: str, name: str, columns: Mapping[str, _Column]) -> UsageError:
    hint = did_you_mean(name, columns, f"its columns are {_listed(list(columns))}")
    return UsageError(f"{option('label')} {excerpt(label)}: the domain declares no column {excerpt(name)}; {hint}")


def _listed(names: Sequence[str], near: str = "") -> str:
    close = difflib.get_close_matches(near, names, n=3)
    first = list(dict.fromkeys([*close, *names]))[:MOST_LISTED]
    more = len(names) - len(first)
    return ", ".join(first) + (f" and {more} more" if more else "")


DomainT = TypeVar("DomainT", bound=Domain | UnlabelledDomain)
DEFAULT_ROWS = 1  # rows of a unit that count, unless more are wanted: one has the most accurate models per unit


def unit_columns(text: str) -> tuple[str, ...]:
    """Read the columns that together name a unit, set apart by commas."""
    columns = tuple(name.strip() for name in text.split(","))
    if not all(columns) or len(columns) > MOST_UNIT_COLUMNS or len({*columns}) < len(columns):
        raise UsageError(
            f"unit {excerpt(text)}: name 1 to {MOST_UNIT_COLUMNS} columns, each once, such as SERIAL or YEAR,SERIAL"
        )
    return columns


def with_unit(domain: DomainT, unit: str | Sequence[str] | None, rows: int | None) -> DomainT:
    """Return a domain counted by the unit chosen; where ``rows`` alone is given, by the declared or available one."""
    if unit is None and rows is None:
        return domain
    if unit is not None:
        columns = unit_columns(unit) if isinstance(unit, str) else tuple(unit)
    elif domain.unit is not None:
        columns = domain.unit.columns
    elif domain.available_unit:
        columns = domain.available_unit
    else:
        raise UsageError(f"unit rows {excerpt(rows)}: rows of which unit? Name its column as the unit, such as SERIAL")
    declared = (
        domain.unit if domain.unit is not None and domain.unit.columns == columns else Unit(columns, DEFAULT_ROWS)
    )
    chosen = replace(domain, unit=Unit(columns, declared.rows if rows is None else rows))
    read_declaration(domain.name, document_of(chosen), "the unit chosen")  # refuses what cannot be
    return chosen


# The weight that class counts are sums of as well.

Number = str | int | float | Decimal | Fraction  # a number as typed; a float stands for its shortest text


def with_weight(domain: DomainT, weight: str | None, cap: Number | None) -> DomainT:
    """Return a domain whose rows have the weight chosen, in steps of 1; as it is declared where none is."""
    if weight is None and cap is None:
        return domain
    known = [each for each in (domain.weight, domain.available_weight) if each is not None]
    declared = next((each for each in known if weight in (None, each.column)), None)
    if weight is None and declared is None:
        raise UsageError(
            f"{option('weight-cap')} {excerpt(cap)}: of which weight? Name its column with {option('weight')}, such as "
            "PERWT"
        )
    chosen = {"column": weight} if declared is None else weight_document(declared)
    given = {} if cap is None else {"cap": cap if isinstance(cap, int | str) else str(cap)}
    document = {**document_of(domain), "weight": {**chosen, **given}}
    if "cap" not in document["weight"]:
        raise UsageError(
            f"{option('weight')} {excerpt(weight)}: how much may one row weigh at most? Give {option('weight-cap')}, "
            "such as 400, from the publisher's documentation and not from the rows"
        )
    return replace(domain, weight=read_declaration(domain.name, document, "the weight chosen").weight)
