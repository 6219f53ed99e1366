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
from dpnb_columnar.domain.condition import Condition, comparisons, parse_condition
from dpnb_columnar.domain.groups import RANGE
from dpnb_columnar.domain.names import html_fragment, listed, named, printable, printable_line
from dpnb_columnar.domain.numbers import exact_number, number_text
from dpnb_columnar.errors import option

ValueLabels = Mapping[str, Mapping[str, str]]
"""Words for values, by column and by the value as it is declared; see ``domain.words``."""

Titles = Mapping[str, str]
"""Words for columns: the labels of variables in a codebook; see ``domain.words``."""

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
        unit: Columns of the unit whose rows the weight counts: one row of it more or less changes the weights of the
            others, so a guarantee for this unit alone covers it (docs/privacy.md, Lemma 2.12). Empty for a weight that
            is a function of its own row.
    """

    column: str
    cap: Fraction
    step: Fraction = Fraction(1)
    missing: Fraction = Fraction(0)
    unit: tuple[str, ...] = ()

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


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the rows come from, in the publisher's words: each one line of text, empty where it is not known.

    Attributes:
        name: Name of the survey or the data set, such as IPUMS CPS.
        producer: Who made it.
        place: Country or region.
        period: Years or months.
        sample: Samples that it is drawn from.
        citation: The citation that the publisher demands.
        url: Where it is described, such as ``https://doi.org/10.18128/D030``.
        allocated: What became of values that the publisher's flags say were allocated, where they do not count.
    """

    name: str = ""
    producer: str = ""
    place: str = ""
    period: str = ""
    sample: str = ""
    citation: str = ""
    url: str = ""
    allocated: str = ""

    def known(self) -> dict[str, str]:
        """Return what is known, by its key."""
        texts = {each.name: getattr(self, each.name) for each in fields(self)}
        return {key: text for key, text in texts.items() if text}


@dataclass(frozen=True, kw_only=True)
class _Declared(ABC):
    """What a domain declares beside its columns, with a label or without one; ``Domain`` describes it."""

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
        return {each.name: getattr(self, each.name) for each in fields(_Declared)}

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

    def __str__(self) -> str:
        """Show the domain as a table of its attributes."""
        assert isinstance(self, Domain | UnlabelledDomain)
        return "\n".join(map(printable_line, domain_lines(self)))

    def __repr__(self) -> str:
        """Name the domain, what it predicts and its attributes, the first of them, in a few lines."""
        assert isinstance(self, Domain | UnlabelledDomain)
        kinds = {"numeric": Numeric, "categorical": Categorical}
        columns = {kind: [each.name for each in self.attributes if isinstance(each, of)] for kind, of in kinds.items()}
        lines = [
            f"{type(self).__name__} {named([self.name])}",
            *heading_lines(self),
            *(f"{len(names)} {kind}: {named(names)}" for kind, names in columns.items() if names),
        ]
        return "\n".join(_cut(printable_line(line), LONGEST_LINE) for line in lines)

    def _repr_html_(self) -> str:
        """Show the domain in a notebook: what it predicts, whose rows they are, and its first attributes."""
        assert isinstance(self, Domain | UnlabelledDomain)
        more = len(self.attributes) - MOST_ROWS
        lines = [f"domain {self.name}", *heading_lines(self)]
        if more > 0:
            lines.append(f"the first {MOST_ROWS} attributes, of {len(self.attributes)}:")
        return html_fragment(lines, ATTRIBUTE_HEADER, attribute_rows(self)[:MOST_ROWS])


@dataclass(frozen=True, repr=False)
class Domain(_Declared):
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
class UnlabelledDomain(_Declared):
    """A domain whose label is still to be chosen.

    Attributes:
        name: Name of the data set.
        attributes: Every column that may serve as an attribute or as the label, in order.
        unit, available_unit, available_person, titles, value_labels, weight, available_weight: As of a ``Domain``.
        universe, provenance: Likewise.
    """

    name: str
    attributes: tuple[Attribute, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that may serve as an attribute or as the label."""
        return tuple(attribute.name for attribute in self.attributes)


Declaration = Domain | UnlabelledDomain
"""A declared domain, with a label or without one."""


MAX_CELL_WIDTH = 60
"""Characters of a list of values in a table."""


def predicts(domain: Domain) -> str:
    """Say what a model of this domain predicts."""
    label = domain.label
    if label.condition is None:
        return f"predicts {with_title(str(label.column), domain.titles)}: {listed(class_texts(domain))}"
    negative, positive = label.classes
    return f"predicts whether {condition_text(domain)}: {positive}, or else {negative}"


def condition_text(domain: Domain) -> str:
    """Write the condition of a label in the domain's words."""
    assert domain.label.condition is not None
    return _worded(domain.label.condition, domain)


def _worded(condition: Condition, domain: Declaration) -> str:
    """Write a condition, with the titles of its columns and the value labels of the values it names."""
    words = {with_title(column, domain.titles): None for column in condition.columns if column in domain.titles}
    for comparison in comparisons(condition.root):
        labels, constant = domain.value_labels.get(comparison.column, {}), comparison.constant
        value = constant if isinstance(constant, str) else number_text(exact_number(constant))
        if value in labels and comparison.operator in ("=", "<>"):
            words[f"{comparison.column} {value_with_label(value, labels)}"] = None
    return condition.text + (f" ({named(words)})" if words else "")


def whose_rows(domain: Declaration) -> Iterator[tuple[str, str]]:
    """Yield who the persons are and where the rows come from: a heading and a line each, as far as it is known."""
    if domain.universe:
        try:
            yield "persons", f"those with {printable(_worded(parse_condition(domain.universe), domain))}"
        except ValueError:  # words, no condition
            yield "persons", printable(domain.universe)
    if domain.provenance is not None:
        known = domain.provenance.known()
        citation, allocated = known.pop("citation", ""), known.pop("allocated", "")
        if known:
            yield "source", printable(". ".join(known.values()))
        if citation:
            yield "to be cited", printable(citation)
        if allocated:
            yield "allocated values", printable(allocated)


def counts_by(unit: Unit) -> str:
    """Say by which unit rows are counted."""
    return (
        f"{named(unit.columns)}, of which at most {unit.rows} row{'s' * (unit.rows > 1)} count{'s' * (unit.rows == 1)}"
    )


def linked_text(person: Unit) -> str:
    """Say how many rows a person in linked samples may have, and how to cover all of them."""
    offered = f"{option('unit')} {','.join(person.columns)} {option('unit-rows')} {person.rows}"
    return (
        f"A person may have up to {person.rows} rows in these linked samples, and is covered as a whole only under "
        f"{offered}, so far as {named(person.columns)} links them"
    )


def of_whom(unit: Unit, weight: Weight | None) -> str:
    """Say which rows the prior and released scores are of under a unit."""
    rows = "one row" if unit.rows == 1 else f"at most {unit.rows} rows"
    counted = f"{rows} of each unit of {named(unit.columns)}"
    if weight is not None:
        return f"{counted}, by weight: of all persons, if {named([weight.column])} counts those of the unit"
    return f"{counted}: in a larger one, such as a household of several persons, each counts for less"


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


def attribute_rows(domain: Declaration) -> list[list[str]]:
    """Describe every attribute, in the words that the domain has, as a row below ``ATTRIBUTE_HEADER``."""
    return [
        [with_title(each.name, domain.titles), *_attribute_cells(each, domain.value_labels.get(each.name, {}))]
        for each in domain.attributes
    ]


def _attribute_cells(attribute: Attribute, labels: Mapping[str, str]) -> list[str]:
    fate = TREATMENTS[attribute.missing]
    if isinstance(attribute, Categorical):
        values = values_text(attribute.values, attribute.groups, labels)
        return ["categorical", values, fate + missing_text(attribute.missing_values, labels)]
    transform = "" if attribute.transform is Transform.IDENTITY else f", {attribute.transform}"
    lower, upper, step = map(number_text, (attribute.lower, attribute.upper, attribute.step))
    bounds = f"{lower} to {upper}, step {step}{transform}"
    missing_values = tuple(map(number_text, attribute.missing_values))
    return ["numeric", bounds, fate + missing_text(missing_values, labels)]


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
        rows += [[column, value, labels.get(value, "")] for value in dict.fromkeys([*values, *labels])]
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


def table_lines(header: Sequence[str], rows: Sequence[Sequence[object]], width: int | None = None) -> Iterator[str]:
    """Yield the lines of an aligned table; columns of numbers are aligned to the right.

    Args:
        header: Names of the columns.
        rows: Cells of each row, one a column.
        width: Characters that a line may have: further columns follow in tables below, each of which begins with the
            first column again. None for any number.
    """
    cells = [[printable_line(str(cell)) for cell in row] for row in rows]
    names = [printable_line(name) for name in header]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    right = [all(isinstance(row[index], int | float) for row in rows) for index in range(len(header))]
    for number, columns in enumerate(_side_by_side(names, widths, width)):
        yield from [""] * bool(number)
        for row in (names, ["-" * each for each in widths], *cells):
            parts = ((row[index].rjust if right[index] else row[index].ljust)(widths[index]) for index in columns)
            yield f"  {'  '.join(parts)}".rstrip()


def _side_by_side(names: Sequence[str], widths: Sequence[int], width: int | None) -> Iterator[list[int]]:
    """Yield the columns of each table that a table is divided into; one without a name stays beside the one before."""
    columns: list[int] = []
    for index, name in enumerate(names):
        following = takewhile(lambda other: not names[other], range(index + 1, len(names)))
        line = [*columns, index, *following]
        if name and len(columns) > 1 and width is not None and sum(widths[one] + 2 for one in line) > width:
            yield columns
            columns = [0]
        columns.append(index)
    yield columns


def domain_lines(domain: Declaration, *, every: bool = False) -> Iterator[str]:
    """Yield the label, the unit, and one line per attribute; with ``every``, also every value with its value label."""
    yield from heading_lines(domain)
    yield ""
    yield from table_lines(ATTRIBUTE_HEADER, attribute_rows(domain))
    if every:
        yield ""
        yield from table_lines(LABEL_HEADER, label_rows(domain))


def heading_lines(domain: Declaration) -> Iterator[str]:
    """Yield the label, the unit, the weight, and whose rows they are."""
    if isinstance(domain, Domain):
        label = domain.label
        source = condition_text(domain) if label.column is None else with_title(label.column, domain.titles)
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
    if domain.available_person is not None:
        yield linked_text(domain.available_person)
    if domain.available_weight is not None:
        yield f"weight available: {weighs_by(domain.available_weight)}"
    yield from (f"{heading}: {text}" for heading, text in whose_rows(domain))


LONGEST_SHOWN = 40
"""Characters of a title or a value label in a table."""

MOST_REMARKED = 8
"""Values of a column that a comment lists."""

LONGEST_LINE = 200
"""Characters of a line of the short form of a domain."""

MOST_ROWS = 50
"""Attributes in the table of a notebook."""

SHORT = 20
"""Characters of a value label in a list, or in the header of a table."""


def value_with_label(value: str, labels: Mapping[str, str], longest: int = LONGEST_SHOWN) -> str:
    """Write a value with its label, such as ``1 = White``; the value alone where it has none."""
    return f"{value} = {_cut(labels[value], longest)}" if value in labels else value


def with_title(column: str, titles: Titles, longest: int = LONGEST_SHOWN) -> str:
    """Write a column with its title, such as ``EDUC Educational attainment``; its name alone where it has none."""
    return f"{column} {_cut(titles[column], longest)}" if column in titles else column


def _cut(text: str, longest: int) -> str:
    line = printable(text)
    return line if len(line) <= longest else f"{line[: longest - 3].rstrip()}..."


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
