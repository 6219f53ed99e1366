"""Privacy loss of one draw, from the densities of its noise family and nothing that the family says of itself.

Neighbours draw from f + S Z and f' + S' Z. In units of the first scale these are Z and t + r Z, with t = (f' - f)/S and
r = S'/S. What is computed is attained: by points of a grid, or by a partition of the line into cells, which is
post-processing. So no number here is above the true loss, and finer grids approach it.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.budget import Approximate, Concentrated, Pure
from dpnb_columnar.noise import NoiseFamily

Floats = NDArray[np.float64]

NEAR, FAR, POINTS = 1e-3, 1e12, 181
"""Grid of magnitudes for pure losses: the ratio of two scales shows fully in the far tails only."""

SHIFTED = 1e4
"""How far to look where scales are equal; beyond, light tails are differences of large numbers."""

LEVELS = 200
"""Cells per side, evenly spaced in the logarithm of the tail's probability."""

FARTHEST = 1e-17
"""Probability of the last cell of a side."""

FINE = np.concatenate([[0.0], np.geomspace(1e-6, 1e15, 8001)])
"""Magnitudes between which a level of the tail is interpolated."""

ORDERS = np.concatenate([1 + np.geomspace(1e-3, 1, 8), np.geomspace(2.5, 300, 16)])
"""Orders a of Renyi divergences."""

CHUNK = 128
"""Changes evaluated at once."""


def measured(noise: NoiseFamily, shift: Floats, ratio: Floats) -> Floats:
    """Loss of each change, in the number that the family's loss is stated by.

    Args:
        noise: The family, calibrated.
        shift: t, shape (changes,).
        ratio: r, shape (changes,).

    Returns:
        Shape (changes,): epsilon of a pure loss; delta at the family's own epsilon of an approximate one; rho of a
        concentrated one. Whichever of the two neighbours comes first.
    """
    parts = np.array_split(np.arange(len(shift)), max(1, -(-len(shift) // CHUNK)))
    return np.concatenate([_measured(noise, shift[part, None], ratio[part, None]) for part in parts])


def worst_admissible(noise: NoiseFamily) -> float:
    """Loss between the farthest neighbours that the family says it covers: t = min(1, r) or 0, log r = 0 or +-beta."""
    beta = float(noise.beta)
    ratio = np.exp(np.array([-beta, 0, beta, beta]))
    return float(measured(noise, np.minimum(1, ratio) * np.array([1, 1, 1, 0]), ratio).max())


def _measured(noise: NoiseFamily, shift: Floats, ratio: Floats) -> Floats:
    match noise.loss:
        case Pure():
            return _largest_ratio(noise, shift, ratio)
        case Approximate(epsilon=epsilon):
            one, two = _cells(noise, shift, ratio)
            return np.maximum(_hockey_stick(one, two, epsilon), _hockey_stick(two, one, epsilon))
        case Concentrated():
            one, two = _cells(noise, shift, ratio)
            return np.maximum(_renyi(one, two), _renyi(two, one))


def claimed(noise: NoiseFamily) -> float:
    """What ``measured`` must not exceed."""
    match noise.loss:
        case Pure(epsilon=number) | Approximate(delta=number) | Concentrated(rho=number):
            return float(number)


def _largest_ratio(noise: NoiseFamily, shift: Floats, ratio: Floats) -> Floats:
    """Largest |log-ratio| of the two densities, on grids around both centres."""
    magnitudes = np.concatenate([[0.0], np.geomspace(NEAR, FAR, POINTS)])
    grid = np.concatenate([-magnitudes[:0:-1], magnitudes])[None, :]
    worst = np.zeros(len(shift))
    for point, moved in ((grid, (grid - shift) / ratio), (grid * ratio + shift, grid)):
        loss = np.abs(noise.log_density(point) - noise.log_density(moved) + np.log(ratio))
        worst = np.maximum(worst, np.max(np.where((ratio != 1) | (np.abs(grid) <= SHIFTED), loss, 0), axis=1))
    return worst


def _magnitudes(noise: NoiseFamily) -> Floats:
    """Magnitudes at which the tail's probability falls to each level, from 0 outwards; shape (levels,)."""
    tail = noise.survival(FINE)
    near = np.linspace(0, 0.99, LEVELS // 4)
    levels = np.concatenate([1 - near, np.geomspace(0.0099, FARTHEST, LEVELS)])
    return np.unique(np.interp(-levels, -tail, FINE))


def _cells(noise: NoiseFamily, shift: Floats, ratio: Floats) -> tuple[Floats, Floats]:
    """Probabilities of the cells of a common partition of the line; both of shape (changes, cells)."""
    magnitudes = _magnitudes(noise)
    own = np.concatenate([-magnitudes[:0:-1], magnitudes])[None, :]
    edges = np.sort(np.concatenate([np.broadcast_to(own, (len(shift), own.size)), own * ratio + shift], axis=1))
    ends = np.full((len(shift), 1), np.inf)
    edges = np.concatenate([-ends, edges, ends], axis=1)
    return _masses(noise, edges), _masses(noise, (edges - shift) / ratio)


def _masses(noise: NoiseFamily, edges: Floats) -> Floats:
    """Probability between consecutive edges, without cancellation in either tail."""
    with np.errstate(over="ignore"):
        tail = np.where(np.isfinite(edges), noise.survival(np.minimum(np.abs(edges), 1e300)) / 2, 0.0)
    left, right = tail[:, :-1], tail[:, 1:]
    low, high = edges[:, :-1], edges[:, 1:]
    across = (low < 0) & (high > 0)
    masses: Floats = np.where(across, 1 - left - right, np.abs(left - right))
    return masses


def _hockey_stick(one: Floats, two: Floats, epsilon: Fraction) -> Floats:
    """sup over events of P(E) - exp(epsilon) Q(E): every cell that adds to it."""
    gained: Floats = np.maximum(one - math.exp(epsilon) * two, 0).sum(axis=1)
    return gained


def _renyi(one: Floats, two: Floats) -> Floats:
    """sup over orders a of D_a(P || Q)/a, the rho of concentrated differential privacy."""
    seen = (one > 1e-250) & (two > 1e-250)  # what is left out could only add
    with np.errstate(divide="ignore"):
        log_one, log_two = np.log(np.where(seen, one, 1)), np.log(np.where(seen, two, 1))
    worst = np.zeros(len(one))
    for order in ORDERS:
        term = np.where(seen, order * log_one + (1 - order) * log_two, -np.inf)
        top = np.max(term, axis=1)
        divergence = (top + np.log(np.exp(term - top[:, None]).sum(axis=1))) / (order - 1)
        worst = np.maximum(worst, divergence / order)
    return worst
