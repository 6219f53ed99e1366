"""The choice of the label: for a domain that has none, or in place of the one it has.

The text names a categorical attribute, whose values become the classes, or is a condition such as ``INCWAGE > 1500``.
Columns of the label are no longer attributes, and their missing values become the label's.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from dpnb_columnar.domain.attributes import Attribute, Categorical, Numeric, missing_texts
from dpnb_columnar.domain.condition import Comparison, Condition, comparisons, parse_condition
from dpnb_columnar.domain.declaration import Declaration, document_of, read_domain
from dpnb_columnar.domain.declared_domain import Domain, Label, UnlabelledDomain
from dpnb_columnar.domain.names import did_you_mean
from dpnb_columnar.domain.numbers import exact_number, identity, number_text
from dpnb_columnar.domain.value_labels import fitting
from dpnb_columnar.errors import ConfigurationError, UsageError, excerpt

OPPOSITE = {">": "<=", "<=": ">", "<": ">=", ">=": "<"}
NOT_CHOSEN = "not chosen"
"""Text of the condition of a label that is still to be chosen."""

MOST_LISTED = 8
"""Columns that a message names."""


@dataclass(frozen=True, slots=True)
class _Column:
    """Declaration of a column that a label may be read from.

    Attributes:
        missing_values: Values of the column that mean "missing", as text.
        attribute: Declaration as an attribute; None where the column is known from the present label alone.
    """

    missing_values: tuple[str, ...]
    attribute: Attribute | None

    def admits(self, value: str) -> bool:
        """Return whether a value of the column may be this one and not missing."""
        if identity(value) in map(identity, self.missing_values):
            return False
        if self.attribute is None:
            return True
        if isinstance(self.attribute, Numeric):
            number = _number(value)
            return number is not None and self.attribute.lower <= exact_number(number) <= self.attribute.upper
        return identity(value) in map(identity, self.attribute.members)


def labelled(domain: Declaration, label: str) -> Domain:
    """Choose the label of a domain.

    A column that was the label becomes an attribute. Columns of the present condition have no bounds of their own, so
    another condition may use them, but they become no attributes.

    Args:
        domain: A domain, with a label or without one.
        label: Name of a categorical attribute, or a condition (``domain.condition``).

    Raises:
        UsageError: If the label is neither, or has a column that the domain does not declare.
        ConfigurationError: If its columns do not agree on which values are missing.
        DomainError: If the domain would have faults: no attribute left, or a single class.
    """
    columns = _columns(domain)
    chosen = _column_label(label, columns[label]) if label in columns else _condition_label(label, columns)
    attributes = tuple(
        column.attribute
        for name, column in columns.items()
        if column.attribute is not None and name not in chosen.columns
    )
    document = document_of(Domain(domain.name, chosen, attributes, **{**domain.beside, "value_labels": {}}))
    read = read_domain(domain.name, document, f"--label {excerpt(label)}")
    return replace(read, value_labels=fitting(read, domain.value_labels))


def no_label(domain: Declaration, source: str) -> ConfigurationError:
    """Build the error for training with a domain that has no label."""
    return ConfigurationError(
        f'{source}: declares no label: name what to predict, such as --label "COLUMN > 1000"; '
        f"its columns are {_listed([attribute.name for attribute in domain.attributes])}"
    )


def provisional(domain: UnlabelledDomain) -> Domain:
    """Give a domain two classes of no meaning, to plan with until its label is chosen: every column is an attribute."""
    column = domain.attributes[0]
    constant = Decimal(0) if isinstance(column, Numeric) else column.values[0]
    condition = Condition(NOT_CHOSEN, Comparison(column.name, "=", constant))
    label = Label(("first class", "second class"), None, condition)
    return Domain(domain.name, label, domain.attributes, **domain.beside)


def _columns(domain: Declaration) -> dict[str, _Column]:
    """List every column that a label may be read from."""
    columns = {attribute.name: _Column(missing_texts(attribute), attribute) for attribute in domain.attributes}
    if isinstance(domain, Domain):
        present = domain.label
        attribute = None if present.column is None else present.categories
        columns |= {name: _Column(present.missing_values, attribute) for name in present.columns}
    return columns


def _column_label(name: str, column: _Column) -> Label:
    """Build the label that is a column."""
    if isinstance(column.attribute, Categorical):
        attribute = column.attribute
        return Label(attribute.values, name, None, attribute.missing_values, attribute.groups)
    raise UsageError(f'--label {name}: has no declared values to be classes; give a condition, such as "{name} > 1000"')


def _condition_label(label: str, columns: Mapping[str, _Column]) -> Label:
    """Build the label that is a condition."""
    try:
        condition = parse_condition(label)
    except ValueError as error:
        if label.isidentifier():
            raise _unknown(label, label, columns) from None
        raise UsageError(f"--label {excerpt(label)}: {error}") from None
    for name in condition.columns:
        if name not in columns:
            raise _unknown(label, name, columns)
    _check_constants(condition, columns)
    read = {name: columns[name] for name in condition.columns}
    return Label(_classes(condition), None, condition, _shared_missing_values(label, read))


def _check_constants(condition: Condition, columns: Mapping[str, _Column]) -> None:
    """Refuse comparisons that no declared value of a column can meet: a misspelt one would leave a class empty.

    Raises:
        UsageError: If a constant is not among the declared values.
    """
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
                f"--label {excerpt(condition.text)}: {excerpt(value)} is no declared value of {comparison.column}; "
                f"{hint}"
            )


def _classes(condition: Condition) -> tuple[str, str]:
    """Name the classes: where the condition is false, then where it is true."""
    root = condition.root
    if isinstance(root, Comparison) and root.operator in OPPOSITE:
        assert not isinstance(root.constant, str)
        number = number_text(exact_number(root.constant))
        return f"{OPPOSITE[root.operator]}{number}", f"{root.operator}{number}"
    return f"not ({condition.text})", condition.text


def _shared_missing_values(label: str, columns: Mapping[str, _Column]) -> tuple[str, ...]:
    """Unite the missing values of the label's columns, since a label has one list of them.

    Raises:
        ConfigurationError: If a missing value of one column is a valid value of another.
    """
    missing_values = tuple(dict.fromkeys(value for column in columns.values() for value in column.missing_values))
    for name, column in columns.items():
        if clash := [value for value in missing_values if column.admits(value)]:
            raise ConfigurationError(
                f"--label {excerpt(label)}: {_listed(clash)} means missing in one of its columns but may be a value of "
                f"{name}; declare [label] with condition, classes and missing_values in datasets.toml"
            )
    return missing_values


def _unknown(label: str, name: str, columns: Mapping[str, _Column]) -> UsageError:
    hint = did_you_mean(name, columns, f"its columns are {_listed(list(columns))}")
    return UsageError(f"--label {excerpt(label)}: the domain declares no column {excerpt(name)}; {hint}")


def _listed(names: Sequence[str], near: str = "") -> str:
    """List the first few names, those close to another one before all."""
    close = difflib.get_close_matches(near, names, n=3)
    first = list(dict.fromkeys([*close, *names]))[:MOST_LISTED]
    more = len(names) - len(first)
    return ", ".join(first) + (f" and {more} more" if more else "")


def _number(value: str) -> str | None:
    """Write a number as its shortest exact text; None for other texts."""
    try:
        return number_text(exact_number(value))
    except ValueError:
        return None
