"""Bit patterns: which values can be released must not depend on a row.

Every released number has to lie on a public grid, every point of the grid has to be reachable for both of two
neighbours, and the noise has to come from where it is said to come from: the system's random bits, in the family's
distribution.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from dpnb_columnar.boundary.moments import GRID_BITS
from dpnb_columnar.domain import Domain, Numeric
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.parameters import Normal
from dpnb_columnar.study.audit.adversarial import Adversarial
from dpnb_columnar.study.audit.configurations import Configuration
from dpnb_columnar.study.audit.draws import DISTRIBUTION, RESIDUES, check_draws
from dpnb_columnar.study.audit.findings import Finding
from dpnb_columnar.study.audit.played import reachable
from dpnb_columnar.study.audit.population import Population
from dpnb_columnar.study.audit.recording import Answers, Drawn, Record, record
from dpnb_columnar.study.audit.released import numbers

GRID, REACHABLE, REPEATS = "grid", "reachable points", "repeated noise"
CHECKS = (GRID, REACHABLE, REPEATS, RESIDUES, DISTRIBUTION)
"""Names of the checks, those of draws included."""

AGAIN = 30
"""Releases that must not all be alike."""

WINDOW = 2
"""Points to either side of a location that must be reachable."""


def check_released(domain: Domain, records: Sequence[Record], error: float) -> list[Finding]:
    """Grid, low bits and distribution of real draws.

    Args:
        domain: The public domain.
        records: Releases with the system's random bits.
        error: Probability that a correct sampler is accused.
    """
    draws = [drawn for found in records for drawn in found.draws]
    return [*_off_grid(domain, records), *check_draws(draws, error)]


def check_reachable(configuration: Configuration, population: Population, pair: Adversarial) -> list[Finding]:
    """Whether the points around both locations of every draw can be released for both neighbours."""
    records = [
        record(configuration, population.statistics(database), Answers((9, 12), 0)) for database in (pair.one, pair.two)
    ]
    for place, draws in enumerate(zip(*(found.draws for found in records), strict=False)):
        for point in _window(draws):
            missing = [drawn for drawn in draws if drawn.scale > 0 and not reachable(drawn, point)]
            if missing:
                seen = (
                    f"draw {place}, {draws[0].noise.name}: {float(point)} is released for one and never for the other"
                )
                return [Finding(REACHABLE, pair.name, seen if len(missing) < len(draws) else f"{point} never appears")]
    return []


def check_repeats(configuration: Configuration, population: Population, pair: Adversarial) -> list[Finding]:
    """Whether releases that are given no source of noise draw anew each time, and say so."""
    statistics = population.statistics(pair.two)
    models = [found for _ in range(AGAIN) if (found := record(configuration, statistics, None).model) is not None]
    if models and all(numbers(model) == numbers(models[0]) for model in models):
        return [Finding(REPEATS, pair.name, f"{len(models)} releases are the same")]
    if not all(model.guarantee.private for model in models):
        return [Finding(REPEATS, pair.name, "a release says that its noise can be repeated")]
    return []


def _off_grid(domain: Domain, records: Sequence[Record]) -> Iterator[Finding]:
    for found in records:
        for place, drawn in enumerate(found.draws):
            if (drawn.answer * 2**drawn.grid_bits).denominator != 1 or drawn.grid_bits not in (0, GRID_BITS):
                seen = f"draw {place}, {drawn.noise.name}: {drawn.answer} is no multiple of 2**-{drawn.grid_bits}"
                yield Finding(GRID, "released draws", seen)
                return
        if found.model is not None and (name := _off_grid_number(domain, found.model)):
            yield Finding(GRID, "released models", f"{name} is not on the public grid")
            return


def _off_grid_number(domain: Domain, model: Model) -> str | None:
    """Name of a released number that no point of the grid is carried to."""
    if any(count != int(count) for count in model.classes.released):
        return "a class count"
    for parameters in model.attributes:
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
        drawn, numbers = parameters.released_spread
        unit = scale.step if drawn == "released_deviation" else scale.step**2
        for number in numbers:
            if not _carried(number, 0.0, unit):
                return f"a {drawn} of {parameters.attribute}"
    return None


def _carried(number: float, origin: float, step: float) -> bool:
    """Whether a point of the grid of moments, carried to this scale in floating point, is this number."""
    point = round((number - origin) / step * 2**GRID_BITS)
    if abs(point) > 2**40:  # the float's own spacing is wider than the grid's
        return True
    return any(origin + step * float(Fraction(near, 2**GRID_BITS)) == number for near in (point - 1, point, point + 1))


def _window(draws: Sequence[Drawn]) -> list[Fraction]:
    """Points of the grid around all locations."""
    unit = Fraction(1, 2 ** draws[0].grid_bits)
    centres = {round(drawn.location / unit) for drawn in draws}
    return [point * unit for point in sorted({near + by for near in centres for by in range(-WINDOW, WINDOW + 1)})]
