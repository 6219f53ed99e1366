"""Intervals of released numbers, and of probabilities that are made of them, at 95 %. Public: by public scales alone.

The interval of a released number holds the exact one (``query_noise.QueryNoise.interval``). That of a probability holds
what the same rules make of exact counts, (n + a)/(D + K a): n the cell's exact count, a what post-processing adds to
each of K cells, D the rows that are in one of them. With X = r + a and Y = K a + an estimate of D it is Fieller's: the
p for which (X - p Y)^2 is at most what the noise of both leaves likely, h^2 + p^2 g^2 where they are independent. D
is the size of the class, of which all released counts together say more than any, where every row is in a cell;
else the sum of the table's own counts. A probability whose table has many cells of next to no rows is drawn towards the
others by their noise, so that it may lie below its own interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpnb_columnar.domain.attributes import is_complete
from dpnb_columnar.model import postprocessing
from dpnb_columnar.model.intervals import QUANTILE
from dpnb_columnar.model.mechanism_rules import RULES, SPREAD_FIELDS
from dpnb_columnar.core.measurement import CLASS_COUNTS, COUNTS, PRESENCE, WEIGHTED_COUNTS
from dpnb_columnar.model.model_document import Leaf, leaves, to_document
from dpnb_columnar.model.parameters import SPREADS, NaiveBayes
from dpnb_columnar.model.query_noise import Interval, Key, QueryNoise, model_noise
from dpnb_columnar.model.tuning import cell_prior

QUERIES = {SPREADS[field]: query for query, field in SPREAD_FIELDS.items()} | {"mean": "mean"}
"""Query of each drawn statistic of a numeric attribute."""


@dataclass(frozen=True, slots=True)
class LeafIntervals:
    """What the noise leaves known of a parameter. Public.

    Attributes:
        released: The ends between which the exact number is; None where there is no noise, or its size is not told.
        value: The ends between which the probability is that exact counts make; None for other parameters.
    """

    released: Interval | None = None
    value: Interval | None = None


class NoiseIntervals:
    """The intervals of a model's released numbers and parameters.

    Args:
        model: A released model.
    """

    def __init__(self, model: NaiveBayes) -> None:
        self._model, self._noises = model, model_noise(model)
        self._shares = {(share.query, share.attribute): share for share in model.guarantee.composition}
        self._rules = RULES.get(model.guarantee.mechanism)
        self._parts = {part.attribute: part for part in model.attributes}
        self._sizes: postprocessing.ClassSizes | None = None
        if self._rules is not None and self._noises.get((CLASS_COUNTS, None)) is not None:
            parts = () if self._rules.truncated else model.attributes
            self._sizes = postprocessing.class_sizes(model.domain, model.classes.released, parts, self._shares)

    def of(self, leaf: Leaf) -> LeafIntervals:
        """Compute the intervals of one parameter of the model's document."""
        if leaf.drawn is None or leaf.klass is None:
            return LeafIntervals()
        key, klass = _key(leaf), self._model.domain.classes.index(leaf.klass)
        noise = self._noises.get(key)
        if noise is None:
            return LeafIntervals()
        released = noise.interval(leaf.drawn, klass=klass)
        if not noise.whole or self._rules is None or self._sizes is None:
            return LeafIntervals(released)
        if len(leaf.values) == 1:
            return LeafIntervals(released, (1.0, 1.0))  # rows without a value leave the attribute out
        return LeafIntervals(released, self._probability(key, noise, klass, leaf))

    def _probability(self, key: Key, noise: QueryNoise, klass: int, leaf: Leaf) -> Interval:
        query, name = key
        assert self._sizes is not None
        assert self._rules is not None
        assert leaf.drawn is not None
        cells = len(leaf.values)
        if query == CLASS_COUNTS:
            rows, deviation, added = self._sizes.rows, self._sizes.deviation, 1.0
            added += 0 if self._rules.truncated else postprocessing.HIDDEN * deviation
            half = QUANTILE * deviation
            return _part_of_sum(rows[klass] + added, (half, half), sum(rows) + cells * added, cells - 1, half)
        # An exact count is not negative: what is left of it on either side.
        count = max(leaf.drawn, 0.0)
        low, high = noise.interval(leaf.drawn)
        halves, others = (count - low, high - count), QUANTILE * noise.deviation()
        if query == WEIGHTED_COUNTS:
            weight = self._model.domain.weight
            added = 1.0 if weight is None else float(weight.steps)
            return _part_of_sum(count + added, halves, sum(leaf.released) + cells * added, cells - 1, others)
        added = 1.0
        if not self._rules.truncated:
            sizes = [max(size, 0) + 1 for size in self._model.classes.released]
            added = float(cell_prior(self._shares[key])) * sizes[klass] * len(sizes) / sum(sizes)
        if query == COUNTS and not is_complete(self._model.domain[name or ""]):
            return _part_of_sum(count + added, halves, sum(leaf.released) + cells * added, cells - 1, others)
        whole = self._sizes.rows[klass] + cells * added
        return _ratio(count + added, halves, whole, QUANTILE * self._sizes.deviation)


def prior_intervals(model: NaiveBayes) -> list[Interval | None]:
    """Compute, per class, the ends between which its prior lies without the noise; None where that is not told."""
    intervals = NoiseIntervals(model)
    of_classes = [leaf for leaf in leaves(to_document(model)) if leaf.attribute is None and leaf.drawn is not None]
    ends = {leaf.klass: intervals.of(leaf).value for leaf in of_classes}  # weighted ones come last: the score has these
    return [ends.get(klass) for klass in model.domain.classes]


def intervals_document(model: NaiveBayes, document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the intervals of a model's released numbers, and of its probabilities, as JSON values."""
    intervals, listed = NoiseIntervals(model), []
    for leaf in leaves(document):
        found = intervals.of(leaf)
        if found.released is not None:
            place = {"attribute": leaf.attribute, "class": leaf.klass, "cell": leaf.cell, "parameter": leaf.parameter}
            value = None if found.value is None else list(found.value)
            listed.append({**place, "statistic": leaf.statistic, "released": list(found.released), "value": value})
    return listed


def _key(leaf: Leaf) -> Key:
    """Return the query that a drawn number answers."""
    if leaf.attribute is None:
        return (WEIGHTED_COUNTS if leaf.parameter == "weighted probability" else CLASS_COUNTS), None
    if leaf.parameter == "presence":
        return PRESENCE, leaf.attribute
    return QUERIES.get(leaf.statistic, COUNTS), leaf.attribute


def _part_of_sum(part: float, halves: Interval, whole: float, rest: int, other: float) -> Interval:
    """Compute the interval of a number in the sum of itself and some others, which all have noise.

    (X - p Y)^2 <= h^2 (1 - p)^2 + R g^2 p^2, since X - p Y is (1 - p) times the one, -p times each of the R others.

    Args:
        halves: h below and above it.
    """

    def roots(half: float) -> Interval:
        square = half**2
        return _roots(part**2 - square, -2 * (part * whole - square), whole**2 - square - rest * other**2, whole)

    return roots(halves[0])[0], roots(halves[1])[1]


def _ratio(part: float, halves: Interval, whole: float, other: float) -> Interval:
    """Compute the interval of a ratio of two numbers with independent noise: (X - p Y)^2 <= h^2 + g^2 p^2."""

    def roots(half: float) -> Interval:
        return _roots(part**2 - half**2, -2 * part * whole, whole**2 - other**2, whole)

    return roots(halves[0])[0], roots(halves[1])[1]


def _roots(zero: float, one: float, two: float, whole: float) -> Interval:
    """Return the ends of where zero + one p + two p^2 <= 0, between 0 and 1; all of it where the divisor may be 0."""
    if two <= 0 or whole <= 0:
        return 0.0, 1.0
    root = math.sqrt(max(one**2 - 4 * zero * two, 0.0))
    low, high = ((-one + sign * root) / (2 * two) for sign in (-1, 1))
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)
