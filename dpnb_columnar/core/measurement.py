"""What crosses the boundary: a query's answer with noise, and how the noise was drawn. Public.

As in private-pgm's ``LinearMeasurement`` and dp_accounting's ``DpEvent``, a measurement is all that others need to
account for it, or to fit a model of their own to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

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
            of the attribute's scale, or squared codes, as the nearest float within ``LARGEST_RELEASED``.
        noise: Name of the noise family; ``EXACT`` where there is no noise.
        scale: Per row of ``values``, the scale of the family's standard shape in the unit of the values; None where it
            follows the sensitivity of the rows, which is confidential, or the family has no scale.
        share: The share of the budget that the query spent; None where there is no noise.
    """

    query: str
    attribute: str | None
    values: tuple[tuple[int | float, ...], ...]
    noise: str
    scale: tuple[float, ...] | None
    share: Share | None

    @classmethod
    def of(cls, share: Share, values: Iterable[Iterable[int | Fraction]], scale: Iterable[Fraction] | None) -> Self:
        """Keep what was drawn for a query, as a file holds it: rounding and cutting off are post-processing.

        Bins are planned as the most there may be, so the share's ``values`` become those that were drawn.
        """
        kept = _kept(values)
        share = replace(share, values=sum(map(len, kept)))
        scales = None if scale is None else tuple(map(float, scale))
        return cls(share.query, share.attribute, kept, share.noise, scales, share)

    @classmethod
    def exact(cls, query: str, attribute: str | None, values: Iterable[Iterable[int | Fraction]]) -> Self:
        """Keep exact numbers of a mechanism that protects nobody: what holds them is confidential."""
        return cls(query, attribute, _kept(values), EXACT, None, None)

    @property
    def key(self) -> Key:
        """The query, and the attribute that it is about."""
        return self.query, self.attribute

    @property
    def counts(self) -> tuple[tuple[int, ...], ...]:
        """The values of counts and sums, as whole numbers."""
        return tuple(tuple(map(int, row)) for row in self.values)

    @property
    def column(self) -> tuple[int | float, ...]:
        """The first number of each row: the only one, of queries that release one number per class."""
        return tuple(row[0] for row in self.values)


Measurements = Mapping[Key, Measurement]
"""Measurements of one release, by query and attribute, in the order in which they were drawn."""


def by_key(measurements: Iterable[Measurement]) -> dict[Key, Measurement]:
    """Return measurements by query and attribute."""
    return {each.key: each for each in measurements}


def _kept(values: Iterable[Iterable[int | Fraction]]) -> tuple[tuple[int | float, ...], ...]:
    return tuple(tuple(finite(each) if isinstance(each, Fraction) else int(each) for each in row) for row in values)


def within_largest(count: int) -> int:
    """Bound a released count by what a file holds: no draw may make a run fail."""
    return min(max(count, -LARGEST_COUNT), LARGEST_COUNT)


def finite(released: Fraction | float) -> float:
    """Convert a released moment in codes to the nearest float within ``LARGEST_RELEASED``."""
    if isinstance(released, float):
        return min(max(released, -LARGEST_RELEASED), LARGEST_RELEASED)
    largest = Fraction(LARGEST_RELEASED)
    return float(min(max(released, -largest), largest))
