"""Intervals of a row's probabilities that the noise of a model allows. Public: from released values alone.

What an interval is of: the probability of the class that the same construction gives the row without noise. That is,
with exact counts in place of the released ones, and the same bins, attribute weights and line: these are functions of
released values, whose own choice is not looked at again.

How: noise is symmetrical about 0 and its scale b is public, so a released count r says how likely each exact count n >=
0 is: exp(-|n - r|/b) times how likely n was before, for which the value's part of all rows, and the size of the class,
are taken. So every cell has a mean and a variance of log(n + a), a as post-processing adds it, by quadrature. What a
row's score sums up over attributes is then nearly normal, with the sums of these means and variances: one more look-up
of each. The sizes of the classes, of which all released counts together say more than any
(``postprocessing.class_sizes``), divide all cells of a class, and their error is common to them. An interval of the
score, or of how far it is above those of the other classes, is carried through the line, which rises.

Parametric draws of the whole model were as honest and take a hundred times as long; linearised around the released
counts (the delta method), cells of few rows have intervals that are too narrow (docs/journal/accuracy.md).

Intervals of released numbers, and of probabilities that are made of them, at 95 %. Public: by public scales alone.

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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpnb_columnar.core.measurement import CLASS_COUNTS, COUNTS, LAPLACE, PRESENCE, WEIGHTED_COUNTS, Key
from dpnb_columnar.core.mechanisms.tuning import cell_prior
from dpnb_columnar.domain.attributes import is_complete
from dpnb_columnar.errors import UsageError, excerpt
from dpnb_columnar.mechanisms import record_named
from dpnb_columnar.model import postprocessing
from dpnb_columnar.model.document import Leaf, leaves, to_document
from dpnb_columnar.model.parameters import Histogram, NaiveBayes, Normal
from dpnb_columnar.model.query_noise import NOT_TOLD, QUANTILE, Interval, QueryNoise, in_unit, model_noise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LeafIntervals:
    """The ends of an exact number, None without noise of public size, and of the probability made of it. Public."""

    released: Interval | None = None
    value: Interval | None = None


class NoiseIntervals:
    """The intervals of a model's released numbers and parameters."""

    def __init__(self, model: NaiveBayes) -> None:
        self._model, self._noises = model, model_noise(model)
        self._rules = record_named(model.guarantee.mechanism)
        self._sizes: postprocessing.ClassSizes | None = None
        if self._rules is not None and self._noises.get((CLASS_COUNTS, None)) is not None:
            tables = not self._rules.truncated
            self._sizes = postprocessing.class_sizes(model.domain, model.measured, tables=tables)

    def of(self, leaf: Leaf) -> LeafIntervals:
        """Compute the intervals of one parameter of the model's document."""
        if leaf.drawn is None or leaf.klass is None:
            return LeafIntervals()
        key, klass = (leaf.query, leaf.attribute), self._model.domain.classes.index(leaf.klass)
        noise = self._noises.get(key)
        if noise is None:
            return LeafIntervals()
        released = noise.interval(in_unit(self._model.domain, *key, leaf.drawn), klass=klass)
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
            return _part(
                rows[klass] + added, (half, half), sum(rows) + cells * added, (cells - 1) * half**2, within=True
            )
        # An exact count is not negative: what is left of it on either side.
        count = max(leaf.drawn, 0.0)
        low, high = noise.interval(leaf.drawn)
        halves, others = (count - low, high - count), QUANTILE * noise.deviation()
        if query == WEIGHTED_COUNTS:
            weight = self._model.domain.weight
            added = 1.0 if weight is None else float(weight.steps)
            whole = sum(self._model.weighted_counts) + cells * added
            return _part(count + added, halves, whole, (cells - 1) * others**2, within=True)
        added, share = 1.0, self._model.measured[key].share
        if not self._rules.truncated and share is not None:
            sizes = [max(size, 0) + 1 for size in self._model.class_counts]
            added = float(cell_prior(share)) * sizes[klass] * len(sizes) / sum(sizes)
        if query == COUNTS and not is_complete(self._model.domain[name or ""]):
            whole = sum(leaf.released) + cells * added
            return _part(count + added, halves, whole, (cells - 1) * others**2, within=True)
        whole = self._sizes.rows[klass] + cells * added
        return _part(count + added, halves, whole, (QUANTILE * self._sizes.deviation) ** 2, within=False)


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


def _part(part: float, halves: Interval, whole: float, other: float, *, within: bool) -> Interval:
    """Compute the interval of a number X in a sum Y, with h below and above it.

    Within a sum of X and R others, of noise g each, (X - p Y)^2 <= h^2 (1 - p)^2 + R g^2 p^2, since X - p Y is (1 - p)
    times X, -p times each other. Of independent numbers it is (X - p Y)^2 <= h^2 + g^2 p^2. ``other`` is R g^2, or g^2.
    """

    def roots(half: float) -> Interval:
        square = half**2
        own = within * square
        return _roots(part**2 - square, -2 * (part * whole - own), whole**2 - own - other, whole)

    return roots(halves[0])[0], roots(halves[1])[1]


def _roots(zero: float, one: float, two: float, whole: float) -> Interval:
    """Return the ends of where zero + one p + two p^2 <= 0, between 0 and 1; all of it where the divisor may be 0."""
    if two <= 0 or whole <= 0:
        return 0.0, 1.0
    root = math.sqrt(max(one**2 - 4 * zero * two, 0.0))
    low, high = ((-one + sign * root) / (2 * two) for sign in (-1, 1))
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)


Noises = Mapping[Key, QueryNoise | None]
"""By query and attribute."""

POINTS = 60
"""Of quadrature, near 0 and near a released count each."""

NEAREST = 0.2
"""Between the first two of them, about."""

REACH = 20
"""Scales of the noise that they reach beyond a released count."""

SHAPE = 0.7
"""Of the gamma distribution that exact counts have around what the value's part of all rows leads to expect. Simulated:
of 0.5 to 1 coverage is nearest to the level; beyond, tables are taken for more alike than they are."""

ROUNDS = 4
"""In which the parts of all rows are found."""


@dataclass(frozen=True, slots=True, eq=False)
class NoisyTerms:
    """What the noise leaves known of an attribute's part of the score.

    Attributes:
        mean: Shape (classes, cells + 1): the expected weighted log-likelihood; of no value in the last column, 0 where
            the attribute is then left out.
        variance: Likewise, its variance.
    """

    mean: Floats
    variance: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ScoreNoise:
    """What the noise leaves known of a model's scores, before any row is seen. Public.

    Attributes:
        mean: Per class, the expected part that no attribute changes, divisors of all cells included.
        variance: Per class, its variance.
        attributes: Per attribute of the model.
    """

    mean: Floats
    variance: Floats
    attributes: tuple[NoisyTerms, ...]


def score_noise(model: NaiveBayes) -> ScoreNoise:
    """Tell what the noise leaves known of a model's scores."""
    noises = model_noise(model)
    _check(model, noises.values())
    priors = {
        (share.query, share.attribute): float(cell_prior(share))
        for share in model.guarantee.composition
        if share.query in (COUNTS, PRESENCE)
    }
    counted = postprocessing.class_sizes(model.domain, model.measured)
    sizes, size_variance = _moments(np.array(counted.rows), counted.deviation)
    positive = np.maximum(np.array(model.class_counts), 0) + 1.0
    ratio = positive / positive.mean()  # what is added to each count, in proportion to the classes
    mean, variance, moves = _prior(model, noises, sizes, size_variance)
    attributes = []
    for parameters, weight in zip(model.attributes, model.weights, strict=True):
        assert not isinstance(parameters, Normal)
        name = parameters.attribute
        added = np.ones(len(sizes)) if _is_truncated(model) else ratio * priors[COUNTS, name]
        own = noises[COUNTS, name]
        assert own is not None
        counts = np.array(model.counts(COUNTS, name), dtype=np.float64)
        cells = counts.shape[1]
        rows, rows_variance = sizes, None
        absent, absent_spread = np.zeros((len(sizes), 1)), np.zeros((len(sizes), 1))
        present, spread = np.zeros((len(sizes), 1)), np.zeros((len(sizes), 1))
        if isinstance(parameters, Histogram) and parameters.presence is not None:
            noise = noises[PRESENCE, name]
            assert noise is not None
            drawn = np.array(model.counts(PRESENCE, name), dtype=np.float64)
            rows, rows_variance = _moments(drawn[:, 0], noise.deviation())
            if drawn.shape[1] == 2:
                extra = ratio * priors[PRESENCE, name]
                logs, spreads = _log_counts(drawn, extra, noise, sizes)
                whole = np.log(sizes + 2 * extra)
                present, absent = (logs[:, [place]] - whole[:, None] for place in (0, 1))
                spread, absent_spread = spreads[:, [0]], spreads[:, [1]]
        elif not is_complete(model.domain[name]):
            # Rows without a value are in no cell: the sum of the cells says how many have one.
            rows, rows_variance = _moments(counts.sum(axis=1), math.sqrt(cells) * own.deviation())
            rows = np.minimum(rows, np.maximum(sizes, 1.0))
        log_cells, of_cells = _log_counts(counts, added, own, rows)
        spread = spread + of_cells
        divisor = rows + cells * added
        if rows_variance is None:
            moves = moves - weight / divisor * np.sqrt(size_variance)
        else:
            variance = variance + weight**2 * np.minimum(rows_variance / divisor**2, 1.0)
        terms = np.hstack([log_cells - np.log(divisor)[:, None] + present, absent])
        attributes.append(NoisyTerms(weight * terms, weight**2 * np.hstack([spread, absent_spread])))
    return ScoreNoise(mean, variance + moves**2, tuple(attributes))


def _check(model: NaiveBayes, noises: Iterable[QueryNoise | None]) -> None:
    """Refuse a model whose noise cannot be told, or that has none."""
    mechanism = model.guarantee.mechanism
    if not model.guarantee.composition:
        raise UsageError(f"intervals: mechanism {mechanism} adds no noise; predict without intervals")
    if (record := record_named(mechanism)) is None:
        raise UsageError(f"intervals: {excerpt(mechanism)} is no mechanism of this version; predict without intervals")
    for parameters in model.attributes:
        if isinstance(parameters, Normal):
            why = NOT_TOLD if record.smooth else "its moments are no counts"
            raise UsageError(
                f"intervals: {excerpt(parameters.attribute)} is released as a mean and a deviation, and {why}; train "
                "with histogram or adaptive-histogram, or predict without intervals"
            )
    if any(noise is not None and noise.family != LAPLACE for noise in noises):
        raise UsageError(
            f"intervals: mechanism {mechanism} draws class counts whose noise has no variance; train with histogram, "
            "or predict without intervals"
        )


def _is_truncated(model: NaiveBayes) -> bool:
    record = record_named(model.guarantee.mechanism)
    return record is not None and record.truncated


def _prior(model: NaiveBayes, noises: Noises, sizes: Floats, size_variance: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the expected log-prior of each class, intercept included, its variance, and how the size's error moves it.

    Where rows have a weight the prior is made of its sums, with noise of their own.
    """
    weighted, weight = model.weighted_classes, model.domain.weight
    if weighted is not None and weight is not None:
        noise = noises[WEIGHTED_COUNTS, None]
        assert noise is not None
        drawn = np.array(model.weighted_counts, dtype=np.float64)[:, None]
        logs, variance = _log_counts(
            drawn, np.full(len(drawn), float(weight.steps)), noise, np.maximum(drawn[:, 0], 1.0)
        )
        return logs[:, 0] + np.array(model.intercepts), variance[:, 0], np.zeros(len(drawn))
    added = (
        1
        if _is_truncated(model)
        else 1 + postprocessing.HIDDEN * postprocessing.class_sizes(model.domain, model.measured).deviation
    )
    prior = np.log(sizes + added) + np.array(model.intercepts)
    return prior, np.zeros(len(sizes)), np.sqrt(size_variance) / (sizes + added)


def _moments(released: Floats, deviation: float) -> tuple[Floats, Floats]:
    """Return mean and variance of exact sizes of which normal noise of this deviation was added to each.

    Of a normal variable that is known not to be negative.
    """
    from scipy import special

    z = released / deviation
    # phi(z) / Phi(z), by logarithms: far below 0 both vanish.
    hazard = np.exp(-(z**2) / 2 - 0.5 * math.log(2 * math.pi) - special.log_ndtr(z))
    return released + deviation * hazard, deviation**2 * np.clip(1 - z * hazard - hazard**2, 0, 1)


def _log_counts(released: Floats, added: Floats, noise: QueryNoise, sizes: Floats) -> tuple[Floats, Floats]:
    """Compute mean and variance of log(n + added) of exact counts n >= 0, given released ones, class by class."""
    scale = noise.scale()
    counts, likely = _points(released, scale)
    # What is known of a count beside the noise in it: that its class has so many rows, and which part of all rows has
    # this value. To begin with, each value is as frequent as any other.
    part = np.full(released.shape[1], 1 / released.shape[1])
    for _ in range(ROUNDS):
        mean = np.maximum(sizes, 1.0)[:, None, None] * part[:, None]
        logs = (SHAPE - 1) * np.log(counts + 0.3) - SHAPE * counts / mean
        weights = likely * np.exp(logs - logs.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        expected = (weights * counts).sum(axis=-1)
        expected *= (sizes / expected.sum(axis=1))[:, None]
        part = expected.sum(axis=0) + 0.5
        part /= part.sum()
    logs = np.log(counts + added[:, None, None])
    middle = (weights * logs).sum(axis=-1)
    return middle, (weights * (logs - middle[..., None]) ** 2).sum(axis=-1)


def _points(released: Floats, scale: float) -> tuple[Floats, Floats]:
    """Choose exact counts to add up over, dense near 0 and near the released one, with their likelihood times gaps."""
    drawn = released[..., None]
    top = np.log1p((np.maximum(drawn, 0) + REACH * scale) / NEAREST)
    near = NEAREST * np.expm1(np.linspace(0, 1, POINTS) * top)
    halves = np.linspace(-1, 1, POINTS + 2)[1:-1]
    around = np.maximum(drawn - scale * np.sign(halves) * np.log(1 - np.abs(halves)), 0)
    counts = np.sort(np.concatenate([near, around], axis=-1), axis=-1)
    gaps = np.diff(counts, axis=-1, prepend=counts[..., :1], append=counts[..., -1:])
    nearest = np.maximum(drawn, 0)
    likely = np.exp((np.abs(nearest - drawn) - np.abs(counts - drawn)) / scale)
    return counts, likely * (gaps[..., 1:] + gaps[..., :-1])
