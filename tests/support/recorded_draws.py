"""What a release counts and what it asks of its sampler, and how much two neighbours lose between them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest

import dpnb_columnar as dpnb
from dpnb_columnar.budget import Approximate, Budget, Concentrated, PrivacyCost, Pure
from dpnb_columnar.counting.engines import duckdb, polars
from dpnb_columnar.counting.statistics import Statistics, assemble
from dpnb_columnar.mechanisms.smooth_noise import NOISE_FAMILIES, smooth_family
from dpnb_columnar.noise import NoiseFamily
from dpnb_columnar.noise.family import Floats
from dpnb_columnar.rows.parquet import open_parquet
from support.mechanisms import PRIVATE
from support.people import people_domain, write_people
from support.releases import plan_and_release

MECHANISMS = tuple(PRIVATE)


@dataclass(frozen=True)
class Drawn:
    """One call of the sampler."""

    location: Fraction
    scale: Fraction
    noise: NoiseFamily


@dataclass
class Forced:
    """Answers every call alike, whatever the rows are, or without noise, and notes what was asked."""

    answer: int | None = None
    calls: list[Drawn] = field(default_factory=list)
    private: bool = False

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        self.calls.append(Drawn(location, scale, noise))
        return location if self.answer is None else Fraction(self.answer)


class Extreme:
    """Answers far beyond anything that is ever drawn."""

    private = False

    def __init__(self, seed: int, size: int) -> None:
        self.random, self.size = Random(seed), size

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        return Fraction(self.random.choice([-self.size, -1, 0, 1, self.size]))


def draws(
    statistics: Statistics, budget: Budget, mechanism: str = "smooth", noise: str | None = None, answer: int = 500
) -> list[Drawn]:
    """Every draw of a release in which each answer, released class counts included, is the one given."""
    forced = Forced(answer)
    plan_and_release(statistics, budget, mechanism, noise, forced)
    return forced.calls


def counted(path: Path, frame: pl.DataFrame, document: Mapping[str, Any]) -> Statistics:
    """The statistics of rows, by way of a Parquet file."""
    write_people(path, frame, document)
    return dpnb.aggregate(path, domain=people_domain(document))


def by_every_engine(path: Path) -> list[Statistics]:
    """The statistics of a file of people as a user counts them, and by each engine alone."""
    domain = people_domain()
    source = open_parquet([path], domain)
    return [
        dpnb.aggregate(path),
        assemble(domain, polars.count_cells(source, domain, domain.attributes, classes=True)),
        assemble(domain, duckdb.count_cells(source, domain, domain.attributes)),
    ]


def worst_ratio(noise: NoiseFamily, shift: float, ratio: float) -> float:
    """Largest |log p(z) - log q(z)| over a grid, p the density of Z and q that of shift + ratio * Z."""
    # The logarithms of exponential tails lose their digits far out; where the scale is constant nothing happens there.
    reach = 1e12 if noise.beta else 1e4
    magnitudes = np.concatenate([[0.0], np.geomspace(1e-4, 60, 600), np.geomspace(60, reach, 600)])
    symmetrical = np.concatenate([-magnitudes[::-1], magnitudes])
    # Both centres, where densities have their kinks, are points of the grid.
    points = np.concatenate([symmetrical, symmetrical * ratio + shift])
    losses = noise.log_density(points) - (noise.log_density((points - shift) / ratio) - math.log(ratio))
    return float(np.max(np.abs(losses)))


def worst_loss(one: Drawn, two: Drawn) -> float:
    """The worst privacy loss between two draws of one query: infinite if they do not even draw the same noise."""
    if one.noise != two.noise:
        return math.inf
    if one == two:
        return 0.0
    shift, ratio = (two.location - one.location) / one.scale, two.scale / one.scale
    return worst_ratio(one.noise, float(shift), float(ratio))


def total_loss(one: Sequence[Drawn], two: Sequence[Drawn]) -> float:
    """The worst loss over all draws together: independent draws add their losses up."""
    if len(one) != len(two):
        return math.inf
    return math.fsum(worst_loss(*pair) for pair in zip(one, two, strict=True))


def cost_of(name: str, epsilon: Fraction) -> PrivacyCost:
    """A loss as the family states it, of about this epsilon."""
    kind = smooth_family(name).kind
    if kind is Approximate:
        return Approximate(epsilon, Fraction(1, 10**6))
    return Concentrated(epsilon**2 / 2) if kind is Concentrated else Pure(epsilon)


def every_pure_noise() -> pytest.MarkDecorator:
    """The test, once for each family whose loss is the largest log-ratio; tests/noise judge all others."""
    return pytest.mark.parametrize("noise", [name for name in NOISE_FAMILIES if smooth_family(name).kind is Pure])


def every_noise() -> pytest.MarkDecorator:
    """The test, once for each family that the command line offers."""
    return pytest.mark.parametrize("noise", NOISE_FAMILIES)


def survival_at(noise: NoiseFamily, magnitudes: Floats) -> Floats:
    """Probability that |Z| exceeds each magnitude."""
    return np.asarray(noise.survival(np.asarray(magnitudes, dtype=np.float64)))
