"""Released counts: exact counts with Laplace noise, rounded to whole numbers (docs/privacy.md, section 2)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from dpnb_columnar.budget import Pure, Share
from dpnb_columnar.noise import Laplace, Sampler

SENSITIVITY = Fraction(1)
"""One row changes one cell of a table by 1. Every cell the domain declares is released, zero counts included, so no
absence tells anything."""


def count_noise(share: Share) -> Laplace:
    """The noise of a table of counts: scale 1/epsilon for the share's pure loss of one row."""
    assert isinstance(share.row_loss, Pure)
    return Laplace(share.row_loss.epsilon)


def noisy_counts(counts: Iterable[int], share: Share, draw: Sampler) -> list[int]:
    """Counts of disjoint cells, each with Laplace noise.

    Together they cost the share's ``row_loss`` under add-remove: one row moves one count by 1.
    """
    noise = count_noise(share)
    return [int(draw(Fraction(int(count)), SENSITIVITY, noise)) for count in counts]
