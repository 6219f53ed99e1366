"""A further pass over the rows, whichever it is: its counts of scores, or its sums of a round. CONFIDENTIAL."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpnb_columnar.counting.scores import (
    FurtherQuery,
    FurtherStatistics,
    GradientQuery,
    GradientSums,
    ScoreCounts,
    Scores,
)
from dpnb_columnar.counting.statistics_files import save_gradient_sums, save_score_counts
from dpnb_columnar.domain.database_address import Dialect

if TYPE_CHECKING:
    from dpnb_columnar.counting.countable import CheckedRows
    from dpnb_columnar.counting.statistics import Statistics
    from dpnb_columnar.dialects.rules import Kinds
    from dpnb_columnar.domain import Domain


@dataclass(frozen=True, slots=True, repr=False)
class CountedGiven:
    """Rows that have been counted, or summed up, given a released model. Confidential."""

    statistics: FurtherStatistics
    can_score = True

    def check(self, domain: Domain) -> CountedGiven:
        """Check nothing: whoever counted the rows has checked them."""
        return self

    def count(self) -> Statistics:
        """Refuse a first pass.

        Raises:
            TypeError: always, as the rows are not here.
        """
        raise TypeError("rows that have been counted given a model cannot be read again")

    def count_scores(self, scores: Scores) -> ScoreCounts:
        """Return the counts. Confidential.

        Raises:
            ValueError: if something else was counted.
        """
        if not isinstance(self.statistics, ScoreCounts) or scores != self.statistics.scores:
            raise ValueError("other scores were counted")
        return self.statistics

    def sum_gradients(self, query: GradientQuery) -> GradientSums:
        """Return the sums. Confidential.

        Raises:
            ValueError: if something else was summed up.
        """
        if not isinstance(self.statistics, GradientSums) or query != self.statistics.query:
            raise ValueError("another gradient was summed up")
        return self.statistics


def count_given(rows: CheckedRows, query: FurtherQuery) -> FurtherStatistics:
    """Count the rows as a further pass does. Confidential."""
    return rows.count_scores(query) if isinstance(query, Scores) else rows.sum_gradients(query)


def save_further(statistics: FurtherStatistics, path: Path, *, overwrite: bool = False) -> None:
    """Write the statistics of a further pass, as ``save_score_counts`` or ``save_gradient_sums``."""
    if isinstance(statistics, ScoreCounts):
        save_score_counts(statistics, path, overwrite=overwrite)
    else:
        save_gradient_sums(statistics, path, overwrite=overwrite)


def further_query(query: FurtherQuery, kinds: Kinds, table: str | None, dialect: Dialect) -> str:
    """Write the query of a further pass, as ``score_counts_query`` or ``gradients_query``."""
    from dpnb_columnar.counting.score_counts_query import gradients_query, score_counts_query

    if isinstance(query, Scores):
        return score_counts_query(query, kinds, table, dialect)
    return gradients_query(query, kinds, table, dialect)
