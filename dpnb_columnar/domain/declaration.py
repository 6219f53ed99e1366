"""Between a declaration (a table of ``datasets.toml`` or JSON in a Parquet file's metadata) and a ``Domain``.

Reading gathers every fault with its place and reports all of them at once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from dpnb_columnar.domain.attributes import (
    DEFAULT_CELLS,
    MAXIMUM_CELLS,
    Attribute,
    Categorical,
    Domain,
    Label,
    Missing,
    Numeric,
    Transform,
)
from dpnb_columnar.domain.condition import Condition, parse_condition
from dpnb_columnar.domain.fields import LARGEST_DECLARATION, Fields, listed, quoted
from dpnb_columnar.domain.numbers import text
from dpnb_columnar.errors import DomainError, Fault, shown

LARGEST_EXACT_INTEGER = 2**53
"""Beyond this many steps from zero neighbouring grid values would be one 64-bit float."""

LARGEST_BOUND = 10**100
"""Squares of larger bounds would overflow where variances are turned into floats."""

DOMAIN_KEYS = ("label", "attributes")
LABEL_KEYS = ("column", "condition", "classes", "missing_values")
NUMERIC_KEYS = ("lower", "upper", "step", "transform", "missing_values")
CATEGORICAL_KEYS = ("values", "missing", "missing_values")


def read_domain(name: str, document: object, source: str, *, beside: Sequence[str] = ()) -> Domain:
    """Build the domain that a declaration describes.

    Args:
        name: Name of the data set, used in messages and in the model.
        document: The declaration: tables as mappings, numbers as int, Decimal or text.
        source: Where the declaration stands (a file), named in the error.
        beside: Keys beside ``label`` and ``attributes`` that are somebody else's to read.

    Raises:
        DomainError: With every fault found.
    """
    reader = _Reader(name)
    domain = reader.domain(document, (*DOMAIN_KEYS, *beside))
    if reader.faults:
        raise DomainError(source, reader.faults)
    assert domain is not None
    return domain


def document_of(domain: Domain) -> dict[str, Any]:
    """The declaration of a domain in canonical form: every default written out, numbers as exact text."""
    label: dict[str, Any] = {"classes": list(domain.label.classes)}
    if domain.label.condition is not None:
        label["condition"] = domain.label.condition.text
    else:
        label["column"] = domain.label.column
    if domain.label.missing_values:
        label["missing_values"] = list(domain.label.missing_values)
    return {
        "label": label,
        "attributes": {attribute.name: _attribute_document(attribute) for attribute in domain.attributes},
    }


def digest(domain: Domain) -> str:
    """Hexadecimal SHA-256 of the canonical declaration: two domains of one digest count the same cells."""
    canonical = json.dumps(document_of(domain), ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _attribute_document(attribute: Attribute) -> dict[str, Any]:
    document: dict[str, Any]
    if isinstance(attribute, Numeric):
        document = {name: text(getattr(attribute, name)) for name in ("lower", "upper", "step")}
        if attribute.transform is not Transform.IDENTITY:
            document["transform"] = attribute.transform.value
        if attribute.missing_values:
            document["missing_values"] = [text(value) for value in attribute.missing_values]
        return document
    document = {"values": list(attribute.values)}
    if attribute.missing is not Missing.DROP:
        document["missing"] = attribute.missing.value
    if attribute.missing_values:
        document["missing_values"] = list(attribute.missing_values)
    return document


class _Reader(Fields):
    """Reads one declaration."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.place = quoted(name)

    def domain(self, document: object, keys: Sequence[str]) -> Domain | None:
        table = self.table(document, self.place, keys)
        if table is None:
            return None
        self.printable(self.name, self.place)
        label = self.label(table.get("label"), f"{self.place}.label")
        attributes = self.attributes(table.get("attributes"), f"{self.place}.attributes")
        if label is not None:
            for attribute in attributes:
                if attribute.name in label.columns:
                    place = f"{self.place}.attributes.{quoted(attribute.name)}"
                    self.fault(place, "the label is read from this column, so it cannot be an attribute as well")
        if label is None or self.faults:
            return None
        return Domain(self.name, label, tuple(attributes))

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
            return None if column is None else Label(classes, column, None, missing)
        if len(classes) > 2:
            self.fault(f"{place}.classes", "a condition has two classes: where it is false, then where it is true")
        condition = self.condition(table["condition"], f"{place}.condition")
        return None if condition is None else Label(classes, None, condition, missing)

    def column(self, value: object, place: str) -> str | None:
        if isinstance(value, str) and value:
            self.printable(value, place)
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

    def attribute(self, name: str, document: object, place: str) -> Attribute | None:
        if not name:
            self.fault(place, "an attribute needs a name")
            return None
        self.printable(name, place)
        if not isinstance(document, Mapping):
            self.fault(place, f"expected a table, found {shown(document)}")
            return None
        if "values" in document:
            return self.categorical(name, document, place)
        if "lower" in document or "upper" in document:
            return self.numeric(name, document, place)
        self.fault(place, "give lower and upper (numeric), or values (categorical)")
        return None

    def numeric(self, name: str, document: object, place: str) -> Numeric | None:
        table = self.table(document, place, NUMERIC_KEYS)
        if table is None:
            return None
        lower, upper = (self.number(table, key, place) for key in ("lower", "upper"))
        transform = self.choice(table, "transform", Transform, Transform.IDENTITY, place)
        missing_values = self.numbers(table, "missing_values", place)
        if lower is not None and upper is not None and lower >= upper:
            problem = f"lower ({text(lower)}) must be below upper ({text(upper)}); are the bounds reversed?"
            self.fault(f"{place}.lower", problem)
            lower = upper = None
        if lower is not None and upper is not None:
            table = {"step": (upper - lower) / DEFAULT_CELLS, **table}  # a declared step wins
        step = self.number(table, "step", place) if "step" in table else None
        if lower is None or upper is None or step is None:
            return None
        attribute = Numeric(name, lower, upper, step, transform, missing_values)
        if fault := _grid_fault(attribute, place):
            self.faults.append(fault)
            return None
        return attribute

    def categorical(self, name: str, document: object, place: str) -> Categorical | None:
        table = self.table(document, place, CATEGORICAL_KEYS)
        if table is None:
            return None
        values = self.texts(table.get("values"), f"{place}.values", "at least one value", least=1)
        missing_values = self.texts(table.get("missing_values", []), f"{place}.missing_values", "a list of values")
        if overlap := set(values) & set(missing_values):
            self.fault(f"{place}.missing_values", f"{listed(sorted(overlap))} are listed in values as well")
        missing = self.choice(table, "missing", Missing, Missing.DROP, place)
        return Categorical(name, values, missing, missing_values)


def _grid_fault(attribute: Numeric, place: str) -> Fault | None:
    """What is wrong with a numeric attribute's grid, if anything."""
    lower, upper, step = attribute.lower, attribute.upper, attribute.step
    if step <= 0 or (upper - lower) % step != 0:
        problem = f"step ({text(step)}) must be positive and divide upper - lower ({text(upper - lower)}) evenly"
        return Fault(f"{place}.step", problem)
    if (upper - lower) / step > MAXIMUM_CELLS:
        return Fault(f"{place}.step", f"the grid has more than {MAXIMUM_CELLS} cells; choose a wider step")
    if max(abs(lower), abs(upper)) > LARGEST_BOUND:
        return Fault(f"{place}.upper", "bounds beyond 1e100 have squares beyond every float; change the column's unit")
    if max(abs(lower), abs(upper)) > step * LARGEST_EXACT_INTEGER:
        return Fault(f"{place}.step", f"64-bit floats around these bounds are wider apart than the step ({text(step)})")
    if attribute.transform is Transform.LOG1P and float(lower) <= -1:
        return Fault(f"{place}.lower", f"log1p needs a lower bound above -1, found {text(lower)}")
    scale = attribute.scale
    if max(abs(scale.origin), abs(scale.end)) > scale.step * LARGEST_EXACT_INTEGER:
        return Fault(f"{place}.transform", "these bounds are too close together for log1p; leave the transform out")
    return None
