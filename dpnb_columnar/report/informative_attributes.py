"""Rank the attributes of a released model by what they tell about the class. Public: from released values alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.domain import Attribute, Domain, Numeric
from dpnb_columnar.domain.declared_domain import class_texts, value_with_label
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.mechanisms.log_ratios import LogRatios, model_log_ratios
from dpnb_columnar.model.likelihood import bin_starts, margin_above, population_line
from dpnb_columnar.model.parameters import LARGEST_MARGIN, AttributeParameters, NaiveBayes, Normal

Floats = NDArray[np.float64]

TINY = float(np.finfo(np.float64).tiny)
"""Stands for a probability that is too small for a float: its inverse and its logarithm are finite."""


@dataclass(frozen=True, slots=True)
class InformativeAttribute:
    """What an attribute tells about the class, in the released model.

    Attributes:
        name: Attribute name.
        bits: Mutual information of the class and the attribute: how much of the class's entropy knowing the value
            takes away, on average.
        weight: Weight of the attribute in the score.
        telling: Per class, the value, or range of values, that speaks for it most often, and how many times as likely
            it is within this class as in all rows. Of an attribute released as mean and deviation, the class's mean,
            and, if to be missing is a category, the part of the class that lacks it.
    """

    name: str
    bits: float
    weight: float
    telling: tuple[str, ...]


def informative_attributes(model: NaiveBayes) -> list[InformativeAttribute]:
    """List the attributes of a model, those that move its score most first: by bits times size of the weight."""
    weights = [1.0] * len(model.attributes) if model.attribute_weights is None else model.attribute_weights.weights
    prior = np.array(model.priors)
    ranked = [
        InformativeAttribute(
            parameters.attribute,
            mutual_information(prior, np.column_stack([steps.probability, steps.absent])),
            weight,
            _evidence_texts(model.domain, parameters, steps, prior),
        )
        for parameters, steps, weight in zip(model.attributes, model_log_ratios(model), weights, strict=True)
    ]
    return sorted(ranked, key=lambda each: -each.bits * abs(each.weight))


def line_text(model: NaiveBayes) -> str:
    """Say how a model's probabilities follow from its scores; empty where they are those of the scores."""
    line = population_line(model)
    if line is None:
        return ""
    name, crossing = class_texts(model.domain)[line.largest], margin_above(line, 0.0, reached=line.largest > 0)
    rows = "every row" if crossing == LARGEST_MARGIN else f"rows of a margin up to {crossing:.2f}"
    predicted = f"it is predicted for {rows}" if crossing > -LARGEST_MARGIN else "it is predicted for no row"
    other = "the other class" if len(model.domain.classes) == 2 else "the best other class"
    return (
        f"the odds of {other} to {name} follow a line through {len(line.margins)} points from the margin, by how "
        f"much its score is the larger; {predicted}"
    )


def mutual_information(prior: Floats, probability: Floats) -> float:
    """Compute the mutual information of a class and a discrete value, in bits.

    Args:
        prior: Shape (classes,): probability of each class.
        probability: Shape (classes, values): probability of each value within each class.
    """
    joint = prior[:, None] * probability
    positive = joint > 0
    # Logarithms are subtracted: the product of two tiny probabilities would be 0.
    overall = np.broadcast_to(joint.sum(axis=0), joint.shape)[positive]
    return float((joint[positive] * (np.log2(probability[positive]) - np.log2(overall))).sum())


def _evidence_texts(
    domain: Domain, parameters: AttributeParameters, steps: LogRatios, prior: Floats
) -> tuple[str, ...]:
    """Describe, per class, what speaks for it."""
    attribute, labels = domain[parameters.attribute], domain.value_labels.get(parameters.attribute, {})
    may_lack = bool(steps.absent.any())
    if isinstance(parameters, Normal):
        lacking = [f", missing {absent:.0%}" if may_lack else "" for absent in steps.absent]
        return tuple(
            f"mean {mean:.4g}{rest}" for mean, rest in zip(_class_means(attribute, steps), lacking, strict=True)
        )
    probability = np.column_stack([steps.probability, steps.absent]) if may_lack else steps.probability
    ratios = probability / np.maximum(prior @ probability, TINY)
    # What a step adds to the class's expected log-ratio: often and clearly, not the rarest value of all.
    places = (probability * np.log(np.maximum(ratios, TINY))).argmax(axis=1)
    return tuple(
        f"{value_with_label(_value_text(attribute, steps.starts, int(place)), labels)} ({ratios[row, place]:.2g} times)"
        for row, place in enumerate(places)
    )


def _class_means(attribute: Attribute, steps: LogRatios) -> Sequence[float]:
    """Compute the mean of a numeric attribute within each class, as the released distributions have it."""
    assert isinstance(attribute, Numeric)
    ends = np.array([*steps.starts[1:], attribute.cells + 1])
    middles = float(attribute.lower) + float(attribute.step) * (np.array(steps.starts) + ends - 1) / 2
    means: list[float] = (steps.probability @ middles / steps.probability.sum(axis=1)).tolist()
    return means


def bin_texts(attribute: Numeric, edges: Sequence[int]) -> list[str]:
    """Name the values of every bin of a histogram, whose edges are codes of the attribute's scale."""
    starts = [0, *bin_starts(attribute, edges)]
    return [_value_text(attribute, starts, place) for place in range(len(starts))]


def _value_text(attribute: Attribute, starts: Sequence[int], place: int) -> str:
    """Name the values of a step: a category, a number, or the first and the last number; beyond the last, missing."""
    if not isinstance(attribute, Numeric):
        return attribute.values[place] if place < len(attribute.values) else "missing"
    if place == len(starts):
        return "missing"
    end = starts[place + 1] if place + 1 < len(starts) else attribute.cells + 1
    # On a logarithmic scale a bin may hold no number of the grid.
    codes = starts[place], max(end - 1, starts[place])
    first, last = (number_text(attribute.lower + attribute.step * code) for code in codes)
    return first if first == last else f"{first} to {last}"
