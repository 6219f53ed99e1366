"""Released scores: noisy counts of labelled rows by class and by the score that a released model gives them.

Of two classes the bins are ranges of the score; of more they are the predicted classes. Whatever says how well a model
does is computed from these counts (``model.released_scores``). Bins and scores are fixed by the model, so one row is in
one cell at most, and all counts are one query (docs/privacy.md, Lemma 2.11). Scores are whole numbers as in a second
pass, so every engine counts the same.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np

from dpnb_columnar.budget import Budget, PrivacyCost, Request, Share, compose, total
from dpnb_columnar.counting.scores import UNITS, ClassScores, Margins, ScoreCounts, Scores, ScoreTable
from dpnb_columnar.domain import Domain, digest
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.errors import UsageError, option
from dpnb_columnar.mechanisms.log_ratios import LARGEST_SCORE, Floats, model_log_ratios
from dpnb_columnar.mechanisms.mechanism import LAPLACE, noisy_counts
from dpnb_columnar.mechanisms.model_release import Pass, software
from dpnb_columnar.model.guarantee import Guarantee
from dpnb_columnar.model.likelihood import class_terms, deciding_terms, margin_above, population_line
from dpnb_columnar.model.model_document import document_digest
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.model.postprocessing import within_largest
from dpnb_columnar.model.score_values import EDGES, ScoreValues, released_bins
from dpnb_columnar.noise import Sampler

SCORES = "score counts"
"""Query for the rows of each class whose score is in each bin; also the name of this release in a ledger."""

MOST_CELLS = 2**20
"""Most counts of one release: 1,024 classes."""

FINER = 16
"""Scores are whole numbers of this part of a unit, so that hardly a row is on another side of an edge than its exact
probability. No attribute says more than ``LARGEST_SCORE`` of them, 32 nats."""


@dataclass(frozen=True, slots=True)
class ScorePlan:
    """A checked release of scores: public facts alone. Only ``plan_scores`` makes one.

    Attributes:
        model: The released model that gives the scores.
        budget: Privacy budget, and the neighbouring relation that it refers to.
        shares: The composition table: one query.
        scores: The scores, and their bins.
    """

    model: NaiveBayes
    budget: Budget
    shares: tuple[Share, ...]
    scores: ClassScores

    @property
    def domain(self) -> Domain:
        """The domain of the rows."""
        return self.model.domain

    @property
    def total(self) -> PrivacyCost:
        """What the release costs."""
        return total(self.shares)

    asks_again: ClassVar[None] = None
    """Scores are counted in one pass."""
    run_id: ClassVar[None] = None
    """They may be released of any rows, as often as somebody pays."""

    def passes(self) -> Generator[Pass, Any, ScoreValues]:
        """Yield the one question to the rows, and take what was released of its answer."""
        released: ScoreValues = yield Pass(self.scores, partial(release_scores, self))
        return released

    def check_payable(self) -> None:
        """Refuse a release that no budget pays for.

        Raises:
            UsageError: if the model has no guarantee, which its scores would need.
        """
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
        }


def plan_scores(model: NaiveBayes, budget: Budget, *, seeded: bool = False) -> ScorePlan:
    """Plan the release of a model's scores.

    Args:
        model: The model.
        budget: Privacy budget, without a delta.
        seeded: Whether the noise will come from a seed, so that nothing is promised.

    Raises:
        UsageError: if the model has too many classes, no attributes, or no guarantee, which its scores would need.
    """
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
    request = Request(SCORES, None, cells, ClassScores.parallel, LAPLACE, Fraction(1))
    if model.domain.unit is not None:
        budget = replace(budget, unit_rows=model.domain.unit.rows)
    return ScorePlan(model, budget, compose([request], budget), model_scores(model))


def model_scores(model: NaiveBayes) -> ClassScores:
    """Make the scores of rows from a model, weights included, and their bins: public log-odds, or predicted classes.

    The log-odds of the second of two classes are those of the class terms plus its margin over the first by the
    attributes. A row's bin is the number of edges that they exceed, so that the edge 0 parts the predicted classes: of
    equal probabilities the first class wins. Of more classes the bin is the class of the largest score. Under a line
    the edges, and the score of the largest class, are moved to where the line's log-odds are those.
    """
    if len(model.domain.classes) > 2:
        offsets = tuple(round(FINER * UNITS * term) for term in deciding_terms(model))
        return Scores(model.domain, tuple(zip(*_class_tables(model), strict=True)), offsets)
    weighted = zip(model_log_ratios(model), model.weights, strict=True)
    tables = zip(*(ratios.times(FINER * weight).tables() for ratios, weight in weighted), strict=True)
    first, second = class_terms(model)
    edges = tuple(math.floor(FINER * UNITS * (edge - (second - first))) + 1 for edge in _linear_edges(model))
    return Margins(model.domain, tuple(tables), (0, 0), 0, edges)


def _linear_edges(model: NaiveBayes) -> Sequence[float]:
    """Return how far the second class's score is above the first one's where its log-odds are those of ``EDGES``."""
    line = population_line(model)
    if line is None:
        return EDGES
    if line.largest == 0:
        return [margin_above(line, edge) for edge in EDGES]
    return [-margin_above(line, -edge, reached=True) for edge in EDGES]


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
    """Release the counts of scores.

    Args:
        plan: The query and what it may spend.
        counts: Exact counts. Confidential.
        draw: Sampler of all noise. Only exact draws from the operating system's generator give a guarantee.

    Raises:
        ValueError: if other scores were counted than the model gives.
    """
    if counts.scores != plan.scores:
        raise ValueError("the scores that were counted are not those that the model gives")
    (share,) = plan.shares
    released = tuple(tuple(map(within_largest, noisy_counts(column, share, draw))) for column in counts.counts.T)
    guarantee = Guarantee(
        mechanism=SCORES,
        noise=None,
        epsilon=plan.budget.epsilon,
        delta=plan.budget.delta,
        neighbours=plan.budget.neighbours,
        composition=plan.shares,
        seeded=not draw.private or plan.model.guarantee.seeded,
        unit=plan.domain.unit,
    )
    digest = document_digest(plan.model)
    return ScoreValues(plan.domain, digest, guarantee, released, dict(software()))
