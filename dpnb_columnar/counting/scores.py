"""Define what later passes ask of the rows, which released values fix, and the exact answers. CONFIDENTIAL.

*Counts of scores*: rows per class and bin of a score. They are additive like ``Statistics``: scores are whole numbers,
so every engine and every division of the rows into parts counts the same cells. They carry digests of what was counted
likewise, so that no row is counted twice.

*Sums of a round of weights.* A row has, per class, a score that its attributes' tables give, and from the scores a
probability. What is summed up is the gradient of the logistic likelihood at public weights: the difference between the
row's class, as 0 or 1, and its probability, times what each weight multiplies. Every step is a whole number by integer
arithmetic, so every engine and every division of the rows into parts has the same sums. They carry digests of what was
summed up, like ``ScoreCounts``.

Let D be the clipped scores of a group in all classes, S = B + the sum of weight * D over the groups, S = 0 in the first
class. Then in every class but the first

    p = E[min((largest S - S) // 256, last)] * 2^16 // (the sum of these E over all classes),

where E is ``exponentials()`` and // rounds down, and a row of class y adds (2^16 [class = y] - p) D, added up over the
classes, to the sum of the group, and 2^16 [class = y] - p to that of the class.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.budget import Parallel
from dpnb_columnar.budget.composition import BOUNDED_TOGETHER, PARALLEL_CELLS
from dpnb_columnar.code_limits import LARGEST_SIZE
from dpnb_columnar.code_limits import UNITS as UNITS
from dpnb_columnar.counting.query import Query, check_disjoint, digest_blocks
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
    later: ClassVar[bool] = True
    parallel: ClassVar[Parallel] = PARALLEL_CELLS
    """A row of a class has one score, and is in one bin (docs/privacy.md, Lemmas 2.8 and 2.11)."""
    sensitivity: ClassVar[int] = 1

    @property
    def words(self) -> str:
        """What is counted."""
        bins = "and class that the model predicts" if self.offsets else f"and of {self.bins} bins of the model's score"
        return f"rows of each class {bins}"

    @property
    def bins(self) -> int:
        """Number of bins; of ranges, the first and the last have no end."""
        return len(self.offsets) or len(self.edges) + 1

    @property
    def cells(self) -> int:
        """How many counts there are."""
        return len(self.domain.classes) * self.bins

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

    def empty(self) -> ScoreCounts:
        """Return the counts of no row."""
        return ScoreCounts(self, np.zeros((self.bins, len(self.domain.classes)), dtype=np.int64))


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

    @property
    def query(self) -> Scores:
        """What was counted."""
        return self.scores

    @property
    def class_counts(self) -> Integers:
        """Shape (classes,): the rows of each class, in whatever bin."""
        counts: Integers = self.counts.sum(axis=0)
        return counts

    @property
    def own_part(self) -> frozenset[str]:
        """The digest of the counts themselves; empty if all are zero."""
        return frozenset([digest_blocks("score counts", [self.counts.tobytes()])] if self.counts.any() else [])

    def __add__(self, other: ScoreCounts) -> ScoreCounts:
        """Return the counts of two disjoint sets of rows together.

        Raises:
            ValueError: if the scores differ, if both have counted the same part, or if a unit may have rows in both.
        """
        check_disjoint(self, other, "counts of different scores")
        return self.joined(other)

    def joined(self, other: ScoreCounts) -> ScoreCounts:
        """Return the counts of two sets of rows, of which no row is in both, whatever was counted."""
        return ScoreCounts(self.scores, self.counts + other.counts, self.parts | other.parts, self.whole_units)

    def only(self, domain: Domain) -> ScoreCounts:
        """Return the counts as they are: scores are of all attributes."""
        return self


CERTAIN = 2**16
"""Probabilities are whole numbers of this part of certainty."""

LARGEST_CLIP = 16 * UNITS
"""Largest bound of a group's scores: sums of 2^34 rows are below 2^63."""

WEIGHT, LOG_ODDS, ROWS = "weight", "log_odds", "rows"
"""Columns of sums in files and in the result of a query, each followed by the number of a group or of a class."""


@dataclass(frozen=True, slots=True)
class WeightGroup:
    """Attributes that have one weight. Public.

    Attributes:
        tables: Per class but the first, one table per attribute: its log-ratio to the first class, in units.
        clip: Bound of the group's scores, in units; at most ``LARGEST_CLIP``. The sum of the tables in each class, 0 in
            the first, is moved up to ``clip`` below the largest of them where it is lower, and is then taken relative
            to the first class's again. For two classes that is clipping to [-clip, clip].
        weight: The weight, in units.
    """

    tables: tuple[tuple[ScoreTable, ...], ...]
    clip: int
    weight: int


@dataclass(frozen=True, slots=True)
class GradientQuery:
    """What to sum up over the rows. Public.

    Attributes:
        domain: Domain of the rows.
        groups: The groups of attributes.
        log_odds: Per class but the first, its log-odds to the first where no attribute tells, in 1/``UNITS``^2.
    """

    domain: Domain
    groups: tuple[WeightGroup, ...]
    log_odds: tuple[int, ...]
    later: ClassVar[bool] = True
    parallel: ClassVar[Parallel] = BOUNDED_TOGETHER
    """A row moves every sum (docs/privacy.md, Lemma 2.9)."""

    @property
    def words(self) -> str:
        """What is summed up."""
        weights = "one weight" if len(self.groups) == 1 else f"each of {len(self.groups)} weights"
        intercepts = "an intercept" if len(self.log_odds) == 1 else f"{len(self.log_odds)} intercepts"
        return f"sums of how the fit to the rows changes with {weights} and {intercepts}, and rows of each class"

    @property
    def sums(self) -> int:
        """How many sums noise is added to: one per weight, and one per class but the first."""
        return len(self.groups) + len(self.log_odds)

    @property
    def cells(self) -> int:
        """How many sums there are, with the numbers of rows, which are compared with the first pass's alone."""
        return self.sums + len(self.domain.classes)

    @property
    def sensitivity(self) -> int:
        """How far one row moves all sums together, in L1: at most this many 1/(``UNITS`` ``CERTAIN``) of a nat.

        docs/privacy.md, Lemma 2.9.
        """
        classes = len(self.log_odds) + 1
        return (sum(group.clip for group in self.groups) + UNITS * min(2, classes - 1)) * CERTAIN

    @property
    def digest(self) -> str:
        """The hexadecimal SHA-256 of all that decides what a row adds: sums of one digest may be added."""
        return digest_blocks("", self._blocks())[1:]

    def empty(self) -> GradientSums:
        """Return the sums over no row."""
        weights, log_odds, rows = (np.zeros(len(names), dtype=np.int64) for names in sum_columns(self))
        return GradientSums(self, weights, log_odds, rows)

    def _blocks(self) -> Iterator[bytes]:
        """Yield the bytes that the digest is of: domain, log-odds, and each group's bounds, weights and tables."""
        yield digest(self.domain).encode()
        yield np.array(self.log_odds, dtype="<i8").tobytes()
        for group in self.groups:
            yield np.array([group.clip, group.weight, *map(len, group.tables)], dtype="<i8").tobytes()
            for table in (table for tables in group.tables for table in tables):
                yield table.attribute.encode()
                yield np.array([table.missing, *table.starts, *table.scores], dtype="<i8").tobytes()


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class GradientSums:
    """Exact sums over rows. Confidential: its repr shows the shape only.

    Attributes:
        query: What was summed up. Public.
        weights: Shape (groups,), int64: per group, in 1/(``UNITS`` ``CERTAIN``) of a nat.
        log_odds: Shape (classes - 1,), int64: per class but the first, in 1/``CERTAIN`` of a row.
        rows: Shape (classes,), int64: the number of rows, to see that all passes read the same.
        parts: Digests of the files that were summed up, or of sums whose rows are not known; empty for a frame. Not
            compared.
        whole_units: As of ``Statistics``.
    """

    query: GradientQuery
    weights: Integers
    log_odds: Integers
    rows: Integers
    parts: frozenset[str] = frozenset()
    whole_units: bool = False

    def __repr__(self) -> str:
        return f"GradientSums(CONFIDENTIAL, domain {self.query.domain.name!r}: {len(self.weights)} weights)"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, GradientSums)
            and self.query == other.query
            and np.array_equal(self.weights, other.weights)
            and np.array_equal(self.log_odds, other.log_odds)
            and np.array_equal(self.rows, other.rows)
        )

    @property
    def class_counts(self) -> Integers:
        """Shape (classes,): the rows of each class."""
        return self.rows

    @property
    def own_part(self) -> frozenset[str]:
        """The digest of the sums themselves; empty if there is no row."""
        blocks = [each.tobytes() for each in (self.weights, self.log_odds, self.rows)]
        return frozenset([digest_blocks("gradient sums", blocks)] if self.rows.any() else [])

    def __add__(self, other: GradientSums) -> GradientSums:
        """Return the sums over two disjoint sets of rows together.

        Raises:
            ValueError: if the queries differ, if both have summed up the same part, if a unit may have rows in both, or
                if there are too many rows.
        """
        check_disjoint(self, other, "sums of different queries")
        return self.joined(other)

    def joined(self, other: GradientSums) -> GradientSums:
        """Return the sums over two sets of rows, of which no row is in both, whatever was summed up.

        Raises:
            ValueError: if there are too many rows.
        """
        return GradientSums(
            self.query,
            _added(self.weights, other.weights),
            _added(self.log_odds, other.log_odds),
            _added(self.rows, other.rows),
            self.parts | other.parts,
            self.whole_units,
        )

    def only(self, domain: Domain) -> GradientSums:
        """Return the sums as they are: they are of all attributes."""
        return self

    @property
    def possible(self) -> bool:
        """Whether any rows can have these sums, as far as their bounds tell (docs/privacy.md, Lemma 2.9)."""
        if self.rows.min() < 0 or self.rows.max() > LARGEST_SIZE:
            return False
        most = CERTAIN * int(self.rows.sum())
        bounds = [most * group.clip for group in self.query.groups]
        weights, log_odds = self.weights.tolist(), self.log_odds.tolist()
        within = all(-bound <= each <= bound for each, bound in zip(weights, bounds, strict=True))
        return within and all(-most <= each <= most for each in log_odds)


LaterAnswer = ScoreCounts | GradientSums
"""What the rows answer in a later pass. Confidential."""

LaterQuery = Query[LaterAnswer]
"""What released values give to be asked there. Public."""


def sum_columns(query: GradientQuery) -> tuple[list[str], list[str], list[str]]:
    """Name the columns of the sums of weights, of log-odds, and of the numbers of rows."""
    classes = range(len(query.domain.classes))
    weights = [f"{WEIGHT}_{group}" for group in range(len(query.groups))]
    return weights, [f"{LOG_ODDS}_{klass}" for klass in classes[1:]], [f"{ROWS}_{klass}" for klass in classes]


def _added(own: Integers, others: Integers) -> Integers:
    """Add up sums of 64 bits.

    Raises:
        ValueError: if a total would have more.
    """
    if (np.abs(own.astype(np.float64)) + np.abs(others.astype(np.float64)) >= 2.0**63).any():
        raise ValueError("there are more rows than exact sums are for")
    return own + others


@cache
def exponentials() -> tuple[int, ...]:
    """Tabulate exp(-k/``UNITS``) in millionths, 2^-20, from k = 0 to the first that rounds to 0."""
    last = math.ceil(21 * math.log(2) * UNITS)
    return tuple(round(2**20 * math.exp(-step / UNITS)) for step in range(last + 1))
