"""What the losses of several draws cost together, as epsilon at a delta."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from dpnb_columnar.budget import Approximate, Concentrated, Loss, Pure

Measured = tuple[Loss, float]
"""What a draw claims, and what was measured of it."""

TOLERANCE = 1e-6
"""Relative: above what a conversion leaves unspent on rounding, and far below any fault."""


def composed(losses: Sequence[Measured], delta: float) -> float:
    """Smallest epsilon that these losses imply together, at this delta.

    Pure draws cost what was measured. Others cost what they claim, once what was measured is no more than that:
    epsilons and deltas add up, and so do rhos, a pure loss costing epsilon^2/2. Infinite where the deltas do not fit.
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
    """Smallest epsilon for which rho-zCDP implies (epsilon, delta)-differential privacy, by the conversion of
    Canonne, Kamath and Steinke 2020, Corollary 13, minimised over its order on a grid."""
    order = 1 + np.geomspace(1e-6, 1e6, 200_001)
    found = order * rho + (order * np.log1p(-1 / order) - np.log(order - 1) - math.log(delta)) / (order - 1)
    return max(float(found.min()), 0.0)


def _epsilon(loss: Loss) -> float:
    return float(loss.epsilon) if isinstance(loss, Approximate) else 0.0
