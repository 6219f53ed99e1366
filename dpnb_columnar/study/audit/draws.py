"""Draws from the system's random bits: their low bits are fair, and their distribution is the family's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.noise import NoiseFamily
from dpnb_columnar.study.audit.findings import Finding
from dpnb_columnar.study.audit.intervals import band
from dpnb_columnar.study.audit.recording import Drawn

RESIDUES, DISTRIBUTION = "residues", "distribution of the noise"
"""Names of the checks."""

LOW_BITS = 4
"""Low bits of a released moment that are compared with fair ones."""

COARSE = 2**12
"""Points of the grid that the scale of the noise has to cover for the low bits to be fair."""

LARGEST = 1e300
"""Largest magnitude whose probability is asked for."""


def check_draws(draws: Sequence[Drawn], error: float) -> Iterator[Finding]:
    """Low bits and distribution of real draws; a correct sampler is accused with probability ``error`` at most."""
    noisy = [drawn for drawn in draws if drawn.scale > 0]
    yield from _uneven(noisy, error / 2)
    yield from _differently_distributed(noisy, error / 2)


def _uneven(draws: Sequence[Drawn], error: float) -> Iterator[Finding]:
    """Low bits of moments whose noise covers many points of the grid: fair, so alike for any two databases."""
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
    """Whether draws, carried through their family's distribution function, are uniform.

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
    """Distribution function at both ends of what was rounded to each released point; shape (2, draws)."""
    ends = np.array([_rounded(drawn) for drawn in draws]).T
    tails = noise.survival(np.minimum(np.abs(ends), LARGEST)) / 2
    return np.where(ends < 0, tails, 1 - tails)


def _rounded(drawn: Drawn) -> tuple[float, float]:
    """Between which numbers the noise was."""
    half = Fraction(1, 2 ** (drawn.grid_bits + 1))
    centre = drawn.answer - drawn.location
    return float((centre - half) / drawn.scale), float((centre + half) / drawn.scale)
