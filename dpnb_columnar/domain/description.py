"""A declared domain in words: what it predicts, and one row of a table for each attribute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, takewhile

from dpnb_columnar.domain.attributes import Attribute, Categorical, Group, Missing, Transform
from dpnb_columnar.domain.condition import comparisons
from dpnb_columnar.domain.declaration import Declaration
from dpnb_columnar.domain.declared_domain import Domain, Unit, Weight
from dpnb_columnar.domain.groups import RANGE
from dpnb_columnar.domain.names import listed, named, printable
from dpnb_columnar.domain.numbers import exact_number, number_text
from dpnb_columnar.domain.value_labels import SHORT, class_texts, columns_of, worded

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
            words[f"{comparison.column} {worded(value, labels)}"] = None
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
    texts = [worded(value, labels, SHORT) + merged.get(value, "") for value in values]
    return f"{len(values)}: {_first(texts)}"


def missing_text(values: Sequence[str], labels: Mapping[str, str]) -> str:
    """Name the values that mean "missing" beside its treatment; empty for none."""
    return f" (also {_first([worded(value, labels, SHORT) for value in values])})" if values else ""


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
        yield 'predicts nothing yet: name what to predict, such as --label "COLUMN > 1000"'
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
