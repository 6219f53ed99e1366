"""A model's guarantee from its document: what contradicts itself is refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpnb_columnar.budget import Approximate, Concentrated, Loss, Neighbours, Pure, Share, total
from dpnb_columnar.budget.conversion import implies, within
from dpnb_columnar.budget.losses import numbers
from dpnb_columnar.errors import shown
from dpnb_columnar.model.fields import Fields
from dpnb_columnar.model.parameters import Guarantee

LARGEST_DENOMINATOR = 10**1000
"""Of sums of shares: three weights and a budget of 300 digits each make no more."""


def read_guarantee(fields: Fields, table: Mapping[str, Any]) -> Guarantee:
    """The guarantee that a document states.

    Raises:
        DataError: A field is missing or impossible, the shares do not add up, or the fields contradict each other.
    """
    place = "guarantee"
    neighbours = _neighbours(fields, table)
    rows = fields.items(table, "composition", place)
    guarantee = Guarantee(
        mechanism=fields.text(table, "mechanism", place),
        noise=fields.optional_text(table, "noise", place),
        epsilon=fields.fraction(table, "epsilon", place),
        delta=fields.fraction(table, "delta", place),
        neighbours=neighbours,
        composition=tuple(
            _share(fields, row, f"{place}.composition.{index}", neighbours) for index, row in enumerate(rows)
        ),
        seeded=fields.flag(table, "seeded", place),
        rho=fields.fraction(table, "rho", place) if "rho" in table else None,
    )
    stated = {guarantee.epsilon is None, guarantee.delta is None, neighbours is None}
    if len(stated) > 1:
        raise fields.wrong(place, "epsilon, delta and neighbours are stated together, or none of them is")
    _check_total(fields, guarantee)
    if fields.flag(table, "private", place) is not guarantee.private:
        raise fields.wrong(f"{place}.private", "contradicts epsilon and seeded")
    return guarantee


def _check_total(fields: Fields, guarantee: Guarantee) -> None:
    """The shares add up to what is stated, and a concentrated total implies it."""
    place = "guarantee"
    if guarantee.epsilon == 0:
        raise fields.wrong(f"{place}.epsilon", "must be above 0")
    epsilon, delta = guarantee.epsilon or Fraction(0), guarantee.delta or Fraction(0)
    if delta >= 1:
        raise fields.wrong(f"{place}.delta", "must be below 1")
    _check_denominators(fields, guarantee.composition)
    spent = total(guarantee.composition)
    if len({isinstance(share.loss, Concentrated) for share in guarantee.composition}) > 1:
        raise fields.wrong(f"{place}.composition", "concentrated shares do not add up with others")
    if (guarantee.rho is not None) is not isinstance(spent, Concentrated):
        raise fields.wrong(f"{place}.rho", "is stated where the shares are concentrated, and only there")
    if isinstance(spent, Concentrated):
        if spent.rho != guarantee.rho:
            raise fields.wrong(f"{place}.composition", "the shares do not add up to rho")
        if not (epsilon and delta) or not implies(spent.rho, Approximate(epsilon, delta)):
            raise fields.wrong(f"{place}.rho", "does not imply epsilon and delta")
    elif spent != (Approximate(epsilon, delta) if delta else Pure(epsilon)):
        raise fields.wrong(f"{place}.composition", "the shares do not add up to epsilon" + (" and delta" * bool(delta)))


def _check_denominators(fields: Fields, shares: Sequence[Share]) -> None:
    """Refuse shares that no budget divides into: adding up thousands of unrelated long fractions takes hours."""
    sums: dict[str, Fraction] = {}
    for share in shares:
        for name, number in numbers(share.loss).items():
            sums[name] = sums.get(name, Fraction(0)) + number
            if sums[name].denominator > LARGEST_DENOMINATOR:
                raise fields.wrong("guarantee.composition", "the shares have no common denominator")


def _neighbours(fields: Fields, table: Mapping[str, Any]) -> Neighbours | None:
    value = fields.optional_text(table, "neighbours", "guarantee")
    if value is not None and value not in [relation.value for relation in Neighbours]:
        raise fields.wrong("guarantee.neighbours", f"{shown(value)} is not a neighbouring relation")
    return None if value is None else Neighbours(value)


def _share(fields: Fields, value: object, place: str, neighbours: Neighbours | None) -> Share:
    table = fields.mapping(value, place)
    loss, row_loss = (_loss(fields, table, prefix, place) for prefix in ("", "row_"))
    if neighbours is not None and not within(row_loss, neighbours.rows, loss):
        raise fields.wrong(f"{place}.row_{next(iter(numbers(row_loss)))}", "costs more than the share")
    (values,) = fields.whole([fields.get(table, "values", place)], f"{place}.values")
    return Share(
        query=fields.text(table, "query", place),
        attribute=fields.optional_text(table, "attribute", place),
        values=values,
        composition=fields.text(table, "composition", place),
        noise=fields.text(table, "noise", place),
        loss=loss,
        row_loss=row_loss,
    )


_KINDS: tuple[type[Loss], ...] = (Concentrated, Approximate, Pure)
"""The kind of a loss is told by its numbers; those with more of them come first."""


def _loss(fields: Fields, table: Mapping[str, Any], prefix: str, place: str) -> Loss:
    """The loss whose numbers stand in a share under names with this prefix."""
    names = {kind: [prefix + field.name for field in dataclasses.fields(kind)] for kind in _KINDS}
    kind = next((kind for kind in _KINDS if all(name in table for name in names[kind])), Pure)
    found = [number for name in names[kind] if (number := fields.fraction(table, name, place))]
    if len(found) < len(names[kind]):
        raise fields.wrong(place, f"a share has {' and '.join(names[kind])} above 0")
    return kind(*found)
