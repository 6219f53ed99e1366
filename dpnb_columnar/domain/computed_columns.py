"""Attributes that tell how a label is made up: its parts, what is computed from it, what records the same.

They make a model look accurate that has learned a sum. The facts stand in ``computed_columns.toml``: names of columns
of known surveys, which a domain written by hand has as well.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dpnb_columnar.domain.declared_domain import Domain
from dpnb_columnar.domain.names import named

FACTS = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True, slots=True)
class LabelRelatives:
    """Attributes of a domain that are related to its label by computation, in the domain's order.

    Attributes:
        label: Columns of the label.
        parts: Attributes that the label is computed from.
        wholes: Attributes that are computed from the label.
        same: Attributes that record the same as the label.
    """

    label: tuple[str, ...]
    parts: tuple[str, ...]
    wholes: tuple[str, ...]
    same: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All of these attributes."""
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
    """Find the attributes that tell how a domain's label is made up; None where there are none.

    Examples:
        >>> from dpnb_columnar.domain import Domain, Label, Numeric
        >>> wages, age = Numeric("WAGP", 0, 99999, 1), Numeric("AGEP", 0, 99, 1)
        >>> relatives = label_relatives(Domain("acs", Label(("no", "yes"), "PINCP"), (wages, age)))
        >>> relatives.parts
        ('WAGP',)
    """
    columns = {each.upper() for each in domain.label.columns}
    parts = {part for column in columns for part in _parts(column)} - columns
    same = {name for group in _same() if group & columns for name in group} - columns

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
    """Return every column that a column is computed from, directly or not."""
    direct = {part for fact in _facts()["computed"] if fact["name"] == name for part in fact["of"]}
    return frozenset(direct.union(*map(_parts, direct)))


def _same() -> Iterator[frozenset[str]]:
    for fact in _facts()["same"]:
        yield from map(frozenset, fact["names"])
