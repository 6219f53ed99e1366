"""Define the statistics of further passes, which released values fix: counts of scores, and sums. CONFIDENTIAL.

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

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.code_limits import LARGEST_SIZE
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

    def __add__(self, other: GradientSums) -> GradientSums:
        """Return the sums over two disjoint sets of rows together.

        Raises:
            ValueError: if the queries differ, if both have summed up the same part, if a unit may have rows in both, or
                if there are too many rows.
        """
        if self.query != other.query:
            raise ValueError("sums of different queries cannot be added")
        if self.parts & other.parts:
            raise ValueError("the same rows are in both and would count twice; drop one")
        check_whole_units(self.query.domain, self.whole_units and other.whole_units)
        return GradientSums(
            self.query,
            _added(self.weights, other.weights),
            _added(self.log_odds, other.log_odds),
            _added(self.rows, other.rows),
            self.parts | other.parts,
            self.whole_units,
        )

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


FurtherQuery = Scores | GradientQuery
"""What a released model gives to be counted in a further pass over the rows. Public."""

FurtherStatistics = ScoreCounts | GradientSums
"""What was counted. Confidential."""


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


def sums_part(sums: GradientSums) -> frozenset[str]:
    """Return the digest of sums whose rows are not known, such as the result of a query; empty if there is no row."""
    blocks = [each.tobytes() for each in (sums.weights, sums.log_odds, sums.rows)]
    return frozenset([digest_blocks("gradient sums", blocks)] if sums.rows.any() else [])


@cache
def exponentials() -> tuple[int, ...]:
    """Tabulate exp(-k/``UNITS``) in millionths, 2^-20, from k = 0 to the first that rounds to 0."""
    last = math.ceil(21 * math.log(2) * UNITS)
    return tuple(round(2**20 * math.exp(-step / UNITS)) for step in range(last + 1))
