"""What is audited: every private mechanism, under each neighbouring relation, and every noise family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpnb_columnar.boundary.families import NOISE_FAMILIES, smooth_family
from dpnb_columnar.boundary.release import MECHANISMS, mechanism_named
from dpnb_columnar.budget import Budget, Neighbours, Pure
from dpnb_columnar.errors import UsageError

EPSILON = Fraction(4)
"""Large enough for a few hundred releases to show some of it."""

DELTA = Fraction(1, 10**6)

NOISES = {"smooth": NOISE_FAMILIES, "paper": ("cauchy", "gaussian")}
"""Families that a mechanism is audited with. All of them meet the sampler and the searches in ``smooth``; the others
that take a family are audited with their default, and ``paper`` also where its class counts have other noise."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """One way to call ``release``."""

    mechanism: str
    noise: str | None
    budget: Budget

    def __str__(self) -> str:
        return ", ".join(filter(None, [self.mechanism, self.noise, str(self.budget.neighbours)]))


def configurations(mechanisms: Sequence[str] = ()) -> list[Configuration]:
    """Every configuration of these mechanisms; of all private ones where none is named.

    Raises:
        UsageError: An unknown mechanism, or one that promises nothing.
    """
    chosen = [mechanism_named(name) for name in dict.fromkeys(mechanisms)]
    for mechanism in chosen:
        if not mechanism.private:
            raise UsageError(f"mechanism: {mechanism.name!r} promises no privacy, so there is nothing to audit")
    return [
        Configuration(mechanism.name, noise, Budget(EPSILON, neighbours, delta=_delta(noise)))
        for mechanism in chosen or [mechanism for mechanism in MECHANISMS.values() if mechanism.private]
        for noise in (NOISES.get(mechanism.name, (mechanism.default_noise,)) if mechanism.smooth else (None,))
        for neighbours in Neighbours
    ]


def _delta(noise: str | None) -> Fraction:
    """The delta that a noise family needs."""
    return Fraction(0) if noise is None or smooth_family(noise).kind is Pure else DELTA
