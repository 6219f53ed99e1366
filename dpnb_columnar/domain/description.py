"""A declared domain in words: what it predicts, and one row of a table for each attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, takewhile

from dpnb_columnar.domain.attributes import Attribute, Categorical, Group, Missing, Transform
from dpnb_columnar.domain.condition import comparisons
from dpnb_columnar.domain.declaration import Declaration
from dpnb_columnar.domain.domain import Domain, Unit
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
