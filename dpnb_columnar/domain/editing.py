"""Edits of a domain: made on its declaration and read again, so that faults are found as in any declaration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dpnb_columnar.domain.declaration import Declaration, attribute_document, document_of, read_declaration
from dpnb_columnar.domain.declared_domain import Domain
from dpnb_columnar.domain.groups import merge_codes
from dpnb_columnar.domain.names import did_you_mean
from dpnb_columnar.domain.value_labels import columns_of, fitting
from dpnb_columnar.errors import Fault, UsageError

Body = dict[str, Any]

REDECLARED = {"values": ("missing", "missing_values"), "bounds": ("step", "transform", "missing", "missing_values")}
"""Keys kept by an option that may turn a numeric column into a categorical one, or the other way round."""


@dataclass(frozen=True, slots=True)
class Edits:
    """Edits of attributes, each by column. Numbers and values are as typed.

    Attributes:
        values: Categories to declare; the column becomes categorical.
        bounds: ``(lower, upper)``; the column becomes numeric.
        step: Grid widths.
        transform: ``identity`` or ``log1p``.
        missing_values: Values that mean "missing"; the label's, for a column it is read from.
        missing: ``skip``, ``category`` or ``row`` (``Missing``).
        merge: Group of each code (``groups.read_merge_map``).
        rest: Group of the codes that such a map does not name; None if they keep their categories.
        value_labels: The label of each value (``value_labels.read_label_file``).
    """

    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    bounds: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    step: Mapping[str, str] = field(default_factory=dict)
    transform: Mapping[str, str] = field(default_factory=dict)
    missing_values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    merge: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    rest: str | None = None
    value_labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def edited(domain: Declaration, edits: Edits, source: str, name: str | None = None) -> Declaration:
    """Edit a domain. Value labels stay, but those of values that it no longer has.

    Args:
        domain: A domain, with a label or without.
        edits: The edits.
        source: File of the domain, named in the error.
        name: Another name for the domain; None if it keeps its own.

    Raises:
        UsageError: If an edit names a column that the domain does not declare, or cannot be made; the text names every
            such edit.
        DomainError: If the edited domain has faults.
    """
    document = document_of(domain, defaults=False)
    document.pop("value_labels", None)
    faults = [*_merge(domain, edits, document["attributes"])]
    for column in edits.values:
        if column in edits.bounds:
            faults.append(
                Fault(f"--values {column}", "cannot be combined with --bounds of the column; give one of them")
            )
    if isinstance(domain, Domain):
        for column in set(domain.label.columns) & set(edits.missing_values):
            document["label"]["missing_values"] = list(edits.missing_values[column])
    unknown = [name for name in edits.value_labels if name not in domain.columns]
    faults += [_unknown("--value-labels", name, domain.columns) for name in unknown]
    for option, column, change in _changes(edits):
        if column in document["attributes"]:
            body = document["attributes"][column]
            left = {key: body[key] for key in REDECLARED.get(option, tuple(body)) if key in body}
            document["attributes"][column] = left | change
        elif option != "missing-values" or column not in domain.columns:
            faults.append(_unknown(f"--{option}", column, document["attributes"]))
    _refuse(faults)
    read = read_declaration(name or domain.name, document, source)
    kept = {**_still_true(domain, read, edits.merge), **edits.value_labels}
    return read_declaration(read.name, {**document, "value_labels": kept}, source) if kept else read


def restricted(domain: Declaration, keep: Sequence[str] | None, drop: Sequence[str]) -> Declaration:
    """Leave out attributes of a domain.

    Args:
        domain: A domain, with a label or without.
        keep: The attributes to keep, in this order; None for all.
        drop: Attributes to leave out.

    Raises:
        UsageError: If the domain has no attribute of a name given; the text names every such name.
        DomainError: If no attribute is left.
    """
    document = document_of(domain, defaults=False)
    document.pop("value_labels", None)
    bodies: Body = document["attributes"]
    named = [("--attributes", column) for column in keep or ()] + [("--drop", column) for column in drop]
    _refuse(_unknown(option, column, bodies) for option, column in named if column not in bodies)
    columns = dict.fromkeys(keep if keep is not None else bodies)
    document["attributes"] = {column: bodies[column] for column in columns if column not in drop}
    read = read_declaration(domain.name, document, f"{domain.name} with fewer attributes")
    return replace(read, value_labels=fitting(read, domain.value_labels))


def _still_true(before: Declaration, after: Declaration, merged: Iterable[str]) -> dict[str, Mapping[str, str]]:
    """Return the value labels of a domain that an edited one still has: not those of codes that now name a group."""
    labels: dict[str, Mapping[str, str]] = {**fitting(after, before.value_labels)}
    for column in labels.keys() & merged:
        groups = [getattr(columns_of(domain)[column], "groups", ()) for domain in (before, after)]
        names = {group.name for group in groups[1] if group not in groups[0]}
        labels[column] = {value: label for value, label in labels[column].items() if value not in names}
    return labels


def _changes(edits: Edits) -> Iterator[tuple[str, str, Body]]:
    """List the edits in the order they are made: option, column, and the keys that the option sets."""
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
    """Merge codes in the bodies of attributes, and list the faults of those that cannot be merged."""
    attributes = {attribute.name: attribute for attribute in domain.attributes}
    for column, groups in edits.merge.items():
        if column not in attributes:
            yield _unknown("--merge", column, attributes)
            continue
        if column in edits.values or column in edits.bounds:
            yield Fault(
                f"--merge {column}", "cannot be combined with --values or --bounds of the column; edit in two steps"
            )
            continue
        try:
            attribute = merge_codes(attributes[column], groups, edits.rest)
        except ValueError as error:
            yield Fault(f"--merge {column}", str(error))
            continue
        bodies[column] = attribute_document(attribute)


def _unknown(option: str, column: str, known: Iterable[str]) -> Fault:
    names = list(known)
    hint = did_you_mean(column, names, f"they are {', '.join(names[:8])}")
    return Fault(f"{option} {column}", f"the domain has no attribute of this name; {hint}")


def _refuse(faults: Iterable[Fault]) -> None:
    """Raise faults, if any, as one error."""
    if listed := [str(fault) for fault in faults]:
        raise UsageError("\n  ".join([f"{len(listed)} option(s) do not fit the domain", *listed]))
