"""Read the words of a declaration: titles, value labels, the universe and the source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dpnb_columnar.domain.attributes import Attribute
from dpnb_columnar.domain.declared_domain import Domain, Provenance, Titles, UnlabelledDomain, ValueLabels, columns_of
from dpnb_columnar.domain.field_reader import FieldReader
from dpnb_columnar.domain.names import quoted
from dpnb_columnar.domain.words import (
    LONGEST,
    LONGEST_TEXT,
    LONGEST_TITLE,
    LONGEST_VALUE_LABEL,
    MOST_CHARACTERS,
    AnyDomain,
    declared_values,
)
from dpnb_columnar.errors import excerpt


def with_words(reader: FieldReader, domain: AnyDomain, declaration: Mapping[str, Any], place: str) -> AnyDomain:
    """Read the words of a declaration into its domain; faults are noted, and their words left out.

    Args:
        declaration: The declaration; its table ``titles`` has the title of each column, its table ``value_labels`` per
            column the label of each value, ``universe`` is a text, and ``provenance`` a table of texts.
    """
    if reader.faults:  # attributes may be lacking that have words
        return domain
    titles = _titles(reader, list(columns_of(domain)), declaration.get("titles", {}), f"{place}.titles")
    labels = _labels(reader, domain, declaration.get("value_labels", {}), f"{place}.value_labels")
    universe, here = declaration.get("universe"), f"{place}.universe"
    return replace(
        domain,
        titles=titles,
        value_labels=labels,
        universe="" if universe is None else _words(reader, universe, "a text", "AGE >= 16", LONGEST_TEXT, here),
        provenance=read_provenance(reader, declaration.get("provenance"), f"{place}.provenance"),
    )


def read_provenance(reader: FieldReader, document: object, place: str) -> Provenance | None:
    """Read where rows come from, of a declaration or a codebook; None where nothing is said of it."""
    table = {} if document is None else reader.table(document, place, tuple(LONGEST)) or {}
    known = [key for key in LONGEST if key in table]
    texts = {key: _words(reader, table[key], "a text", "IPUMS USA", LONGEST[key], f"{place}.{key}") for key in known}
    return Provenance(**texts) if any(texts.values()) else None


def _titles(reader: FieldReader, columns: Sequence[str], document: object, place: str) -> Titles:
    """Read the titles of columns, in the order of the domain."""
    if not isinstance(document, Mapping):
        reader.fault(place, f'expected a table such as {{ AGE = "Age in years" }}, found {excerpt(document)}')
        return {}
    titles: dict[str, str] = {}
    for name, title in document.items():
        here = f"{place}.{quoted(str(name))}"
        if name not in columns:
            reader.unknown(here, "no column of the domain", str(name), columns, "give titles to columns it declares")
        elif words := _words(reader, title, "a title", "Age in years", LONGEST_TITLE, here):
            titles[name] = words
    return {name: titles[name] for name in columns if name in titles}


def _words(reader: FieldReader, text: object, what: str, example: str, longest: int, place: str) -> str:
    """Read one line of words; empty where its faults leave none."""
    if not isinstance(text, str) or not text.strip():
        reader.fault(place, f'expected words such as "{example}", found {excerpt(text)}')
    elif len(text) > longest:
        reader.fault(place, f"{what} of {len(text)} characters; at most {longest} are accepted")
    else:
        reader.check_printable(text, place)
        return text
    return ""


def _labels(reader: FieldReader, domain: Domain | UnlabelledDomain, document: object, place: str) -> ValueLabels:
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
        elif words := _words(reader, label, "a label", "White", LONGEST_VALUE_LABEL, here):
            reader.check_printable(key, here)
            labels[value] = words
    return labels
