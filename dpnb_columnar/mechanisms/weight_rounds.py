"""Attribute weights by rounds: noisy gradients of the logistic likelihood, each at the weights that the last one gave.

Logistic regression of the class on the log-ratios of a released model mends what naive Bayes gets wrong where
attributes are correlated. With weights w of groups of attributes and log-odds b of the classes its likelihood has the
gradient

    sum over the rows of sum over the classes c > 0 of ([class = c] - p_c) (D_1c, .., D_Gc; the c-th unit vector),

where D are the groups' log-ratios to the first class and p the probabilities that w and b give. ``learned`` has a group
for each attribute; ``calibrated`` for more than two classes has one group of all.

Privacy. The groups' log-ratios are clipped so that in no row two classes are further than c_g apart. Then one row
changes component g by at most c_g, since it is a difference of two averages of numbers within c_g, and the others
together by sum over c > 0 of |[class = c] - p_c|, at most 1 for two classes and 2 for more. So M = sum of c_g, plus 1
or 2, bounds the change in L1, whatever was released before, and Laplace noise of scale M/e on every component costs e.
The row that goes and the one that comes, in a replacement, may both move one component by c_g: together they cost 2e.
The next round asks at weights that were computed of released numbers alone: adaptive composition (docs/privacy.md,
Lemma 2.9).

Steps. The true weights are unknown; before the first round they are taken for normal around the start, with
``DEVIATION``. Near them the gradient is J (true - present weights), J the Fisher information, plus noise of variance
J for the rows and 2 (M/e)^2 for what was drawn: each round is one linear observation, and the mean and the precision
after it are those of normal distributions. So a round that says little moves little, and none is forgotten. J is
computed from rows that are made up under the released model, N times their mean for N the released number of rows. The
model takes attributes for independent, so its J is too small where they are not: ``CURVATURE`` makes up for it.

Begin and continue. What a round asks about depends on the model's tables, the weights so far, and clips that the tables
decide. What a step makes of the answer depends, beside that, on how certain the weights are, which follows from the
weights of all rounds before and from their shares. So a model that is to be continued names these weights, and nothing
else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dpnb_columnar.budget import Pure, Request, Share
from dpnb_columnar.budget.composition import GRADIENT
from dpnb_columnar.counting.scores import CERTAIN, LARGEST_CLIP, UNITS, GradientQuery, GradientSums, WeightGroup
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import UsageError, option
from dpnb_columnar.mechanisms.attribute_weights import CALIBRATED, LEARNED, MOST_LEARNED
from dpnb_columnar.mechanisms.log_ratios import Floats, LogRatios, model_log_ratios
from dpnb_columnar.mechanisms.mechanism import LAPLACE, constant_noise
from dpnb_columnar.mechanisms.score_calibration import PART, TELLING, calibration_request
from dpnb_columnar.model.mechanism_rules import ROUND_LOG_ODDS, ROUND_WEIGHTS
from dpnb_columnar.model.parameters import AttributeWeights, NaiveBayes
from dpnb_columnar.model.tuning import SMALLEST_SAMPLE
from dpnb_columnar.noise import Sampler

SCHEDULE = (1, 2, 4)
"""Relative shares of the rounds: each starts from better weights than the last one."""

DEVIATION = 0.3
"""Standard deviation of the prior of every weight, and of the log-odds, around the start."""

CURVATURE = 2.0
"""Fisher information of correlated attributes, in that of independent ones."""

LARGEST_NUMBER_OF_ROWS = 2.0**45
"""The released number of rows is taken for this one where it is larger."""

START = Fraction(1, 20)
LEARNING = Fraction(3, 10)
"""Parts of the budget that ``learned`` spends on the calibration that it starts from, and on its rounds."""

LARGEST_SCALE = Fraction(10**30)
"""Of noise, in nats, and the inverse of the smallest. No budget leads beyond; a share that a file states might."""

GRID_BITS = 8
"""Gradients are drawn to 1/256."""


@dataclass(frozen=True, slots=True, eq=False)
class WeightRounds:
    """Weights between two rounds, with all that is known of them. Public.

    Attributes:
        model: The released model, with the weights that the first round starts from.
        groups: Per group of attributes, their log-ratios as tables, and its clip; its weight is that of this round.
        changes: Shape (classes - 1,): what is added to the log-odds of each class but the first to the first, in units.
        precision: Shape (parameters, parameters): inverse of the covariance of weights and log-odds.
        made_up: Shape (groups, rows, classes - 1): the groups' clipped scores of rows made up under the model.
        likely: Shape (rows,): how much each of these counts, adding up to the released number of rows.
    """

    model: NaiveBayes
    method: str
    groups: tuple[WeightGroup, ...]
    changes: tuple[int, ...]
    precision: Floats
    made_up: Floats
    likely: Floats

    @property
    def query(self) -> GradientQuery:
        """What the next round sums up over the rows."""
        first, *others = map(math.log, self.model.classes.probability)
        log_odds = [
            round((each - first) * UNITS**2) + change * UNITS for each, change in zip(others, self.changes, strict=True)
        ]
        return GradientQuery(self.model.domain, self.groups, tuple(log_odds))

    @property
    def weights(self) -> AttributeWeights:
        """The weights so far, of every attribute."""
        size = len(self.model.attributes)
        by_group = [group.weight / UNITS for group in self.groups]
        # One group for each attribute, or one for all.
        by_attribute = by_group if len(by_group) == size else by_group * size
        return AttributeWeights(self.method, tuple(by_attribute), (0.0, *(change / UNITS for change in self.changes)))

    def after(self, share: Share, sums: GradientSums, draw: Sampler) -> WeightRounds:
        """Draw the gradient of a round, and step.

        Args:
            share: Share of the budget for the round.
            sums: Exact sums of the query. Confidential.
            draw: Sampler of the noise.

        Raises:
            ValueError: if another query was summed up than this round's.
        """
        if sums.query != self.query:
            raise ValueError("the gradient that was summed up is not at the weights of this round")
        noise, bound = constant_noise(share), Fraction(sums.query.sensitivity, UNITS * CERTAIN)
        exact = [Fraction(int(each), UNITS * CERTAIN) for each in sums.weights]
        exact += [Fraction(int(each), CERTAIN) for each in sums.log_odds]
        released = np.array([float(draw(each, bound, noise, GRID_BITS)) for each in exact])
        return self._stepped(released, *self._observed(share))

    def at(self, weights: Sequence[float], intercepts: Sequence[float]) -> WeightRounds:
        """Ask at other weights of the attributes and intercepts of the classes."""
        units = in_units(weights[: len(self.groups)])
        groups = tuple(replace(group, weight=unit) for group, unit in zip(self.groups, units, strict=True))
        return replace(self, groups=groups, changes=tuple(in_units(np.array(intercepts[1:]) - intercepts[0])))

    def again(self, share: Share, weights: Sequence[float], intercepts: Sequence[float]) -> WeightRounds:
        """Return what a round that was released before has led to, from the weights that it gave.

        Args:
            share: The round's share of the budget.
            weights: Weights of the attributes after it.
            intercepts: Intercepts of the classes after it.
        """
        precision, _, _ = self._observed(share)
        return replace(self.at(weights, intercepts), precision=precision)

    def _observed(self, share: Share) -> tuple[Floats, Floats, Floats]:
        """Compute how a round of a share makes the weights more certain, whatever its answer is.

        Returns:
            The precision after it, eigenvectors of the Fisher information, and what part of an answer along each of
            them is not noise.
        """
        assert isinstance(share.row_cost, Pure)
        bound = Fraction(self.query.sensitivity, UNITS * CERTAIN)
        scale = min(max(bound / share.row_cost.epsilon, 1 / LARGEST_SCALE), LARGEST_SCALE)
        variance = 2 * float(scale) ** 2
        least, basis = np.linalg.eigh(CURVATURE * self._information())
        information = np.maximum(least, 0.0)
        # Along each eigenvector the observation is h (true - present) with variance h + variance.
        certain = information / (information + variance)
        return self.precision + (basis * (certain * information)) @ basis.T, basis, certain

    def _stepped(self, gradient: Floats, precision: Floats, basis: Floats, certain: Floats) -> WeightRounds:
        """Update the normal distribution of the weights by one released gradient."""
        limit = 2 * LARGEST_NUMBER_OF_ROWS * LARGEST_CLIP
        step = np.linalg.solve(precision, basis @ (certain * (basis.T @ np.clip(gradient, -limit, limit))))
        number = len(self.groups)
        weights = [group.weight / UNITS + change for group, change in zip(self.groups, step[:number], strict=True)]
        log_odds = np.array(self.changes) / UNITS + step[number:]
        groups = zip(self.groups, in_units(np.clip(weights, *ROUND_WEIGHTS)), strict=True)
        return replace(
            self,
            groups=tuple(replace(group, weight=weight) for group, weight in groups),
            changes=tuple(in_units(np.clip(log_odds, -ROUND_LOG_ODDS, ROUND_LOG_ODDS))),
            precision=precision,
        )

    def _information(self) -> Floats:
        """Compute the Fisher information of weights and log-odds under the released model."""
        query, scores = self.query, self.made_up
        weights = np.array([group.weight for group in query.groups]) / UNITS
        odds = np.tensordot(weights, scores, 1) + np.array(query.log_odds) / UNITS**2
        largest = np.maximum(odds.max(axis=1, keepdims=True), 0.0)
        likelihood = np.exp(odds - largest)
        probability = likelihood / (likelihood.sum(axis=1, keepdims=True) + np.exp(-largest))
        counted = probability * self.likely[:, None]
        means = (scores * probability).sum(axis=2)
        flat = scores.reshape(len(scores), -1)
        among_weights = (flat * counted.ravel()) @ flat.T - (means * self.likely) @ means.T
        crossed = np.einsum("gnc,nc->gc", scores, counted) - means @ counted
        among_classes = np.diag(counted.sum(axis=0)) - probability.T @ counted
        return np.block([[among_weights, crossed], [crossed.T, among_classes]])


def later_requests(domain: Domain, method: str | None, others: Sequence[Request]) -> list[Request]:
    """Make the queries of later passes, with weights that give them their part of the budget.

    Args:
        domain: The declared domain.
        method: How attributes are weighted; None for ordinary naive Bayes.
        others: The queries of the first pass.

    Raises:
        UsageError: if none of these is about an attribute, so that there are no log-ratios with noise, or if there are
            more attributes than weights can be learned for.
    """
    if method not in (CALIBRATED, LEARNED):
        return []
    if all(request.attribute is None for request in others):
        raise UsageError(
            f"attribute weights: {method} is for mechanisms that release attributes with noise; choose another one, "
            f"such as {option('mechanism', 'histogram')}, or leave {option('attribute-weights')} out"
        )
    first = sum((request.weight for request in others), Fraction(0))
    if method == LEARNED:
        if len(domain.attributes) > MOST_LEARNED:
            raise UsageError(
                f"attribute weights: learned is for at most {MOST_LEARNED} attributes, and the domain declares "
                f"{len(domain.attributes)}; choose calibrated"
            )
        whole = first / (1 - START - LEARNING)
        return [
            calibration_request(domain, whole * START),
            *_requests(domain, whole * LEARNING, len(domain.attributes)),
        ]
    whole = first / (1 - PART)
    if len(domain.classes) == 2:
        return [calibration_request(domain, whole * PART)]
    return _requests(domain, whole * PART, 1)


def _requests(domain: Domain, weight: Fraction, weights: int) -> list[Request]:
    """Make the queries of all rounds, which share a weight, for a number of weights."""
    asked = planned_gradient(domain, weights)
    return [
        Request(f"{GRADIENT} {number}", None, asked.sums, asked.parallel, LAPLACE, weight * relative / sum(SCHEDULE))
        for number, relative in enumerate(SCHEDULE, 1)
    ]


def planned_gradient(domain: Domain, weights: int) -> GradientQuery:
    """Return what the rows will be asked in a round, before released tables tell the scores, and rounds the weights."""
    return GradientQuery(domain, (WeightGroup((), 0, 0),) * weights, (0,) * (len(domain.classes) - 1))


def in_units(numbers: Sequence[float] | Floats) -> list[int]:
    """Round to whole units."""
    return [int(unit) for unit in np.rint(np.asarray(numbers) * UNITS)]


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
