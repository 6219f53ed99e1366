"""Divisions of rows into groups of one column, or of several crossed (``domain.groupings``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from dpnb_columnar.domain.attributes import Attribute
from dpnb_columnar.domain.declared_domain import Domain


@dataclass(frozen=True, slots=True)
class Grouping:
    """The groups of one column.

    Attributes:
        attribute: How a row's value is read.
        starts: First code of every group, rising from 0.
        values: What each group is called; where a row that counts may have no declared value, None comes last.
    """

    attribute: Attribute
    starts: tuple[int, ...]
    values: tuple[str | None, ...]

    @property
    def size(self) -> int:
        """Number of groups."""
        return len(self.values)

    @property
    def missing(self) -> int:
        """The group of rows without a declared value."""
        return self.size - 1


@dataclass(frozen=True, slots=True)
class Divisions:
    """How rows are divided into groups.

    Attributes:
        domain: Domain of the rows, with the columns of groups that the model's lacks.
        groupings: The columns by which they are divided, each once.
        crossed: Per division, the places of its columns.
    """

    domain: Domain
    groupings: tuple[Grouping, ...]
    crossed: tuple[tuple[int, ...], ...]

    def columns(self, division: Sequence[int]) -> tuple[str, ...]:
        """Name the columns of a division."""
        return tuple(self.groupings[place].attribute.name for place in division)

    def values(self, division: Sequence[int]) -> tuple[tuple[str | None, ...], ...]:
        """List the groups of a division: one value per column, those of the last column changing first."""
        return tuple(product(*(self.groupings[place].values for place in division)))

    @property
    def sizes(self) -> list[int]:
        """Number of groups of each division."""
        return [math.prod(self.groupings[place].size for place in division) for division in self.crossed]
