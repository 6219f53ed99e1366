"""The declared domain: public facts about a data set, fixed before its rows are read (docs/privacy.md, section 1).

Below the declaration itself: the same in words, for people.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, islice, takewhile
from typing import Any

from dpnb_columnar.domain.attributes import (
    Attribute,
    Categorical,
    Group,
    Missing,
    Numeric,
    Transform,
)
from dpnb_columnar.domain.condition import Condition, comparisons
from dpnb_columnar.domain.groups import RANGE
from dpnb_columnar.domain.names import listed, named, printable
from dpnb_columnar.domain.numbers import exact_number, number_text
from dpnb_columnar.errors import option

ValueLabels = Mapping[str, Mapping[str, str]]
"""Words for values, by column and by the value as it is declared; see ``domain.value_labels``."""

MOST_UNIT_ROWS = 1000
"""Most rows of a unit that may count: each of so many rows has a thousandth of every share."""

MOST_UNIT_COLUMNS = 8
"""Most columns that together name a unit."""


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit that a guarantee is for, such as a household: all rows that agree in some columns.

    Which rows of a unit count is a function of its own rows alone. Rows without a value in one of the columns belong to
    no unit, and do not count.

    Attributes:
        columns: Columns that together name a row's unit.
        rows: The most rows of one unit that count, 1 to ``MOST_UNIT_ROWS``.
    """

    columns: tuple[str, ...]
    rows: int


MOST_WEIGHT_STEPS = 2**20
"""Most steps of one row's weight: sums over 2^42 rows stay within 64-bit integers."""


WEIGHT_CODE = 1
"""Code of the sums of weights, in steps, among the cells of the classes; that of the class counts is 0."""


@dataclass(frozen=True)
class Weight:
    """The weight of a row, such as how many persons of the population it stands for: class counts are sums of it.

    It is counted in whole steps, 0 to ``steps``, as a numeric attribute of these bounds would be: a larger weight
    counts as the cap. A row whose weight is missing, negative, infinite or no number counts with ``missing``.

    Attributes:
        column: Column of the weight.
        cap: The most that one row weighs, a multiple of the step.
        step: Width of a step, in the column's unit.
        missing: Weight of a row without one, a multiple of the step from 0 to the cap.
    """

    column: str
    cap: Fraction
    step: Fraction = Fraction(1)
    missing: Fraction = Fraction(0)

    @cached_property
    def grid(self) -> Numeric:
        """The grid of steps, as that of a numeric attribute."""
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
    """The prediction target: a column with declared classes, or a condition over columns.

    Attributes:
        classes: Class names. With a condition there are two: where it is false, then where it is true.
        column: Column that holds the class as text; ``None`` when ``condition`` is given.
        condition: Condition with public constants; where it is null, the row is dropped.
        missing_values: Values of the label's columns that mean "missing".
        groups: Classes that stand for other values of the column than their own name.
    """

    classes: tuple[str, ...]
    column: str | None = None
    condition: Condition | None = None
    missing_values: tuple[str, ...] = ()
    groups: tuple[Group, ...] = ()

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


@dataclass(frozen=True, kw_only=True)
class _Declared(ABC):
    """What a domain declares beside its columns, with a label or without one; ``Domain`` describes it."""

    unit: Unit | None = None
    available_unit: tuple[str, ...] = field(default=(), compare=False)
    value_labels: ValueLabels = field(default_factory=dict, compare=False, repr=False)
    weight: Weight | None = None
    available_weight: Weight | None = field(default=None, compare=False)

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Columns of the label and the attributes, each once."""

    @property
    def shared_fields(self) -> dict[str, Any]:
        """These fields by name, for another domain of the same rows."""
        return {each.name: getattr(self, each.name) for each in fields(_Declared)}

    @property
    def counted_columns(self) -> tuple[str, ...]:
        """Every column that counting reads, each once: those of the unit and the weight last."""
        units = () if self.unit is None else self.unit.columns
        weights = () if self.weight is None else (self.weight.column,)
        return (*self.columns, *units, *weights)

    def __str__(self) -> str:
        """Show the domain as a table of its attributes."""
        assert isinstance(self, Domain | UnlabelledDomain)
        return "\n".join(domain_lines(self))


@dataclass(frozen=True)
class Domain(_Declared):
    """Everything public about a data set.

    Attributes:
        name: Name of the data set.
        label: The prediction target.
        attributes: Attributes in the order of their declaration.
        unit: The unit that a guarantee is for; None where it is for one row.
        available_unit: Columns that name a unit which the data has, though nothing is counted by it; empty for none.
            It changes no count, so domains that differ in it alone are equal.
        value_labels: Words for values; they change no count either.
        weight: The weight that class counts are sums of as well; None where rows have none.
        available_weight: A weight that the data has, though nothing is weighted by it. It changes no count either.

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
        """Return the attribute of a name.

        Raises:
            KeyError: If there is none.
        """
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        raise KeyError(name)


@dataclass(frozen=True)
class UnlabelledDomain(_Declared):
    """A domain whose label is still to be chosen.

    Attributes:
        name: Name of the data set.
        attributes: Every column that may serve as an attribute or as the label, in order.
        unit, available_unit, value_labels, weight, available_weight: As of a ``Domain``.
    """

    name: str
    attributes: tuple[Attribute, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that may serve as an attribute or as the label."""
        return tuple(attribute.name for attribute in self.attributes)


Declaration = Domain | UnlabelledDomain
"""A declared domain, with a label or without one."""


pass


MAX_CELL_WIDTH = 60
"""Characters of a list of values in a table."""


def predicts(domain: Domain) -> str:
    """Say what a model of this domain predicts."""
    label = domain.label
    if label.condition is None:
        return f"predicts {label.column}: {listed(class_texts(domain))}"
    negative, positive = label.classes
    return f"predicts whether {condition_text(domain)}: {positive}, or else {negative}"


def condition_text(domain: Domain) -> str:
    """Write the condition of a label, with the value labels of the values it names."""
    assert domain.label.condition is not None
    words: dict[str, None] = {}
    for comparison in comparisons(domain.label.condition.root):
        labels, constant = domain.value_labels.get(comparison.column, {}), comparison.constant
        value = constant if isinstance(constant, str) else number_text(exact_number(constant))
        if value in labels and comparison.operator in ("=", "<>"):
            words[f"{comparison.column} {value_with_label(value, labels)}"] = None
    return domain.label.condition.text + (f" ({named(words)})" if words else "")


def counts_by(unit: Unit) -> str:
    """Say by which unit rows are counted."""
    return (
        f"{named(unit.columns)}, of which at most {unit.rows} row{'s' * (unit.rows > 1)} count{'s' * (unit.rows == 1)}"
    )


def weighs_by(weight: Weight) -> str:
    """Say which weight the rows have."""
    step, missing = map(number_text, (weight.step, weight.missing))
    steps = "" if weight.step == 1 else f" in steps of {step}"
    return f"{named([weight.column])}{steps}, at most {number_text(weight.cap)} each, {missing} for a row without one"


ATTRIBUTE_HEADER = ("attribute", "kind", "values", "missing")

TREATMENTS = {
    None: "left out",
    Missing.SKIP: "left out, counted",
    Missing.CATEGORY: "a category",
    Missing.ROW: "drops the row",
}
"""What becomes of a row without a value, in a few words."""


def attribute_row(attribute: Attribute, labels: Mapping[str, str]) -> list[str]:
    """Describe an attribute, whose values may have labels, as a row below ``ATTRIBUTE_HEADER``."""
    fate = TREATMENTS[attribute.missing]
    if isinstance(attribute, Categorical):
        values = values_text(attribute.values, attribute.groups, labels)
        return [attribute.name, "categorical", values, fate + missing_text(attribute.missing_values, labels)]
    transform = "" if attribute.transform is Transform.IDENTITY else f", {attribute.transform}"
    lower, upper, step = map(number_text, (attribute.lower, attribute.upper, attribute.step))
    bounds = f"{lower} to {upper}, step {step}{transform}"
    missing_values = tuple(map(number_text, attribute.missing_values))
    return [attribute.name, "numeric", bounds, fate + missing_text(missing_values, labels)]


def values_text(values: Sequence[str], groups: Sequence[Group], labels: Mapping[str, str]) -> str:
    """Return the number of categories and the first of them; of a group also the number of values that it merges."""
    # A range stands among the members by its own text as well.
    sizes = {group.name: sum(RANGE.fullmatch(member) is None for member in group.members) for group in groups}
    merged = {name: f" ({size})" for name, size in sizes.items()}
    texts = [value_with_label(value, labels, SHORT) + merged.get(value, "") for value in values]
    return f"{len(values)}: {_first(texts)}"


def missing_text(values: Sequence[str], labels: Mapping[str, str]) -> str:
    """Name the values that mean "missing" beside its treatment; empty for none."""
    return f" (also {_first([value_with_label(value, labels, SHORT) for value in values])})" if values else ""


LABEL_HEADER = ("column", "value", "label")


def label_rows(domain: Declaration) -> list[list[str]]:
    """List every value of a categorical column, and every labelled one of a numeric column, below ``LABEL_HEADER``."""
    rows = []
    for column, attribute in columns_of(domain).items():
        labels = domain.value_labels.get(column, {})
        values = attribute.values if isinstance(attribute, Categorical) else ()
        rows += [[column, value, printable(labels.get(value, ""))] for value in dict.fromkeys([*values, *labels])]
    return rows


def _first(texts: Sequence[str]) -> str:
    """Join the first texts that fit into a cell; the very first is cut where it does not fit."""
    line = ", ".join(texts)
    if len(line) <= MAX_CELL_WIDTH:
        return line
    room = MAX_CELL_WIDTH - len(", ...")
    ends = accumulate(len(text) + len(", ") for text in texts)
    fitting = sum(1 for _ in takewhile(lambda end: end - len(", ") <= room, ends))
    return f"{', '.join(texts[:fitting])}, ..." if fitting else f"{line[:room].rstrip()} ..."


def table_lines(header: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of an aligned table; columns of numbers are aligned to the right.

    Args:
        header: Names of the columns.
        rows: Cells of each row, one a column.
    """
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    right = [all(isinstance(row[index], int | float) for row in rows) for index in range(len(header))]
    for row in (list(header), ["-" * width for width in widths], *cells):
        parts = zip(row, widths, right, strict=True)
        line = "  ".join(cell.rjust(width) if number else cell.ljust(width) for cell, width, number in parts)
        yield f"  {line}".rstrip()


def domain_lines(domain: Declaration, *, every: bool = False) -> Iterator[str]:
    """Yield the label, the unit, and one line per attribute; with ``every``, also every value with its value label."""
    if isinstance(domain, Domain):
        label = domain.label
        source = label.column if label.condition is None else condition_text(domain)
        classes = values_text(label.classes, label.groups, domain.class_labels)
        yield f"predicts {source}: {classes}{missing_text(label.missing_values, domain.class_labels)}"
    else:
        yield f'predicts nothing yet: name what to predict, such as {option("label")} "COLUMN > 1000"'
    if domain.unit is not None:
        yield f"counts by unit: {counts_by(domain.unit)}"
    if domain.weight is not None:
        yield f"class counts are weighted: {weighs_by(domain.weight)}"
    if domain.available_unit:
        yield f"unit available: {named(domain.available_unit)}"
    if domain.available_weight is not None:
        yield f"weight available: {weighs_by(domain.available_weight)}"
    yield ""
    labels = domain.value_labels
    rows = [attribute_row(each, labels.get(each.name, {})) for each in domain.attributes]
    yield from table_lines(ATTRIBUTE_HEADER, rows)
    if every:
        yield ""
        yield from table_lines(LABEL_HEADER, label_rows(domain))


LONGEST_SHOWN = 40
"""Characters of a value label in a table."""

MOST_REMARKED = 8
"""Values of a column that a comment lists."""

SHORT = 20
"""Characters of a value label in a list, or in the header of a table."""


def value_with_label(value: str, labels: Mapping[str, str], longest: int = LONGEST_SHOWN) -> str:
    """Write a value with its label, such as ``1 = White``; the value alone where it has none."""
    if value not in labels:
        return value
    label = printable(labels[value])
    return f"{value} = {label if len(label) <= longest else f'{label[: longest - 3].rstrip()}...'}"


def class_texts(domain: Domain, longest: int = LONGEST_SHOWN) -> tuple[str, ...]:
    """Write the classes of a domain with their labels, in declared order."""
    return tuple(value_with_label(klass, domain.class_labels, longest) for klass in domain.classes)


def label_remarks(domain: Domain, columns: Iterable[str]) -> Iterator[str]:
    """Yield one line per labelled column with the first labels of its values, as a comment of SQL may hold them."""
    for column in columns:
        if labels := domain.value_labels.get(column):
            first = ", ".join(repr(value_with_label(value, labels)) for value in islice(labels, MOST_REMARKED))
            more = len(labels) - MOST_REMARKED
            yield f"{column!r}: {first}" + (f" and {more} more" if more > 0 else "")


def columns_of(domain: Domain | UnlabelledDomain) -> dict[str, Attribute | None]:
    """List the columns whose values may have labels, with their declarations; None where they have none."""
    columns: dict[str, Attribute | None] = {}
    if isinstance(domain, Domain):
        label = domain.label
        columns |= dict.fromkeys(label.columns, None if label.column is None else label.categories)
    return columns | {attribute.name: attribute for attribute in domain.attributes}
