"""Rows that can be counted: checked against a domain first, then counted by the engine that opened them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from dpnb_columnar.counting.scores import GradientQuery, GradientSums, ScoreCounts, Scores
    from dpnb_columnar.counting.statistics import Statistics
    from dpnb_columnar.domain import Domain


@dataclass(frozen=True, slots=True)
class CheckpointFolder:
    """Where each file's counts are kept, so that a run that was cut short goes on from there.

    Attributes:
        folder: The folder. CONFIDENTIAL.
        whole_units: Whether no unit of the domain's is declared to have rows in two files.
    """

    folder: Path
    whole_units: bool = False


class CheckedRows(Protocol):
    """Rows that have every column of a domain."""

    @property
    def can_score(self) -> bool:
        """Whether the rows can be read again, to count scores or to sum up gradients."""

    def count(self) -> Statistics:
        """Count every cell of the domain. Confidential."""

    def count_scores(self, scores: Scores) -> ScoreCounts:
        """Count the rows of each bin of a score and each class. Confidential."""

    def sum_gradients(self, query: GradientQuery) -> GradientSums:
        """Sum up a round's gradient. Confidential."""


class Rows(Protocol):
    """Rows that can be counted in a domain."""

    @property
    def can_score(self) -> bool:
        """Whether the rows can be read a second time, given what the first pass released."""

    def check(self, domain: Domain) -> CheckedRows:
        """Check that the rows have the domain's columns, in types that the domain can be read from. Opens no row."""


@dataclass(frozen=True, slots=True, repr=False)
class OpenedRows:
    """Rows that have every column of a domain, and the engine that counts them.

    Attributes:
        source: The rows, as the engine has opened them. Confidential.
        domain: The domain to count in.
        aggregate: Counts every cell of the domain over the source.
        score: Counts scores over the source; None for an engine that makes one pass only.
        differentiate: Sums up gradients over the source; None likewise.
    """

    source: Any
    domain: Domain
    aggregate: Callable[[Any, Domain], Statistics]
    score: Callable[[Any, Scores], ScoreCounts] | None = None
    differentiate: Callable[[Any, GradientQuery], GradientSums] | None = None

    @property
    def can_score(self) -> bool:
        """Whether the engine makes further passes."""
        return self.score is not None

    def count(self) -> Statistics:
        """Count every cell of the domain. Confidential."""
        return self.aggregate(self.source, self.domain)

    def count_scores(self, scores: Scores) -> ScoreCounts:
        """Count the rows of each bin of a score and each class. Confidential."""
        assert self.score is not None
        return self.score(self.source, scores)

    def sum_gradients(self, query: GradientQuery) -> GradientSums:
        """Sum up a round's gradient. Confidential."""
        assert self.differentiate is not None
        return self.differentiate(self.source, query)


@dataclass(frozen=True, slots=True, repr=False)
class Counted:
    """Rows that have been counted before. Confidential."""

    statistics: Statistics
    can_score = False

    def check(self, domain: Domain) -> Counted:
        """Leave out the counts of attributes that the domain has not; whoever counted the rows has checked them."""
        return Counted(self.statistics.only(domain))

    def count(self) -> Statistics:
        """Return the statistics. Confidential."""
        return self.statistics

    def count_scores(self, scores: Scores) -> ScoreCounts:
        """Refuse a second pass.

        Raises:
            TypeError: always, as the rows are not here.
        """
        raise TypeError("rows that have been counted cannot be read again")

    def sum_gradients(self, query: GradientQuery) -> GradientSums:
        """Refuse a further pass.

        Raises:
            TypeError: always, as the rows are not here.
        """
        raise TypeError("rows that have been counted cannot be read again")
