"""A model's guarantee from its document: what contradicts itself is refused."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpnb_columnar.budget import Neighbours, Share
from dpnb_columnar.errors import shown
from dpnb_columnar.model.fields import Fields
from dpnb_columnar.model.parameters import Guarantee


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
    )
    stated = {guarantee.epsilon is None, guarantee.delta is None, neighbours is None}
    if len(stated) > 1:
        raise fields.wrong(place, "epsilon, delta and neighbours are stated together, or none of them is")
    if sum((share.epsilon for share in guarantee.composition), Fraction(0)) != (guarantee.epsilon or 0):
        raise fields.wrong(f"{place}.composition", "the shares do not add up to epsilon")
    if guarantee.epsilon == 0:
        raise fields.wrong(f"{place}.epsilon", "must be above 0")
    if fields.flag(table, "private", place) is not guarantee.private:
        raise fields.wrong(f"{place}.private", "contradicts epsilon and seeded")
    return guarantee


def _neighbours(fields: Fields, table: Mapping[str, Any]) -> Neighbours | None:
    value = fields.optional_text(table, "neighbours", "guarantee")
    if value is not None and value not in [relation.value for relation in Neighbours]:
        raise fields.wrong("guarantee.neighbours", f"{shown(value)} is not a neighbouring relation")
    return None if value is None else Neighbours(value)


def _share(fields: Fields, value: object, place: str, neighbours: Neighbours | None) -> Share:
    table = fields.mapping(value, place)
    epsilon, row_epsilon = (fields.fraction(table, key, place) for key in ("epsilon", "row_epsilon"))
    if not epsilon or not row_epsilon:
        raise fields.wrong(place, "a share has an epsilon and a row_epsilon above 0")
    if neighbours is not None and row_epsilon * neighbours.rows != epsilon:
        raise fields.wrong(f"{place}.row_epsilon", "is not what epsilon is for one row added or removed")
    (values,) = fields.whole([fields.get(table, "values", place)], f"{place}.values")
    return Share(
        query=fields.text(table, "query", place),
        attribute=fields.optional_text(table, "attribute", place),
        values=values,
        composition=fields.text(table, "composition", place),
        noise=fields.text(table, "noise", place),
        epsilon=epsilon,
        row_epsilon=row_epsilon,
    )
