"""Define the statistics of a round of weights: sums over rows that released values fix. CONFIDENTIAL.

A row has, per class, a score that its attributes' tables give, and from the scores a probability. What is summed up is
the gradient of the logistic likelihood at public weights: the difference between the row's class, as 0 or 1, and its
probability, times what each weight multiplies. Every step is a whole number by integer arithmetic, so every engine and
every division of the rows into parts has the same sums. They carry digests of what was summed up, like ``ScoreCounts``.

Let D be the clipped scores of a group in all classes, S = B + the sum of weight * D over the groups, S = 0 in the first
class. Then in every class but the first

    p = E[min((largest S - S) // 256, last)] * 2^16 // (the sum of these E over all classes),

where E is ``exponentials()`` and // rounds down, and a row of class y adds (2^16 [class = y] - p) D, added up over the
classes, to the sum of the group, and 2^16 [class = y] - p to that of the class.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from dpnb_columnar.code_limits import LARGEST_SIZE
from dpnb_columnar.counting.scores import UNITS, Integers, ScoreCounts, Scores, ScoreTable
from dpnb_columnar.counting.statistics import check_whole_units, digest_blocks
from dpnb_columnar.domain import Domain, digest

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
