"""Confidence bounds on probabilities and distributions, valid for every number of observations."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
