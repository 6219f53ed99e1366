"""CONFIDENTIAL. Several attributes counted as one joint contingency table with the class, of which each is a margin.

Counting rows costs the same for a table of one attribute as for one of five, so few large tables are counted instead of
many small ones. Which attributes share one follows from the domain alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dpnb_columnar.aggregation.statistics import Cells, Integers
from dpnb_columnar.domain import Attribute, Numeric

MOST_CELLS = 2**16
"""Cells of a table of several attributes: they stay within a processor's cache."""

MOST_ATTRIBUTES = 16
"""Attributes of a table, of which any number might have a single category."""


@dataclass(frozen=True, slots=True)
class JointTable:
    """A contingency table of the class and some attributes.

    Attributes:
        classes: Number of classes.
        attributes: None, for the class counts alone, or more.
    """

    classes: int
    attributes: tuple[Attribute, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of classes, then of the codes of every attribute."""
        return (self.classes, *map(codes, self.attributes))

    @property
    def cells(self) -> int:
        """Number of cells."""
        return math.prod(self.shape)

    def margins(self, places: Integers, counts: Integers) -> list[Cells]:
        """The class counts, then the counts of every attribute; a cell may stand there more than once.

        Args:
            places: Shape (n,): distinct cells, in row-major order of ``shape``.
            counts: Shape (n,): how many rows there are in each.
        """
        classes, *coded = (place.astype(np.int64) for place in np.unravel_index(places, self.shape))
        found = [Cells(None, classes, np.zeros_like(classes), counts)]
        return found + [
            Cells(attribute.name, classes, code, counts) for attribute, code in zip(self.attributes, coded, strict=True)
        ]


def joint_tables(classes: int, attributes: Iterable[Attribute]) -> list[JointTable]:
    """Tables of at most ``MOST_CELLS`` cells, or of one attribute, that hold every attribute once; at least one table.

    The largest attribute goes first, each into the first table that has room.
    """
    tables = [JointTable(classes, ())]
    for attribute in sorted(attributes, key=codes, reverse=True):
        place = next((place for place, table in enumerate(tables) if _has_room(table, attribute)), None)
        if place is None:
            tables.append(JointTable(classes, (attribute,)))
        else:
            tables[place] = JointTable(classes, (*tables[place].attributes, attribute))
    return tables


def _has_room(table: JointTable, attribute: Attribute) -> bool:
    if not table.attributes:
        return True
    return table.cells * codes(attribute) <= MOST_CELLS and len(table.attributes) < MOST_ATTRIBUTES


def codes(attribute: Attribute) -> int:
    """Number of codes of an attribute."""
    return attribute.cells + 1 if isinstance(attribute, Numeric) else attribute.size
