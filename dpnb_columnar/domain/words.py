"""Words of a codebook for columns (EDUC = Educational attainment), values (RACE 1 = White), persons and their source.

Public, and for people alone: they are in no comparison of domains and not in their digest. Of files whose words differ
titles and labels of the first stay, and the rows are those of all universes and of all sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import TypeVar

from dpnb_columnar.domain.attributes import Attribute, Numeric
from dpnb_columnar.domain.declared_domain import Domain, Provenance, UnlabelledDomain, ValueLabels, columns_of
from dpnb_columnar.domain.names import exact_number, identity, is_printable, number_text

AnyDomain = TypeVar("AnyDomain", bound=Domain | UnlabelledDomain)
LONGEST_VALUE_LABEL = 256  # characters of a value label
LONGEST_TITLE = 256  # characters of a column's title
LONGEST_TEXT = 2000  # characters of a universe or a citation
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
    """Return the first of some domains of one digest; a universe that one of them does not say is unknown."""
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
    parts = dict.fromkeys(part for text in texts for part in text.split(separator) if part)
    return one_line(separator.join(parts), longest)


def one_line(text: str, longest: int) -> str:
    """Put a text on one line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 3].rstrip()}..."


LONGEST = {
    each.name: LONGEST_TEXT if each.name in ("citation", "allocated") else LONGEST_TITLE for each in fields(Provenance)
}
"""Characters of the texts of a provenance, by their keys."""


def within_bounds(labels: Mapping[str, Mapping[str, str]]) -> ValueLabels:
    """Leave out the longest lists of labels, until all that remain are at most ``MOST_CHARACTERS``."""
    lengths = {column: sum(map(len, own.values())) for column, own in labels.items()}
    kept, room = set(), MOST_CHARACTERS
    for column in sorted(labels, key=lambda column: lengths[column]):
        room -= lengths[column]
        if room >= 0:
            kept.add(column)
    return {column: own for column, own in labels.items() if column in kept}


def select_attributes(domain: AnyDomain, keep: Iterable[str]) -> AnyDomain:
    """Return a domain of some of its attributes, in the order in which they are named."""
    declared = {attribute.name: attribute for attribute in domain.attributes}
    return keep_words(replace(domain, attributes=tuple(declared[name] for name in keep)), domain)
