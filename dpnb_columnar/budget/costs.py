"""The three kinds of privacy guarantee of one query: pure, approximate and concentrated, as exact rationals.

Conversion and composition are in ``conversion`` and ``composition``.
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
    """State rho-zero-concentrated differential privacy (Bun and Steinke 2016).

    The Renyi divergence of order a between neighbours is at most a * rho, for every a > 1.
    """

    rho: Fraction


PrivacyCost = Pure | Approximate | Concentrated


def numbers(cost: PrivacyCost) -> dict[str, Fraction]:
    """Return the parameters by name: ``epsilon``; ``epsilon`` and ``delta``; or ``rho``."""
    return {field.name: getattr(cost, field.name) for field in fields(cost)}
