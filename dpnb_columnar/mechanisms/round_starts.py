"""Where rounds of weights begin, and go on: from a released model, and from the rows that are made up under it.

What a round asks about depends on the model's tables, the weights so far, and clips that the tables decide. What a
step makes of the answer depends, beside that, on how certain the weights are, which follows from the weights of all
rounds before and from their shares. So a model that is to be continued names these weights, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpnb_columnar.budget import Share
from dpnb_columnar.counting.gradients import LARGEST_CLIP, WeightGroup
from dpnb_columnar.counting.scores import UNITS
from dpnb_columnar.mechanisms.attribute_weights import LEARNED
from dpnb_columnar.mechanisms.log_ratios import Floats, LogRatios, model_log_ratios
from dpnb_columnar.mechanisms.score_calibration import TELLING
from dpnb_columnar.mechanisms.weight_rounds import DEVIATION, LARGEST_NUMBER_OF_ROWS, WeightRounds, in_units
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.model.tuning import SMALLEST_SAMPLE

CLIP = 1.5
"""Bound of a group's log-ratios, in root mean squares under the released model."""

MADE_UP = 2**13
"""Rows that are made up under the released model, of all classes together."""

FEWEST_MADE_UP = 8
MOST_MADE_UP = 2**24
"""Rows of each class at least, and scores of all groups in all rows at most."""

SEED = 0
"""Of the rows that are made up: its bits are those of every version of numpy, so they are a function of the model."""


def start_rounds(model: NaiveBayes, method: str) -> WeightRounds:
    """Start rounds at the weights of a released model, or at d^(-1/4) for each of d attributes where it has none.

    Args:
        model: The model.
        method: ``learned``, for a weight of each attribute, or ``calibrated``, for one of all.
    """
    attributes, priors = model_log_ratios(model), model.classes.probability
    size, others = len(attributes), len(priors) - 1
    starts = (size**-0.25,) * size if model.attribute_weights is None else model.weights
    groups, made_up = [], []
    parts = [slice(place, place + 1) for place in range(size)] if method == LEARNED else [slice(0, size)]
    by_class = max(min(MADE_UP, MOST_MADE_UP // (len(parts) * others)) // len(priors), FEWEST_MADE_UP)
    likely, bits = np.repeat(np.array(priors) / by_class, by_class), np.random.PCG64(SEED)
    for part in parts:
        # Added up attribute by attribute: the scores of each in every class would not fit into memory.
        scores, telling = np.zeros((2, len(likely), others))
        for ratios in attributes[part]:
            made = _made_up(ratios, by_class, bits)
            scores += made
            telling += np.clip(made, -TELLING, TELLING)
        tables = tuple(zip(*(ratios.tables() for ratios in attributes[part]), strict=True))
        clip = _clip(telling, likely)
        groups.append(WeightGroup(tables, clip, *in_units(starts[part][:1])))
        made_up.append(_clipped(scores, clip / UNITS))
    changes = tuple(in_units(np.array(model.intercepts[1:]) - model.intercepts[0]))
    rows = min(max(float(sum(model.classes.released)), SMALLEST_SAMPLE), LARGEST_NUMBER_OF_ROWS)
    precision = np.eye(len(groups) + others) / DEVIATION**2
    return WeightRounds(model, method, tuple(groups), changes, precision, np.array(made_up), likely * rows)


def resume_rounds(model: NaiveBayes, method: str, spent: Sequence[Share]) -> WeightRounds:
    """Go on after the rounds whose weights a model names, or start where it names none.

    Args:
        model: The model.
        method: As for ``start_rounds``.
        spent: The shares of these rounds, in order.

    Raises:
        ValueError: if the model names the weights of another number of rounds.
    """
    weights, rounds = model.attribute_weights, start_rounds(model, method)
    asked = () if weights is None else weights.asked
    if len(asked) != len(spent):
        raise ValueError(f"the model names the weights of {len(asked)} rounds, and {len(spent)} were released")
    if weights is None or not asked:
        return rounds
    rounds = rounds.at(*asked[0])
    for share, following in zip(spent, (*asked[1:], (weights.weights, weights.intercepts)), strict=True):
        rounds = rounds.again(share, *following)
    return rounds


def _made_up(ratios: LogRatios, by_class: int, bits: np.random.PCG64) -> Floats:
    """Make up an attribute's values under a released model, for as many rows of each class.

    Returns:
        Shape (rows, classes - 1): the log-ratios, class by class.
    """
    nats = np.column_stack([ratios.ratios, ratios.missing]).T
    made_up = np.empty((len(ratios.probability) * by_class, nats.shape[1]))
    uniform = (bits.random_raw(len(made_up)) >> np.uint64(11)) * 2.0**-53
    for klass, (present, absent) in enumerate(zip(ratios.probability, ratios.absent, strict=True)):
        rows, reached = slice(klass * by_class, (klass + 1) * by_class), np.cumsum([*present, absent])
        places = np.searchsorted(reached / reached[-1], uniform[rows], side="right")
        made_up[rows] = nats[np.minimum(places, len(nats) - 1)]
    return made_up


def _clip(scores: Floats, likely: Floats) -> int:
    """Choose the clip of a group from its scores of made-up rows: ``CLIP`` root mean squares of how far they spread."""
    spread = np.maximum(scores.max(axis=1), 0.0) - np.minimum(scores.min(axis=1), 0.0)
    return min(max(math.ceil(UNITS * CLIP * math.sqrt(likely @ spread**2)), UNITS), LARGEST_CLIP)


def _clipped(scores: Floats, clip: float) -> Floats:
    """Clip scores of shape (rows, classes - 1) as ``WeightGroup`` says."""
    largest = np.maximum(scores.max(axis=1, keepdims=True), 0.0)
    clipped: Floats = np.maximum(scores - largest, -clip) - np.maximum(-largest, -clip)
    return clipped
