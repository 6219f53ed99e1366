"""Log-ratios of a released model's attributes: what weights multiply, as step functions of codes in whole units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.core.code_limits import UNITS
from dpnb_columnar.core.queries.scores import ScoreTable
from dpnb_columnar.domain import Attribute, Numeric, Transform
from dpnb_columnar.model.likelihood import bin_starts, cell_terms, missing_terms, normal_terms
from dpnb_columnar.model.parameters import AttributeParameters, Histogram, NaiveBayes, Normal, Table

LARGEST_SCORE = 2**17
"""Largest score of an attribute, in units: 512 nats are certainty. The scores of a million attributes add up far
below 2^63."""

MOST_STEPS = 4096
"""Most steps of an attribute's score. The codes of a wider grid share steps."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LogRatios:
    """The log-ratios log P(x|c) - log P(x|0) of an attribute by steps of its code, with their probabilities. Public.

    Attributes:
        attribute: Attribute name.
        starts: First grid code or category code of every step.
        ratios: Shape (classes - 1, steps): log-ratio of every step, per class but the first.
        probability: Shape (classes, steps): probability of every step within each class.
        missing: Shape (classes - 1,): log-ratio of a row without a value; 0 where that leaves the attribute out.
        absent: Shape (classes,): the probability of having no value, where that is a category.
    """

    attribute: str
    starts: Sequence[int]
    ratios: Floats
    probability: Floats
    missing: Floats
    absent: Floats

    def times(self, weight: float) -> LogRatios:
        """Return the log-ratios times a weight."""
        return replace(self, ratios=weight * self.ratios, missing=weight * self.missing)

    def tables(self) -> tuple[ScoreTable, ...]:
        """Round the log-ratios to whole units, per class but the first."""
        starts, missing = tuple(self.starts), _units(self.missing)
        return tuple(
            ScoreTable(self.attribute, starts, _units(row), absent)
            for row, absent in zip(self.ratios, missing, strict=True)
        )


def model_log_ratios(model: NaiveBayes) -> list[LogRatios]:
    """Compute the log-ratios of every attribute of a model, in its order."""
    return [log_ratios(model.domain[parameters.attribute], parameters) for parameters in model.attributes]


def log_ratios(attribute: Attribute, parameters: AttributeParameters) -> LogRatios:
    """Compute the log-ratios of an attribute."""
    if isinstance(parameters, Normal):
        assert isinstance(attribute, Numeric)
        starts, logs, probability = _normal_steps(attribute, parameters)
    else:
        logs, probability = np.array(cell_terms(parameters)), np.array(parameters.probability)
        starts = list(range(logs.shape[1]))
        if isinstance(parameters, Histogram):
            assert isinstance(attribute, Numeric)
            starts = [0, *bin_starts(attribute, parameters.edges)]
    ratios, terms, classes = logs[1:] - logs[0], missing_terms(parameters), len(logs)
    if terms is None:
        return LogRatios(attribute.name, starts, ratios, probability, np.zeros(classes - 1), np.zeros(classes))
    assert not isinstance(parameters, Table)
    assert parameters.presence is not None
    present, absent = np.array(parameters.presence.probability).T
    missing = np.array(terms[1:]) - terms[0]
    return LogRatios(attribute.name, starts, ratios, probability * present[:, None], missing, absent)


def _normal_steps(attribute: Numeric, parameters: Normal) -> tuple[list[int], Floats, Floats]:
    """Divide the grid of a normal attribute into steps; the value in the middle of a step stands for its values."""
    starts = regular_starts(attribute)
    codes = np.array([*starts, attribute.cells + 1])
    widths = np.diff(codes).astype(np.float64)
    middles = float(attribute.lower) + float(attribute.step) * (codes[:-1] + codes[1:] - 1) / 2
    if attribute.transform is Transform.LOG1P:
        middles, widths = np.log1p(middles), widths / (1 + middles)
    middles = np.clip(middles, attribute.scale.origin, attribute.scale.end)
    logs = np.array(normal_terms(attribute, parameters).of(middles))
    # The terms are meant up to a number common to all classes, so densities are computed from their definition.
    means, deviations = np.array(parameters.mean)[:, None], np.array(parameters.deviation)[:, None]
    logarithms = -0.5 * ((middles - means) / deviations) ** 2
    densities = np.exp(logarithms - logarithms.max(axis=1, keepdims=True)) * widths
    return starts, logs, densities / densities.sum(axis=1, keepdims=True)


def regular_starts(attribute: Numeric) -> list[int]:
    """Divide the grid codes of an attribute into at most ``MOST_STEPS`` steps, and return their first codes.

    Steps have one width; under a logarithm, one width between a power of two and the next, in proportion to it. So a
    database computes the place of a code's step (``dialects.statistics_query``), and need not search for it.
    """
    codes = attribute.cells + 1
    if codes <= MOST_STEPS or attribute.transform is Transform.IDENTITY:
        return list(range(0, codes, -(-codes // MOST_STEPS)))
    narrow = 1 << (MOST_STEPS // codes.bit_length()).bit_length()
    starts, width = list(range(narrow)), 1
    while narrow * width < codes:
        first, width = narrow * width, 2 * width
        starts += range(first, min(narrow * width, codes), width)
    return starts


def _units(nats: Floats) -> tuple[int, ...]:
    """Round log-ratios to whole units, within the largest score."""
    units = np.clip(np.rint(nats * UNITS), -LARGEST_SCORE, LARGEST_SCORE).astype(np.int64)
    return tuple(units.tolist())
