"""Calibrated attribute weights: a line from a score's margin to the odds of the classes, from counts of a later pass.

Naive Bayes adds up log-ratios of attributes as if these were independent; where they are not, it counts the same
evidence again. Given the released model, a row has a score in every class, and its margin says how much the best other
class leads over the largest one. How often rows of each margin are of the one class or the other is what a classifier
has to know, and it takes few numbers: rows of a few ranges of the margin, by whether they are of the largest class, of
the best other one, or of neither. The ranges are fixed by what was released, so one row is in one cell, for any number
of classes, and the noisy counts are one query more (docs/privacy.md, Lemma 2.8). What is fitted to them
(``model.score_calibration``) is post-processing.

Fit the line from a model's margin to the odds of its classes, to noisy counts of rows by margin and class.

``fit_line(counts, ...) -> CalibrationLine``. Everything here is post-processing of released counts, with the noise that
they have.

In a bin of the margin whose middle is x, let n1 and n2 be the released rows of two kinds and p the true part of the
second. Then (1 - p) n2 - p n1 has the mean 0, whatever the noise, and the variance n p (1 - p) from the rows and
s^2 (p^2 + (1 - p)^2) from noise of deviation s in each count. So a bin of few rows, most of which is noise, does not
outweigh one of many, as in the likelihood of exact counts it can.

1. *Straight*: the log-odds are a + w x. Slopes and shifts of a public grid are weighed by how well they explain the
   residuals, and by a prior; the probabilities that they give are averaged. Most of the prior says that the margin
   tells nothing (w = 0): there the released shares of the classes stand, whatever noise makes of the counts of a rare
   class. No slope between 0 and 1 is thought likelier than another: what a model's margin is worth depends on its
   noise, and on how often its attributes say the same.
2. *Bent*: the true log-odds are those plus a smooth departure, a Gaussian process over the bins, given the residuals. A
   score with two humps is calibrated so; where counts are mostly noise the line stays straight.
3. *Rising*: the line is made monotone by pooling adjacent violators, each bin with its precision.
4. *Never below the largest class*: where the bins in which the line would predict another class than the largest show
   no gain in rows of that class, it predicts the largest class everywhere.

The constants were chosen on public tables (docs/journal/weights.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.core.budget import Request
from dpnb_columnar.core.code_limits import UNITS
from dpnb_columnar.core.measurement import CALIBRATION as CALIBRATION
from dpnb_columnar.core.measurement import CLASS_COUNTS, LAPLACE, Measurement
from dpnb_columnar.core.mechanisms.tuning import pure_epsilon
from dpnb_columnar.core.queries.scores import Margins
from dpnb_columnar.domain import Domain
from dpnb_columnar.model.likelihood import LogRatios, model_log_ratios
from dpnb_columnar.model.parameters import (
    CALIBRATED,
    LEARNED,
    AttributeWeights,
    CalibrationLine,
    NaiveBayes,
    tempered_weight,
)
from dpnb_columnar.model.postprocessing import class_sizes

Floats = NDArray[np.float64]

SLOPES = (0.001, 0.003, 0.01, 0.02, 0.03, 0.045, 0.06, 0.08, *(hundredths / 100 for hundredths in range(10, 131, 2)))
"""Slopes of the grid. The first one is as good as 0."""

STEEP = 0.4
"""Standard deviation of the prior of the logarithm of a slope above 1."""

FLAT_PRIOR = 1000.0
"""Prior of the first slope, in that of each of the others."""

SHIFTS = tuple(twentieths / 20 for twentieths in range(-60, 61))
"""Shifts of the log-odds from those of the released shares."""

SLACK = 2.0
"""Standard deviation of a shift, in slopes: the steeper the line, the less the shares say where it passes."""

LEAST_SHIFT = 0.1
"""Standard deviation of a shift without any slope, beside that of the shares' own noise."""

BEND = 0.8
REACH = 4.0
"""Standard deviation of the departure from the straight line, in nats, and how many bins away it changes."""

MOST_BEND = 4.0
BENDING_STEPS = 2
"""Bound of the departure, and steps of Newton's method to it."""

GUARDS = ((6, 1.5), (None, 2.0))
"""Counts show that another class than the largest has more rows where the line predicts it, if they do in the first six
of these bins, by 1.5 deviations of the noise, or in all, by 2. Where classes are hard to tell apart, most rows are in
the first ones, and beyond is as much noise; where they are easy to tell, few are."""

BELOW = -0.05
"""Largest log-odds of the other classes where counts do not show it."""

RISE = 0.001
"""By how much the line rises from a point to the next at least: rows are ranked as by their margins."""

FAR = 3.0
"""Distance of the line's ends from the outermost bins, in the margins that all bins span: flat beyond these."""

LARGEST_LOG_ODDS = 20.0
"""Of any line. A line of few rows knows no odds beyond the rows in the noise of a count, or those of the shares."""

MOST_ODDS = 500.0
"""Log-odds are as good as certain far below; their exponentials are floats."""

HALF_EVIDENCE = 80.0
"""Rows times epsilon of the counts, for each class and attribute, at which differences between the classes that are not
the largest count half: their tables are of few rows."""


@lru_cache(maxsize=16)
def fit_line(
    counts: tuple[tuple[int, ...], ...],
    centres: tuple[float, ...],
    noise: float,
    probabilities: tuple[float, ...],
    deviation: float,
    largest: int,
    size: int,
) -> CalibrationLine:
    """Fit a line to rows per bin: of the largest class, of the best other one and, if there are more, of neither.

    The last lines are remembered: an audit asks thousands of times for the same few.
    """
    first, second, *rest = np.array(counts, dtype=np.float64).T
    rows = max(float(np.sum(counts)), noise)
    places = np.array(centres)
    middle = float(places.mean())
    places -= middle
    expected, off = _expected_rows(second, noise, rows * np.array(probabilities), deviation, largest)
    straight = _Straight.fitted((first, second), places, noise, expected[:2], off)
    bent, precision = _bent(straight, (first, second), noise)
    known, rising = _known(rows, noise, expected[:2]), _rising(bent, precision)
    others: tuple[float, ...] = ()
    if rest:
        # Beside the likelier of the two: where it has the rows, the other one's log-odds say little of a third.
        to_first = _log_odds((first, rest[0]), places, noise, expected[::2], off)
        # The farther the best other class leads, the fewer rows are of neither.
        to_best = _log_odds((second, rest[0]), -places, noise, expected[1:], off)
        most = _known(rows, noise, expected[::2])
        leads = np.clip(rising, -known, known) + to_best
        others = _points(np.where(rising > 0, leads, np.clip(to_first, -most, most)), 0.0, LARGEST_LOG_ODDS)
    rising = _guarded(rising, second - first, noise)
    evidence = rows * math.sqrt(2) / (noise * size * len(probabilities))
    part = min(straight.slope, 1.0) * evidence / (evidence + HALF_EVIDENCE)
    end = FAR * (centres[-1] - centres[0])
    return CalibrationLine(
        largest,
        tuple(round(x, 3) for x in (centres[0] - end, *centres, centres[-1] + end)),
        _points(rising, RISE, known),
        others,
        round(part, 3) if rest else 0.0,
    )


def _known(rows: float, noise: float, expected: tuple[float, float]) -> float:
    """Bound the log-odds that counts of so many rows can tell."""
    shares = 1 + abs(math.log(expected[1] / expected[0]))
    return min(max(math.log(rows / noise), shares), LARGEST_LOG_ODDS)


def _points(log_odds: Floats, rise: float, most: float) -> tuple[float, ...]:
    """Round the log-odds at the centres, each ``rise`` above the one before at least, and add both ends."""
    kept = np.clip(np.round(log_odds, 3), -most, most)
    kept = np.array([kept[0], *kept, kept[-1]])
    kept += rise * np.arange(-1, len(kept) - 1)
    return tuple(round(float(each), 3) for each in kept)


def _expected_rows(
    second: Floats, noise: float, sizes: Floats, deviation: float, largest: int
) -> tuple[tuple[float, float, float], float]:
    """Expect how many rows are of the largest class, of the best other one and of neither, if margins tell nothing.

    For two classes these are their released sizes. For more, the best other class is the true one in at least as many
    rows as if it were drawn by the classes' sizes, and at most in all that are not of the largest; the counts decide.
    The last number is the standard deviation of the others.
    """
    others = np.delete(sizes, largest)
    whole = float(others.sum())
    least = float(others @ others) / whole
    right = min(max(float(second.sum()), least), whole)
    off = min(noise * math.sqrt(len(second)), max(whole - least, deviation)) if len(others) > 1 else deviation
    floor = max(off / 2, 1.0)
    return (max(float(sizes[largest]), floor), max(right, floor), max(whole - right, floor)), off


@dataclass(frozen=True, slots=True)
class _Straight:
    """The average of straight lines, its slope, and how likely it is that there is a slope at all."""

    log_odds: Floats
    slope: float
    sloped: float

    @classmethod
    def fitted(
        cls, rows: tuple[Floats, Floats], places: Floats, noise: float, expected: tuple[float, float], off: float
    ) -> _Straight:
        """Average the lines of the grid; ``places`` are margins from the middle of all bins."""
        base, slopes, shifts = math.log(expected[1] / expected[0]), np.array(SLOPES), np.array(SHIFTS)
        prior = np.where(slopes > 1, np.log(slopes) ** 2 / (2 * STEEP**2), 0.0)
        prior[0] -= math.log(FLAT_PRIOR)
        variance = LEAST_SHIFT**2 + sum((off / each) ** 2 for each in expected) + (SLACK * slopes) ** 2
        loss = shifts**2 / (2 * variance[:, None]) + (prior + np.log(variance) / 2)[:, None]
        parts = np.empty((2, len(slopes), len(shifts), len(places)))
        for place, slope in enumerate(slopes):  # all at once fill new memory a dozen times: four times as long
            odds = np.exp(np.clip(base + shifts[:, None] + slope * places, -MOST_ODDS, MOST_ODDS))
            first = 1 / (1 + odds)
            parts[:, place] = first, odds * first
            loss[place] += _loss(parts[:, place], rows, noise)
        likely = np.exp(loss.min() - loss)
        likely /= likely.sum()
        lost, gained = (np.log(np.tensordot(likely, part, 2)) for part in parts)
        return cls(
            gained - lost,
            float(likely.sum(axis=1) @ slopes),
            1 - float(likely[0].sum()),
        )


def _loss(parts: Floats, rows: tuple[Floats, Floats], noise: float) -> Floats:
    """Compute minus the logarithm of the residuals' normal density, added up over the last axis, up to a constant.

    The density of the noise in the two counts does not depend on p: its part is taken out of the last term.
    """
    first, second = parts
    residual = first * rows[1] - second * rows[0]
    drawn = first * first + second * second
    variance = noise**2 * drawn + np.maximum(rows[0] + rows[1], 0) * (first * second)
    loss: Floats = (residual * residual / variance + np.log(variance / drawn)).sum(axis=-1) / 2
    return loss


def _log_odds(
    rows: tuple[Floats, Floats], places: Floats, noise: float, expected: tuple[float, float], off: float
) -> Floats:
    """Fit a bent line of two kinds of rows, as ``_Straight.fitted``."""
    return _bent(_Straight.fitted(rows, places, noise, expected, off), rows, noise)[0]


def _bent(line: _Straight, rows: tuple[Floats, Floats], noise: float) -> tuple[Floats, Floats]:
    """Add the smooth departure that the residuals show, and say how precisely each bin is known.

    Near the line a residual is h times the departure, h = n p (1 - p), so each bin is one observation of it with the
    precision h^2 / variance; the mean of the process given all of them is linear algebra. As far as the counts do not
    even show a slope, no departure is believed.
    """
    bins, straight = np.arange(len(line.log_odds)), line.log_odds
    covariance = BEND**2 * np.exp(-(((bins[:, None] - bins) / REACH) ** 2) / 2)
    number = np.maximum(rows[0] + rows[1], 0)
    departure: Floats = np.zeros(len(bins))
    precision: Floats = np.zeros(len(bins))
    for _ in range(BENDING_STEPS):
        second, first = 1 / (1 + np.exp(-straight - departure)), 1 / (1 + np.exp(straight + departure))
        residual, information = first * rows[1] - second * rows[0], number * first * second
        variance = noise**2 * (first**2 + second**2) + information
        precision = information**2 / variance
        # precision * (departure + residual / information), without a division by 0 where a bin has no rows.
        observed = precision * departure + information * residual / variance
        mean = np.linalg.solve(covariance * precision + np.eye(len(bins)), covariance @ observed)
        departure = np.clip(mean, -MOST_BEND, MOST_BEND)
    return straight + line.sloped * departure, precision + 1 / BEND**2


def _rising(log_odds: Floats, precision: Floats) -> Floats:
    """Pool adjacent violators: the nearest log-odds, weighted by their precision, that nowhere fall."""
    blocks: list[tuple[float, float, int]] = []
    for block in zip(log_odds.tolist(), precision.tolist(), [1] * len(log_odds), strict=True):
        while blocks and blocks[-1][0] > block[0]:
            (mean, weight, bins), (own, sure, more) = blocks.pop(), block
            block = ((mean * weight + own * sure) / (weight + sure), weight + sure, bins + more)
        blocks.append(block)
    rising: Floats = np.repeat([mean for mean, *_ in blocks], [bins for *_, bins in blocks])
    return rising


def _guarded(log_odds: Floats, gain: Floats, noise: float) -> Floats:
    """Predict the largest class everywhere, unless counts show that the other has more rows where it is predicted."""
    chosen = np.flatnonzero(log_odds > 0)
    for bins, deviations in GUARDS:
        looked_at = chosen[:bins]
        if gain[looked_at].sum() >= deviations * noise * math.sqrt(2 * len(looked_at)):
            return log_odds
    guarded: Floats = np.minimum(log_odds, BELOW)
    return guarded


PART = Fraction(1, 10)
"""Part of the budget that calibration spends."""

STEPS = (-16, -12, -10, -8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16)
"""Edges between the ranges, in eighths of L from their centre. Few rows lie beyond 2 L, in the outermost ranges, unless
a bad draw gives the tails of one attribute to the wrong class; their counts show it."""

BEYOND = 2
"""How far the point that stands for an outermost range is from its edge, in eighths of L."""

TELLING = 3.0
"""Log-ratio, in nats, beyond which one attribute does not widen the ranges any further."""


def calibration_request(domain: Domain, weight: Fraction) -> Request:
    """Make the query, with its relative share of the budget."""
    asked = planned_margins(domain)
    return Request(CALIBRATION, None, asked.cells, asked.parallel, LAPLACE, weight)


def planned_margins(domain: Domain) -> Margins:
    """Return what the rows will be asked, before released tables tell the scores and how wide the ranges are."""
    return Margins(domain, (), (0,) * len(domain.classes), 0, STEPS)


def margins_given(model: NaiveBayes) -> Margins:
    """Make the scores of rows, and the ranges of their margins, from a released model.

    The score is that of the weights which rounds have learned, else of the tempered weight, with the priors of the
    model's score. The largest class is the one of the largest released share of the rows, the first of equal ones.
    """
    ratios, (weights, intercepts) = model_log_ratios(model), _scored_by(model)
    by_attribute = [each.times(weight).tables() for each, weight in zip(ratios, weights, strict=True)]
    priors = zip(model.priors, intercepts, strict=True)
    offsets = tuple(round(UNITS * (math.log(prior) + intercept)) for prior, intercept in priors)
    shares = model.classes.probability
    largest = shares.index(max(shares))
    squares = sum(weight**2 * _mean_square(each, shares) for each, weight in zip(ratios, weights, strict=True))
    step = math.ceil(UNITS * (1 + 2 * math.sqrt(squares)) / 8)
    # Where no attribute tells, rows have the margin of the priors: ranges lie around it.
    centre = max(offset for place, offset in enumerate(offsets) if place != largest) - offsets[largest]
    edges = tuple(centre + step * number for number in STEPS)
    return Margins(model.domain, tuple(zip(*by_attribute, strict=True)), offsets, largest, edges)


def _scored_by(model: NaiveBayes) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the weights and intercepts whose margins are counted: those that were learned, or the tempered one."""
    known, size = model.attribute_weights, len(model.attributes)
    if known is not None and known.method == LEARNED:
        return known.weights, known.intercepts
    return (tempered_weight(size),) * size, (0.0,) * len(model.priors)


def centres(margins: Margins) -> tuple[float, ...]:
    """Compute the margin that stands for each range's, in nats.

    That is its middle; beyond the outermost edges, where rows are fewer the farther out they are, a point near them.
    """
    edges = np.array(margins.edges)
    beyond = BEYOND * (edges[-1] - edges[0]) / (STEPS[-1] - STEPS[0])
    points = np.array([edges[0] - beyond, *(edges[1:] + edges[:-1]) / 2, edges[-1] + beyond]) / UNITS
    return tuple(points.tolist())


def _mean_square(ratios: LogRatios, shares: Sequence[float]) -> float:
    """Compute the mean square of how far an attribute moves two classes apart, under the released model.

    That is the difference of the largest and the smallest log-ratio of all classes, 0 of the first, at most
    ``TELLING``: uncut, the tails of one spiky distribution would stretch the ranges over margins that hardly any row
    has.
    """
    spreads = (
        np.maximum(nats.max(axis=0), 0) - np.minimum(nats.min(axis=0), 0) for nats in (ratios.ratios, ratios.missing)
    )
    squares, missing = (np.minimum(spread, TELLING) ** 2 for spread in spreads)
    by_class = (ratios.probability * squares).sum(axis=1) + ratios.absent * missing
    return float(np.array(shares) @ by_class)


def calibrated_weights(model: NaiveBayes, measured: Measurement) -> AttributeWeights:
    """Fit a line to the calibration counts."""
    margins, share = margins_given(model), measured.share
    assert share is not None
    # Where nothing is promised, classes have no noise; they are taken for as noisy as these counts.
    noise = math.sqrt(2) / pure_epsilon(share.row_cost)
    exact = model.measured[CLASS_COUNTS, None].share is None
    deviation = noise if exact else class_sizes(model.domain, model.measured).deviation
    shares, size = model.classes.probability, len(model.attributes)
    line = fit_line(measured.counts, centres(margins), noise, shares, deviation, margins.largest, size)
    known = model.attribute_weights
    method = LEARNED if known is not None and known.method == LEARNED else CALIBRATED
    return AttributeWeights(method, *_scored_by(model), line=line)
