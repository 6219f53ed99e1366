"""Released counts: exact counts with noise, rounded to whole numbers (docs/privacy.md, section 2)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from dpnb_columnar.boundary.families import smooth_noise
from dpnb_columnar.budget import Pure, Share
from dpnb_columnar.noise import Laplace, NoiseFamily, Sampler

SENSITIVITY = Fraction(1)
"""One row changes one cell of a table by 1. Every cell the domain declares is released, zero counts included, so no
absence tells anything."""


LAPLACE = "laplace"
"""Noise of scale 1/epsilon in a pure share; in one with a delta it is a family for smooth sensitivity."""


def constant(share: Share) -> bool:
    """Whether a share's noise is for a sensitivity that is a public constant and no other."""
    return share.noise == LAPLACE and isinstance(share.row_loss, Pure)


def constant_noise(share: Share) -> NoiseFamily:
    """The noise of numbers whose sensitivity is a public constant, calibrated to the share's loss of one row.

    A constant is as smooth as any family for smooth sensitivity could ask for, so these are admissible as well.
    """
    if constant(share):
        assert isinstance(share.row_loss, Pure)
        return Laplace(share.row_loss.epsilon)
    return smooth_noise(share.noise, share.row_loss)


def noisy_counts(counts: Iterable[int], share: Share, draw: Sampler) -> list[int]:
    """Counts of disjoint cells, each with noise.

    Together they cost the share's ``row_loss`` under add-remove: one row moves one count by 1.
    """
    noise = constant_noise(share)
    return [int(draw(Fraction(int(count)), SENSITIVITY, noise)) for count in counts]
