"""Calibrated attribute weights: one slope for all log-ratios and an intercept, from counts of a later pass.

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
from numpy.typing import NDArray

from dpnb_columnar.budget import Request, Share
from dpnb_columnar.counting.scores import UNITS, ScoreCounts, Scores
from dpnb_columnar.domain import Domain
from dpnb_columnar.mechanisms.attribute_weights import CALIBRATED
from dpnb_columnar.mechanisms.log_ratios import Floats, LogRatios, model_log_ratios
from dpnb_columnar.mechanisms.mechanism import LAPLACE, noisy_counts
from dpnb_columnar.model.mechanism_rules import CALIBRATION as CALIBRATION
from dpnb_columnar.model.parameters import AttributeWeights, NaiveBayes
from dpnb_columnar.model.tuning import pure_epsilon
from dpnb_columnar.noise import Sampler

# The fit of one slope and an intercept to noisy counts of rows by score and class. The model is logistic: in a bin
# whose scores have the middle x, the second class has the log-odds a + w x. Let n and y be a bin's released rows and
# rows of the second class, and p its probability by the model. Then
#
#     (1 - p) y - p (n - y)
#
# has the mean 0 for the true p, whatever the noise; its variance is n p (1 - p), from the rows, and
# s^2 (p^2 + (1 - p)^2), from noise of deviation s in each count. Each bin is weighed by that variance: a bin of few
# rows, most of which is noise, does not outweigh one of many, as in the likelihood of exact counts it can. Everything
# here is post-processing of released counts.

DEVIATION = 0.4
"""Standard deviation of the prior of the slope's logarithm, and of the intercept."""

FLAT = (0.001, 0.003, 0.01, 0.03, 0.06)
SLOPES = (*FLAT, *(hundredths / 100 for hundredths in range(10, 121)))
"""Slopes to choose from. The flat ones rank rows still, and are chosen where the counts speak against all others."""

SHIFTS = (-300, 300)
"""Least and largest distance of the log-odds from their expected value, in hundredths."""

COARSE = 5
"""Points of the grid from one that is tried first to the next. Then all are that lie between the best one's neighbours.
"""

REFUSED = 1e100
"""Added to the loss of a point that the counts speak against: chosen only if they speak against all."""

CERTAINTY = 1.5
"""Deviations of the noise, beyond which counts show that a class is the rarer one."""

END = 512.0
"""Score, in nats, that the outermost bins reach to: that of one attribute that is certain."""


def fitted(
    counts: Sequence[Sequence[int]], centres: Floats, noise: float, log_odds: float, attributes: int
) -> tuple[float, float]:
    """Fit a slope and a change of the log-odds to noisy counts, by weighted residuals and a prior.

    The prior of the slope's logarithm has its mean at that of attributes^(-1/4), that of the log-odds at those of all
    rows that were counted: where attributes are many, their share is larger than that of the class counts.

    Args:
        counts: Per bin, the released count of each of two classes.
        centres: Shape (bins,): the score that stands for a bin's, in nats.
        noise: Standard deviation of the noise in a count.
        log_odds: Released log-odds log P(1) - log P(0).
        attributes: Number of attributes in the score.

    Returns:
        The slope of the score, and what is added to the log-odds.
    """
    table = np.array(counts, dtype=np.float64)
    # Totals are at least the deviation of their noise, since logarithms are taken.
    totals = np.maximum(table.sum(axis=0), noise * math.sqrt(len(table)))
    expected, middle = -math.log(attributes) / 4, round(100 * (math.log(totals[1] / totals[0]) - log_odds))

    def best(slopes: range, shifts: range) -> tuple[int, int]:
        """Find the point of a grid with the smallest penalised loss: the place of a slope, and hundredths."""
        slope, shift = np.array(SLOPES)[slopes][:, None], np.array(shifts) / 100
        base = log_odds + middle / 100 + shift
        loss = _loss(base[:, None] + slope[:, :, None] * centres, table, noise)
        loss += ((np.log(slope) - expected) ** 2 + shift**2) / (2 * DEVIATION**2)
        loss[_refused(base, slope, centres, table, noise)] += REFUSED
        first, second = np.unravel_index(int(loss.argmin()), loss.shape)
        return slopes[int(first)], shifts[int(second)]

    limits = ((0, len(SLOPES) - 1), SHIFTS)
    near = best(*(range(least, largest + 1, COARSE) for least, largest in limits))
    slope, shift = best(
        *(
            range(max(point - COARSE, least), min(point + COARSE, largest) + 1)
            for point, (least, largest) in zip(near, limits, strict=True)
        )
    )
    return SLOPES[slope], (middle + shift) / 100


def _loss(odds: Floats, table: Floats, noise: float) -> Floats:
    """Compute minus the logarithm of the residuals' normal density, up to a constant.

    Args:
        odds: Shape (slopes, shifts, bins): log-odds of the second class.
        table: Shape (bins, 2): released counts.
        noise: Standard deviation of the noise in a count.

    Returns:
        Shape (slopes, shifts).
    """
    second = np.exp(-np.logaddexp(0, -odds))
    first = np.exp(-np.logaddexp(0, odds))
    residual = first * table[:, 1] - second * table[:, 0]
    rows = np.maximum(table.sum(axis=1), 0)
    variance = noise**2 * (first**2 + second**2) + rows * first * second
    # The density of the noise in the two counts does not depend on p: its part is taken out of the last term.
    loss: Floats = (residual**2 / (2 * variance) + np.log(variance / (first**2 + second**2)) / 2).sum(axis=-1)
    return loss


def _refused(base: Floats, slope: Floats, centres: Floats, table: Floats, noise: float) -> NDArray[np.bool_]:
    """Find the points that would predict the rarer class where the counts show that it is the rarer one all the same.

    They would in the bins whose centre has odds for it, and in the outermost bin if its end has. If the class has fewer
    rows than the other in these bins, by more than ``CERTAINTY`` deviations of the noise, always predicting the larger
    class is better. It happens where a bad draw gives the tails of one attribute to the wrong class.

    Args:
        base: Shape (shifts,): log-odds of a score of 0.
        slope: Shape (slopes, 1).
        centres: Shape (bins,): the score that stands for a bin's.
        table: Shape (bins, 2): released counts.
        noise: Standard deviation of the noise in a count.

    Returns:
        Shape (slopes, shifts).
    """
    rarer = int(table[:, 1].sum() < table[:, 0].sum())
    reached = centres.copy()
    reached[-rarer] = END if rarer else -END  # the last bin for the second class, the first for the first
    chosen = (base[:, None] + slope[:, :, None] * reached > 0) == bool(rarer)
    gain = chosen @ (table[:, rarer] - table[:, 1 - rarer])
    refused: NDArray[np.bool_] = gain < -CERTAINTY * noise * np.sqrt(2 * chosen.sum(axis=-1))
    return refused


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
    asked = planned_scores(domain)
    return Request(CALIBRATION, None, asked.cells, asked.parallel, LAPLACE, weight)


def planned_scores(domain: Domain) -> Scores:
    """Return what the rows will be asked, before released tables tell the scores and how wide the bins are."""
    return Scores(domain, (), EDGES)


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
    noise = math.sqrt(2) / pure_epsilon(share.row_cost)
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
