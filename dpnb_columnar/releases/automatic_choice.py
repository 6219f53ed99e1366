"""Which mechanism ``auto``, the default, takes: by public facts alone, before a row is read.

Among mechanisms that are about as accurate it prefers those whose noise follows smooth sensitivity: loose bounds are
what a curator who may not look at the rows can honestly declare, and there noise for the declared range hides the most.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpnb_columnar.core.mechanisms.bins import AMOUNTS
from dpnb_columnar.core.mechanisms.histogram import AdaptiveHistogram, BinCounts
from dpnb_columnar.domain import Domain, Numeric, Transform
from dpnb_columnar.releases.attribute_weights import AUTO

LEAST_PLACED = 30_000
"""Least number of rows times epsilon, for each attribute, to spend a part of its share on where its bins are.
With as many, ``adaptive-histogram`` was within .003 of the best mechanism on every table, with bounds as they are and
ten and a hundred times too wide; with fewer, up to .015 below ``histogram`` (docs/journal/accuracy.md)."""


@dataclass(frozen=True, slots=True)
class MechanismChoice:
    """A mechanism, and why it was chosen. Public.

    Attributes:
        name: Its name.
        reason: Why ``auto`` took it, as the rest of a sentence after "since"; None where it was named.
    """

    name: str
    reason: str | None = None


def resolved_mechanism(
    mechanism: str, domain: Domain, epsilon: Fraction, rows: int | None, noise: str | None
) -> MechanismChoice:
    """Return the mechanism that was named, or the one that ``auto`` takes.

    Every mechanism that ``auto`` may take releases attributes. Where a noise family is named, it is one that draws it,
    so that a delta is spent by what needs it.

    Args:
        rows: Declared number of rows; None if there is none. Public: the true number of rows is not.
        noise: Name of the noise family for smooth sensitivity; None where none is chosen.
    """
    if mechanism != AUTO:
        return MechanismChoice(mechanism)
    if not domain.numeric:
        return MechanismChoice(
            AdaptiveHistogram.name, "no attribute is numeric, so that mechanisms release the same counts"
        )
    if any(map(_is_fine, domain.numeric)):
        return MechanismChoice(
            AdaptiveHistogram.name, "bins of fractional numbers are placed by a released mean and variance"
        )
    if noise is not None:
        return MechanismChoice(AdaptiveHistogram.name, "its bins are placed with noise of the family that is named")
    if rows is not None and rows * epsilon >= LEAST_PLACED * len(domain.attributes):
        return MechanismChoice(
            AdaptiveHistogram.name,
            "rows are many enough to place bins by a released mean and variance, whatever bounds are declared",
        )
    few = "no number of rows is declared" if rows is None else "rows are few for this epsilon and so many attributes"
    return MechanismChoice(BinCounts.name, f"{few}: all of the budget counts declared bins")


def _is_fine(attribute: Numeric) -> bool:
    """Tell whether equal bins over the declared range may all be empty but one, if its bounds are loose.

    Ranges of few whole units are a codebook's, and those of many have bins that grow from zero.
    """
    return attribute.transform is Transform.IDENTITY and attribute.step < 1 and attribute.cells > AMOUNTS
