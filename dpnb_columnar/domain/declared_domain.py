"""The declared domain: public facts about a data set, fixed before its rows are read (docs/privacy.md, section 1).

The types and their canonical document alone; ``domain.domain_text`` shows them to people.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from dpnb_columnar.domain.attributes import (
    Attribute,
    Categorical,
    Group,
    Missing,
    Numeric,
    Transform,
    compress_members,
    default_step,
    missing_texts,
)
from dpnb_columnar.domain.condition import Condition
from dpnb_columnar.domain.names import number_text

ValueLabels = Mapping[str, Mapping[str, str]]
"""Words for values, by column and by the value as it is declared; see ``domain.domain_text``."""

Titles = Mapping[str, str]  # words for columns: the labels of variables in a codebook; see ``domain.domain_text``
MOST_UNIT_ROWS = 1000  # most rows of a unit that may count: each of so many rows has a thousandth of every share
MOST_UNIT_COLUMNS = 8  # most columns that together name a unit


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit that a guarantee is for, such as a household: all rows that agree in some columns.

    Which rows of a unit count is a function of its own rows alone. Rows without a value in one of the columns belong to
    no unit, and do not count.
    """

    columns: tuple[str, ...]
    rows: int  # the most that count, 1 to ``MOST_UNIT_ROWS``


MOST_WEIGHT_STEPS = 2**20  # most steps of one row's weight: sums over 2^42 rows stay within 64-bit integers
WEIGHT_CODE = 1  # code of the sums of weights, in steps, among the cells of the classes; that of the class counts is 0


@dataclass(frozen=True)
class Weight:
    """The weight of a row, such as how many persons of the population it stands for: class counts are sums of it.

    It is counted in whole steps, 0 to ``steps``: a larger weight counts as the cap, and one that is missing, negative,
    infinite or no number with ``missing``.
    """

    column: str
    cap: Fraction  # a multiple of the step
    step: Fraction = Fraction(1)  # in the column's unit
    missing: Fraction = Fraction(0)
    unit: tuple[str, ...] = ()  # whose rows the weight counts: a guarantee for it alone covers it (Lemma 2.12)

    @cached_property
    def grid(self) -> Numeric:
        return Numeric(self.column, Fraction(0), self.cap, self.step)

    @property
    def steps(self) -> int:
        """Steps of the cap: the most that one row changes a sum by."""
        return self.grid.cells

    @property
    def missing_steps(self) -> int:
        """Steps of the weight of a row without one."""
        return int(self.missing / self.step)


@dataclass(frozen=True)
class Label:
    """The prediction target: a column with declared classes, or a condition over columns."""

    classes: tuple[str, ...]  # of a condition two: where it is false, then where it is true
    column: str | None = None  # holds the class as text; None if there is a condition
    condition: Condition | None = None  # where it is null, the row is dropped
    missing_values: tuple[str, ...] = ()  # of the label's columns
    groups: tuple[Group, ...] = ()  # classes of other values of the column than their own name

    @property
    def categories(self) -> Categorical:
        """Classes of a label that is a column, as categories of that column."""
        assert self.column is not None
        return Categorical(self.column, self.classes, None, self.missing_values, self.groups)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns the label is read from."""
        if self.condition is not None:
            return self.condition.columns
        assert self.column is not None
        return (self.column,)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the rows come from, in the publisher's words: each one line of text, empty where it is not known."""

    name: str = ""
    producer: str = ""
    place: str = ""
    period: str = ""
    sample: str = ""  # samples that it is drawn from
    citation: str = ""  # the one that the publisher demands
    url: str = ""  # such as ``https://doi.org/10.18128/D030``
    allocated: str = ""  # what became of values that the publisher's flags say were allocated, where they do not count

    def known(self) -> dict[str, str]:
        texts = {each.name: getattr(self, each.name) for each in fields(self)}
        return {key: text for key, text in texts.items() if text}


@dataclass(frozen=True, kw_only=True, repr=False)
class DomainFacts(ABC):
    """What a domain declares beside its columns; ``domain_text`` adds how it is shown to people."""

    unit: Unit | None = None
    available_unit: tuple[str, ...] = field(default=(), compare=False)
    available_person: Unit | None = field(default=None, compare=False)
    titles: Titles = field(default_factory=dict, compare=False)
    value_labels: ValueLabels = field(default_factory=dict, compare=False)
    weight: Weight | None = None
    available_weight: Weight | None = field(default=None, compare=False)
    universe: str = field(default="", compare=False)
    provenance: Provenance | None = field(default=None, compare=False)

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Columns of the label and the attributes, each once."""

    @property
    def shared_fields(self) -> dict[str, Any]:
        """These fields by name, for another domain of the same rows."""
        return {each.name: getattr(self, each.name) for each in fields(DomainFacts)}

    @property
    def counted_columns(self) -> tuple[str, ...]:
        """Every column that counting reads, each once: those of the unit and the weight last."""
        units = () if self.unit is None else self.unit.columns
        weights = () if self.weight is None else (self.weight.column,)
        return tuple(dict.fromkeys((*self.columns, *units, *weights)))

    @property
    def row_weight(self) -> Weight | None:
        """The weight of every row; None under a unit, where a row that counts has that of others too."""
        return self.weight if self.unit is None else None


@dataclass(frozen=True, repr=False)
class Domain(DomainFacts):
    """Everything public about a data set.

    Attributes:
        name: Name of the data set.
        label: The prediction target.
        attributes: Attributes in the order of their declaration.
        unit: The unit that a guarantee is for; None where it is for one row.
        available_unit: Columns that name a unit which the data has, though nothing is counted by it; empty for none.
            It changes no count, so domains that differ in it alone are equal.
        available_person: The unit of all rows of one person in linked samples, and how many these may be; None where a
            person has one row, or it is not known. It changes no count either.
        titles: Words for columns; they change no count either.
        value_labels: Words for values; nor do these.
        weight: The weight that class counts are sums of as well; None where rows have none.
        available_weight: A weight that the data has, though nothing is weighted by it. It changes no count either.
        universe: Who the persons are, such as ``AGE >= 16``: a condition, or words; empty where it is not said. It is
            not applied to the rows, and changes no count.
        provenance: Where the rows come from; None where it is not said.

    Examples:
        >>> from dpnb_columnar.domain import Categorical, Domain, Label, Numeric
        >>> age, sex = Numeric("age", 0, 99, 1), Categorical("sex", ("m", "f"))
        >>> domain = Domain("town", Label(("no", "yes"), "works"), (age, sex))
        >>> domain.columns, domain.classes
        (('works', 'age', 'sex'), ('no', 'yes'))
    """

    name: str
    label: Label
    attributes: tuple[Attribute, ...]

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names; the position is the class's code."""
        return self.label.classes

    @property
    def numeric(self) -> tuple[Numeric, ...]:
        """Numeric attributes, in order."""
        return tuple(attribute for attribute in self.attributes if isinstance(attribute, Numeric))

    @property
    def categorical(self) -> tuple[Categorical, ...]:
        """Categorical attributes, in order."""
        return tuple(attribute for attribute in self.attributes if isinstance(attribute, Categorical))

    @property
    def row_dropping(self) -> tuple[Attribute, ...]:
        """Attributes without a value of which a row does not count at all, in order."""
        return tuple(attribute for attribute in self.attributes if attribute.missing is Missing.ROW)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column of the label and the attributes, each once."""
        names = [*self.label.columns, *(attribute.name for attribute in self.attributes)]
        return tuple(dict.fromkeys(names))

    @property
    def class_labels(self) -> Mapping[str, str]:
        """Value labels of the classes; none where the label is a condition, whose classes have names of their own."""
        return {} if self.label.column is None else self.value_labels.get(self.label.column, {})

    @property
    def per_row(self) -> Domain:
        """The same domain without unit and weight: for rows that are not counted for a release."""
        return self if self.unit is None and self.weight is None else replace(self, unit=None, weight=None)

    def __iter__(self) -> Iterator[Attribute]:
        """Iterate over the attributes, in order."""
        return iter(self.attributes)

    def __getitem__(self, name: str) -> Attribute:
        """Return the attribute of a name."""
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        raise KeyError(name)


@dataclass(frozen=True, repr=False)
class UnlabelledDomain(DomainFacts):
    """A domain whose label is still to be chosen."""

    name: str
    attributes: tuple[Attribute, ...]  # every column that may serve as an attribute or as the label

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that may serve as an attribute or as the label."""
        return tuple(attribute.name for attribute in self.attributes)


Declaration = Domain | UnlabelledDomain  # a declared domain, with a label or without one


def columns_of(domain: Domain | UnlabelledDomain) -> dict[str, Attribute | None]:
    """List the columns whose values may have labels, with their declarations; None where they have none."""
    columns: dict[str, Attribute | None] = {}
    if isinstance(domain, Domain):
        label = domain.label
        columns |= dict.fromkeys(label.columns, None if label.column is None else label.categories)
    return columns | {attribute.name: attribute for attribute in domain.attributes}


WORD_KEYS = ("titles", "value_labels", "universe", "provenance")
"""Keys of what is for people alone; see ``domain.domain_text``."""

AVAILABLE_KEYS = ("available_unit", "available_person", "available_weight")


def document_of(domain: Declaration, *, defaults: bool = True, words: bool = True) -> dict[str, Any]:
    """Write the declaration of a domain in canonical form: every default written out, numbers as exact text."""
    document: dict[str, Any] = {
        "label": None if isinstance(domain, UnlabelledDomain) else _label_document(domain.label),
        "unit": domain.unit and unit_document(domain.unit),
        "weight": domain.weight and weight_document(domain.weight),
        "available_unit": [*domain.available_unit],
        "available_person": domain.available_person and unit_document(domain.available_person),
        "available_weight": domain.available_weight and weight_document(domain.available_weight),
        "attributes": {each.name: attribute_document(each, defaults=defaults) for each in domain.attributes},
    }
    if words:
        titles = {name: domain.titles[name] for name in domain.columns if name in domain.titles}
        labels = {name: dict(domain.value_labels[name]) for name in domain.columns if domain.value_labels.get(name)}
        provenance = domain.provenance and domain.provenance.known()
        document |= zip(WORD_KEYS, (titles, labels, domain.universe, provenance), strict=True)
    return {key: value for key, value in document.items() if value or key == "attributes"}


def unit_document(unit: Unit) -> dict[str, Any]:
    """Write the declaration of a unit."""
    columns = {"column": unit.columns[0]} if len(unit.columns) == 1 else {"columns": [*unit.columns]}
    return {**columns, "rows": unit.rows}


def digest(domain: Declaration) -> str:
    """Compute the hexadecimal SHA-256 of the canonical declaration: domains of one digest count the same cells."""
    document = {key: value for key, value in document_of(domain, words=False).items() if key not in AVAILABLE_KEYS}
    canonical = json.dumps(document, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def attribute_document(attribute: Attribute, *, defaults: bool = True) -> dict[str, Any]:
    """Write the declaration of one attribute, as ``document_of`` does."""
    missing = attribute.missing and attribute.missing.value
    document: dict[str, Any]
    more: dict[str, Any]
    if isinstance(attribute, Numeric):
        document = {name: number_text(getattr(attribute, name)) for name in ("lower", "upper", "step")}
        if not defaults and attribute.step == default_step(attribute.lower, attribute.upper):
            del document["step"]
        transform = None if attribute.transform is Transform.IDENTITY else attribute.transform.value
        more = {"transform": transform, "missing_values": [*missing_texts(attribute)], "missing": missing}
    else:
        document, groups = {"values": [*attribute.values]}, _group_documents(attribute.groups)
        more = {"groups": groups, "missing": missing, "missing_values": [*attribute.missing_values]}
    return document | {key: value for key, value in more.items() if value}


def _group_documents(groups: tuple[Group, ...]) -> dict[str, list[str]]:
    return {group.name: compress_members(group.members) for group in groups}


def _label_document(label: Label) -> dict[str, Any]:
    target = {"column": label.column} if label.condition is None else {"condition": label.condition.text}
    more: dict[str, Any] = {"groups": _group_documents(label.groups), "missing_values": [*label.missing_values]}
    return {"classes": [*label.classes], **target, **{key: value for key, value in more.items() if value}}


def weight_document(weight: Weight) -> dict[str, Any]:
    """Write the declaration of a weight, as ``document_of`` does."""
    numbers = {key: number_text(getattr(weight, key)) for key in ("cap", "step", "missing")}
    return {**({"unit": [*weight.unit]} if weight.unit else {}), "column": weight.column, **numbers}
