"""Define the statistics of further passes, which released values fix: counts of scores, and sums. CONFIDENTIAL.

*Counts of scores*: rows per class and bin of a score. They are additive like ``Statistics``: scores are whole numbers,
so every engine and every division of the rows into parts counts the same cells. They carry digests of what was counted
likewise, so that no row is counted twice.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.code_limits import UNITS as UNITS
from dpnb_columnar.counting.statistics import check_whole_units, digest_blocks
from dpnb_columnar.domain import Domain, digest

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """The score of one attribute, a step function of its code. Public.

    Attributes:
        attribute: Attribute name.
        starts: First grid code or category code of every step, rising from 0.
        scores: Score of every step.
        missing: Score of a row without a value.
    """

    attribute: str
    starts: tuple[int, ...]
    scores: tuple[int, ...]
    missing: int = 0


@dataclass(frozen=True, slots=True)
class Scores:
    """The score of a row, the sum of its attributes' scores, and the bins that it is counted in. Public.

    Without ``offsets`` bins are ranges of one score. With them a row has a score for each class, and its bin is the
    class of the largest, the first of equal ones: the class that a model predicts.

    Attributes:
        domain: Domain of the rows.
        tables: One table per attribute that is scored, at least one; with offsets one for each class, in order.
        edges: Edges between the bins, rising: a score lies in the bin of the number of edges that it reaches.
        offsets: Per class, what is added to its score; empty where bins are ranges.
    """

    domain: Domain
    tables: tuple[ScoreTable, ...]
    edges: tuple[int, ...]
    offsets: tuple[int, ...] = ()

    @property
    def bins(self) -> int:
        """Number of bins; of ranges, the first and the last have no end."""
        return len(self.offsets) or len(self.edges) + 1

    @property
    def by_class(self) -> tuple[tuple[ScoreTable, ...], ...]:
        """Per class, a table per attribute; none without offsets."""
        return tuple(self.tables[place :: len(self.offsets)] for place in range(len(self.offsets)))

    @property
    def digest(self) -> str:
        """The hexadecimal SHA-256 of all that decides the bin of a row: counts of one digest may be added."""
        tables = [[each.attribute, each.starts, each.scores, each.missing] for each in self.tables]
        decisive = [digest(self.domain), tables, self.edges, *([self.offsets] if self.offsets else [])]
        text = json.dumps(decisive, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ScoreCounts:
    """Exact counts of rows per bin and class. Confidential: its repr shows the shape only.

    Attributes:
        scores: What was counted. Public.
        counts: Shape (bins, classes), int64: numbers of rows.
        parts: Digests of the files that were counted, or of counts whose rows are not known; empty for a frame. Not
            compared.
        whole_units: As of ``Statistics``.
    """

    scores: Scores
    counts: Integers
    parts: frozenset[str] = frozenset()
    whole_units: bool = False

    def __repr__(self) -> str:
        bins, classes = self.counts.shape
        return f"ScoreCounts(CONFIDENTIAL, domain {self.scores.domain.name!r}: {bins} bins, {classes} classes)"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ScoreCounts)
            and self.scores == other.scores
            and bool(np.array_equal(self.counts, other.counts))
        )

    def __add__(self, other: ScoreCounts) -> ScoreCounts:
        """Return the counts of two disjoint sets of rows together.

        Raises:
            ValueError: if the scores differ, if both have counted the same part, or if a unit may have rows in both.
        """
        if self.scores != other.scores:
            raise ValueError("counts of different scores cannot be added")
        if self.parts & other.parts:
            raise ValueError("the same rows are in both and would count twice; drop one")
        check_whole_units(self.scores.domain, self.whole_units and other.whole_units)
        return ScoreCounts(self.scores, self.counts + other.counts, self.parts | other.parts, self.whole_units)


def counts_part(counts: Integers) -> frozenset[str]:
    """Return the digest of counts whose rows are not known, such as the result of a query; empty if all are zero."""
    return frozenset([digest_blocks("score counts", [counts.tobytes()])] if counts.any() else [])
