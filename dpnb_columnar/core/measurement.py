"""What crosses the boundary: a query's answer with noise, and how the noise was drawn. Public.

As in private-pgm's ``LinearMeasurement`` and dp_accounting's ``DpEvent``, a measurement is all that others need to
account for it, or to fit a model of their own to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from dpnb_columnar.core.budget import Share

CLASS_COUNTS = "class counts"

WEIGHTED_COUNTS = "weighted class counts"
"""Query for the sums of the rows' weights, per class."""

COUNTS = "counts"
"""Query for the contingency table of an attribute with the classes."""

PRESENCE = "values present"
"""Query for the numbers of rows that have a value of a numeric attribute and, where to be missing is a category, of
those that have none."""

CALIBRATION = "calibration counts"
"""Query for the rows in each range of a score's margin, by class: the largest, the best other one, or neither."""

LAPLACE = "laplace"
"""Noise of scale 1/epsilon in a pure share; in one with a delta it is a family for smooth sensitivity."""

EXACT = "none"
"""Noise of what was released without any."""

LARGEST_COUNT = 2**53
"""Released counts are cut off here, so that both file formats hold them exactly."""

LARGEST_RELEASED = 1e280
"""Released moments beyond these are cut off: any 10,000 of them times counts of 2**53 add up to a finite float."""

Key = tuple[str, str | None]
"""A query, and the attribute that it is about."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """The numbers that one query released.

    Attributes:
        query: What was asked, such as ``counts``.
        attribute: The attribute that it is about; None for queries about the classes.
        values: Numbers as they were drawn: a row for each class, or one where all classes are asked together. Counts
            and sums of weights are whole numbers, of at most ``LARGEST_COUNT`` in absolute size. Moments are in codes
            of the attribute's scale, or squared codes.
        noise: Name of the noise family; ``EXACT`` where there is no noise.
        scale: Per row of ``values``, the scale of the family's standard shape in the unit of the values; None where it
            follows the sensitivity of the rows, which is confidential, or the family has no scale.
        share: The share of the budget that the query spent; None where there is no noise.
    """

    query: str
    attribute: str | None
    values: tuple[tuple[int | Fraction, ...], ...]
    noise: str
    scale: tuple[Fraction, ...] | None
    share: Share | None

    @property
    def key(self) -> Key:
        """The query, and the attribute that it is about."""
        return self.query, self.attribute

    @property
    def counts(self) -> tuple[tuple[int, ...], ...]:
        """The values of counts and sums, as whole numbers."""
        return tuple(tuple(map(int, row)) for row in self.values)

    @property
    def column(self) -> tuple[int | Fraction, ...]:
        """The first number of each row: the only one, of queries that release one number per class."""
        return tuple(row[0] for row in self.values)


Measurements = Mapping[Key, Measurement]
"""Measurements of one release, by query and attribute, in the order in which they were drawn."""


def by_key(measurements: Iterable[Measurement]) -> dict[Key, Measurement]:
    """Return measurements by query and attribute."""
    return {each.key: each for each in measurements}


def within_largest(count: int) -> int:
    """Bound a released count by what a file holds: no draw may make a run fail."""
    return min(max(count, -LARGEST_COUNT), LARGEST_COUNT)


def to_file_float(released: Fraction | float, unit: float, origin: float = 0.0) -> float:
    """Convert a released number of units above an origin to a model file's float, within ``LARGEST_RELEASED``."""
    number = origin + unit * finite(released)
    return min(max(number, -LARGEST_RELEASED), LARGEST_RELEASED)


def finite(released: Fraction | float) -> float:
    """Convert a released moment in codes to the nearest float within ``LARGEST_RELEASED``."""
    if isinstance(released, float):
        return min(max(released, -LARGEST_RELEASED), LARGEST_RELEASED)
    largest = Fraction(LARGEST_RELEASED)
    return float(min(max(released, -largest), largest))
