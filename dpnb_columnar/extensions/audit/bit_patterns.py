"""Bit patterns: which values can be released must not depend on a row.

Every released number has to lie on a public grid, every point of the grid has to be reachable for both of two
neighbours, and the noise has to come from its stated source: the system's random bits, in the family's distribution.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from dpnb_columnar.core.mechanisms.later import GRADIENT_BITS
from dpnb_columnar.core.mechanisms.smooth import GRID_BITS
from dpnb_columnar.core.noise import ExactSampler, NoiseFamily
from dpnb_columnar.domain import Domain, Numeric
from dpnb_columnar.evaluation.evaluation import ScoreValues
from dpnb_columnar.extensions.audit.distinguishers import band
from dpnb_columnar.extensions.audit.neighbours import AdversarialPair
from dpnb_columnar.extensions.audit.outcomes import Configuration, Finding
from dpnb_columnar.extensions.audit.recording import Answers, Drawn, Record, numbers, record
from dpnb_columnar.extensions.audit.universe import Universe
from dpnb_columnar.model.parameters import Normal, Table
from dpnb_columnar.training import Release

GRID, REACHABLE, REPEATS = "grid", "reachable points", "repeated noise"
RESIDUES, DISTRIBUTION = "residues", "distribution of the noise"
CHECKS = (GRID, REACHABLE, REPEATS, RESIDUES, DISTRIBUTION)
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
    """Check grid, low bits and distribution of draws from the system's random bits.

    Args:
        records: Releases with the system's random bits.
    """
    noisy = [drawn for each in records for drawn in each.draws if drawn.scale > 0]
    uneven, distributed = _uneven(noisy, error / 2), _differently_distributed(noisy, error / 2)
    return [*_off_grid(domain, records), *uneven, *distributed]


def check_reachable(configuration: Configuration, universe: Universe, pair: AdversarialPair) -> list[Finding]:
    """Check that the points around both locations of every draw can be released for both neighbours."""
    plan = configuration.plan(universe.domain)
    records = [record(plan, universe.counted(database), Answers((9, 12), 0)) for database in (pair.one, pair.two)]
    for place, draws in enumerate(zip(*(each.draws for each in records), strict=False)):
        for point in _window(draws):
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


def _window(draws: Sequence[Drawn]) -> list[Fraction]:
    """Points of the grid around all locations."""
    unit = Fraction(1, 2 ** draws[0].grid_bits)
    centres = {round(drawn.location / unit) for drawn in draws}
    return [point * unit for point in sorted({near + by for near in centres for by in range(-WINDOW, WINDOW + 1)})]


def _off_grid(domain: Domain, records: Sequence[Record]) -> Iterator[Finding]:
    for each in records:
        for place, drawn in enumerate(each.draws):
            if (drawn.answer * 2**drawn.grid_bits).denominator != 1 or drawn.grid_bits not in GRIDS:
                seen = f"draw {place}, {drawn.noise.name}: {drawn.answer} is not a multiple of 2**-{drawn.grid_bits}"
                yield Finding(GRID, "released draws", seen)
                return
        if each.release is not None and (name := _off_grid_number(domain, each.release)):
            yield Finding(GRID, "released numbers", f"{name} is not on the public grid")
            return


def _off_grid_number(domain: Domain, model: Release) -> str | None:
    """Name of a released number that no point of the grid is carried to."""
    if isinstance(model, ScoreValues):
        return next((name for name, number in numbers(model).items() if number != int(number)), None)
    if any(count != int(count) for count in model.classes.released):
        return "a class count"
    for parameters in model.attributes:
        presence = None if isinstance(parameters, Table) else parameters.presence
        if presence is not None and any(count != int(count) for row in presence.released for count in row):
            return f"a number of values of {parameters.attribute}"
        if not isinstance(parameters, Normal):
            if any(count != int(count) for row in parameters.released for count in row):
                return f"a count of {parameters.attribute}"
            continue
        attribute = domain[parameters.attribute]
        assert isinstance(attribute, Numeric)
        scale = attribute.scale
        for mean in parameters.released_mean:
            if not _carried(mean, scale.origin, scale.step):
                return f"a mean of {parameters.attribute}"
        drawn, spreads = parameters.released_spread
        unit = scale.step if drawn == "released_deviation" else scale.step**2
        for number in spreads:
            if not _carried(number, 0.0, unit):
                return f"a {drawn} of {parameters.attribute}"
    return None


def _carried(number: float, origin: float, step: float) -> bool:
    """Return whether a point of the grid of moments, carried to this scale in floating point, is this number."""
    point = round((number - origin) / step * 2**GRID_BITS)
    if abs(point) > 2**40:  # the float's own spacing is wider than the grid's
        return True
    return any(origin + step * float(Fraction(near, 2**GRID_BITS)) == number for near in (point - 1, point, point + 1))


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
    """Test whether draws, carried through their family's distribution function, are uniform.

    A released point stands for an interval of noise. A fair choice within that interval, by the auditor's own random
    numbers, makes the result exactly uniform if the sampler is right. Folded about the middle it has to be uniform as
    well, and noise of too small a scale shows twice as far there.
    """
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
    """Tell whether some random bits make the sampler release a point; True as well where it is too unlikely to try.

    |Z| moves in one direction with each of its uniform numbers. So it falls from infinity to 0 along a line through all
    of them, and the bits are found by bisection, starting from the family's distribution function.
    """
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
