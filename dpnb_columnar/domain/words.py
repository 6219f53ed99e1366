"""Words of a codebook for columns (EDUC = Educational attainment), values (RACE 1 = White), persons and their source.

Public, and for people alone: nothing is computed from them. They are in no comparison of domains and not in their
digest, so files whose words differ are counted together; titles and labels of the first file stay, and the rows are
those of all universes and of all sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from dpnb_columnar.domain.attributes import Attribute, Numeric
from dpnb_columnar.domain.declared_domain import Domain, Provenance, Titles, UnlabelledDomain, ValueLabels, columns_of
from dpnb_columnar.domain.field_reader import FieldReader
from dpnb_columnar.domain.names import is_printable, quoted
from dpnb_columnar.domain.numbers import exact_number, identity, number_text
from dpnb_columnar.errors import excerpt

AnyDomain = TypeVar("AnyDomain", bound=Domain | UnlabelledDomain)

LONGEST_VALUE_LABEL = 256
"""Characters of a value label."""

LONGEST_TITLE = 256
"""Characters of a column's title."""

LONGEST_TEXT = 2000
"""Characters of a universe or a citation."""

MOST_CHARACTERS = 2**22
"""Characters of all value labels of a domain: they stand in the footer of every file and in every model."""


def declared_values(attribute: Attribute | None, values: Iterable[str]) -> Iterator[str | None]:
    """Per value, yield the text under which a column's declaration has it; None where the column has no such value."""
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


def keep_words(domain: AnyDomain, other: Domain | UnlabelledDomain) -> AnyDomain:
    """Give a domain the words of another one of the same rows, as far as it has the columns and the values."""
    return replace(
        domain,
        titles={column: other.titles[column] for column in columns_of(domain) if column in other.titles},
        value_labels=applicable_labels(domain, other.value_labels),
        universe=other.universe,
        provenance=other.provenance,
    )


def united(domains: Iterable[AnyDomain]) -> AnyDomain:
    """Return the first of some domains of one digest, as that of the rows of all: of all universes and all sources.

    Nothing is said of the persons where one of the domains does not say who they are.
    """
    first, *others = domains
    if all((each.universe, each.provenance) == (first.universe, first.provenance) for each in others):
        return first
    universes = [first.universe, *(each.universe for each in others)]
    universe = _joined(universes, "; or ", LONGEST_TEXT) if all(universes) else ""
    known = [each.provenance.known() for each in (first, *others) if each.provenance is not None]
    keys = dict.fromkeys(key for each in known for key in each)
    texts = {key: _joined([each.get(key, "") for each in known], "; ", LONGEST[key]) for key in keys}
    if len({"" if each.provenance is None else each.provenance.allocated for each in (first, *others)}) > 1:
        texts.pop("allocated", None)  # in some of the rows they count
    return replace(first, universe=universe, provenance=Provenance(**texts) if any(texts.values()) else None)


def restricted_to(domain: AnyDomain, condition: str) -> AnyDomain:
    """Return a domain as that of the rows for which a condition holds, whose text becomes the universe."""
    universe = f"{domain.universe}; and {condition}" if domain.universe else condition
    text = "".join(letter if is_printable(letter) else " " for letter in universe)
    return replace(domain, universe=one_line(text, LONGEST_TEXT))


def _joined(texts: Iterable[str], separator: str, longest: int) -> str:
    """Join the distinct parts of texts that may have been joined before."""
    parts = dict.fromkeys(part for text in texts for part in text.split(separator) if part)
    return one_line(separator.join(parts), longest)


def one_line(text: str, longest: int) -> str:
    """Put a text on one line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 3].rstrip()}..."


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


LONGEST = {
    each.name: LONGEST_TEXT if each.name in ("citation", "allocated") else LONGEST_TITLE for each in fields(Provenance)
}
"""Characters of the texts of a provenance, by their keys."""


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


def within_bounds(labels: Mapping[str, Mapping[str, str]]) -> ValueLabels:
    """Leave out the longest lists of labels, until all that remain are at most ``MOST_CHARACTERS``."""
    lengths = {column: sum(map(len, own.values())) for column, own in labels.items()}
    kept, room = set(), MOST_CHARACTERS
    for column in sorted(labels, key=lambda column: lengths[column]):
        room -= lengths[column]
        if room >= 0:
            kept.add(column)
    return {column: own for column, own in labels.items() if column in kept}
