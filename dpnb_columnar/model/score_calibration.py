"""Calibrated attribute weights: a line from a score's margin to the odds of the classes, from counts of a later pass.

Naive Bayes adds up log-ratios of attributes as if these were independent; where they are not, it counts the same
evidence again. Given the released model, a row has a score in every class, and its margin says how much the best other
class leads over the largest one. How often rows of each margin are of the one class or the other is what a classifier
has to know, and it takes few numbers: rows of a few ranges of the margin, by whether they are of the largest class, of
the best other one, or of neither. The ranges are fixed by what was released, so one row is in one cell, for any number
of classes, and the noisy counts are one query more (docs/privacy.md, Lemma 2.8). What is fitted to them
(``model.line_fit``) is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpnb_columnar.core.budget import Request
from dpnb_columnar.core.code_limits import UNITS
from dpnb_columnar.core.measurement import CALIBRATION as CALIBRATION
from dpnb_columnar.core.measurement import CLASS_COUNTS, LAPLACE, Measurement
from dpnb_columnar.core.mechanisms.tuning import pure_epsilon
from dpnb_columnar.core.queries.scores import Margins
from dpnb_columnar.domain import Domain
from dpnb_columnar.model.line_fit import fit_line
from dpnb_columnar.model.log_ratios import LogRatios, model_log_ratios
from dpnb_columnar.model.mechanism_rules import CALIBRATED, LEARNED, tempered_weight
from dpnb_columnar.model.parameters import AttributeWeights, NaiveBayes
from dpnb_columnar.model.postprocessing import class_sizes

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
