"""A declared domain in words, for people: titles and value labels, tables in text and HTML, units, weights and sources.

Attributes that a label is computed from, or that are computed from it, make a model look accurate that has learned a
sum. ``computed_columns.toml`` names such columns of known surveys, which a domain written by hand has as well.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, islice, takewhile
from pathlib import Path
from typing import Any

from dpnb_columnar.domain.attributes import RANGE, Attribute, Categorical, Group, Missing, Numeric, Transform
from dpnb_columnar.domain.condition import Condition, comparisons
from dpnb_columnar.domain.declared_domain import Declaration, Domain, DomainFacts, Titles, Unit, Weight, columns_of
from dpnb_columnar.domain.field_reader import parse_condition
from dpnb_columnar.domain.names import exact_number, listed, named, number_text
from dpnb_columnar.errors import option, printable, printable_line

FACTS = Path(__file__).with_name("computed_columns.toml")


@dataclass(frozen=True, slots=True)
class LabelRelatives:
    """Attributes of a domain that are related to its label by computation, in the domain's order."""

    label: tuple[str, ...]  # columns of the label
    parts: tuple[str, ...]  # what the label is computed from
    wholes: tuple[str, ...]  # what is computed from the label
    same: tuple[str, ...]  # what records the same as the label

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.parts, *self.wholes, *self.same)

    def __str__(self) -> str:
        label = named(self.label)
        said = [
            *([f"{label} is computed from {named(self.parts)}"] if self.parts else []),
            *([f"{named(self.wholes)} is computed from {label}"] if self.wholes else []),
            *([f"{named(self.same)} is another record of {label}"] if self.same else []),
        ]
        return (
            f"{'; '.join(said)}: a model that reads {'it' if len(self.names) == 1 else 'these'} tells how the label is "
            "made up, not what goes with it"
        )


def label_relatives(domain: Domain) -> LabelRelatives | None:
    """Find the attributes that tell how a domain's label is made up; None where there are none."""
    columns = {each.upper() for each in domain.label.columns}
    parts = {part for column in columns for part in _parts(column)} - columns
    groups = [names for fact in _facts()["same"] for names in fact["names"]]
    same = {name for group in groups if not columns.isdisjoint(group) for name in group} - columns

    def chosen(names: Collection[str]) -> tuple[str, ...]:
        return tuple(each.name for each in domain.attributes if each.name.upper() in names)

    attributes = {each.name.upper() for each in domain.attributes}
    wholes = {name for name in attributes - parts if columns & _parts(name)}
    found = LabelRelatives(domain.label.columns, chosen(parts), chosen(wholes), chosen(same - parts - wholes))
    return found if found.names else None


@cache
def _facts() -> Mapping[str, list[Mapping[str, Any]]]:
    with FACTS.open("rb") as file:
        return tomllib.load(file)


@cache
def _parts(name: str) -> frozenset[str]:
    direct = {part for fact in _facts()["computed"] if fact["name"] == name for part in fact["of"]}
    return frozenset(direct.union(*map(_parts, direct)))


def table_lines(header: Sequence[str], rows: Sequence[Sequence[object]], width: int | None = None) -> Iterator[str]:
    """Yield the lines of an aligned table; wider than ``width``, it goes on below with the first column again."""
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


def html_fragment(lines: Iterable[str], header: Sequence[str] = (), rows: Iterable[Sequence[object]] = ()) -> str:
    """Write lines, and a table below them, for a notebook. Lines that begin with blanks keep their columns."""
    from html import escape
    from itertools import groupby

    def text(cell: object) -> str:
        return escape(printable(f"{cell:,}" if isinstance(cell, int) else str(cell)))

    parts = []
    for aligned, group in groupby(filter(str.strip, lines), lambda line: line.startswith("  ")):
        if aligned:
            parts.append("<pre>" + "\n".join(map(text, group)) + "</pre>")
        else:
            parts += [f"<p>{text(line)}</p>" for line in group]
    if header:
        names = "".join(f'<th scope="col">{text(name)}</th>' for name in header)
        body = "".join(
            f'<tr><th scope="row">{text(first)}</th>{"".join(f"<td>{text(cell)}</td>" for cell in cells)}</tr>'
            for first, *cells in rows
        )
        parts.append(f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>")
    return f"<div>{''.join(parts)}</div>"


MAX_CELL_WIDTH = 60  # characters of a list of values in a table


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


def domain_lines(domain: Declaration, *, every: bool = False) -> Iterator[str]:
    """Yield the label, the unit, and one line per attribute; with ``every``, also every value with its value label."""
    yield from heading_lines(domain)
    yield ""
    yield from table_lines(ATTRIBUTE_HEADER, attribute_rows(domain))
    if every:
        yield ""
        yield from table_lines(LABEL_HEADER, label_rows(domain))


def table_of(domain: Declaration) -> str:
    """Show a domain as a table of its attributes."""
    return "\n".join(map(printable_line, domain_lines(domain)))


def summary_of(domain: Declaration) -> str:
    """Name a domain, what it predicts and its attributes, the first of them, in a few lines."""
    kinds = {"numeric": Numeric, "categorical": Categorical}
    columns = {kind: [each.name for each in domain.attributes if isinstance(each, of)] for kind, of in kinds.items()}
    lines = [
        f"{type(domain).__name__} {named([domain.name])}",
        *heading_lines(domain),
        *(f"{len(names)} {kind}: {named(names)}" for kind, names in columns.items() if names),
    ]
    return "\n".join(_cut(printable_line(line), LONGEST_LINE) for line in lines)


def html_of(domain: Declaration) -> str:
    """Show a domain in a notebook: what it predicts, whose rows they are, and its first attributes."""
    more = len(domain.attributes) - MOST_ROWS
    lines = [f"domain {domain.name}", *heading_lines(domain)]
    if more > 0:
        lines.append(f"the first {MOST_ROWS} attributes, of {len(domain.attributes)}:")
    return html_fragment(lines, ATTRIBUTE_HEADER, attribute_rows(domain)[:MOST_ROWS])


for _name, _show in {"__str__": table_of, "__repr__": summary_of, "_repr_html_": html_of}.items():
    setattr(DomainFacts, _name, _show)


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


LONGEST_SHOWN = 40  # characters of a title or a value label in a table
MOST_REMARKED = 8  # values of a column that a comment lists
LONGEST_LINE = 200  # characters of a line of the short form of a domain
MOST_ROWS = 50  # attributes in the table of a notebook
SHORT = 20  # characters of a value label in a list, or in the header of a table


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
