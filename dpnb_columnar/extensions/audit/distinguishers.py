"""Events that distinguish two databases, and confidence bounds on epsilon from how often they happen.

An event is chosen on one half of the releases and judged on the other. The bounds hold for every number of releases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpnb_columnar.model.intervals import lower_bound, upper_bound

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

THRESHOLDS = 60
"""Thresholds tried per number."""

BINS = 12
"""Bins per number of the learned likelihood ratio."""


def epsilon_bound(hits: ArrayLike, other: ArrayLike, trials: tuple[int, int], delta: float, error: float) -> Floats:
    """Bound epsilon from below by how often one event happens with each of two neighbours.

    P(E) <= exp(epsilon) Q(E) + delta gives epsilon >= log((P(E) - delta) / Q(E)). Each probability is bounded with half
    of the error.

    Args:
        other: How often it happened with the other; the shape of ``hits``.
        error: Probability that the bound is above the true epsilon.

    Returns:
        The shape of ``hits``; minus infinity where the releases show nothing.
    """
    low = lower_bound(hits, trials[0], error / 2) - delta
    high = upper_bound(other, trials[1], error / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(low > 0, np.log(np.maximum(low, 0) / high), -np.inf)


def band(samples: int, error: float) -> float:
    """Compute the width of a confidence band of an empirical distribution function.

    The true function stays within the band everywhere at once, except with probability ``error`` (Dvoretzky, Kiefer and
    Wolfowitz 1956, with the constant of Massart 1990).
    """
    return math.sqrt(math.log(2 / error) / (2 * samples))


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Releases of one database.

    Attributes:
        shapes: Per release, the names of the model's numbers as one text; or the kind of exception.
        values: Shape (releases, numbers): every number, NaN where the model has none.
        drawn: Shape (numbers,): whether the number was drawn, rather than computed from drawn ones.
        names: Names of the numbers.
    """

    shapes: Sequence[str]
    values: Floats
    drawn: Flags
    names: Sequence[str]

    @property
    def size(self) -> int:
        """Number of releases."""
        return len(self.shapes)

    def split(self, first: int) -> tuple[Sample, Sample]:
        """Split off the first releases from all others."""
        parts = [(self.shapes[:first], self.values[:first]), (self.shapes[first:], self.values[first:])]
        one, two = (Sample(shapes, values, self.drawn, self.names) for shapes, values in parts)
        return one, two


class ReleaseScore(Protocol):
    """A number computed from each release."""

    def __call__(self, sample: Sample) -> Floats:
        """Compute the number of each release; shape (releases,), NaN where it has none."""


@dataclass(frozen=True, slots=True)
class Column:
    """One number of a model, by its place in the sample."""

    place: int

    def __call__(self, sample: Sample) -> Floats:
        """Select the number of each release."""
        return sample.values[:, self.place]


@dataclass(frozen=True, slots=True, eq=False)
class LikelihoodRatio:
    """A likelihood ratio of two databases, estimated by one histogram per drawn number.

    Draws are independent given the counts, so the logarithms of the ratios of each number add up.

    Attributes:
        places: Places of the drawn numbers.
        cuts: Per number, rising ends of its bins.
        ratios: Per number and bin, the logarithm of the ratio of frequencies.
    """

    places: Sequence[int]
    cuts: Sequence[Floats]
    ratios: Sequence[Floats]

    @classmethod
    def learned(cls, one: Sample, two: Sample) -> LikelihoodRatio:
        """Estimate the ratio from releases of both databases."""
        places, cuts, ratios = [int(place) for place in np.flatnonzero(one.drawn)], [], []
        for place in places:
            ends = np.unique(_quantiles(np.concatenate([one.values[:, place], two.values[:, place]]), BINS))
            counts = [np.bincount(_bins(each.values[:, place], ends), minlength=len(ends) + 2) for each in (one, two)]
            frequency = [(count + 0.5) / (each.size + 1) for count, each in zip(counts, (one, two), strict=True)]
            cuts.append(ends)
            ratios.append(np.log(frequency[0] / frequency[1]))
        return cls(places, cuts, ratios)

    def __call__(self, sample: Sample) -> Floats:
        """Add up the logarithms of the ratios of each release."""
        total = np.zeros(sample.size)
        for place, ends, ratio in zip(self.places, self.cuts, self.ratios, strict=True):
            total += ratio[_bins(sample.values[:, place], ends)]
        return total


@dataclass(frozen=True, slots=True)
class HasShape:
    """The condition that a release has these numbers, or ended with this kind of exception."""

    shape: str

    def happened(self, sample: Sample) -> Flags:
        """Evaluate the condition on each release."""
        return np.array([shape == self.shape for shape in sample.shapes], dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class ScoreThreshold:
    """The condition that a score is at most (``<=``), at least (``>=``) or exactly (``==``) some value."""

    score: ReleaseScore
    side: str
    cut: float

    def happened(self, sample: Sample) -> Flags:
        """Evaluate the condition on each release."""
        values, cut = self.score(sample), self.cut
        flags: Flags = values <= cut if self.side == "<=" else values >= cut if self.side == ">=" else values == cut
        return flags


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a release.

    Attributes:
        name: Plain text.
        condition: When it happens.
        swapped: Whether it happens more often with the second database.
    """

    name: str
    condition: HasShape | ScoreThreshold
    swapped: bool = False

    def bound(self, one: Sample, two: Sample, delta: float, error: float) -> float:
        """Compute a lower confidence bound on epsilon from samples that the event was not chosen on."""
        first, second = (two, one) if self.swapped else (one, two)
        hits, other = (int(self.condition.happened(sample).sum()) for sample in (first, second))
        return float(epsilon_bound(hits, other, (first.size, second.size), delta, error))


def best_of_numbers(one: Sample, two: Sample, delta: float, error: float) -> Event:
    """Choose the most telling event about one number, or about the shape of a release."""
    highest, best = -np.inf, _shape_event(one.shapes[0])
    for shape in sorted({*one.shapes, *two.shapes}):
        for swapped in (False, True):
            event = replace(_shape_event(shape), swapped=swapped)
            bound = event.bound(one, two, delta, error)
            if bound > highest:
                highest, best = bound, event
    for place, name in enumerate(one.names):
        bound, event = _best_threshold(one, two, delta, error, name, Column(place))
        if bound > highest:
            highest, best = bound, event
    return best


def best_of_models(one: Sample, two: Sample, delta: float, error: float) -> Event:
    """Choose a threshold on the likelihood ratio of all drawn numbers."""
    return _best_threshold(one, two, delta, error, "likelihood ratio", LikelihoodRatio.learned(one, two))[1]


def _shape_event(shape: str) -> Event:
    return Event(f"shape {shape}", HasShape(shape))


def _best_threshold(
    one: Sample, two: Sample, delta: float, error: float, name: str, score: ReleaseScore
) -> tuple[float, Event]:
    """Compute the best of the events that a score is at most, at least, or exactly some value."""
    first, second = np.sort(score(one)), np.sort(score(two))  # NaN comes last
    cuts = np.unique(_quantiles(np.concatenate([first, second]), THRESHOLDS))
    below, upto = (
        [np.searchsorted(values, cuts, side=side) for values in (first, second)] for side in ("left", "right")
    )
    present = [int((~np.isnan(values)).sum()) for values in (first, second)]
    counts = {
        "<=": upto,
        ">=": [total - count for total, count in zip(present, below, strict=True)],
        "==": [high - low for high, low in zip(upto, below, strict=True)],
    }
    highest, best = -np.inf, ("<=", np.nan, False)
    for side, (hits, other) in counts.items():
        for swapped in (False, True):
            pair, trials = ((other, hits), (two.size, one.size)) if swapped else ((hits, other), (one.size, two.size))
            bounds = epsilon_bound(*pair, trials, delta, error)
            if len(bounds) and bounds.max() > highest:
                place = int(bounds.argmax())
                highest, best = float(bounds[place]), (side, float(cuts[place]), swapped)
    side, cut, swapped = best
    return highest, Event(f"{name} {side} {cut:.6g}", ScoreThreshold(score, side, cut), swapped)


def _quantiles(values: Floats, number: int) -> Floats:
    """Values at evenly spaced ranks, missing ones left out; shape (at most ``number``,)."""
    values = np.sort(values[~np.isnan(values)])
    if not len(values):
        return values
    chosen: Floats = values[np.linspace(0, len(values) - 1, number).astype(np.int64)]
    return chosen


def _bins(values: Floats, cuts: Floats) -> NDArray[np.int64]:
    """Number of cuts at or below each value; one more than all for missing values; shape (releases,)."""
    return np.where(np.isnan(values), len(cuts) + 1, np.searchsorted(cuts, values, side="right"))
