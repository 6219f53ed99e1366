"""Value labels: a codebook's words for the values of a column, such as RACE 1 = White. Public, and for people alone.

Nothing is computed from them. They are in no comparison of domains and not in their digest, so files whose labels
differ are counted together; the labels of the first file stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from dpnb_columnar.domain.attributes import Attribute, Numeric
from dpnb_columnar.domain.declared_domain import Domain, UnlabelledDomain, ValueLabels, columns_of
from dpnb_columnar.domain.documents import csv_pairs
from dpnb_columnar.domain.field_reader import FieldReader
from dpnb_columnar.domain.names import quoted
from dpnb_columnar.domain.numbers import exact_number, identity, number_text
from dpnb_columnar.errors import ConfigurationError, excerpt

AnyDomain = TypeVar("AnyDomain", Domain, UnlabelledDomain)

LONGEST_VALUE_LABEL = 256
"""Characters of a value label."""

MOST_CHARACTERS = 2**22
"""Characters of all value labels of a domain: they stand in the footer of every file and in every model."""


def declared_values(attribute: Attribute | None, values: Iterable[str]) -> Iterator[str | None]:
    """Per value, yield the text under which a column's declaration has it; None where the column has no such value.

    Args:
        attribute: The declaration; None for a column of the label's condition, which declares no values.
        values: Values as somebody writes them: ``01`` is found as ``1``.
    """
    if attribute is None:
        yield from values
    elif isinstance(attribute, Numeric):
        for value in values:
            yield _number(attribute, value)
    else:
        declared: dict[float | str, str] = {}
        for value in dict.fromkeys((*attribute.values, *attribute.members, *attribute.missing_values)):
            declared.setdefault(identity(value), value)
        texts = {*declared.values()}  # most values are written as they are declared
        for value in values:
            yield value if value in texts else declared.get(identity(value))


def _number(attribute: Numeric, value: str) -> str | None:
    """Write a number that is missing or within the bounds as its shortest exact text; None for any other."""
    try:
        number = exact_number(value)
    except ValueError:
        return None
    if attribute.lower <= number <= attribute.upper or number in attribute.missing_values:
        return number_text(number)
    return None


def applicable_labels(domain: Domain | UnlabelledDomain, labels: ValueLabels) -> dict[str, dict[str, str]]:
    """Return the labels of values that a domain has, by its columns; the others are left out."""
    kept: dict[str, dict[str, str]] = {}
    for column, attribute in columns_of(domain).items():
        own = labels.get(column, {})
        pairs = zip(declared_values(attribute, own), own.values(), strict=True)
        if fit := {value: label for value, label in pairs if value is not None}:
            kept[column] = fit
    return kept


def with_value_labels(reader: FieldReader, domain: AnyDomain, declaration: Mapping[str, Any], place: str) -> AnyDomain:
    """Read the value labels of a declaration into its domain; faults are noted, and their labels left out.

    Args:
        reader: Reader that notes the faults.
        domain: The domain, else read.
        declaration: The declaration; its table ``value_labels`` has per column the label of each value.
        place: Place of the declaration.
    """
    if reader.faults:  # attributes may be lacking whose values have labels
        return domain
    labels = _read(reader, domain, declaration.get("value_labels", {}), f"{place}.value_labels")
    return replace(domain, value_labels=labels)


def _read(reader: FieldReader, domain: Domain | UnlabelledDomain, document: object, place: str) -> ValueLabels:
    """Read the labels by column and value, columns in the order of the domain."""
    if not isinstance(document, Mapping):
        reader.fault(place, f"expected a table for each column, found {excerpt(document)}")
        return {}
    columns = columns_of(domain) if document else {}
    read: dict[str, dict[str, str]] = {}
    characters = 0
    for name, body in document.items():
        here = f"{place}.{quoted(str(name))}"
        if name not in columns:
            reader.unknown(here, "no column of the domain", str(name), list(columns), "label columns that it declares")
            continue
        if not isinstance(body, Mapping):
            reader.fault(here, f'expected a table such as {{ 1 = "White", 2 = "Black" }}, found {excerpt(body)}')
            continue
        read[name] = _column(reader, columns[name], body, here)
        characters += sum(map(len, read[name].values()))
    if characters > MOST_CHARACTERS:
        reader.fault(place, f"{characters} characters in all; at most {MOST_CHARACTERS} are accepted; leave lists out")
    return {name: read[name] for name in columns if read.get(name)}


def _column(
    reader: FieldReader, attribute: Attribute | None, body: Mapping[object, object], place: str
) -> dict[str, str]:
    """Read the labels of one column's values."""
    labels: dict[str, str] = {}
    keys = list(map(str, body))
    for key, value, label in zip(keys, declared_values(attribute, keys), body.values(), strict=True):
        here = f"{place}.{quoted(key)}"
        if value is None:
            reader.fault(here, "labels a value that the column does not declare; declare it, or leave its label out")
        elif value in labels:
            reader.fault(here, f"{excerpt(value)} has a label already; a value has one")
        elif not isinstance(label, str) or not label.strip():
            reader.fault(here, f'expected words such as "White", found {excerpt(label)}')
        elif len(label) > LONGEST_VALUE_LABEL:
            reader.fault(here, f"a label of {len(label)} characters; at most {LONGEST_VALUE_LABEL} are accepted")
        else:
            reader.check_printable(key + label, here)
            labels[value] = label
    return labels


def within_bounds(labels: Mapping[str, Mapping[str, str]]) -> ValueLabels:
    """Leave out the longest lists of labels, until all that remain are at most ``MOST_CHARACTERS``."""
    lengths = {column: sum(map(len, own.values())) for column, own in labels.items()}
    kept, room = set(), MOST_CHARACTERS
    for column in sorted(labels, key=lambda column: lengths[column]):
        room -= lengths[column]
        if room >= 0:
            kept.add(column)
    return {column: own for column, own in labels.items() if column in kept}


def read_label_file(path: Path) -> dict[str, str]:
    """Read a file of value labels.

    Args:
        path: CSV file with the columns ``code`` and ``label``; other columns are ignored.

    Raises:
        MissingInputError: If the file cannot be read.
        ConfigurationError: If the file is no such list, or labels a code twice.
    """
    labels: dict[str, str] = {}
    for place, code, label in csv_pairs(path, "code", "label"):
        if code in labels:
            raise ConfigurationError(f"{place}: {excerpt(code)} has a label already; a code has one")
        labels[code] = label
    return labels
