"""The canonical declaration of a domain, as a document of JSON's types, and its digest."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from dpnb_columnar.domain.attributes import (
    Attribute,
    Numeric,
    Transform,
    default_step,
    missing_texts,
)
from dpnb_columnar.domain.declared_domain import (
    Declaration,
    Label,
    Unit,
    UnlabelledDomain,
    Weight,
)
from dpnb_columnar.domain.groups import compress_members
from dpnb_columnar.domain.numbers import number_text

WORD_KEYS = ("titles", "value_labels", "universe", "provenance")
"""Keys of what is for people alone; see ``domain.words``."""

AVAILABLE_KEYS = ("available_unit", "available_person", "available_weight")


def document_of(domain: Declaration, *, defaults: bool = True, words: bool = True) -> dict[str, Any]:
    """Write the declaration of a domain in canonical form: every default written out, numbers as exact text.

    Args:
        domain: A domain, with a label or without.
        defaults: Whether to write out steps that are the default, as the canonical form does.
        words: Whether to write what is for people alone.
    """
    label = {} if isinstance(domain, UnlabelledDomain) else {"label": _label_document(domain.label)}
    unit = {} if domain.unit is None else {"unit": unit_document(domain.unit)}
    weight = {} if domain.weight is None else {"weight": weight_document(domain.weight)}
    available: dict[str, Any] = {"available_unit": [*domain.available_unit]} if domain.available_unit else {}
    if (person := domain.available_person) is not None:
        available["available_person"] = unit_document(person)
    if domain.available_weight is not None:
        available["available_weight"] = weight_document(domain.available_weight)
    return {
        **label,
        **unit,
        **weight,
        **available,
        "attributes": {
            attribute.name: attribute_document(attribute, defaults=defaults) for attribute in domain.attributes
        },
        **(words_document(domain) if words else {}),
    }


def unit_document(unit: Unit) -> dict[str, Any]:
    """Write the declaration of a unit."""
    return {**_column_keys(unit), "rows": unit.rows}


def words_document(domain: Declaration) -> dict[str, Any]:
    """Write what a declaration says for people alone, as ``document_of`` does; empty where it has no such words."""
    titles = {name: domain.titles[name] for name in domain.columns if name in domain.titles}
    labels = {name: dict(domain.value_labels[name]) for name in domain.columns if domain.value_labels.get(name)}
    provenance = None if domain.provenance is None else domain.provenance.known()
    values = (titles, labels, domain.universe, provenance)
    return {key: value for key, value in zip(WORD_KEYS, values, strict=True) if value}


def digest(domain: Declaration) -> str:
    """Compute the hexadecimal SHA-256 of the canonical declaration: domains of one digest count the same cells."""
    document = {key: value for key, value in document_of(domain, words=False).items() if key not in AVAILABLE_KEYS}
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
        document["groups"] = {group.name: compress_members(group.members) for group in attribute.groups}
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
        document["groups"] = {group.name: compress_members(group.members) for group in label.groups}
    if label.missing_values:
        document["missing_values"] = list(label.missing_values)
    return document


def _column_keys(unit: Unit) -> dict[str, Any]:
    return {"column": unit.columns[0]} if len(unit.columns) == 1 else {"columns": [*unit.columns]}


def weight_document(weight: Weight) -> dict[str, Any]:
    """Write the declaration of a weight, as ``document_of`` does."""
    counted = {"unit": [*weight.unit]} if weight.unit else {}
    return {
        **counted,
        "column": weight.column,
        "cap": number_text(weight.cap),
        "step": number_text(weight.step),
        "missing": number_text(weight.missing),
    }
