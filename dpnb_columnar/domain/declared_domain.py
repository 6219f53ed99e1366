"""The declared domain: public facts about a data set, fixed before its rows are read (docs/privacy.md, section 1)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from dpnb_columnar.domain.attributes import Attribute, Categorical, Group, Missing, Numeric
from dpnb_columnar.domain.condition import Condition

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
    def beside(self) -> dict[str, Any]:
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
        from dpnb_columnar.domain.description import domain_lines
        from dpnb_columnar.wording import in_python

        assert isinstance(self, Domain | UnlabelledDomain)
        return "\n".join(map(in_python, domain_lines(self)))


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
