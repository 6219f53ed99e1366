"""Calibrated attribute weights: one slope for all log-ratios and an intercept, from counts of a second pass.

Naive Bayes adds up log-ratios of attributes as if these were independent; where they are not, it counts the same
evidence again. Given the released model the log-ratios of a row add up to its score, and a logistic regression of the
class on the score mends both the slope and the intercept. It needs few numbers: how many rows of each class have their
score in each of a few bins. The bins are fixed by what was released, so one row is in one cell, and the noisy counts
are one query more (docs/privacy.md, Lemma 2.8).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpnb_columnar.budget import Request, Share
from dpnb_columnar.budget.composition import PARALLEL_CELLS
from dpnb_columnar.counting.scores import ScoreCounts, Scores
from dpnb_columnar.domain import Domain
from dpnb_columnar.mechanisms.attribute_weights import CALIBRATED
from dpnb_columnar.mechanisms.log_ratios import UNITS, Floats, LogRatios, model_log_ratios
from dpnb_columnar.mechanisms.queries import LAPLACE, noisy_counts
from dpnb_columnar.mechanisms.slope_fit import fitted
from dpnb_columnar.mechanisms.tuning import rate
from dpnb_columnar.model.parameters import AttributeWeights, NaiveBayes
from dpnb_columnar.noise import Sampler

CALIBRATION = "calibration counts"
"""Query for the rows of each class whose score is in each bin."""

PART = Fraction(1, 10)
"""Part of the budget that calibration spends."""

EDGES = (-8, -4, -3, -2, -1, 0, 1, 2, 3, 4, 8)
"""Edges between the bins, in quarters of L. Few rows lie beyond 2 L, in the outermost bins, unless a bad draw gives the
tails of one attribute to the wrong class; their counts show it."""

BINS = len(EDGES) + 1

TELLING = 3.0
"""Log-ratio, in nats, beyond which one attribute does not widen the bins any further."""


def calibration_request(domain: Domain, weight: Fraction) -> Request:
    """Make the query, with its relative share of the budget."""
    return Request(CALIBRATION, None, BINS * len(domain.classes), PARALLEL_CELLS, LAPLACE, weight)


def scores_given(model: NaiveBayes) -> Scores:
    """Make the scores of rows, and their bins, from a released model of two classes."""
    attributes = model_log_ratios(model)
    tables = tuple(table for ratios in attributes for table in ratios.tables())
    squares = sum(_mean_square(ratios, model.classes.probability) for ratios in attributes)
    width = _width(squares)
    return Scores(model.domain, tables, tuple(width * edge for edge in EDGES))


def calibrated_weights(model: NaiveBayes, counts: ScoreCounts, share: Share, draw: Sampler) -> AttributeWeights:
    """Draw the calibration counts, and fit weights and intercepts to them.

    Args:
        model: The released model.
        counts: Exact counts of the scores that it gives. Confidential.
        share: Share of the budget for the counts.
        draw: Sampler of the noise.

    Raises:
        ValueError: if other scores were counted, whose bins the model does not fix.
    """
    if counts.scores != scores_given(model):
        raise ValueError("the scores that were counted are not those that the released model gives")
    released = [noisy_counts(row, share, draw) for row in counts.counts]
    first, second = map(math.log, model.classes.probability)
    size = len(model.attributes)
    noise = math.sqrt(2) / rate(share.row_cost)
    slope, shift = fitted(released, centres(counts.scores), noise, second - first, size)
    # One slope for all attributes. The score is relative to the log-priors, which the model keeps.
    return AttributeWeights(CALIBRATED, (slope,) * size, (0.0, shift))


def centres(scores: Scores) -> Floats:
    """Compute the score that stands for each bin's, in nats.

    That is its middle; beyond L, where rows are fewer the farther out they are, a quarter of L from the inner edge.
    """
    width = scores.edges[6] - scores.edges[5]
    return width * np.array([-9, -5, *np.arange(-3.5, 4), 5, 9]) / UNITS


def _mean_square(ratios: LogRatios, priors: Sequence[float]) -> float:
    """Compute the mean of the squared log-ratio under the released model, each at most ``TELLING`` in size.

    Uncut, the tails of one spiky distribution would stretch the bins over scores that hardly any row has.
    """
    squares, missing = (np.minimum(nats**2, TELLING**2) for nats in (ratios.ratios, ratios.missing))
    by_class = (ratios.probability * squares).sum(axis=1) + ratios.absent * missing
    return float(np.array(priors) @ by_class)


def _width(squares: float) -> int:
    """Compute the width of a bin in units: a quarter of L = 1 + 2 sqrt(sum of E r^2), rounded up.

    L is twice the root mean square that the score would have were the attributes independent and said nothing, and one
    nat more.

    Args:
        squares: Sum over the attributes of the mean squared log-ratio under the released model.
    """
    return math.ceil(UNITS * (1 + 2 * math.sqrt(squares)) / 4)
