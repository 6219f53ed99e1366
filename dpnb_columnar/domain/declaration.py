"""Between a declaration (a table of ``datasets.toml`` or JSON in a Parquet file's metadata) and a ``Domain``.

Reading gathers every fault with its place and reports all of them at once.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

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
from dpnb_columnar.domain.numbers import exact, text
from dpnb_columnar.errors import DomainError, Fault

LARGEST_DECLARATION = 10_000
"""Most attributes, and most values of one attribute: bounds what a file from elsewhere can ask for."""

DOMAIN_KEYS = ("label", "attributes")
LABEL_KEYS = ("column", "condition", "classes", "missing_values")
NUMERIC_KEYS = ("lower", "upper", "step", "transform", "missing_values")
CATEGORICAL_KEYS = ("values", "missing", "missing_values")

Choice = TypeVar("Choice", Transform, Missing)


def read_domain(name: str, document: object, source: str) -> Domain:
    """Build the domain that a declaration describes.

    Args:
        name: Name of the data set, used in messages and in the model.
        document: The declaration: tables as mappings, numbers as int, Decimal or text.
        source: Where the declaration stands (a file), named in the error.

    Raises:
        DomainError: With every fault found.
    """
    reader = _Reader(name)
    domain = reader.domain(document)
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
    """Hexadecimal SHA-256 of the canonical declaration: equal exactly when two domains count the same cells."""
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


class _Reader:
    """Reads one declaration, noting faults instead of stopping at the first."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.faults: list[Fault] = []

    def fault(self, place: str, problem: str) -> None:
        self.faults.append(Fault(place, problem))

    def domain(self, document: object) -> Domain | None:
        table = self.table(document, self.name, DOMAIN_KEYS)
        if table is None:
            return None
        label = self.label(table.get("label"), f"{self.name}.label")
        attributes = self.attributes(table.get("attributes"), f"{self.name}.attributes")
        if label is not None:
            for attribute in attributes:
                if attribute.name in label.columns:
                    place = f"{self.name}.attributes.{attribute.name}"
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
        column, condition = table.get("column"), table.get("condition")
        if (column is None) == (condition is None):
            self.fault(place, "give either column or condition")
            return None
        parsed: Condition | None = None
        if column is not None and (not isinstance(column, str) or not column):
            self.fault(f"{place}.column", f"expected a column name, found {column!r}")
        if condition is not None:
            if len(classes) != 2:
                self.fault(f"{place}.classes", "a condition has two classes: where it is false, then where it is true")
            try:
                parsed = parse_condition(str(condition))
            except ValueError as error:
                self.fault(f"{place}.condition", str(error))
                return None
        if overlap := set(classes) & set(missing):
            self.fault(f"{place}.missing_values", f"{sorted(overlap)} are classes as well")
        return Label(classes, None if parsed else str(column), parsed, missing)

    def attributes(self, document: object, place: str) -> list[Attribute]:
        if not isinstance(document, Mapping) or not document:
            self.fault(place, "missing: declare at least one attribute, numeric (lower, upper) or categorical (values)")
            return []
        if len(document) > LARGEST_DECLARATION:
            self.fault(place, f"{len(document)} attributes; at most {LARGEST_DECLARATION} are accepted")
            return []
        found = []
        for name, body in document.items():
            attribute = self.attribute(str(name), body, f"{place}.{_quoted(str(name))}")
            if attribute is not None:
                found.append(attribute)
        return found

    def attribute(self, name: str, document: object, place: str) -> Attribute | None:
        if not name:
            self.fault(place, "an attribute needs a name")
            return None
        if not isinstance(document, Mapping):
            self.fault(place, f"expected a table, found {document!r}")
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
        if lower is None or upper is None:
            return None
        if lower >= upper:
            problem = f"lower ({text(lower)}) must be below upper ({text(upper)}); are the bounds reversed?"
            self.fault(f"{place}.lower", problem)
            return None
        step = self.number(table, "step", place) if "step" in table else (upper - lower) / DEFAULT_CELLS
        if step is None:
            return None
        if step <= 0 or (upper - lower) % step != 0:
            problem = f"step ({text(step)}) must be positive and divide upper - lower ({text(upper - lower)}) evenly"
            self.fault(f"{place}.step", problem)
            return None
        if (upper - lower) / step > MAXIMUM_CELLS:
            self.fault(f"{place}.step", f"the grid has more than {MAXIMUM_CELLS} cells; choose a wider step")
            return None
        transform = self.choice(table, "transform", Transform, Transform.IDENTITY, place)
        if transform is Transform.LOG1P and lower <= -1:
            self.fault(f"{place}.lower", f"log1p needs a lower bound above -1, found {text(lower)}")
        return Numeric(name, lower, upper, step, transform, self.numbers(table, "missing_values", place))

    def categorical(self, name: str, document: object, place: str) -> Categorical | None:
        table = self.table(document, place, CATEGORICAL_KEYS)
        if table is None:
            return None
        values = self.texts(table.get("values"), f"{place}.values", "at least one value", least=1)
        missing_values = self.texts(table.get("missing_values", []), f"{place}.missing_values", "a list of values")
        if overlap := set(values) & set(missing_values):
            self.fault(f"{place}.missing_values", f"{sorted(overlap)} are listed in values as well")
        missing = self.choice(table, "missing", Missing, Missing.DROP, place)
        return Categorical(name, values, missing, missing_values)

    def table(self, document: object, place: str, keys: Sequence[str]) -> Mapping[str, Any] | None:
        """The document as a mapping without unknown keys."""
        if not isinstance(document, Mapping):
            self.fault(place, f"expected a table, found {document!r:.80}")
            return None
        for key in document:
            if key not in keys:
                close = difflib.get_close_matches(str(key), keys, n=1)
                hint = f"did you mean {close[0]}?" if close else f"known keys: {', '.join(keys)}"
                self.fault(f"{place}.{_quoted(str(key))}", f"unknown key; {hint}")
        return document

    def number(self, table: Mapping[str, Any], key: str, place: str) -> Fraction | None:
        if key not in table:
            self.fault(f"{place}.{key}", "missing: bounds are declared, never taken from the rows")
            return None
        try:
            return exact(table[key])
        except ValueError as error:
            self.fault(f"{place}.{key}", str(error))
            return None

    def numbers(self, table: Mapping[str, Any], key: str, place: str) -> tuple[Fraction, ...]:
        values = table.get(key, [])
        if not isinstance(values, list):
            self.fault(f"{place}.{key}", f"expected a list of numbers, found {values!r:.80}")
            return ()
        found = []
        for value in values:
            try:
                found.append(exact(value))
            except ValueError as error:
                self.fault(f"{place}.{key}", str(error))
        return tuple(found)

    def texts(self, values: object, place: str, what: str, least: int = 0) -> tuple[str, ...]:
        """Distinct texts; whole numbers and booleans are taken by their text."""
        if not isinstance(values, list) or len(values) < least:
            self.fault(place, f"expected {what}, found {values!r:.80}")
            return ()
        if len(values) > LARGEST_DECLARATION:
            self.fault(place, f"{len(values)} values; at most {LARGEST_DECLARATION} are accepted")
            return ()
        found: list[str] = []
        for value in values:
            if isinstance(value, bool):
                found.append("true" if value else "false")
            elif isinstance(value, int | str):
                found.append(str(value))
            else:
                self.fault(place, f"expected text or a whole number, found {value!s:.80}; quote it if it is a name")
        repeated = [value for value, times in Counter(found).items() if times > 1]
        if repeated:
            self.fault(place, f"{repeated} appear more than once")
        return tuple(found)

    def choice(self, table: Mapping[str, Any], key: str, kind: type[Choice], default: Choice, place: str) -> Choice:
        value = table.get(key, default.value)
        for member in kind:
            if member.value == value:
                return member
        self.fault(f"{place}.{key}", f"expected one of {', '.join(member.value for member in kind)}, found {value!r}")
        return default


def _quoted(key: str) -> str:
    return key if re.fullmatch(r"[\w-]+", key) else json.dumps(key, ensure_ascii=False)
