"""Between a declaration (a table of ``datasets.toml`` or JSON in a Parquet file's metadata) and a ``Domain``.

Reading gathers every fault with its place and reports all of them at once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from dpnb_columnar.domain.attribute_reader import AttributeReader
from dpnb_columnar.domain.attributes import (
    DEFAULT_CELLS,
    Attribute,
    Domain,
    Group,
    Label,
    Missing,
    Numeric,
    Transform,
    UnlabelledDomain,
)
from dpnb_columnar.domain.condition import Condition, parse_condition
from dpnb_columnar.domain.fields import LARGEST_DECLARATION, reported
from dpnb_columnar.domain.groups import compressed
from dpnb_columnar.domain.names import listed, quoted
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.errors import DomainError, shown

DOMAIN_KEYS = ("label", "attributes")
LABEL_KEYS = ("column", "condition", "classes", "groups", "missing_values")

Declaration = Domain | UnlabelledDomain
"""What a declaration describes: with a label, or without one."""


def read_domain(name: str, document: object, source: str, *, beside: Sequence[str] = ()) -> Domain:
    """Build the domain that a declaration with a label describes.

    Args, raises: as ``read_declaration``.
    """
    domain = _read(name, document, source, beside, labelled=True)
    assert isinstance(domain, Domain)
    return domain


def read_declaration(name: str, document: object, source: str, *, beside: Sequence[str] = ()) -> Declaration:
    """Build the domain that a declaration describes; one without ``label`` is still to be labelled.

    Args:
        name: Name of the data set, used in messages and in the model.
        document: The declaration: tables as mappings, numbers as int, Decimal or text.
        source: Where the declaration stands (a file), named in the error.
        beside: Keys beside ``label`` and ``attributes`` that are somebody else's to read.

    Raises:
        DomainError: With every fault found.
    """
    labelled = not isinstance(document, Mapping) or "label" in document
    return _read(name, document, source, beside, labelled=labelled)


def _read(name: str, document: object, source: str, beside: Sequence[str], *, labelled: bool) -> Declaration:
    reader = _Reader(name)
    domain = (reader.domain if labelled else reader.unlabelled)(document, (*DOMAIN_KEYS, *beside))
    if reader.faults:
        raise DomainError(source, reported(reader.faults))
    assert domain is not None
    return domain


def document_of(domain: Declaration, *, defaults: bool = True) -> dict[str, Any]:
    """The declaration of a domain in canonical form: every default written out, numbers as exact text.

    Args:
        domain: A domain, with a label or without.
        defaults: Whether to write out steps that are meant where none is declared, as the canonical form does.
    """
    label = {} if isinstance(domain, UnlabelledDomain) else {"label": _label_document(domain.label)}
    return {
        **label,
        "attributes": {
            attribute.name: attribute_document(attribute, defaults=defaults) for attribute in domain.attributes
        },
    }


def digest(domain: Declaration) -> str:
    """Hexadecimal SHA-256 of the canonical declaration: two domains of one digest count the same cells."""
    canonical = json.dumps(document_of(domain), ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _label_document(label: Label) -> dict[str, Any]:
    document: dict[str, Any] = {"classes": list(label.classes)}
    if label.condition is not None:
        document["condition"] = label.condition.text
    else:
        document["column"] = label.column
    if label.groups:
        document["groups"] = _groups_document(label.groups)
    if label.missing_values:
        document["missing_values"] = list(label.missing_values)
    return document


def attribute_document(attribute: Attribute, *, defaults: bool = True) -> dict[str, Any]:
    """The declaration of one attribute, as ``document_of`` writes it."""
    document: dict[str, Any]
    if isinstance(attribute, Numeric):
        document = {name: number_text(getattr(attribute, name)) for name in ("lower", "upper", "step")}
        if not defaults and attribute.step == (attribute.upper - attribute.lower) / DEFAULT_CELLS:
            del document["step"]
        if attribute.transform is not Transform.IDENTITY:
            document["transform"] = attribute.transform.value
        if attribute.missing_values:
            document["missing_values"] = [number_text(value) for value in attribute.missing_values]
        return document
    document = {"values": list(attribute.values)}
    if attribute.groups:
        document["groups"] = _groups_document(attribute.groups)
    if attribute.missing is not Missing.DROP:
        document["missing"] = attribute.missing.value
    if attribute.missing_values:
        document["missing_values"] = list(attribute.missing_values)
    return document


def _groups_document(groups: Sequence[Group]) -> dict[str, list[str]]:
    return {group.name: compressed(group.members) for group in groups}


class _Reader(AttributeReader):
    """Reads one declaration."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.data_set = name
        self.place = quoted(name)

    def domain(self, document: object, keys: Sequence[str]) -> Domain | None:
        table = self.table(document, self.place, keys)
        if table is None:
            return None
        self.name(self.data_set, self.place)
        label = self.label(table.get("label"), f"{self.place}.label")
        attributes = self.attributes(table.get("attributes"), f"{self.place}.attributes")
        if label is not None:
            for attribute in attributes:
                if attribute.name in label.columns:
                    place = f"{self.place}.attributes.{quoted(attribute.name)}"
                    self.fault(place, "the label is read from this column, so it cannot be an attribute as well")
        if label is None or self.faults:
            return None
        return Domain(self.data_set, label, tuple(attributes))

    def unlabelled(self, document: object, keys: Sequence[str]) -> UnlabelledDomain | None:
        table = self.table(document, self.place, keys)
        if table is None:
            return None
        self.name(self.data_set, self.place)
        return UnlabelledDomain(
            self.data_set, tuple(self.attributes(table.get("attributes"), f"{self.place}.attributes"))
        )

    def label(self, document: object, place: str) -> Label | None:
        if document is None:
            self.fault(place, "missing: declare [label] with column and classes, or with condition and two classes")
            return None
        table = self.table(document, place, LABEL_KEYS)
        if table is None:
            return None
        classes = self.texts(table.get("classes"), f"{place}.classes", "at least two class names", least=2)
        missing = self.texts(table.get("missing_values", []), f"{place}.missing_values", "a list of values")
        if overlap := set(classes) & set(missing):
            self.fault(f"{place}.missing_values", f"{listed(sorted(overlap))} are classes as well")
        if ("column" in table) == ("condition" in table):
            self.fault(place, "give either column or condition")
            return None
        if "column" in table:
            column = self.column(table["column"], f"{place}.column")
            groups = self.groups(table, classes, missing, place)
            return None if column is None else Label(classes, column, None, missing, groups)
        if "groups" in table:
            self.fault(f"{place}.groups", "groups go with column; a condition names the values it means")
        if len(classes) > 2:
            self.fault(f"{place}.classes", "a condition has two classes: where it is false, then where it is true")
        condition = self.condition(table["condition"], f"{place}.condition")
        return None if condition is None else Label(classes, None, condition, missing)

    def column(self, value: object, place: str) -> str | None:
        if isinstance(value, str) and value:
            self.name(value, place)
            return value
        self.fault(place, f"expected a column name, found {shown(value)}")
        return None

    def condition(self, value: object, place: str) -> Condition | None:
        if not isinstance(value, str):
            self.fault(place, f"expected a condition as text, found {shown(value)}")
            return None
        try:
            return parse_condition(value)
        except ValueError as error:
            self.fault(place, str(error))
            return None

    def attributes(self, document: object, place: str) -> list[Attribute]:
        if not isinstance(document, Mapping) or not document:
            self.fault(place, "missing: declare at least one attribute, numeric (lower, upper) or categorical (values)")
            return []
        if len(document) > LARGEST_DECLARATION:
            self.fault(place, f"{len(document)} attributes; at most {LARGEST_DECLARATION} are accepted")
            return []
        found = []
        for name, body in document.items():
            attribute = self.attribute(str(name), body, f"{place}.{quoted(str(name))}")
            if attribute is not None:
                found.append(attribute)
        return found
