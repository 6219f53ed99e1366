"""Privacy loss of one draw, measured on the densities of its noise family, whatever the family claims; and of several.

Neighbours draw from f + S Z and f' + S' Z. In units of the first scale these are Z and t + r Z, with t = (f' - f)/S and
r = S'/S. What is computed is attained: by points of a grid, or by a partition of the line into cells, which is
post-processing. So no number here is above the true loss, and finer grids approach it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.budget import Approximate, Concentrated, PrivacyCost, Pure
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

TOLERANCE = 1e-6
"""Relative: above what a conversion leaves unspent on rounding, and far below any fault."""

Measured = tuple[PrivacyCost, float]
"""The loss that a draw claims, and what was measured of it."""


def measured(noise: NoiseFamily, shift: Floats, ratio: Floats) -> Floats:
    """Measure the loss of each change, in the number that the family's loss is stated by.

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
    """Measure the loss between the farthest neighbours that the family claims to cover.

    These are t = min(1, r) or 0, with log r = 0 or +-beta.
    """
    beta = float(noise.beta)
    ratio = np.exp(np.array([-beta, 0, beta, beta]))
    return float(measured(noise, np.minimum(1, ratio) * np.array([1, 1, 1, 0]), ratio).max())


def _measured(noise: NoiseFamily, shift: Floats, ratio: Floats) -> Floats:
    match noise.cost:
        case Pure():
            return _largest_ratio(noise, shift, ratio)
        case Approximate(epsilon=epsilon):
            one, two = _cells(noise, shift, ratio)
            return np.maximum(_hockey_stick(one, two, epsilon), _hockey_stick(two, one, epsilon))
        case Concentrated():
            one, two = _cells(noise, shift, ratio)
            rho: Floats = _rates(one, two).max(axis=(0, 2))
            return rho


def claimed(noise: NoiseFamily) -> float:
    """Read the number that ``measured`` must not exceed."""
    match noise.cost:
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
    """Compute the probability between consecutive edges, without cancellation in either tail."""
    with np.errstate(over="ignore"):
        tail = np.where(np.isfinite(edges), noise.survival(np.minimum(np.abs(edges), 1e300)) / 2, 0.0)
    left, right = tail[:, :-1], tail[:, 1:]
    low, high = edges[:, :-1], edges[:, 1:]
    across = (low < 0) & (high > 0)
    masses: Floats = np.where(across, 1 - left - right, np.abs(left - right))
    return masses


def _hockey_stick(one: Floats, two: Floats, epsilon: Fraction) -> Floats:
    """Compute the supremum over events of P(E) - exp(epsilon) Q(E): every cell that adds to it."""
    gained: Floats = np.maximum(one - math.exp(epsilon) * two, 0).sum(axis=1)
    return gained


def concentrated_together(draws: Sequence[tuple[NoiseFamily, float, float]]) -> float:
    """Measure the rho of several independent draws together: divergences of one order add up.

    Args:
        draws: Per draw, its noise, and t and r of the change.
    """
    rates = np.zeros((2, len(ORDERS)))
    for noise, shift, ratio in draws:
        rates += _rates(*_cells(noise, np.array([[shift]]), np.array([[ratio]])))[:, 0]
    return float(rates.max())


def _rates(one: Floats, two: Floats) -> Floats:
    """Compute D_a(P || Q)/a and D_a(Q || P)/a of each order a, whose supremum is rho.

    Args:
        one: Probabilities of cells, shape (changes, cells).
        two: Those of the neighbour.

    Returns:
        Shape (2, changes, orders).
    """
    seen = (one > 1e-250) & (two > 1e-250)  # what is left out could only add
    with np.errstate(divide="ignore"):
        log_one, log_two = np.log(np.where(seen, one, 1)), np.log(np.where(seen, two, 1))
    rates = np.zeros((2, len(one), len(ORDERS)))
    for direction, (log_p, log_q) in enumerate(((log_one, log_two), (log_two, log_one))):
        for place, order in enumerate(ORDERS):
            term = np.where(seen, order * log_p + (1 - order) * log_q, -np.inf)
            top = np.max(term, axis=1)
            divergence = (top + np.log(np.exp(term - top[:, None]).sum(axis=1))) / (order - 1)
            rates[direction, :, place] = divergence / order
    return np.maximum(rates, 0.0)


def composed(losses: Sequence[Measured], delta: float) -> float:
    """Compute the smallest epsilon that the losses of several draws imply together, at a delta.

    Pure draws cost what was measured. Others cost what they claim, once what was measured is no more than that:
    epsilons and deltas add up, and so do rhos, a pure loss costing epsilon^2/2.

    Args:
        losses: Per draw, the claimed loss, and what was measured of it.
        delta: Delta of the claim; positive if a loss is concentrated.

    Returns:
        Epsilon; infinite where the deltas of the losses exceed this delta.
    """
    epsilon = sum(number if isinstance(loss, Pure) else float(_epsilon(loss)) for loss, number in losses)
    rho = sum(float(loss.rho) for loss, _ in losses if isinstance(loss, Concentrated))
    if rho:
        return concentrated_epsilon(
            rho + sum(number**2 / 2 for loss, number in losses if isinstance(loss, Pure)), delta
        )
    spent = sum(float(loss.delta) for loss, _ in losses if isinstance(loss, Approximate))
    return epsilon if spent <= delta * (1 + TOLERANCE) else math.inf


@lru_cache(maxsize=4096)
def concentrated_epsilon(rho: float, delta: float) -> float:
    """Compute the smallest epsilon for which rho-zCDP implies (epsilon, delta)-differential privacy.

    The conversion is that of Canonne, Kamath and Steinke 2020, Corollary 13, minimised over its order on a grid.
    """
    order = 1 + np.geomspace(1e-6, 1e6, 200_001)
    epsilons = order * rho + (order * np.log1p(-1 / order) - np.log(order - 1) - math.log(delta)) / (order - 1)
    return max(float(epsilons.min()), 0.0)


def _epsilon(loss: PrivacyCost) -> float:
    return float(loss.epsilon) if isinstance(loss, Approximate) else 0.0
