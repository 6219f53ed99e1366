"""Changes of a declaration, made on its document and read again: so its faults are those of any other declaration."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpnb_columnar.domain.attributes import Attribute, Categorical, Domain, Group, Missing, Numeric
from dpnb_columnar.domain.declaration import Declaration, attribute_document, document_of, read_declaration
from dpnb_columnar.domain.fields import LARGEST_DECLARATION
from dpnb_columnar.domain.groups import expanded, in_order
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.errors import ConfigurationError, Fault, MissingInputError, UsageError, shown

# MERGED FROM dpnb_columnar/domain/editing.py: Merging the detailed codes of an attribute into groups, by a public map
# in a CSV file.

HEADER = ("code", "group")


def read_map(path: Path) -> dict[str, str]:
    """The group of each code, in the order of the file.

    Args:
        path: CSV file with the columns ``code`` (a value, or a range such as ``10-99``) and ``group``; others are not
            looked at.

    Raises:
        MissingInputError: It cannot be read.
        ConfigurationError: It is no such file, or gives a code two groups.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _groups(path, csv.DictReader(file, strict=True))
    except OSError as error:
        raise MissingInputError(f"{path}: cannot be read: {error.strerror}; check the path") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: not a CSV file in UTF-8 ({error}); save it as one") from None


def _groups(path: Path, rows: csv.DictReader[str]) -> dict[str, str]:
    if not set(HEADER) <= set(rows.fieldnames or ()):
        raise ConfigurationError(f"{path}: its first line needs the columns code and group, such as: code,group")
    found: dict[str, str] = {}
    for row in rows:
        place, code, group = f"{path}, line {rows.line_num}", row["code"], row["group"]
        if not code or not group:
            raise ConfigurationError(f"{place}: expected a code and its group; fill both columns in")
        try:
            members = expanded(code, LARGEST_DECLARATION)
        except ValueError as error:
            raise ConfigurationError(f"{place}: {error}") from None
        for member in members:
            if found.setdefault(member, group) != group:
                raise ConfigurationError(
                    f"{place}: {shown(member)} has the group {shown(found[member])} already; a code has one group"
                )
        if len(found) > LARGEST_DECLARATION:
            raise ConfigurationError(f"{place}: more than {LARGEST_DECLARATION} codes, ranges written out; map fewer")
    if not found:
        raise ConfigurationError(f"{path}: maps no code; add a line for each, such as: 10-99,Managers")
    return found


def merged(attribute: Attribute, groups: Mapping[str, str], rest: str | None) -> Categorical:
    """The attribute with its codes merged: the groups in the order of the map, then the categories that are left.

    Args:
        attribute: A categorical attribute; or a numeric one of whole numbers, each of which is then a code.
        groups: The group of each code.
        rest: Group of the codes that the map does not name; None if they stay in the categories they have.

    Raises:
        ValueError: A numeric attribute has too many codes, or such as are no whole numbers.
    """
    present = _codes(attribute)
    found = {**groups, **{code: rest or own for code, own in present.items() if code not in groups}}
    members: dict[str, list[str]] = {}
    for code, category in found.items():
        members.setdefault(category, []).append(code)
    merging = [(name, in_order(codes)) for name, codes in members.items() if codes != [name]]
    missing = attribute.missing if isinstance(attribute, Categorical) else Missing.DROP
    missing_values = tuple(
        str(value) if isinstance(value, str) else number_text(value) for value in attribute.missing_values
    )
    return Categorical(
        attribute.name, tuple(members), missing, missing_values, tuple(Group(name, codes) for name, codes in merging)
    )


def _codes(attribute: Attribute) -> dict[str, str]:
    """Every code the attribute has now, and its category."""
    if isinstance(attribute, Categorical):
        return {member: attribute.values[code] for member, code in attribute.members.items()}
    if not _is_whole(attribute):
        raise ValueError(
            f"only categories and at most {LARGEST_DECLARATION} whole numbers can be merged; declare it with step 1"
        )
    missing = {int(value) for value in attribute.missing_values if value.denominator == 1}
    numbers = range(int(attribute.lower), int(attribute.upper) + 1)
    return {str(number): str(number) for number in numbers if number not in missing}


def _is_whole(attribute: Numeric) -> bool:
    return attribute.step == 1 and attribute.lower.denominator == 1 and attribute.cells < LARGEST_DECLARATION


Body = dict[str, Any]

REDECLARED = {"values": ("missing", "missing_values"), "bounds": ("step", "transform", "missing_values")}
"""Keys that outlive an option which may turn a numeric column into a categorical one, or the other way round."""


@dataclass(frozen=True, slots=True)
class Edits:
    """Changes of attributes, each by column. Numbers and values are as typed.

    Attributes:
        values: Categories to declare; the column becomes categorical.
        bounds: ``(lower, upper)``; the column becomes numeric.
        step: Grid widths.
        transform: ``identity`` or ``log1p``.
        missing_values: Values that mean "missing"; the label's, for a column it is read from.
        missing: ``drop`` or ``category``.
        merge: The group of each code (``merging.read_map``).
        rest: Group of the codes that such a map does not name; None if they stay what they are.
    """

    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    bounds: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    step: Mapping[str, str] = field(default_factory=dict)
    transform: Mapping[str, str] = field(default_factory=dict)
    missing_values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    merge: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    rest: str | None = None


def edited(domain: Declaration, edits: Edits, source: str, name: str | None = None) -> Declaration:
    """The domain after some changes.

    Args:
        domain: A domain, with a label or without.
        edits: What to change.
        source: Where the domain stands, named in the error.
        name: Another name for it.

    Raises:
        UsageError: An edit names a column that the domain does not declare, or cannot be made, every such edit named.
        DomainError: With every fault of the domain as edited.
    """
    document = document_of(domain, defaults=False)
    faults = [*_merge(domain, edits, document["attributes"])]
    for column in edits.values:
        if column in edits.bounds:
            faults.append(Fault(f"--values {column}", "goes with no --bounds of the column; give one of them"))
    if isinstance(domain, Domain):
        for column in set(domain.label.columns) & set(edits.missing_values):
            document["label"]["missing_values"] = list(edits.missing_values[column])
    for option, column, change in _changes(edits):
        if column in document["attributes"]:
            body = document["attributes"][column]
            left = {key: body[key] for key in REDECLARED.get(option, tuple(body)) if key in body}
            document["attributes"][column] = left | change
        elif option != "missing-values" or column not in domain.columns:
            faults.append(_unknown(f"--{option}", column, document["attributes"]))
    _refuse(faults)
    return read_declaration(name or domain.name, document, source)


def restricted(domain: Declaration, keep: Sequence[str] | None, drop: Sequence[str]) -> Declaration:
    """The domain with fewer attributes.

    Args:
        domain: A domain, with a label or without.
        keep: The attributes to keep, in this order; None for all.
        drop: Attributes to leave out.

    Raises:
        UsageError: It has no attribute of a name given, every such name told.
        DomainError: No attribute is left.
    """
    document = document_of(domain, defaults=False)
    bodies: Body = document["attributes"]
    named = [("--attributes", column) for column in keep or ()] + [("--drop", column) for column in drop]
    _refuse(_unknown(option, column, bodies) for option, column in named if column not in bodies)
    kept = list(dict.fromkeys(keep if keep is not None else bodies))
    document["attributes"] = {column: bodies[column] for column in kept if column not in drop}
    return read_declaration(domain.name, document, f"{domain.name} with fewer attributes")


def _changes(edits: Edits) -> Iterator[tuple[str, str, Body]]:
    """Option, column and the keys it sets, in the order they are made."""
    for column, values in edits.values.items():
        yield "values", column, {"values": list(values)}
    for column, (lower, upper) in edits.bounds.items():
        yield "bounds", column, {"lower": lower, "upper": upper}
    for option, chosen in (("step", edits.step), ("transform", edits.transform), ("missing", edits.missing)):
        for column, value in chosen.items():
            yield option, column, {option: value}
    for column, values in edits.missing_values.items():
        yield "missing-values", column, {"missing_values": list(values)}


def _merge(domain: Declaration, edits: Edits, bodies: Body) -> Iterator[Fault]:
    """Merge codes in the document; what could not be merged."""
    attributes = {attribute.name: attribute for attribute in domain.attributes}
    for column, groups in edits.merge.items():
        if column not in attributes:
            yield _unknown("--merge", column, attributes)
            continue
        if column in edits.values or column in edits.bounds:
            yield Fault(f"--merge {column}", "goes with neither --values nor --bounds of the column; edit in two steps")
            continue
        try:
            attribute = merged(attributes[column], groups, edits.rest)
        except ValueError as error:
            yield Fault(f"--merge {column}", str(error))
            continue
        bodies[column] = attribute_document(attribute)


def _unknown(option: str, column: str, known: Iterable[str]) -> Fault:
    names = list(known)
    close = difflib.get_close_matches(column, names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"they are {', '.join(names[:8])}"
    return Fault(f"{option} {column}", f"the domain has no attribute of this name; {hint}")


def _refuse(faults: Iterable[Fault]) -> None:
    if found := list(faults):
        raise UsageError("\n  ".join([f"{len(found)} option(s) do not fit the domain", *map(str, found)]))
