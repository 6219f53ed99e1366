"""Changes of a declaration, made on its document and read again: so its faults are those of any other declaration."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dpnb_columnar.domain.attributes import Domain
from dpnb_columnar.domain.declaration import Declaration, attribute_document, document_of, read_declaration
from dpnb_columnar.domain.merging import merged
from dpnb_columnar.errors import Fault, UsageError

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
