"""The declaration of a domain (a table of ``datasets.toml`` or JSON in a Parquet file's metadata), read and written.

Reading gathers every fault with its place and reports all of them at once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from dpnb_columnar.domain.attributes import Attribute, Numeric, Transform, default_step, missing_texts
from dpnb_columnar.domain.condition import Condition, parse_condition
from dpnb_columnar.domain.declared_domain import Domain, Label, Unit, UnlabelledDomain, Weight
from dpnb_columnar.domain.field_reader import LARGEST_DECLARATION, reported
from dpnb_columnar.domain.groups import compressed
from dpnb_columnar.domain.names import quoted
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.domain.unit_reader import UnitReader
from dpnb_columnar.domain.value_labels import with_value_labels
from dpnb_columnar.errors import DomainError, excerpt

DOMAIN_KEYS = ("label", "unit", "weight", "available_unit", "available_weight", "attributes", "value_labels")
LABEL_KEYS = ("column", "condition", "classes", "groups", "missing_values")

Declaration = Domain | UnlabelledDomain
"""A declared domain, with a label or without one."""


def read_domain(name: str, document: object, source: str, *, beside: Sequence[str] = ()) -> Domain:
    """Read a declaration that must have a label.

    Args:
        name: Name of the data set, used in messages and in the model.
        document: The declaration, as for ``read_declaration``.
        source: File of the declaration, named in the error.
        beside: Keys beside those of the declaration that others read.

    Raises:
        DomainError: If the declaration has faults; the error holds all of them.
    """
    reader = _DeclarationReader(name)
    domain = reader.domain(document, (*DOMAIN_KEYS, *beside))
    reader.raise_faults(source)
    assert domain is not None
    return domain


def read_declaration(name: str, document: object, source: str, *, beside: Sequence[str] = ()) -> Declaration:
    """Read a declaration; one without ``label`` is still to be labelled.

    Args:
        name: Name of the data set, used in messages and in the model.
        document: The declaration: tables as mappings, numbers as int, Decimal or text.
        source: File of the declaration, named in the error.
        beside: Keys beside those of the declaration that others read.

    Raises:
        DomainError: If the declaration has faults; the error holds all of them.
    """
    if not isinstance(document, Mapping) or "label" in document:
        return read_domain(name, document, source, beside=beside)
    reader = _DeclarationReader(name)
    domain = reader.unlabelled(document, (*DOMAIN_KEYS, *beside))
    reader.raise_faults(source)
    return domain


class _DeclarationReader(UnitReader):
    """Reader of one declaration."""

    def __init__(self, name: str) -> None:
        """Start the declaration of a data set."""
        super().__init__(quoted(name))
        self.data_set = name

    def raise_faults(self, source: str) -> None:
        """Raise the faults so far, if any.

        Raises:
            DomainError: If there are faults.
        """
        if self.faults:
            raise DomainError(source, reported(self.faults))

    def domain(self, document: object, keys: Sequence[str]) -> Domain | None:
        """Read a declaration with a label; None where there are faults."""
        table = self.table(document, self.place, keys)
        if table is None:
            return None
        self.check_name(self.data_set, self.place)
        label = self.label(table.get("label"), f"{self.place}.label")
        attributes = self.attributes(table)
        if label is not None:
            for attribute in attributes:
                place = f"{self.place}.attributes.{quoted(attribute.name)}"
                self.check_table(attribute, len(label.classes), place)
                if attribute.name in label.columns:
                    self.fault(place, "the label is read from this column, so it cannot be an attribute as well")
        columns = [*(() if label is None else label.columns), *(each.name for each in attributes)]
        beside = self.unit_and_weight(table, columns)
        if label is None or self.faults:
            return None
        domain = Domain(self.data_set, label, attributes, **beside)
        return with_value_labels(self, domain, table, self.place)

    def unlabelled(self, document: Mapping[str, Any], keys: Sequence[str]) -> UnlabelledDomain:
        """Read a declaration without a label."""
        table = self.table(document, self.place, keys) or {}
        self.check_name(self.data_set, self.place)
        attributes = self.attributes(table)
        columns = [each.name for each in attributes]
        beside = self.unit_and_weight(table, columns)
        domain = UnlabelledDomain(self.data_set, attributes, **beside)
        return with_value_labels(self, domain, table, self.place)

    def label(self, document: object, place: str) -> Label | None:
        """Read the label; None where its faults leave none."""
        if document is None:
            self.fault(place, "missing: declare [label] with column and classes, or with condition and two classes")
            return None
        table = self.table(document, place, LABEL_KEYS)
        if table is None:
            return None
        classes = self.texts(table.get("classes"), f"{place}.classes", "at least two class names", least=2)
        missing_values = self.missing_values(table, classes, place, "classes")
        if ("column" in table) == ("condition" in table):
            self.fault(place, "give either column or condition")
            return None
        if "column" in table:
            column = self.column(table["column"], f"{place}.column")
            groups = self.groups(table, classes, missing_values, place)
            if column is None:
                return None
            label = Label(classes, column, None, missing_values, groups)
            self.check_numbers(label.categories, place)
            return label
        if "groups" in table:
            self.fault(
                f"{place}.groups", "groups are for a label that is a column; a condition names the values it means"
            )
        if len(classes) > 2:
            self.fault(f"{place}.classes", "a condition has two classes: where it is false, then where it is true")
        condition = self.condition(table["condition"], f"{place}.condition")
        return None if condition is None else Label(classes, None, condition, missing_values)

    def column(self, value: object, place: str) -> str | None:
        """Read the name of the label's column; None where it is no text."""
        if isinstance(value, str) and value:
            self.check_name(value, place)
            return value
        self.fault(place, f"expected a column name, found {excerpt(value)}")
        return None

    def condition(self, value: object, place: str) -> Condition | None:
        """Read the label's condition; None where it cannot be parsed."""
        if not isinstance(value, str):
            self.fault(place, f"expected a condition as text, found {excerpt(value)}")
            return None
        try:
            return parse_condition(value)
        except ValueError as error:
            self.fault(place, str(error))
            return None

    def attributes(self, table: Mapping[str, Any]) -> tuple[Attribute, ...]:
        """Read the attributes, except those with faults."""
        place = f"{self.place}.attributes"
        document = table.get("attributes")
        if not isinstance(document, Mapping) or not document:
            self.fault(place, "missing: declare at least one attribute, numeric (lower, upper) or categorical (values)")
            return ()
        if len(document) > LARGEST_DECLARATION:
            self.fault(place, f"{len(document)} attributes; at most {LARGEST_DECLARATION} are accepted")
            return ()
        attributes = (
            self.attribute(str(name), body, f"{place}.{quoted(str(name))}") for name, body in document.items()
        )
        return tuple(attribute for attribute in attributes if attribute is not None)


def document_of(domain: Declaration, *, defaults: bool = True) -> dict[str, Any]:
    """Write the declaration of a domain in canonical form: every default written out, numbers as exact text.

    Args:
        domain: A domain, with a label or without.
        defaults: Whether to write out steps that are the default, as the canonical form does.
    """
    label = {} if isinstance(domain, UnlabelledDomain) else {"label": _label_document(domain.label)}
    unit = {} if domain.unit is None else {"unit": {**_column_keys(domain.unit), "rows": domain.unit.rows}}
    weight = {} if domain.weight is None else {"weight": weight_document(domain.weight)}
    available: dict[str, Any] = {"available_unit": [*domain.available_unit]} if domain.available_unit else {}
    if domain.available_weight is not None:
        available["available_weight"] = weight_document(domain.available_weight)
    kept = {name: dict(domain.value_labels[name]) for name in domain.columns if domain.value_labels.get(name)}
    return {
        **label,
        **unit,
        **weight,
        **available,
        "attributes": {
            attribute.name: attribute_document(attribute, defaults=defaults) for attribute in domain.attributes
        },
        **({"value_labels": kept} if kept else {}),
    }


def digest(domain: Declaration) -> str:
    """Compute the hexadecimal SHA-256 of the canonical declaration: domains of one digest count the same cells."""
    uncounted = ("available_unit", "available_weight", "value_labels")
    document = {key: value for key, value in document_of(domain).items() if key not in uncounted}
    canonical = json.dumps(document, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def attribute_document(attribute: Attribute, *, defaults: bool = True) -> dict[str, Any]:
    """Write the declaration of one attribute, as ``document_of`` does."""
    document: dict[str, Any]
    if isinstance(attribute, Numeric):
        document = {name: number_text(getattr(attribute, name)) for name in ("lower", "upper", "step")}
        if not defaults and attribute.step == default_step(attribute.lower, attribute.upper):
            del document["step"]
        if attribute.transform is not Transform.IDENTITY:
            document["transform"] = attribute.transform.value
        if attribute.missing_values:
            document["missing_values"] = list(missing_texts(attribute))
        if attribute.missing is not None:
            document["missing"] = attribute.missing.value
        return document
    document = {"values": list(attribute.values)}
    if attribute.groups:
        document["groups"] = {group.name: compressed(group.members) for group in attribute.groups}
    if attribute.missing is not None:
        document["missing"] = attribute.missing.value
    if attribute.missing_values:
        document["missing_values"] = list(attribute.missing_values)
    return document


def _label_document(label: Label) -> dict[str, Any]:
    document: dict[str, Any] = {"classes": list(label.classes)}
    if label.condition is not None:
        document["condition"] = label.condition.text
    else:
        document["column"] = label.column
    if label.groups:
        document["groups"] = {group.name: compressed(group.members) for group in label.groups}
    if label.missing_values:
        document["missing_values"] = list(label.missing_values)
    return document


def _column_keys(unit: Unit) -> dict[str, Any]:
    return {"column": unit.columns[0]} if len(unit.columns) == 1 else {"columns": [*unit.columns]}


def weight_document(weight: Weight) -> dict[str, str]:
    """Write the declaration of a weight, as ``document_of`` does."""
    return {
        "column": weight.column,
        "cap": number_text(weight.cap),
        "step": number_text(weight.step),
        "missing": number_text(weight.missing),
    }
