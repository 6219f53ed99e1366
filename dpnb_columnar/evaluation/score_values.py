"""The values that a release of scores draws: what is released, without the figures that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dpnb_columnar.core.guarantee import Guarantee
from dpnb_columnar.domain import Domain

_POSITIVE = (*(quarter / 4 for quarter in range(1, 17)), *(half / 2 for half in range(9, 17)), 9.0, 10.0, 11.0, 12.0)
EDGES = (*(-edge for edge in reversed(_POSITIVE)), 0.0, *_POSITIVE)
"""Edges between the bins, in log-odds of the second class: a quarter apart up to 4 (a probability of 0.98), a half to
8, and 1 up to 12. Wider bins would cost accuracy of the ranking, more of them accuracy of the sums."""

PARTS = 100
"""Sums of probabilities are of whole parts of 1, to which each row's is rounded."""


@dataclass(frozen=True, slots=True)
class GroupedCounts:
    """Noisy counts of the groups of one column, or of several that are crossed. Public.

    Attributes:
        columns: The columns.
        values: Per group, its value of each column; None of rows without a declared value.
        counts: Per group, per class, the rows that are predicted to be of each class.
        expected: Per group, the sum of its rows' probabilities of the second of two classes, in 1/``PARTS``; None of
            more classes.
    """

    columns: tuple[str, ...]
    values: tuple[tuple[str | None, ...], ...]
    counts: tuple[tuple[tuple[int, ...], ...], ...]
    expected: tuple[int, ...] | None


@dataclass(frozen=True, slots=True, repr=False)
class ScoreValues:
    """Noisy counts of labelled rows by class, and by what a model says of them. Public.

    Attributes:
        domain: Domain of the rows.
        model: SHA-256 of the model's document.
        guarantee: What the release promises about every row, given the model.
        counts: Per class, the released counts. Of two classes: of every bin of the second one's log-odds between
            ``EDGES``; those of the first bin are at most the first edge, those of the last above the last. Of more: of
            the rows that are predicted to be of each class.
        software: Versions of what drew them.
        groups: The counts by group, one for each division into groups that was asked for.
    """

    domain: Domain
    model: str
    guarantee: Guarantee
    counts: tuple[tuple[int, ...], ...]
    software: Mapping[str, str]
    groups: tuple[GroupedCounts, ...] = ()


def released_bins(domain: Domain) -> int:
    """Return the number of counts of each class: one per range of log-odds of two classes, or per predicted class."""
    return len(domain.classes) if len(domain.classes) > 2 else len(EDGES) + 1
