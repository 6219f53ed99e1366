"""Attribute weights by rounds: noisy gradients of the logistic likelihood, each at the weights that the last one gave.

Logistic regression of the class on the log-ratios of a released model mends what naive Bayes gets wrong where
attributes are correlated. With the log-ratios z of a row of two classes, weights w of the attributes and log-odds b its
likelihood has the gradient

    sum over the rows of ([class = 1] - p) (z_1, .., z_d, 1), p = 1/(1 + exp(-b - the sum of w_i z_i)).

Privacy. Of the log-ratios each is clipped, and a row of many large ones is scaled down as a whole, by
u = min(1, B / |z|) with |z| the sum of their sizes: it adds u ([class = 1] - p) (z, 1), in L1 at most
M = min(B, sum of the clips) + 1, whatever was released before. Laplace noise of scale M/e on every component costs e.
The row that goes and the one that comes, in a replacement, may both move one component: together they cost 2e. The next
round asks at weights that were computed of released numbers alone: adaptive composition (docs/privacy.md, Lemma 2.9).

A whole row is scaled, not each of its log-ratios on its own: u is a function of z alone, so where the logistic model
holds u ([class = 1] - p) z has the mean 0 for the true weights, as without u. Clips of components, which bias, can so
be wide, and B, which decides the noise, small.

Steps. The true weights are unknown; before the first round they are taken for normal around the start, with
``DEVIATION`` in proportion to it. Near them the gradient is J (true - present weights), J the sum over the rows of
u p (1 - p) (z, 1) (z, 1)', plus noise of variance J at most for the rows, since u is at most 1, and 2 (M/e)^2 for what
was drawn: each round is one linear observation, and the mean and the precision after it are those of normal
distributions. So a round that says little moves little, and none is forgotten. J is computed from rows that are made up
under the released model, N times their mean for N the released number of rows. The model takes attributes for
independent, so its J is too small where they are not: ``CURVATURE`` makes up for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dpnb_columnar.core.budget import Pure, Request, Share
from dpnb_columnar.core.budget.composition import GRADIENT
from dpnb_columnar.core.code_limits import UNITS
from dpnb_columnar.core.measurement import LAPLACE, Measurement
from dpnb_columnar.core.mechanisms.tuning import SMALLEST_SAMPLE
from dpnb_columnar.core.queries.scores import CERTAIN, LARGEST_CLIP, GradientQuery, ScoreTable
from dpnb_columnar.domain import Domain
from dpnb_columnar.model.likelihood import Floats, LogRatios, model_log_ratios
from dpnb_columnar.model.parameters import LEARNED, ROUND_LOG_ODDS, ROUND_WEIGHTS, AttributeWeights, NaiveBayes
from dpnb_columnar.model.score_calibration import TELLING

SCHEDULE = (1, 2)
"""Relative shares of the rounds: each starts from better weights than the last one."""

DEVIATION = 0.8
"""Standard deviation of the prior of a weight, in its start: where one weight of all is small, since attributes are
many or tell little, what noise makes of each must be small beside it."""

LEAST_DEVIATION = 0.02
"""Of the prior of a weight, for starts of next to nothing."""

DEVIATION_OF_LOG_ODDS = 0.3
"""Standard deviation of their prior, around the start."""

CURVATURE = 2.0
"""Fisher information of correlated attributes, in that of independent ones."""

LARGEST_NUMBER_OF_ROWS = 2.0**45
"""The released number of rows is taken for this one where it is larger."""

LEARNING = Fraction(1, 4)
"""Part of the budget that ``learned`` spends on its rounds, before a calibration of what they have learned."""


@dataclass(frozen=True, slots=True, eq=False)
class WeightRounds:
    """Weights between two rounds, with all that is known of them. Public.

    Attributes:
        query: What the next round sums up over the rows: tables, clipped, and the bound are those of all rounds.
        precision: Shape (parameters, parameters): inverse of the covariance of weights and log-odds.
        made_up: Shape (parameters, rows): the clipped log-ratios of rows made up under the model, in nats, and 1.
        likely: Shape (rows,): how much each of these counts, adding up to the released number of rows.
    """

    model: NaiveBayes
    query: GradientQuery
    precision: Floats
    made_up: Floats
    likely: Floats

    @property
    def weights(self) -> AttributeWeights:
        """The weights so far, of every attribute."""
        *weights, change = self._point
        return AttributeWeights(LEARNED, tuple(weights), (0.0, change))

    @property
    def _point(self) -> list[float]:
        """The weights so far, and what is added to the log-odds of the released classes."""
        change = (self.query.log_odds - _log_odds(self.model)) / UNITS**2
        return [*(weight / UNITS for weight in self.query.weights), change]

    @property
    def bound(self) -> Fraction:
        """The most that one row adds to all sums of a round together."""
        return Fraction(self.query.sensitivity, UNITS * CERTAIN)

    def after(self, measured: Measurement) -> WeightRounds:
        """Step, by the gradient of a round."""
        assert measured.share is not None
        return self._stepped(np.array(list(map(float, measured.column))), measured.share)

    def at(self, weights: Sequence[float], intercepts: Sequence[float]) -> WeightRounds:
        """Ask at other weights of the attributes and intercepts of the classes."""
        first, second = intercepts
        *weights_, change = in_units([*weights, second - first])
        query = replace(self.query, weights=tuple(weights_), log_odds=_log_odds(self.model) + UNITS * change)
        return replace(self, query=query)

    def _stepped(self, gradient: Floats, share: Share) -> WeightRounds:
        """Update the normal distribution of the weights by one released gradient."""
        assert isinstance(share.row_cost, Pure)
        variance = 2 * float(self.bound / share.row_cost.epsilon) ** 2
        least, basis = np.linalg.eigh(CURVATURE * self._information())
        information = np.maximum(least, 0.0)
        # Along each eigenvector the observation is h (true - present) with variance h + variance.
        certain = information / (information + variance)
        precision = self.precision + (basis * (certain * information)) @ basis.T
        limit = 2 * LARGEST_NUMBER_OF_ROWS * LARGEST_CLIP
        step = np.linalg.solve(precision, basis @ (certain * (basis.T @ np.clip(gradient, -limit, limit))))
        *weights, change = np.array(self._point) + step
        stepped = self.at(np.clip(weights, *ROUND_WEIGHTS), (0.0, np.clip(change, -ROUND_LOG_ODDS, ROUND_LOG_ODDS)))
        return replace(stepped, precision=precision)

    def _information(self) -> Floats:
        """Compute J under the released model: the Fisher information of weights and log-odds, of rows as scaled."""
        query, scores = self.query, self.made_up
        odds = np.array([*query.weights, query.log_odds / UNITS]) / UNITS @ scores
        # p (1 - p), of odds however large.
        curvature = np.exp(-np.logaddexp(0, odds) - np.logaddexp(0, -odds))
        sizes = UNITS * np.abs(scores[:-1]).sum(axis=0)
        scaled = np.minimum(query.bound / np.maximum(sizes, 1.0), 1.0)
        information: Floats = (scores * (self.likely * scaled * curvature)) @ scores.T
        return information


def _log_odds(model: NaiveBayes) -> int:
    """Return the log-odds of the released classes, in 1/``UNITS``^2."""
    first, second = map(math.log, model.classes.probability)
    return round((second - first) * UNITS**2)


def round_requests(domain: Domain, weight: Fraction) -> list[Request]:
    """Make the queries of all rounds, which share a weight."""
    asked = planned_gradient(domain, len(domain.attributes))
    return [
        Request(f"{GRADIENT} {number}", None, asked.sums, asked.parallel, LAPLACE, weight * relative / sum(SCHEDULE))
        for number, relative in enumerate(SCHEDULE, 1)
    ]


def planned_gradient(domain: Domain, weights: int) -> GradientQuery:
    """Return what the rows will be asked in a round, before released tables tell the scores, and rounds the weights."""
    return GradientQuery(domain, (ScoreTable("", (), ()),) * weights, (0,) * weights, 0, 0)


def in_units(numbers: Sequence[float] | Floats) -> list[int]:
    """Round to whole units."""
    return [int(unit) for unit in np.rint(np.asarray(numbers) * UNITS)]


CLIP = 1.5
"""Bound of an attribute's log-ratios, in root mean squares under the released model."""

BOUND = 0.5
"""Bound of a row's log-ratios together, in the sum of their root mean squares under the released model."""

MADE_UP = 2**13
"""Rows that are made up under the released model, of all classes together."""

FEWEST_MADE_UP = 8
MOST_MADE_UP = 2**24
"""Rows of each class at least, and log-ratios of all attributes in all rows at most."""

SEED = 0
"""Of the rows that are made up: its bits are those of every version of numpy, so they are a function of the model."""


def start_rounds(model: NaiveBayes) -> WeightRounds:
    """Start rounds of a model of two classes at d^(-1/4) for each of d attributes."""
    attributes, priors = model_log_ratios(model), model.classes.probability
    size = len(attributes)
    by_class = max(min(MADE_UP, MOST_MADE_UP // size) // 2, FEWEST_MADE_UP)
    likely, bits = np.repeat(np.array(priors) / by_class, by_class), np.random.PCG64(SEED)
    tables, made_up = [], np.ones((size + 1, len(likely)))
    for row, ratios in zip(made_up, attributes, strict=False):
        (table,), nats = ratios.tables(), _made_up(ratios, by_class, bits)
        clip = _clip(nats, likely)
        tables.append(_clipped(table, clip))
        row[:] = np.clip(nats, -clip / UNITS, clip / UNITS)
    bound = _bound(made_up[:-1], likely)
    query = GradientQuery(model.domain, tuple(tables), (0,) * size, 0, bound)
    rows = min(max(float(sum(model.class_counts)), SMALLEST_SAMPLE), LARGEST_NUMBER_OF_ROWS)
    rounds = WeightRounds(model, query, np.eye(size + 1), made_up, likely * rows).at((size**-0.25,) * size, (0.0, 0.0))
    deviations = [max(DEVIATION * start, LEAST_DEVIATION) for start in rounds.weights.weights]
    return replace(rounds, precision=np.diag(np.array([*deviations, DEVIATION_OF_LOG_ODDS]) ** -2.0))


def _made_up(ratios: LogRatios, by_class: int, bits: np.random.PCG64) -> Floats:
    """Make up an attribute's log-ratios under a released model, in as many rows of each class, class by class."""
    nats = np.append(ratios.ratios[0], ratios.missing[0])
    made_up = np.empty(len(ratios.probability) * by_class)
    uniform = (bits.random_raw(len(made_up)) >> np.uint64(11)) * 2.0**-53
    for klass, (present, absent) in enumerate(zip(ratios.probability, ratios.absent, strict=True)):
        rows, reached = slice(klass * by_class, (klass + 1) * by_class), np.cumsum([*present, absent])
        places = np.searchsorted(reached / reached[-1], uniform[rows], side="right")
        made_up[rows] = nats[np.minimum(places, len(nats) - 1)]
    return made_up


def _clip(nats: Floats, likely: Floats) -> int:
    """Choose the clip of an attribute: ``CLIP`` root mean squares of its log-ratios in made-up rows.

    Each counts for at most ``TELLING``.
    """
    square = likely @ np.clip(nats, -TELLING, TELLING) ** 2
    return min(max(math.ceil(UNITS * CLIP * math.sqrt(square)), UNITS), LARGEST_CLIP)


def _clipped(table: ScoreTable, clip: int) -> ScoreTable:
    """Clip the scores of a table."""
    *scores, missing = (min(max(score, -clip), clip) for score in (*table.scores, table.missing))
    return replace(table, scores=tuple(scores), missing=missing)


def _bound(nats: Floats, likely: Floats) -> int:
    """Choose the bound of all of a row's log-ratios together from those of made-up rows, clipped.

    It is at least one nat: below, a row would move the log-odds further than all weights together.
    """
    return max(math.ceil(UNITS * BOUND * float(np.sqrt(nats**2 @ likely).sum())), UNITS)
