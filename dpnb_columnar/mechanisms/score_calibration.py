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
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.budget import Request, Share
from dpnb_columnar.budget.composition import PARALLEL_CELLS
from dpnb_columnar.counting.scores import ScoreCounts, Scores, ScoreTable
from dpnb_columnar.domain import Attribute, Domain, Numeric
from dpnb_columnar.errors import UsageError
from dpnb_columnar.mechanisms.attribute_weights import CALIBRATED
from dpnb_columnar.mechanisms.histogram import equal_edges
from dpnb_columnar.mechanisms.queries import LAPLACE, noisy_counts
from dpnb_columnar.model.likelihood import bin_starts, cell_terms, missing_terms, normal_terms
from dpnb_columnar.model.parameters import AttributeParameters, AttributeWeights, Histogram, NaiveBayes, Normal, Table
from dpnb_columnar.noise import Sampler

CALIBRATION = "calibration counts"
"""Query for the rows of each class whose score is in each bin."""

PART = Fraction(1, 10)
"""Part of the budget that calibration spends."""

UNITS = 256
"""Scores are whole numbers of this part of a nat."""

LARGEST_SCORE = 2**17
"""Largest score of an attribute, in units: 512 nats are certainty. The scores of a million attributes add up far
below 2^63."""

MOST_STEPS = 4096
"""Most steps of an attribute's score. A wider scale is divided into as many equal bins."""

BINS = 8
"""Bins of equal width in [-L, L]; what lies beyond is in the outermost ones."""

TELLING = 3.0
"""Log-ratio, in nats, beyond which one attribute does not widen the bins any further."""

DEVIATION = 0.3
"""Standard deviation of the prior of the slope's logarithm, and of the intercept."""

SLOPES = (10, 120)
SHIFTS = (-500, 500)
"""Least and largest slope, and change of the log-odds, in hundredths: the grid to choose from."""

COARSE = 5
"""Hundredths between the points that are tried first. Then all those are that lie between the best one's neighbours."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LogRatios:
    """The log-ratios log P(x|1) - log P(x|0) of an attribute by steps of its code, with their probabilities. Public.

    Attributes:
        starts: First grid code or category code of every step.
        ratios: Shape (steps,): log-ratio of every step.
        probability: Shape (2, steps): probability of every step within each class.
        missing: Log-ratio of a row without a value; 0 where that leaves the attribute out.
        absent: Per class, the probability of having no value, where that is a category.
    """

    starts: Sequence[int]
    ratios: Floats
    probability: Floats
    missing: float = 0.0
    absent: Sequence[float] = (0.0, 0.0)

    def mean_square(self, priors: Sequence[float]) -> float:
        """Compute the mean of the squared log-ratio under the released model, each at most ``TELLING`` in size.

        Uncut, the tails of one spiky distribution would stretch the bins over scores that hardly any row has.
        """
        squares, missing = np.minimum(self.ratios**2, TELLING**2), min(self.missing**2, TELLING**2)
        by_class = (self.probability * squares).sum(axis=1) + np.array(self.absent) * missing
        return float(sum(np.array(priors) * by_class))


def calibration_request(domain: Domain, others: Sequence[Request]) -> Request:
    """Make the query, with a weight that gives it its part of the budget beside the other queries.

    Raises:
        UsageError: if none of these is about an attribute, so that there are no log-ratios with noise.
    """
    if all(request.attribute is None for request in others):
        raise UsageError(
            "attribute weights: calibrated is for mechanisms that release attributes with noise; choose another one, "
            "such as --mechanism histogram, or leave --attribute-weights out"
        )
    weight = sum((request.weight for request in others), Fraction(0)) * PART / (1 - PART)
    return Request(CALIBRATION, None, BINS * len(domain.classes), PARALLEL_CELLS, LAPLACE, weight)


def scores_given(model: NaiveBayes) -> Scores:
    """Make the scores of rows, and their bins, from a released model of two classes."""
    tables, squares = [], 0.0
    for parameters in model.attributes:
        ratios = log_ratios(model.domain[parameters.attribute], parameters)
        tables.append(
            ScoreTable(
                parameters.attribute, tuple(ratios.starts), _units(ratios.ratios), *_units(np.array([ratios.missing]))
            )
        )
        squares += ratios.mean_square(model.classes.probability)
    width = _width(squares)
    return Scores(model.domain, tuple(tables), tuple(width * edge for edge in range(1 - BINS // 2, BINS // 2)))


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
    slope, shift = fitted(released, centres(counts.scores), second - first, size)
    # One slope for all attributes. The score is relative to the log-priors, which the model keeps.
    return AttributeWeights(CALIBRATED, (slope,) * size, (0.0, shift))


def centres(scores: Scores) -> Floats:
    """Compute the middle of every bin in nats, the outermost ones as wide as the others."""
    width = scores.edges[1] - scores.edges[0]
    return width * (np.arange(scores.bins) - (scores.bins - 1) / 2) / UNITS


def log_ratios(attribute: Attribute, parameters: AttributeParameters) -> LogRatios:
    """Compute the log-ratios of an attribute, for two classes."""
    if isinstance(parameters, Normal):
        assert isinstance(attribute, Numeric)
        starts, ratios, probability = _normal_steps(attribute, parameters)
    else:
        first, second = cell_terms(parameters)
        ratios, probability = np.array(second) - np.array(first), np.array(parameters.probability)
        starts = list(range(len(ratios)))
        if isinstance(parameters, Histogram):
            assert isinstance(attribute, Numeric)
            starts = [0, *bin_starts(attribute, parameters.edges)]
    missing = missing_terms(parameters)
    if missing is None:
        return LogRatios(starts, ratios, probability)
    assert not isinstance(parameters, Table)
    assert parameters.presence is not None
    present, absent = zip(*parameters.presence.probability, strict=True)
    return LogRatios(starts, ratios, probability * np.array(present)[:, None], missing[1] - missing[0], absent)


def fitted(counts: Sequence[Sequence[int]], centres: Floats, log_odds: float, attributes: int) -> tuple[float, float]:
    """Fit a slope and a change of the log-odds to noisy counts, by logistic likelihood and a prior.

    The prior of the slope's logarithm has its mean at that of attributes^(-1/4), the change's at 0. Noisy counts below
    zero stay as they are: the likelihood is linear in the counts, so that noise does not bias it.

    Args:
        counts: Per bin, the released count of each class.
        centres: Shape (bins,): the score that stands for a bin's, in nats.
        log_odds: Released log-odds log P(1) - log P(0).
        attributes: Number of attributes in the score.

    Returns:
        The slope of the score, and what is added to the log-odds.
    """
    table, expected = np.array(counts, dtype=np.float64), -math.log(attributes) / 4

    def best(slopes: range, shifts: range) -> tuple[int, int]:
        """Find the point of a grid of hundredths with the smallest penalised loss."""
        slope, shift = np.array(slopes)[:, None] / 100, np.array(shifts) / 100
        loss = ((np.log(slope) - expected) ** 2 + shift**2) / (2 * DEVIATION**2)
        for centre, (negatives, positives) in zip(centres, table, strict=True):
            odds = log_odds + shift + slope * centre
            # -log of the probability of each class, stable for large odds.
            loss += positives * np.logaddexp(0, -odds) + negatives * np.logaddexp(0, odds)
        first, second = np.unravel_index(int(loss.argmin()), loss.shape)
        return slopes[int(first)], shifts[int(second)]

    near = best(*(range(least, largest + 1, COARSE) for least, largest in (SLOPES, SHIFTS)))
    slope, shift = best(
        *(
            range(max(point - COARSE, least), min(point + COARSE, largest) + 1)
            for point, (least, largest) in zip(near, (SLOPES, SHIFTS), strict=True)
        )
    )
    return slope / 100, shift / 100


def _normal_steps(attribute: Numeric, parameters: Normal) -> tuple[list[int], Floats, Floats]:
    """Divide the scale of a normal attribute into steps; the value in the middle of a step stands for its values."""
    scale = attribute.scale
    edges = equal_edges(scale.cells, MOST_STEPS)
    starts = np.array([0, *bin_starts(attribute, edges)])
    middles = scale.origin + scale.step * (np.array(edges[:-1]) + np.array(edges[1:]) - 1) / 2
    first, second = normal_terms(attribute, parameters, middles)
    # The terms are meant up to a number common to all classes, so densities are computed from their definition.
    means, deviations = np.array(parameters.mean)[:, None], np.array(parameters.deviation)[:, None]
    logarithms = -0.5 * ((middles - means) / deviations) ** 2
    densities = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    # On a logarithmic scale a step may hold no code of the grid: the one before takes its probability.
    filled = np.flatnonzero(np.diff([*starts, attribute.cells + 1]))
    probability = np.add.reduceat(densities / densities.sum(axis=1, keepdims=True), filled, axis=1)
    return [int(start) for start in starts[filled]], (second - first)[filled], probability


def _units(nats: Floats) -> tuple[int, ...]:
    """Round log-ratios to whole units, within the largest score."""
    return tuple(int(unit) for unit in np.clip(np.rint(nats * UNITS), -LARGEST_SCORE, LARGEST_SCORE))


def _width(squares: float) -> int:
    """Compute the width of a bin in units: a quarter of L = 1 + 2 sqrt(sum of E r^2), rounded up.

    L is twice the root mean square that the score would have were the attributes independent and said nothing, and one
    nat more.

    Args:
        squares: Sum over the attributes of the mean squared log-ratio under the released model.
    """
    return math.ceil(UNITS * 2 * (1 + 2 * math.sqrt(squares)) / BINS)
