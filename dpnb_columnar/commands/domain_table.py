"""A domain as a table for people."""

from __future__ import annotations

from dpnb_columnar.commands.terminal import say, table
from dpnb_columnar.domain import Attribute, Categorical, Declaration, Domain, Group, Missing, Transform
from dpnb_columnar.domain.groups import RANGE
from dpnb_columnar.domain.numbers import text

LONGEST_CELL = 60


def domain_table(domain: Declaration) -> None:
    """Print the label and one line per attribute."""
    if isinstance(domain, Domain):
        label = domain.label
        source = label.column if label.condition is None else label.condition.text
        say(f"predicts {source}: {_values(label.classes, label.groups)}{_meaning_missing(label.missing_values)}")
    else:
        say('predicts nothing yet: name what to predict, such as --label "COLUMN > 1000"')
    say()
    table(["attribute", "kind", "values", "missing"], [_row(attribute) for attribute in domain.attributes])


def _row(attribute: Attribute) -> list[str]:
    if isinstance(attribute, Categorical):
        fate = "a category" if attribute.missing is Missing.CATEGORY else "drops the row"
        values = _values(attribute.values, attribute.groups)
        return [attribute.name, "categorical", values, fate + _meaning_missing(attribute.missing_values)]
    transform = "" if attribute.transform is Transform.IDENTITY else f", {attribute.transform}"
    bounds = f"{text(attribute.lower)} to {text(attribute.upper)}, step {text(attribute.step)}{transform}"
    missing_values = tuple(map(text, attribute.missing_values))
    return [attribute.name, "numeric", bounds, "drops the row" + _meaning_missing(missing_values)]


def _values(values: tuple[str, ...], groups: tuple[Group, ...]) -> str:
    """The number of categories, and the first of them; a group with how many values it merges."""
    # A range stands among the members by its own text as well.
    sizes = {group.name: sum(RANGE.fullmatch(member) is None for member in group.members) for group in groups}
    merged = {name: f"{name} ({size})" for name, size in sizes.items()}
    return f"{len(values)}: {_cut(', '.join(merged.get(value, value) for value in values))}"


def _meaning_missing(values: tuple[str, ...]) -> str:
    return f" (also {_cut(', '.join(values))})" if values else ""


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST_CELL else line[: LONGEST_CELL - 4].rstrip(", ") + " ..."
