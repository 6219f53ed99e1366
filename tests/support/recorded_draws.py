"""What a release counts and what it asks of its sampler, and how much two neighbours lose between them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from dpnb_columnar.budget import Budget
from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.noise import NoiseFamily
from support.releases import plan_and_release


@dataclass(frozen=True)
class Drawn:
    """One call of the sampler."""

    location: Fraction
    scale: Fraction
    noise: NoiseFamily
    grid_bits: int = 0


@dataclass
class Forced:
    """Notes what is asked, and answers all calls alike, or by place and what is asked; with None, without noise."""

    answer: int | Callable[[int, Drawn], Fraction | int | None] | None = None
    calls: list[Drawn] = field(default_factory=list)
    private: bool = False

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        asked = Drawn(location, scale, noise, grid_bits)
        answer = self.answer(len(self.calls), asked) if callable(self.answer) else self.answer
        self.calls.append(asked)
        return location if answer is None else Fraction(answer)


def draws(
    statistics: Statistics, budget: Budget, mechanism: str = "smooth", noise: str | None = None, answer: int = 500
) -> list[Drawn]:
    """Every draw of a release in which each answer, released class counts included, is the one given."""
    forced = Forced(answer)
    plan_and_release(statistics, budget, mechanism, noise, forced)
    return forced.calls


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
