"""Events that tell two databases apart: chosen on one half of the releases, judged on the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

# MERGED FROM dpnb_columnar/audit/events.py: Confidence bounds on probabilities and distributions, valid for every
# number of observations.

Floats = NDArray[np.float64]


def lower_bound(hits: ArrayLike, trials: int, error: float) -> Floats:
    """Clopper and Pearson 1934: below the true probability except with probability ``error``; shape of ``hits``."""
    from scipy.special import betaincinv

    hits = np.asarray(hits, dtype=np.float64)
    return np.where(hits > 0, betaincinv(np.maximum(hits, 1), trials - hits + 1, error), 0.0)


def upper_bound(hits: ArrayLike, trials: int, error: float) -> Floats:
    """Above the true probability except with probability ``error``; shape of ``hits``."""
    return 1 - lower_bound(trials - np.asarray(hits, dtype=np.float64), trials, error)


def epsilon_bound(hits: ArrayLike, other: ArrayLike, trials: tuple[int, int], delta: float, error: float) -> Floats:
    """Lower confidence bound on epsilon from how often one event happens with each of two neighbours.

    P(E) <= exp(epsilon) Q(E) + delta gives epsilon >= log((P(E) - delta) / Q(E)). Each probability is bounded with half
    of the error.

    Args:
        hits, other: How often the event happened with the one neighbour and with the other; of one shape.
        trials: Releases of each.
        delta: What is claimed.
        error: Probability that the bound is above the true epsilon.

    Returns:
        The shape of ``hits``; minus infinity where nothing is shown.
    """
    low = lower_bound(hits, trials[0], error / 2) - delta
    high = upper_bound(other, trials[1], error / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(low > 0, np.log(np.maximum(low, 0) / high), -np.inf)


def band(samples: int, error: float) -> float:
    """Width that an empirical distribution function stays within around the true one, everywhere at once, except with
    probability ``error`` (Dvoretzky, Kiefer and Wolfowitz 1956, with the constant of Massart 1990)."""
    return math.sqrt(math.log(2 / error) / (2 * samples))


Flags = NDArray[np.bool_]

THRESHOLDS = 60
"""Thresholds tried per number."""

BINS = 12
"""Bins per number of the learned likelihood ratio."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Releases of one database.

    Attributes:
        shapes: Per release, which numbers the model holds, as one text; or the kind of exception.
        values: Shape (releases, numbers): every number, NaN where the model has none.
        drawn: Shape (numbers,): whether the number was drawn, rather than made of drawn ones.
        names: Names of the numbers.
    """

    shapes: Sequence[str]
    values: Floats
    drawn: Flags
    names: Sequence[str]

    @property
    def size(self) -> int:
        return len(self.shapes)

    def split(self, first: int) -> tuple[Sample, Sample]:
        """The first releases, and all others."""
        parts = [(self.shapes[:first], self.values[:first]), (self.shapes[first:], self.values[first:])]
        one, two = (Sample(shapes, values, self.drawn, self.names) for shapes, values in parts)
        return one, two


@dataclass(frozen=True, slots=True)
class Event:
    """Something that may happen to a release.

    Attributes:
        name: What it is.
        happened: Shape (releases,) from a sample: whether it happened.
        swapped: Whether it happens more often with the second database.
    """

    name: str
    happened: Callable[[Sample], Flags]
    swapped: bool = False

    def bound(self, one: Sample, two: Sample, delta: float, error: float) -> float:
        """Lower confidence bound on epsilon from fresh samples."""
        first, second = (two, one) if self.swapped else (one, two)
        hits, other = int(self.happened(first).sum()), int(self.happened(second).sum())
        return float(epsilon_bound(hits, other, (first.size, second.size), delta, error))


def best_of_numbers(one: Sample, two: Sample, delta: float, error: float) -> Event:
    """The most telling event about one number, or about which numbers there are."""
    best, found = -np.inf, _shape_event(one.shapes[0])
    for shape in sorted({*one.shapes, *two.shapes}):
        event = _shape_event(shape)
        for swapped in (False, True):
            bound = (turned := Event(event.name, event.happened, swapped)).bound(one, two, delta, error)
            if bound > best:
                best, found = bound, turned
    for place, name in enumerate(one.names):
        bound, event = _threshold(one, two, delta, error, name, partial(_column, place))
        if bound > best:
            best, found = bound, event
    return found


def best_of_models(one: Sample, two: Sample, delta: float, error: float) -> Event:
    """A threshold on a likelihood ratio learned from all numbers that were drawn.

    Draws are independent given the counts, so the logarithms of the ratios of each number add up. Each is estimated
    from its histogram.
    """
    edges, ratios = [], []
    for place in np.flatnonzero(one.drawn):
        cuts = np.unique(_quantiles(np.concatenate([one.values[:, place], two.values[:, place]]), BINS))
        counts = [np.bincount(_bins(sample.values[:, place], cuts), minlength=len(cuts) + 2) for sample in (one, two)]
        frequency = [(count + 0.5) / (sample.size + 1) for count, sample in zip(counts, (one, two), strict=True)]
        edges.append((int(place), cuts))
        ratios.append(np.log(frequency[0] / frequency[1]))

    def score(sample: Sample) -> Floats:
        total = np.zeros(sample.size)
        for (place, cuts), ratio in zip(edges, ratios, strict=True):
            total += ratio[_bins(sample.values[:, place], cuts)]
        return total

    return _threshold(one, two, delta, error, "likelihood ratio", score)[1]


def _column(place: int, sample: Sample) -> Floats:
    return sample.values[:, place]


def _shape_event(shape: str) -> Event:
    def happened(sample: Sample) -> Flags:
        return np.array([found == shape for found in sample.shapes], dtype=np.bool_)

    return Event(f"shape {shape}", happened)


def _threshold(
    one: Sample, two: Sample, delta: float, error: float, name: str, number: Callable[[Sample], Floats]
) -> tuple[float, Event]:
    """The best of the events that a number is at most, at least, or exactly some value."""
    first, second = np.sort(number(one)), np.sort(number(two))  # NaN comes last
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
    best, found = -np.inf, (name, "<=", np.nan, False)
    for side, (hits, other) in counts.items():
        for swapped in (False, True):
            pair, trials = ((other, hits), (two.size, one.size)) if swapped else ((hits, other), (one.size, two.size))
            bounds = epsilon_bound(*pair, trials, delta, error)
            if len(bounds) and bounds.max() > best:
                place = int(bounds.argmax())
                best, found = float(bounds[place]), (name, side, float(cuts[place]), swapped)
    _, side, cut, swapped = found

    def happened(sample: Sample) -> Flags:
        values = number(sample)
        flags: Flags = values <= cut if side == "<=" else values >= cut if side == ">=" else values == cut
        return flags

    return best, Event(f"{name} {side} {cut:.6g}", happened, swapped)


def _quantiles(values: Floats, number: int) -> Floats:
    """Values at evenly spaced ranks, missing ones left out; shape (at most ``number``,)."""
    values = np.sort(values[~np.isnan(values)])
    if not len(values):
        return values
    found: Floats = values[np.linspace(0, len(values) - 1, number).astype(np.int64)]
    return found


def _bins(values: Floats, cuts: Floats) -> NDArray[np.int64]:
    """Number of cuts at or below each value; one more than all for missing values; shape (releases,)."""
    return np.where(np.isnan(values), len(cuts) + 1, np.searchsorted(cuts, values, side="right"))
