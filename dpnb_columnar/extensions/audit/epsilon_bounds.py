"""What many releases with the system's random bits show: lower confidence bounds on epsilon, and bit patterns.

*Bounds* follow from how often events happen that distinguish two databases. An event is chosen on one half of the
releases and judged on the other. The bounds hold for every number of releases.

*Bit patterns*: which values can be released must not depend on a row. Every released number has to lie on a public
grid, every point of the grid has to be reachable for both of two neighbours, and the noise has to come from its stated
source: the system's random bits, in the family's distribution.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
from flint import arb, ctx
from numpy.typing import ArrayLike, NDArray

from dpnb_columnar.core.budget import Approximate
from dpnb_columnar.core.budget.composition import GRADIENT
from dpnb_columnar.core.mechanisms.later import GRADIENT_BITS
from dpnb_columnar.core.mechanisms.smooth import GRID_BITS
from dpnb_columnar.core.noise import ExactSampler, NoiseFamily
from dpnb_columnar.domain import Domain
from dpnb_columnar.evaluation.evaluation import ScoreValues
from dpnb_columnar.extensions.audit.outcomes import (
    Answers,
    Configuration,
    Drawn,
    Finding,
    Record,
    RecordingSampler,
    is_drawn,
    numbers,
    record,
)
from dpnb_columnar.extensions.audit.universe import AdversarialPair, AnyUniverse, Universe
from dpnb_columnar.model.query_noise import MOMENTS, lower_bound, upper_bound
from dpnb_columnar.training import Release

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

THRESHOLDS = 60
"""Thresholds tried per number."""

BINS = 12
"""Bins per number of the learned likelihood ratio."""


def epsilon_bound(hits: ArrayLike, other: ArrayLike, trials: tuple[int, int], delta: float, error: float) -> Floats:
    """Bound epsilon from below by how often one event happens with each of two neighbours."""
    # P(E) <= exp(epsilon) Q(E) + delta gives epsilon >= log((P(E) - delta) / Q(E)).
    low = lower_bound(hits, trials[0], error / 2) - delta
    high = upper_bound(other, trials[1], error / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(low > 0, np.log(np.maximum(low, 0) / high), -np.inf)


def band(samples: int, error: float) -> float:
    """Compute the width of a band that the true distribution function stays within (Massart 1990)."""
    return math.sqrt(math.log(2 / error) / (2 * samples))


SHAPE = "shape"
"""First column of a sample: the names of a release's numbers as one text, or the kind of exception. The others are the
numbers by name, null where a release has none."""

ReleaseScore = Callable[[pl.DataFrame], Floats]
"""A number computed from each release of a sample; shape (releases,), NaN where it has none."""

SIDES: dict[str, Callable[[Any, Any], Flags]] = {"<=": operator.le, ">=": operator.ge, "==": operator.eq}


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a release; ``swapped`` where it happens more often with the second database."""

    name: str
    happened: Callable[[pl.DataFrame], Flags]
    swapped: bool = False

    def bound(self, one: pl.DataFrame, two: pl.DataFrame, delta: float, error: float) -> float:
        """Compute a lower confidence bound on epsilon from samples that the event was not chosen on."""
        first, second = (two, one) if self.swapped else (one, two)
        hits, other = (int(self.happened(sample).sum()) for sample in (first, second))
        return float(epsilon_bound(hits, other, (len(first), len(second)), delta, error))


def best_of_numbers(one: pl.DataFrame, two: pl.DataFrame, delta: float, error: float) -> Event:
    """Choose the most telling event about one number, or about the shape of a release."""
    tried = []
    for shape in sorted({*one[SHAPE], *two[SHAPE]}):
        for swapped in (False, True):
            event = Event(f"shape {shape}", partial(_has_shape, shape), swapped)
            tried.append((event.bound(one, two, delta, error), event))
    for name in one.columns[1:]:
        tried.append(_best_threshold(one, two, delta, error, name, partial(_number, name)))
    return max(tried, key=lambda each: each[0])[1]


def best_of_models(one: pl.DataFrame, two: pl.DataFrame, delta: float, error: float) -> Event:
    """Choose a threshold on the likelihood ratio of all drawn numbers."""
    return _best_threshold(one, two, delta, error, "likelihood ratio", _likelihood_ratio(one, two))[1]


def _has_shape(shape: str, sample: pl.DataFrame) -> Flags:
    return (sample[SHAPE] == shape).to_numpy()


def _number(name: str, sample: pl.DataFrame) -> Floats:
    return sample[name].to_numpy()


def _is_beyond(score: ReleaseScore, side: str, cut: float, sample: pl.DataFrame) -> Flags:
    return SIDES[side](score(sample), cut)


def _likelihood_ratio(one: pl.DataFrame, two: pl.DataFrame) -> ReleaseScore:
    """Learn the logarithm by one histogram per drawn number, as draws are independent given the counts."""
    learned = []
    for name in filter(is_drawn, one.columns[1:]):
        values = [_number(name, each) for each in (one, two)]
        ends = np.unique(_quantiles(np.concatenate(values), BINS))
        counts = [np.bincount(_bins(each, ends), minlength=len(ends) + 2) for each in values]
        frequency = [(count + 0.5) / (len(each) + 1) for count, each in zip(counts, values, strict=True)]
        learned.append((name, ends, np.log(frequency[0] / frequency[1])))

    def ratio(sample: pl.DataFrame) -> Floats:
        total = np.zeros(len(sample))
        for name, ends, logs in learned:
            total += logs[_bins(_number(name, sample), ends)]
        return total

    return ratio


def _best_threshold(
    one: pl.DataFrame, two: pl.DataFrame, delta: float, error: float, name: str, score: ReleaseScore
) -> tuple[float, Event]:
    """Compute the best of the events that a score is at most, at least, or exactly some value."""
    first, second = score(one), score(two)
    cuts = np.unique(_quantiles(np.concatenate([first, second]), THRESHOLDS))
    highest, best = -np.inf, ("<=", np.nan, False)
    for side, is_hit in SIDES.items():
        hits, other = (is_hit(values[:, None], cuts).sum(axis=0) for values in (first, second))
        for swapped in (False, True):
            pair, trials = ((other, hits), (len(two), len(one))) if swapped else ((hits, other), (len(one), len(two)))
            bounds = epsilon_bound(*pair, trials, delta, error)
            if len(bounds) and bounds.max() > highest:
                place = int(bounds.argmax())
                highest, best = float(bounds[place]), (side, float(cuts[place]), swapped)
    side, cut, swapped = best
    return highest, Event(f"{name} {side} {cut:.6g}", partial(_is_beyond, score, side, cut), swapped)


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


NUMBER, MODEL = "bound of a number", "bound of whole models"
"""Names of the checks."""

TRAINING = 0.4
"""Part of the releases of a pair on which its events are chosen."""

LENIENT = 0.5
"""Error of bounds that only choose what to look at."""

RECORDED = 300
"""Releases of each database whose draws are returned."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Lower confidence bounds on epsilon from counting releases, 0 where they show nothing, and some releases."""

    number: float
    model: float
    releases: int
    findings: tuple[Finding, ...]
    records: tuple[Record, ...]


def count_outcomes(
    configuration: Configuration,
    universe: AnyUniverse,
    pairs: Sequence[AdversarialPair],
    releases: int,
    claim: Approximate,
    error: float,
) -> Bounds:
    """Release models of both databases of each pair, and search for an event that distinguishes them."""
    best = {NUMBER: 0.0, MODEL: 0.0}
    findings: dict[str, Finding] = {}
    records: list[Record] = []
    delta, each = float(claim.delta), error / (2 * len(pairs))
    for pair in pairs:
        *samples, some = _samples(configuration, universe, pair, releases)
        records += some
        training = int(TRAINING * releases)
        chosen_one, chosen_two = (sample.head(training) for sample in samples)
        fresh_one, fresh_two = (sample.slice(training) for sample in samples)
        for check, choose in ((NUMBER, best_of_numbers), (MODEL, best_of_models)):
            event = choose(chosen_one, chosen_two, delta, each)
            bound = event.bound(fresh_one, fresh_two, delta, each)
            best[check] = max(best[check], bound)
            if bound > float(claim.epsilon):
                seen = f"epsilon is at least {bound:.4g} where {float(claim.epsilon):.4g} is claimed, by {event.name}"
                findings.setdefault(check, Finding(check, pair.name, seen))
    total = 2 * len(pairs) * releases
    return Bounds(best[NUMBER], best[MODEL], total, tuple(findings.values()), tuple(records))


def promising(
    configuration: Configuration,
    universe: AnyUniverse,
    pairs: Sequence[AdversarialPair],
    releases: int,
    claim: Approximate,
) -> list[AdversarialPair]:
    """Sort pairs, those first that a few releases distinguish best; in their given order without releases."""
    if not releases:
        return list(pairs)

    def distinguished(pair: AdversarialPair) -> float:
        one, two, _ = _samples(configuration, universe, pair, releases)
        delta = float(claim.delta)
        return best_of_models(one, two, delta, LENIENT).bound(one, two, delta, LENIENT)

    return sorted(pairs, key=distinguished, reverse=True)


def _samples(
    configuration: Configuration, universe: AnyUniverse, pair: AdversarialPair, releases: int
) -> tuple[pl.DataFrame, pl.DataFrame, list[Record]]:
    """Release both databases of a pair many times, and keep the first records of each."""
    plan = configuration.plan(universe.domain)
    records: list[Record] = []
    rows: list[dict[str, str | float]] = []
    for database in (pair.one, pair.two):
        counted = universe.counted(database)
        for number in range(releases):
            outcome = record(plan, counted, RecordingSampler())
            released = {} if outcome.release is None else numbers(outcome.release)
            shape = outcome.failure or ", ".join(released)
            rows.append({SHAPE: shape, **{name: float(value) for name, value in released.items()}})
            if number < RECORDED:
                records.append(outcome)
    names = dict.fromkeys(name for row in rows for name in row)
    sample = pl.DataFrame(rows, {**dict.fromkeys(names, pl.Float64), SHAPE: pl.String})
    return sample.head(releases), sample.slice(releases), records


GRID, REACHABLE, REPEATS = "grid", "reachable points", "repeated noise"
RESIDUES, DISTRIBUTION = "residues", "distribution of the noise"
"""Names of the checks."""

GRIDS = (0, GRID_BITS, GRADIENT_BITS)
"""Public grids of draws: of counts, moments and gradients."""

AGAIN = 30
"""Releases that must not all be equal."""

WINDOW = 2
"""Points to either side of a location that must be reachable."""

LOW_BITS = 4
"""Low bits of a released moment that are compared with fair ones."""

COARSE = 2**12
"""Points of the grid that the scale of the noise has to cover for the low bits to be fair."""

LARGEST = 1e300
"""Largest magnitude whose probability is computed."""

BITS = 64
"""Bits of a uniform number that are chosen; those that follow are one zero and ones."""

LAST = 2**BITS - 1

SMALLEST = 2.0**-50
"""Tail probabilities below this are not tried: too few of the chosen bits are left to hit one point."""


def check_released(domain: Domain, records: Sequence[Record], error: float) -> list[Finding]:
    """Check grid, low bits and distribution of draws from the system's random bits."""
    noisy = [drawn for each in records for drawn in each.draws if drawn.scale > 0]
    uneven, distributed = _uneven(noisy, error / 2), _differently_distributed(noisy, error / 2)
    return [*_off_grid(domain, records), *uneven, *distributed]


def check_reachable(configuration: Configuration, universe: Universe, pair: AdversarialPair) -> list[Finding]:
    """Check that the points around both locations of every draw can be released for both neighbours."""
    plan = configuration.plan(universe.domain)
    records = [record(plan, universe.counted(database), Answers((9, 12), 0)) for database in (pair.one, pair.two)]
    for place, draws in enumerate(zip(*(each.draws for each in records), strict=False)):
        unit = Fraction(1, 2 ** draws[0].grid_bits)
        centres = {round(drawn.location / unit) for drawn in draws}
        for near in sorted({centre + by for centre in centres for by in range(-WINDOW, WINDOW + 1)}):
            point = near * unit
            missing = [drawn for drawn in draws if drawn.scale > 0 and not reachable(drawn, point)]
            if missing:
                seen = (
                    f"draw {place}, {draws[0].noise.name}: {float(point)} is released for one and never for the other"
                )
                return [Finding(REACHABLE, pair.name, seen if len(missing) < len(draws) else f"{point} never appears")]
    return []


def check_repeats(configuration: Configuration, universe: Universe, pair: AdversarialPair) -> list[Finding]:
    """Check that releases with their own source of noise draw anew each time, and state that they do."""
    plan, rows = configuration.plan(universe.domain), universe.counted(pair.two)
    releases = [each for _ in range(AGAIN) if (each := record(plan, rows, None).release) is not None]
    if releases and all(numbers(each) == numbers(releases[0]) for each in releases):
        return [Finding(REPEATS, pair.name, f"{len(releases)} releases are the same")]
    if not all(each.guarantee.private for each in releases):
        return [Finding(REPEATS, pair.name, "a release says that its noise can be repeated")]
    return []


def _off_grid(domain: Domain, records: Sequence[Record]) -> Iterator[Finding]:
    for each in records:
        for place, drawn in enumerate(each.draws):
            if (drawn.answer * 2**drawn.grid_bits).denominator != 1 or drawn.grid_bits not in GRIDS:
                seen = f"draw {place}, {drawn.noise.name}: {drawn.answer} is not a multiple of 2**-{drawn.grid_bits}"
                yield Finding(GRID, "released draws", seen)
                return
        if each.release is not None and (name := _off_grid_number(each.release)):
            yield Finding(GRID, "released numbers", f"{name} is not on the public grid")
            return


def _off_grid_number(model: Release) -> str | None:
    """Name of a released number that no point of the grid is carried to."""
    if isinstance(model, ScoreValues):
        return next((name for name, number in numbers(model).items() if number != int(number)), None)
    for measured in model.measurements:
        bits = GRID_BITS if measured.query in MOMENTS else GRADIENT_BITS if measured.query.startswith(GRADIENT) else 0
        for number in chain.from_iterable(measured.values):
            # Of larger numbers the float's own spacing is wider than the grid's.
            if abs(number) < 2.0**50 / 2**bits and number * 2**bits != round(number * 2**bits):
                about = "" if measured.attribute is None else f" of {measured.attribute}"
                return f"a number of {measured.query}{about}"
    return None


def _uneven(draws: Sequence[Drawn], error: float) -> Iterator[Finding]:
    """Test the low bits of moments whose noise covers many points of the grid: fair, so equal for any two databases."""
    from scipy.special import chdtrc

    low = [
        int(drawn.answer * 2**drawn.grid_bits) % 2**LOW_BITS
        for drawn in draws
        if drawn.grid_bits and drawn.scale * 2**drawn.grid_bits > COARSE
    ]
    if len(low) < 5 * 2**LOW_BITS:  # too few for the distribution of the statistic
        return
    counts, expected = np.bincount(low, minlength=2**LOW_BITS), len(low) / 2**LOW_BITS
    statistic = float(((counts - expected) ** 2).sum() / expected)
    if chdtrc(2**LOW_BITS - 1, statistic) < error:
        yield Finding(RESIDUES, "released draws", f"the last {LOW_BITS} bits of moments are not fair")


def _differently_distributed(draws: Sequence[Drawn], error: float) -> Iterator[Finding]:
    """Test whether draws, carried through their family's distribution function, are uniform."""
    # A released point stands for an interval of noise: a fair choice within it makes the result exactly uniform.
    # Folded about the middle it has to be uniform as well, and noise of too small a scale shows twice as far there.
    by_noise: dict[NoiseFamily, list[Drawn]] = {}
    for drawn in draws:
        by_noise.setdefault(drawn.noise, []).append(drawn)
    names = sorted({noise.name for noise in by_noise})
    random = np.random.default_rng()
    for name in names:
        parts = [_cumulative(noise, chosen) for noise, chosen in by_noise.items() if noise.name == name]
        low, high = np.concatenate(parts, axis=1)
        place = low + (high - low) * random.random(len(low))
        distance = max(_distance(place), _distance(np.abs(2 * place - 1)))
        allowed = band(len(place), error / (2 * len(names)))
        if distance > allowed:
            seen = f"{name}: {distance:.3f} away from its distribution function where {allowed:.3f} is chance"
            yield Finding(DISTRIBUTION, "released draws", seen)


def _distance(sample: NDArray[np.float64]) -> float:
    """Kolmogorov's distance of a sample of numbers in [0, 1] from the uniform distribution."""
    ordered, steps = np.sort(sample), np.arange(len(sample) + 1) / len(sample)
    return float(max(np.max(ordered - steps[:-1]), np.max(steps[1:] - ordered)))


def _cumulative(noise: NoiseFamily, draws: Sequence[Drawn]) -> NDArray[np.float64]:
    """Distribution function at both ends of the interval that rounds to each released point; shape (2, draws)."""
    ends = np.array([_rounded(drawn) for drawn in draws]).T
    tails = noise.survival(np.minimum(np.abs(ends), LARGEST)) / 2
    return np.where(ends < 0, tails, 1 - tails)


def _rounded(drawn: Drawn) -> tuple[float, float]:
    """Return the ends of the interval of noise that rounds to the answer."""
    half = Fraction(1, 2 ** (drawn.grid_bits + 1))
    centre = drawn.answer - drawn.location
    return float((centre - half) / drawn.scale), float((centre + half) / drawn.scale)


@dataclass(slots=True)
class PlayedBits:
    """A source of random bits that plays a sign and the first bits of each uniform number."""

    negative: bool
    uniforms: list[int]
    private: bool = True
    _played: int = field(default=0)

    def __call__(self, count: int) -> int:
        """Play the next bits; after the chosen ones, a zero and ones."""
        place, self._played = self._played, self._played + 1
        if place == 0:
            return int(self.negative)
        return self.uniforms[place - 1] if place <= len(self.uniforms) else 2 ** (count - 1) - 1


def reachable(drawn: Drawn, point: Fraction) -> bool:
    """Tell whether some random bits make the sampler release a point; True as well where it is too unlikely to try."""
    # |Z| moves in one direction with each of its uniform numbers. So it falls from infinity to 0 along a line through
    # all of them, and the bits are found by bisection, starting from the family's distribution function.
    distance = (point - drawn.location) / drawn.scale
    tail = float(drawn.noise.survival(np.array([abs(float(distance))]))[0])
    if tail < SMALLEST:
        return True
    negative, falling = distance < 0, _falling(drawn.noise)  # type: ignore[arg-type]  # families are frozen

    def beyond(place: int) -> Fraction:
        """Distance by which these bits lead beyond the point, seen from the location."""
        bits = PlayedBits(negative, [place if falls else LAST - place for falls in falling])
        answer = ExactSampler(bits)(drawn.location, drawn.scale, drawn.noise, drawn.grid_bits)
        return point - answer if negative else answer - point

    low, high = 0, LAST
    place = min(int(tail * 2.0**BITS), LAST)
    while low <= high:
        error = beyond(place)
        if error == 0:
            return True
        low, high = (place + 1, high) if error > 0 else (low, place - 1)
        place = (low + high) // 2
    return False


@cache
def _falling(noise: NoiseFamily) -> list[bool]:
    """For each uniform number, whether |Z| falls as it grows."""
    directions = []
    for place in range(noise.uniforms):
        with ctx.workprec(4 * BITS):
            small, large = (
                noise.magnitude(*(arb(value if other == place else 0.5) for other in range(noise.uniforms)))
                for value in (0.25, 0.75)
            )
        assert small is not None, "a quarter and a half are exact"
        assert large is not None, "three quarters and a half are exact"
        directions.append(bool(small > large))
    return directions
