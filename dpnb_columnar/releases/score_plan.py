"""Released scores: noisy counts of labelled rows by class and by the score that a released model gives them.

Of two classes the bins are ranges of the score; of more they are the predicted classes. Every figure of a model's
quality is computed from these counts (``evaluation.released_scores``). Bins and scores are fixed by the model, so one
row is in one cell at most, and all counts are one query (docs/privacy.md, Lemma 2.11). Scores are whole numbers as in a
second pass, so every engine counts the same.

By group, released are the rows by class and predicted class and, of two classes, the sum of the probabilities of the
second: few numbers, so that the figures of a small group have little noise. Groups follow from the declaration alone. A
row is in one group of each division, so a division is one query, or two with its sums (Lemma 2.14). All that is asked
is one count of cells: a row's group by every column at once, its class, and a bin that tells both the bin of the scores
and the probability in whole parts.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dpnb_columnar.core.budget import Budget, Parallel, PrivacyCost, Request, Share, compose, total
from dpnb_columnar.core.budget.composition import Guarantee
from dpnb_columnar.core.budget.costs import RowEffect
from dpnb_columnar.core.code_limits import UNITS
from dpnb_columnar.core.measurement import LAPLACE, Measurement
from dpnb_columnar.core.mechanisms.later import BinQuery, draw_bins
from dpnb_columnar.core.noise import Sampler
from dpnb_columnar.core.queries.scores import ClassScores, Integers, Margins, ScoreCounts, Scores, ScoreTable
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declared_domain import digest
from dpnb_columnar.domain.groupings import Divisions
from dpnb_columnar.domain.names import number_text
from dpnb_columnar.errors import UsageError, option
from dpnb_columnar.evaluation.evaluation import EDGES, PARTS, GroupedCounts, ScoreValues, released_bins
from dpnb_columnar.model.document import document_digest
from dpnb_columnar.model.likelihood import (
    LARGEST_SCORE,
    Floats,
    class_terms,
    deciding_terms,
    margin_above,
    model_log_ratios,
    population_line,
)
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.releases.model_plan import Pass, software

SCORES = "score counts"
"""Query for the rows of each class whose score is in each bin; also the name of this release in a ledger."""

GROUP_COUNTS, GROUP_PROBABILITIES = "group counts", "group probabilities"
"""Queries for the rows of each group by class and predicted class, and for the sums of their probabilities."""

GROUP_COUNTS_WEIGHT = 2
"""Share of the counts of a division, where the scores of all rows and the sums of a division have 1."""

MOST_CELLS = 2**20
"""Most counts of one release: 1,024 classes."""

MOST_GROUP_CELLS = 2**24
"""Most cells that rows are counted in where groups of all columns are crossed: 128 MiB of exact counts."""

PART_EDGES = tuple(math.log((2 * part + 1) / (2 * PARTS - 2 * part - 1)) for part in range(PARTS))
"""Log-odds from which a probability is rounded to the next part: those of (part + 1/2)/``PARTS``."""

FINER = 16
"""Scores are whole numbers of this part of a unit, so that hardly a row is on another side of an edge than its exact
probability. No attribute says more than ``LARGEST_SCORE`` of them, 32 nats."""


@dataclass(frozen=True, slots=True)
class ScorePlan:
    """A checked release of scores: public facts alone. Only ``plan_scores`` makes one.

    Shares are those of the scores' query, then one or two for each division of the rows into groups.
    """

    model: NaiveBayes
    budget: Budget
    shares: tuple[Share, ...]
    scores: ClassScores
    divisions: Divisions | None = None

    @property
    def domain(self) -> Domain:
        """The domain of the rows, with columns that only groups are made of."""
        return self.scores.domain

    @property
    def total(self) -> PrivacyCost:
        """What the release costs."""
        return total(self.shares)

    asks_again: ClassVar[None] = None
    """Scores are counted in one pass."""
    run_id: ClassVar[None] = None
    """They may be released of any rows, as often as somebody pays."""

    def draw(self, counts: ScoreCounts, sampler: Sampler) -> tuple[Measurement, ...]:
        """Draw all that is released of the exact counts, which are confidential."""
        sizes = () if self.divisions is None else [each.size for each in self.divisions.groupings]
        return draw_bins(self.scores, sizes, _bin_queries(self), counts, sampler)

    def values_of(self, measurements: Sequence[Measurement], *, seeded: bool) -> ScoreValues:
        """Make released scores of what was drawn."""
        all_rows, *grouped = measurements
        guarantee = Guarantee(
            mechanism=SCORES,
            noise=None,
            epsilon=self.budget.epsilon,
            delta=self.budget.delta,
            neighbours=self.budget.neighbours,
            composition=self.shares,
            seeded=seeded or self.model.guarantee.seeded,
            unit=self.domain.unit,
        )
        groups = tuple(self._groups_of(iter(grouped)))
        digest = document_digest(self.model)
        return ScoreValues(self.model.domain, digest, guarantee, all_rows.counts, dict(software()), groups)

    def _groups_of(self, measurements: Iterator[Measurement]) -> Iterator[GroupedCounts]:
        """Make the counts of each division and, of two classes, its sums of probabilities."""
        classes = len(self.scores.domain.classes)
        for division in () if self.divisions is None else self.divisions.crossed:
            assert self.divisions is not None
            by_group = zip(*[iter(next(measurements).counts)] * classes, strict=True)
            expected = tuple(map(int, next(measurements).column)) if classes == 2 else None
            yield GroupedCounts(
                self.divisions.columns(division), self.divisions.values(division), tuple(by_group), expected
            )

    def passes(self, *, seeded: bool) -> Generator[Pass, Any, ScoreValues]:
        """Yield the one question to the rows, and take what was drawn of its answer."""
        return self.values_of((yield Pass(self.scores, self.draw)), seeded=seeded)

    def check_payable(self) -> None:
        """Refuse a release that no budget pays for."""
        if not self.model.guarantee.private:
            raise UsageError(
                "epsilon: this model carries no guarantee, so no budget pays for its scores; leave the ledger out"
            )

    @property
    def inputs(self) -> dict[str, Any]:
        """All that a run which is begun again must share: declared facts, nothing computed from rows."""
        return {
            "domain": digest(self.domain),
            "epsilon": number_text(self.budget.epsilon),
            "delta": number_text(self.budget.delta),
            "neighbours": str(self.budget.neighbours),
            "mechanism": SCORES,
            "evaluated": document_digest(self.model),
            **({} if self.divisions is None else {"by": self._groups}),
        }

    @property
    def _groups(self) -> list[str]:
        """The columns of each division; what their groups are, the digest of the scores tells."""
        assert self.divisions is not None
        names = [":".join(self.divisions.columns(each)) for each in self.divisions.crossed]
        return [*names, self.scores.digest]


def plan_scores(
    model: NaiveBayes, budget: Budget, *, seeded: bool = False, divisions: Divisions | None = None
) -> ScorePlan:
    """Plan the release of a model's scores."""
    classes = len(model.domain.classes)
    if not model.attributes:
        raise UsageError("epsilon: only scores of a model with attributes are released; this one has no attributes")
    cells = released_bins(model.domain) * classes
    if cells > MOST_CELLS:
        raise UsageError(
            f"epsilon: rows of {classes} classes, by predicted class, would be {cells} counts; at most {MOST_CELLS} "
            f"are released at once; leave {option('epsilon')} out, or evaluate a model of fewer classes"
        )
    if not model.guarantee.private and not seeded:
        raise UsageError(
            "epsilon: this model carries no guarantee, and what is released of its scores would have none either; "
            f"evaluate one that has, or leave {option('epsilon')} out"
        )
    scores = model_scores(model)
    requests = [Request(SCORES, None, cells, scores.parallel, LAPLACE, Fraction(1))]
    if divisions is not None:
        scores = grouped_scores(model, divisions)
        requests += _group_requests(divisions, scores)
        most, counted = max(request.values for request in requests), scores.bins * classes
        if most > MOST_CELLS or counted > MOST_GROUP_CELLS:
            raise UsageError(
                f"by: the groups of these columns, crossed with {classes} classes and the bins of a row's score, would "
                f"be {counted} cells; at most {MOST_GROUP_CELLS} are counted at once, and {MOST_CELLS} numbers of one "
                "division released; name fewer columns, or columns of fewer values"
            )
    if model.domain.unit is not None:
        budget = replace(budget, unit_rows=model.domain.unit.rows)
    return ScorePlan(model, budget, compose(requests, budget), scores, divisions)


def _group_requests(divisions: Divisions, scores: ClassScores) -> Iterator[Request]:
    """List the queries of each division: its counts and, of two classes, its sums of probabilities."""
    classes = len(scores.domain.classes)
    one_sum = Parallel(f"one row changes one of these sums by at most {scores.sensitivity}", RowEffect.ONE_DRAW)
    for division, groups in zip(divisions.crossed, divisions.sizes, strict=True):
        columns = ":".join(divisions.columns(division))
        cells, weight = groups * classes**2, Fraction(GROUP_COUNTS_WEIGHT)
        yield Request(GROUP_COUNTS, columns, cells, scores.parallel, LAPLACE, weight)
        if classes == 2:
            yield Request(GROUP_PROBABILITIES, columns, groups, one_sum, LAPLACE, Fraction(1))


def grouped_scores(model: NaiveBayes, divisions: Divisions) -> ClassScores:
    """Make the scores of rows by group: of two classes, in bins that tell the probability in whole parts as well.

    A row's number is that of its group in the product of all columns, those of the last column changing first: the sum
    over the columns of the group there, times the number of groups of all later columns.
    """
    scores, tables, groups = model_scores(model), [], 1
    for grouping in reversed(divisions.groupings):
        numbers = tuple(groups * place for place in range(len(grouping.starts)))
        tables.append(ScoreTable(grouping.attribute.name, grouping.starts, numbers, groups * grouping.missing))
        groups *= grouping.size
    counted = replace(scores, domain=divisions.domain, group_tables=tuple(reversed(tables)), groups=groups)
    if isinstance(counted, Margins):
        return replace(counted, edges=tuple(sorted({*counted.edges, *_score_edges(model, PART_EDGES)})))
    return counted


def model_scores(model: NaiveBayes) -> ClassScores:
    """Make the scores of rows from a model, weights included, and their bins: public log-odds, or predicted classes.

    The log-odds of the second of two classes are those of the class terms plus its margin over the first by the
    attributes. A row's bin is the number of edges that they exceed, so that the edge 0 parts the predicted classes: of
    equal probabilities the first class wins. Of more classes the bin is the class of the largest score. Under a line
    the edges, and the score of the largest class, are moved to where the line's log-odds are those. A row counts as its
    weight where the domain declares one.
    """
    weighted = model.domain.weight is not None
    if len(model.domain.classes) > 2:
        offsets = tuple(round(FINER * UNITS * term) for term in deciding_terms(model))
        return Scores(model.domain, tuple(zip(*_class_tables(model), strict=True)), offsets, weighted=weighted)
    ratios = zip(model_log_ratios(model), model.weights, strict=True)
    tables = zip(*(each.times(FINER * weight).tables() for each, weight in ratios), strict=True)
    return Margins(model.domain, tuple(tables), (0, 0), 0, _score_edges(model, EDGES), weighted=weighted)


def _score_edges(model: NaiveBayes, edges: Sequence[float]) -> tuple[int, ...]:
    """Return the least score of a row whose log-odds exceed each edge."""
    first, second = class_terms(model)
    return tuple(math.floor(FINER * UNITS * (edge - (second - first))) + 1 for edge in _linear_edges(model, edges))


def _linear_edges(model: NaiveBayes, edges: Sequence[float]) -> Sequence[float]:
    """Return how far the second class's score is above the first one's where its log-odds are those of the edges."""
    line = population_line(model)
    if line is None:
        return edges
    if line.largest == 0:
        return [margin_above(line, edge) for edge in edges]
    return [-margin_above(line, -edge, reached=True) for edge in edges]


def _class_tables(model: NaiveBayes) -> Iterator[list[ScoreTable]]:
    """Round each attribute's weighted log-likelihoods, relative to the largest of all classes, one table per class."""
    for ratios, weight in zip(model_log_ratios(model), model.weights, strict=True):
        scores = _below_largest(weight * ratios.ratios)
        missing = _below_largest(weight * ratios.missing[:, None])
        yield [
            ScoreTable(ratios.attribute, tuple(ratios.starts), tuple(row), absent)
            for row, (absent,) in zip(scores, missing, strict=True)
        ]


def _below_largest(ratios: Floats) -> list[list[int]]:
    """Take log-ratios to the first class, shape (classes - 1, steps), relative to the largest, in whole units."""
    logs = np.vstack([np.zeros(ratios.shape[1]), ratios])
    units = np.rint((logs - logs.max(axis=0)) * (FINER * UNITS))
    whole: list[list[int]] = np.maximum(units, -LARGEST_SCORE).astype(np.int64).tolist()
    return whole


def release_scores(plan: ScorePlan, counts: ScoreCounts, draw: Sampler) -> ScoreValues:
    """Draw the counts of scores, and those of each division into groups."""
    return plan.values_of(plan.draw(counts, draw), seeded=not draw.private)


def _bin_queries(plan: ScorePlan) -> tuple[BinQuery, ...]:
    """Say how often a row of each bin counts in each number that is released: the plan's shares, in their order."""
    share, *others = plan.shares
    shares, scores = iter(others), plan.scores
    queries = [BinQuery(share, (), _one_hot(_bins_of_all(plan)))]
    for division in () if plan.divisions is None else plan.divisions.crossed:
        if isinstance(scores, Margins):
            zero = scores.edges.index(_score_edges(plan.model, [0.0])[0]) + 1
            second = np.arange(scores.group_bins) >= zero
            queries.append(BinQuery(next(shares), division, _one_hot(second.astype(np.int64))))
            parts = _reached(_score_edges(plan.model, PART_EDGES), scores)
            queries.append(BinQuery(next(shares), division, parts[np.newaxis], by_class=False))
        else:
            queries.append(BinQuery(next(shares), division, _one_hot(np.arange(scores.group_bins))))
    return tuple(queries)


def _bins_of_all(plan: ScorePlan) -> Integers:
    """Return, of every bin that rows are counted in, the released one of all rows that it is in.

    Where there are groups, rows are counted in finer bins, which tell the probability.
    """
    if plan.divisions is None or not isinstance(plan.scores, Margins):
        return np.arange(plan.scores.group_bins)
    return _reached(_score_edges(plan.model, EDGES), plan.scores)


def _one_hot(places: Integers) -> Integers:
    """Count each bin in the number of its place: shape (numbers, bins)."""
    matrix: Integers = (np.arange(places.max() + 1)[:, np.newaxis] == places).astype(np.int64)
    return matrix


def _reached(edges: Sequence[int], scores: Margins) -> Integers:
    """Count the edges, all of them among the scores' own, that a row of each bin reaches."""
    places: Integers = np.searchsorted(edges, [scores.edges[0] - 1, *scores.edges], side="right")
    return places
