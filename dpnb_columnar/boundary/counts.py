"""Released counts: exact counts with Laplace noise, rounded to whole numbers (docs/privacy.md, section 2)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from dpnb_columnar.noise import Laplace, Sampler

SENSITIVITY = Fraction(1)
"""One row changes one cell of a table by 1. Every cell the domain declares is released, zero counts included, so no
absence tells anything."""


def noisy_counts(counts: Iterable[int], epsilon: Fraction, draw: Sampler) -> list[int]:
    """Counts of disjoint cells, each with Laplace noise of scale 1/epsilon.

    Together they are epsilon-differentially private under add-remove: one row moves one count by 1.
    """
    noise = Laplace(epsilon)
    return [int(draw(Fraction(int(count)), SENSITIVITY, noise)) for count in counts]
