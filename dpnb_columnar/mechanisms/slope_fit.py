"""Fit one slope and an intercept to noisy counts of rows by score and class (``mechanisms.score_calibration``).

The model that is fitted is logistic: in a bin whose scores have the middle x, the second class has the log-odds
a + w x. Let n and y be a bin's released rows and rows of the second class, and p its probability by the model. Then

    (1 - p) y - p (n - y)

has the mean 0 for the true p, whatever the noise; its variance is n p (1 - p), from the rows, and
s^2 (p^2 + (1 - p)^2), from noise of deviation s in each count. Each bin is weighed by that variance: a bin of few rows,
most of which is noise, does not outweigh one of many, as in the likelihood of exact counts it can. Everything here is
post-processing of released counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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

Floats = NDArray[np.float64]


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
