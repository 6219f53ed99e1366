"""What one query costs: the three ways in which a privacy loss is stated, as exact rationals.

They say what happened and judge nothing; conversion and composition are in ``conversion`` and ``composition``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Pure:
    """epsilon-differential privacy: for neighbours D, D' and every event E, P[D](E) <= exp(epsilon) P[D'](E)."""

    epsilon: Fraction


@dataclass(frozen=True, slots=True)
class Approximate:
    """(epsilon, delta)-differential privacy: P[D](E) <= exp(epsilon) P[D'](E) + delta."""

    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True)
class Concentrated:
    """rho-zero-concentrated differential privacy (Bun and Steinke 2016): the Renyi divergence of order a between
    neighbours is at most a * rho, for every a > 1."""

    rho: Fraction


Loss = Pure | Approximate | Concentrated


def numbers(loss: Loss) -> dict[str, Fraction]:
    """What a loss is stated by: ``epsilon``, ``epsilon`` and ``delta``, or ``rho``."""
    return {field.name: getattr(loss, field.name) for field in fields(loss)}
