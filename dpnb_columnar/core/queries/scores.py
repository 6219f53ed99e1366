"""Define what later passes ask of the rows, which released values fix, and the exact answers. CONFIDENTIAL.

*Counts of scores*: rows per class and bin, where scores of the classes decide the bin. They are additive like
``Statistics``: scores are whole numbers, so every engine and every division of the rows into parts counts the same
cells. They carry digests of what was counted likewise, so that no row is counted twice.

*Sums of a round of weights.* A row has a score that its attributes' tables give, and from the score a probability of
the second class. What is summed up is the gradient of the logistic likelihood at public weights: the difference between
1 or 0, by the row's class, and this probability, times what each weight multiplies, scaled so that no row counts for
more than a bound. Every step is a whole number by integer arithmetic, so every engine and every division of the rows
into parts has the same sums. They carry digests of what was summed up, like ``ScoreCounts``.

Let z_i be the score of a row by the i-th attribute's table, |z| the sum of their sizes, S = log-odds + the sum of
weight_i z_i, and B the bound. With T = ``probabilities()`` and // rounding down,

    q = T[min(|S| // 256, last)] is the probability of what S speaks against, and 2^16 - q of what it speaks for;
    e is that of the second class for a row of another one, and what this leaves of 2^16 for a row of the second;
    u = min(2^16, 2^16 B // |z|), and 2^16 where |z| is 0;
    f = e u // 2^16 for a row of the second class, -(e u // 2^16) for another one.

The row adds f (z_1, .., z_d, 256). Since e <= 2^16, u <= 2^16 and u |z| <= 2^16 B, it is |f| <= 2^16 and
|f| |z| <= e u |z| / 2^16 <= e B <= 2^16 B. So the sizes of what it adds are together at most
2^16 (min(B, the sum of the largest |z_i|) + 256), ``GradientQuery.sensitivity``. Both quotients are of numbers from 0
on and are rounded down, so f is rounded towards 0: either one rounded up would break the bound.
"""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.core.budget import Parallel
from dpnb_columnar.core.budget.composition import BOUNDED_TOGETHER, parallel_cells
from dpnb_columnar.core.code_limits import UNITS as UNITS
from dpnb_columnar.core.queries.query import check_disjoint, digest_blocks
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declared_domain import digest

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
class ClassScores(ABC):
    """A row's score in each class, the sum of its attributes', and the bins that rows are counted in by them. Public.

    A row of a class is in one bin, which these scores and its class decide. Rows may be counted by group besides: then
    each group has these bins for itself, those of the first group first.

    Attributes:
        domain: Domain of the rows.
        tables: Per class that is scored, one table per attribute.
        offsets: Per class, what is added to its score.
        group_tables: Tables that give a row, in sum, the number of its group, which is below ``groups``.
        groups: Number of groups; 1 where all rows are one.
        weighted: Whether a row counts as the steps of its weight, in a domain that declares one.
    """

    domain: Domain
    tables: tuple[tuple[ScoreTable, ...], ...]
    offsets: tuple[int, ...]
    group_tables: tuple[ScoreTable, ...] = field(default=(), kw_only=True)
    groups: int = field(default=1, kw_only=True)
    weighted: bool = field(default=False, kw_only=True)
    later: ClassVar[bool] = True

    @property
    @abstractmethod
    def words(self) -> str:
        """What is counted."""

    @property
    def sensitivity(self) -> int:
        """How far one row moves the counts: by 1, or by the steps of its weight (docs/privacy.md, Lemma 2.11)."""
        return self.domain.weight.steps if self.weighted and self.domain.weight is not None else 1

    @property
    def parallel(self) -> Parallel:
        """A row of a class is in one bin (docs/privacy.md, Lemmas 2.8 and 2.11)."""
        return parallel_cells(self.sensitivity)

    @property
    def bins(self) -> int:
        """Number of bins, of all groups."""
        return self.groups * self.group_bins

    @property
    @abstractmethod
    def group_bins(self) -> int:
        """Number of bins of a group."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many counts noise is added to."""

    @property
    def number_type(self) -> type[np.signedinteger[Any]]:
        """A type that holds every score, and the difference of any two from an edge."""
        scores = [
            abs(offset) + sum(map(largest_score, tables))
            for offset, tables in zip(self.offsets, self.by_class, strict=True)
        ]
        return _type_of(2 * max(scores) + self.farthest)

    @property
    def farthest(self) -> int:
        """Size of the largest number that scores are compared with."""
        return 0

    @property
    @abstractmethod
    def by_class(self) -> tuple[tuple[ScoreTable, ...], ...]:
        """Per class, a table per attribute; none where the score is the offset alone."""

    @property
    @abstractmethod
    def compared(self) -> tuple[int, ...]:
        """The classes of which the one with the largest score is looked for, the first of equal ones."""

    @property
    def factor(self) -> int:
        """What engines multiply scores by, so that below each there is room for the place of its class.

        So the keys that they compare, score * factor + (factor - 1 - place), fall from class to class where scores are
        equal, and the remainder of a key tells its class. There is nothing to tell where one class is compared.
        """
        return len(self.offsets) if len(self.compared) > 1 else 1

    @property
    @abstractmethod
    def digest(self) -> str:
        """The hexadecimal SHA-256 of all that decides the bin of a row: counts of one digest may be added."""

    @property
    def _counted(self) -> list[object]:
        """What the digest says of groups, and of what a row counts as; nothing of all rows, each once."""
        groups = [_listed(self.group_tables), self.groups] if self.group_tables else []
        return [*groups, "weighted"] if self.weighted else groups

    @abstractmethod
    def bins_of(self, scores: Integers, classes: Integers) -> Integers:
        """Compute the bin of each row within its group: scores have shape (classes, rows), classes (rows,)."""

    def empty(self) -> ScoreCounts:
        """Return the counts of no row."""
        return ScoreCounts(self, np.zeros((self.bins, len(self.domain.classes)), dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Scores(ClassScores):
    """Rows of each class by the class that a model predicts: the bin is the class of the largest score.

    Every class has tables.
    """

    @property
    def words(self) -> str:
        return "rows of each class and class that the model predicts" + " in each group" * bool(self.group_tables)

    @property
    def group_bins(self) -> int:
        """One for each class."""
        return len(self.offsets)

    @property
    def cells(self) -> int:
        return self.groups * len(self.domain.classes) * self.group_bins

    @property
    def by_class(self) -> tuple[tuple[ScoreTable, ...], ...]:
        return self.tables

    @property
    def compared(self) -> tuple[int, ...]:
        """All classes."""
        return tuple(range(len(self.offsets)))

    @property
    def digest(self) -> str:
        return _digest_of(self.domain, chain(*self.tables), self.offsets, *self._counted)

    def bins_of(self, scores: Integers, classes: Integers) -> Integers:
        """Predict the class of each row."""
        return _largest(scores, self.compared)[1]


@dataclass(frozen=True, slots=True)
class Margins(ClassScores):
    """Rows by the margin of the best other class over the largest one, and by which of the two they are of. Public.

    Let S_c be a row's score in class c, l the largest class, and o the first of the other classes whose score is the
    largest. The margin S_o - S_l lies in the range of the number of edges that it reaches. Released are, for each
    range, the rows of class l, those of class o, and, of more than two classes, those of neither.

    Exact counts are kept by class besides, to see that all passes read the same rows: a row of class l or o is in the
    bin of its range, one of another class in the bin as many ranges further.

    Attributes:
        tables: Per class but the first, one table per attribute: its log-ratio to the first class. In the first class
            the score of a row is the offset alone.
        largest: Position of class l.
        edges: Edges between the ranges, rising; the first range and the last have no end.
    """

    largest: int
    edges: tuple[int, ...]

    @property
    def words(self) -> str:
        truths = "either" if self.columns == 2 else "either or neither"
        margin = f"rows in {self.ranges} ranges of the margin between the largest class and the best other, of {truths}"
        return margin + ", in each group" * bool(self.group_tables)

    @property
    def ranges(self) -> int:
        """Number of ranges of the margin."""
        return len(self.edges) + 1

    @property
    def columns(self) -> int:
        """Number of counts of each range: of class l, of class o, and of neither, where there are others."""
        return min(len(self.domain.classes), 3)

    @property
    def group_bins(self) -> int:
        """Number of bins: one for each range and, of more than two classes, one more for rows of neither class."""
        return self.ranges * (self.columns - 1)

    @property
    def cells(self) -> int:
        return self.groups * self.ranges * self.columns

    @property
    def by_class(self) -> tuple[tuple[ScoreTable, ...], ...]:
        """Per class, a table per attribute; none of the first."""
        return ((), *self.tables)

    @property
    def compared(self) -> tuple[int, ...]:
        """All classes but the largest."""
        return tuple(place for place in range(len(self.offsets)) if place != self.largest)

    @property
    def digest(self) -> str:
        numbers = (self.offsets, self.largest, self.edges)
        return _digest_of(self.domain, chain(*self.tables), *numbers, *self._counted)

    def bins_of(self, scores: Integers, classes: Integers) -> Integers:
        largest, best = _largest(scores, self.compared)
        bins = _ranges(self.edges)(largest - scores[self.largest])
        if self.columns > 2:
            bins += self.ranges * ((classes != self.largest) & (classes != best))
        return bins

    @property
    def farthest(self) -> int:
        return 1 + max(map(abs, self.edges))

    def columns_of(self, counts: Integers) -> Integers:
        """Add up counts per bin and class to those that noise is added to, shape (ranges, columns)."""
        near, far = counts[: self.ranges], counts[self.ranges :]
        own = near[:, self.largest]
        columns = [own, near.sum(axis=1) - own, far.sum(axis=1)] if len(far) else [own, near.sum(axis=1) - own]
        return np.stack(columns, axis=1)


def _largest(scores: Integers, places: Sequence[int]) -> tuple[Integers, Integers]:
    """Return the largest score of each row in some classes, and its class, the first of equal ones."""
    first, *others = places
    largest, best = scores[first], np.full(scores.shape[1], first)
    for place in others:
        best[scores[place] > largest] = place
        largest = np.maximum(largest, scores[place])
    return largest, best


@lru_cache(maxsize=16)
def _ranges(edges: tuple[int, ...]) -> Callable[[Integers], Integers]:
    """Return what counts the edges that margins reach: by look-up, where the edges are not far apart."""
    first, last = edges[0] - 1, edges[-1]
    if last - first > MOST_BETWEEN_EDGES:
        return lambda margins: np.searchsorted(edges, margins, side="right")
    table = np.searchsorted(edges, np.arange(first, last + 1), side="right")
    return lambda margins: table.take(margins - first, mode="clip")


def _type_of(largest: int) -> type[np.signedinteger[Any]]:
    """Return the narrower of two types that holds whole numbers up to a size: sums of 32 bits take half the time."""
    return np.int32 if largest < 2**31 else np.int64


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ScoreCounts:
    """Exact counts of rows per bin and class. Confidential: its repr shows the shape only.

    Attributes:
        counts: Shape (bins, classes), int64: numbers of rows, or of steps of their weights.
        parts, whole_units: As of ``Answer``; not compared.
    """

    scores: ClassScores
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
    def query(self) -> ClassScores:
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
        """Return the counts of two disjoint sets of rows together."""
        check_disjoint(self, other, "counts of different scores")
        return self.joined(other)

    def joined(self, other: ScoreCounts) -> ScoreCounts:
        """Return the counts of two sets of rows, of which no row is in both, whatever was counted."""
        return ScoreCounts(self.scores, self.counts + other.counts, self.parts | other.parts, self.whole_units)

    def only(self, domain: Domain) -> ScoreCounts:
        """Return the counts as they are: scores are of all attributes."""
        return self


MOST_BETWEEN_EDGES = 2**20
"""Margins between the outermost edges of ranges of which each has its range in a table."""

CERTAIN = 2**16
"""Probabilities, and what a row is scaled by, are whole numbers of this part of 1."""

LARGEST_CLIP = 16 * UNITS
"""Largest score of an attribute in a round: sums of 2^34 rows are below 2^63."""

WEIGHT, LOG_ODDS, ROWS = "weight", "log_odds", "rows"
"""Columns of sums in files and in the result of a query; the first and the last are followed by the number of an
attribute or of a class."""


@dataclass(frozen=True, slots=True)
class GradientQuery:
    """What to sum up over the rows. Public.

    Attributes:
        domain: Domain of the rows.
        tables: Per attribute with a weight, its clipped log-ratio of the second class to the others, in units: a score
            of at most ``LARGEST_CLIP`` in size.
        weights: Per table, its weight, in units.
        log_odds: Log-odds of the second class where no attribute tells, in 1/``UNITS``^2.
        bound: The sum of the sizes of a row's scores beyond which the row is scaled down, in units.
    """

    domain: Domain
    tables: tuple[ScoreTable, ...]
    weights: tuple[int, ...]
    log_odds: int
    bound: int
    later: ClassVar[bool] = True
    parallel: ClassVar[Parallel] = BOUNDED_TOGETHER
    """A row moves every sum (docs/privacy.md, Lemma 2.9)."""

    @property
    def words(self) -> str:
        """What is summed up."""
        return (
            f"sums of how the fit to the rows changes with {self.sums} weights and intercepts, and rows of each class"
        )

    @property
    def sums(self) -> int:
        """How many sums noise is added to: one per weight, and one of the log-odds."""
        return len(self.tables) + 1

    @property
    def cells(self) -> int:
        """How many sums there are, with the numbers of rows, which are compared with the first pass's alone."""
        return self.sums + len(self.domain.classes)

    @property
    def sensitivity(self) -> int:
        """How far one row moves all sums together, in L1: at most this many 1/(``UNITS`` ``CERTAIN``) of a nat.

        docs/privacy.md, Lemma 2.9.
        """
        return (min(self.bound, sum(map(largest_score, self.tables))) + UNITS) * CERTAIN

    @property
    def digest(self) -> str:
        """The hexadecimal SHA-256 of all that decides what a row adds: sums of one digest may be added."""
        return _digest_of(self.domain, self.tables, self.weights, self.log_odds, self.bound)

    @property
    def number_type(self) -> type[np.signedinteger[Any]]:
        """A type that holds every score, their weighted sum, and a score times a factor."""
        sizes = [*map(largest_score, self.tables)]
        total = abs(self.log_odds) + sum(abs(weight) * size for weight, size in zip(self.weights, sizes, strict=True))
        return _type_of(max(total, sum(sizes), CERTAIN * max(sizes, default=0), *map(abs, self.weights)))

    def factors_of(self, scores: Iterable[Integers], classes: Integers) -> Integers:
        """Compute what a row multiplies its scores by, in 1/``CERTAIN``: sums are of these products, and of factors."""
        total = np.full(len(classes), self.log_odds, dtype=self.number_type)
        size = np.zeros_like(total)
        for weight, score in zip(self.weights, scores, strict=True):
            total += weight * score
            size += np.abs(score)
        against = _probabilities().take(np.abs(total) // UNITS, mode="clip")
        second = classes == 1
        error = np.where(second == (total >= 0), against, CERTAIN - against)
        # Rows within the bound are not scaled.
        large = np.flatnonzero(np.maximum(size, 1) > self.bound)
        scaled = self.bound * CERTAIN // np.maximum(size[large], 1).astype(np.int64)
        error[large] = error[large] * scaled // CERTAIN
        factors: Integers = np.where(second, error, -error)
        return factors

    def empty(self) -> GradientSums:
        """Return the sums over no row."""
        sums, rows = (np.zeros(len(names), dtype=np.int64) for names in sum_columns(self))
        return GradientSums(self, sums, rows)


def largest_score(table: ScoreTable) -> int:
    """Return the size of the largest score that a table gives, to rows without a value too."""
    return max(map(abs, (*table.scores, table.missing)))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class GradientSums:
    """Exact sums over rows. Confidential: its repr shows the shape only.

    Attributes:
        sums: Shape (attributes + 1,), int64: per attribute, and last of the log-odds, in 1/(``UNITS`` ``CERTAIN``) of a
            nat.
        rows: Shape (classes,), int64: the number of rows, to see that all passes read the same.
        parts, whole_units: As of ``Answer``; not compared.
    """

    query: GradientQuery
    sums: Integers
    rows: Integers
    parts: frozenset[str] = frozenset()
    whole_units: bool = False

    def __repr__(self) -> str:
        return f"GradientSums(CONFIDENTIAL, domain {self.query.domain.name!r}: {len(self.sums)} sums)"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, GradientSums)
            and self.query == other.query
            and np.array_equal(self.sums, other.sums)
            and np.array_equal(self.rows, other.rows)
        )

    @property
    def class_counts(self) -> Integers:
        """Shape (classes,): the rows of each class."""
        return self.rows

    @property
    def own_part(self) -> frozenset[str]:
        """The digest of the sums themselves; empty if there is no row."""
        blocks = [each.tobytes() for each in (self.sums, self.rows)]
        return frozenset([digest_blocks("gradient sums", blocks)] if self.rows.any() else [])

    def __add__(self, other: GradientSums) -> GradientSums:
        """Return the sums over two disjoint sets of rows together."""
        check_disjoint(self, other, "sums of different queries")
        return self.joined(other)

    def joined(self, other: GradientSums) -> GradientSums:
        """Return the sums over two sets of rows, of which no row is in both, whatever was summed up."""
        sums, rows = _added(self.sums, other.sums), _added(self.rows, other.rows)
        return GradientSums(self.query, sums, rows, self.parts | other.parts, self.whole_units)

    def only(self, domain: Domain) -> GradientSums:
        """Return the sums as they are: they are of all attributes."""
        return self


LaterAnswer = ScoreCounts | GradientSums
"""What the rows answer in a later pass. Confidential."""


def sum_columns(query: GradientQuery) -> tuple[list[str], list[str]]:
    """Name the columns of the sums, the log-odds' last, and of the numbers of rows."""
    weights = [f"{WEIGHT}_{place}" for place in range(len(query.tables))]
    return [*weights, LOG_ODDS], [f"{ROWS}_{klass}" for klass in range(len(query.domain.classes))]


def _digest_of(domain: Domain, tables: Iterable[ScoreTable], *more: object) -> str:
    """Return the hexadecimal SHA-256 of a domain, tables, and further numbers."""
    text = json.dumps([digest(domain), _listed(tables), *more], separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _listed(tables: Iterable[ScoreTable]) -> list[object]:
    """Write tables as JSON values."""
    return [[each.attribute, each.starts, each.scores, each.missing] for each in tables]


def _added(own: Integers, others: Integers) -> Integers:
    """Add up sums of 64 bits."""
    if (np.abs(own.astype(np.float64)) + np.abs(others.astype(np.float64)) >= 2.0**63).any():
        raise ValueError("there are more rows than exact sums are for")
    return own + others


@cache
def probabilities() -> tuple[int, ...]:
    """Tabulate 1/(1 + exp(k/``UNITS``)) in 1/``CERTAIN``, from k = 0 to the first that rounds to 0."""
    last = math.ceil(math.log(2 * CERTAIN) * UNITS)
    return tuple(round(CERTAIN / (1 + math.exp(step / UNITS))) for step in range(last + 1))


@cache
def _probabilities() -> NDArray[np.int32]:
    """Return ``probabilities`` as an array."""
    return np.array(probabilities(), dtype=np.int32)
