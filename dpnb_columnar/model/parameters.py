"""What a model holds: measurements, the parameters made of them, and the guarantee they were released under.

Public: no exact count, no sensitivity, no trimmed statistic of the rows and no seed has a field here.

Names and bounds of what a model holds: ways to weight attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dpnb_columnar.core.budget.composition import Guarantee
from dpnb_columnar.core.measurement import CLASS_COUNTS, PRESENCE, WEIGHTED_COUNTS, Key, Measurement, by_key
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.domain_text import class_texts
from dpnb_columnar.domain.names import number_text

CALIBRATION_RANGES = 24

# Ways to weight attributes (``releases.attribute_weights`` says what each does).

TEMPERED = "tempered"
CALIBRATED = "calibrated"
LEARNED = "learned"

PUBLIC = "public"
"""Name, in a model, of the way to weight attributes by a public file."""

FEWEST_TEMPERED = 8
"""Fewer attributes are taken for independent."""

POWER = -0.25

LARGEST_LOG_RATIO = 3.0
"""In nats: twenty to one is the most that a normal distribution of two classes, weighted, says of one value."""

ROUND_WEIGHTS = (-0.5, 2.0)
ROUND_LOG_ODDS = 5.0
"""Least and largest weight after a round; largest change of the log-odds."""


def tempered_weight(attributes: int) -> float:
    """Choose the one weight of all attributes from their number."""
    return attributes**POWER if attributes >= FEWEST_TEMPERED else 1.0


VERSION = 6
"""Of a model's document. Incremented whenever its meaning changes, the rules by which parameters follow from released
values included; a program reads the versions it knows and no other."""

SPREADS = {"variance": "variance", "deviation": "standard deviation", "mean of squares": "mean of squares"}
"""Queries for a spread, each with the statistic it is."""


@dataclass(frozen=True, slots=True)
class Priors:
    """The prior probabilities of the classes, positive, adding up to 1."""

    probability: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Presence:
    """How likely a numeric attribute has a value, for one that declares what a missing value means.

    Per class, the probability of a value and, where to be missing is a category, of none: positive, adding up to 1. It
    is 1 where rows without a value leave the attribute out: the likelihood is that of the rows which have one.
    """

    probability: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Normal:
    """A numeric attribute as one truncated normal distribution per class, on the attribute's scale.

    Attributes:
        mean: Per class, location of the distribution, within the declared bounds.
        deviation: Per class, its scale, positive and at most the width of the declared bounds.
        presence: How likely there is a value; None where that was not asked.
        bound: Most that the log-likelihood of a class may differ from that of the class of the largest deviation, in
            nats; None for no bound. The tails of a normal distribution say more than a noisy deviation can know.
    """

    attribute: str
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    presence: Presence | None = None
    bound: float | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A categorical attribute as one probability per class and category: positive, adding up to 1 within a class."""

    attribute: str
    probability: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Histogram:
    """A numeric attribute as one histogram per class over public bins.

    Attributes:
        edges: Bin b holds the scale's codes ``edges[b] <= code < edges[b + 1]``; from 0 to the last code plus 1.
        probability: Per class, the probability of every bin: positive, adding up to 1 within a class.
        presence: How likely there is a value; None where that was not asked.
    """

    attribute: str
    edges: tuple[int, ...]
    probability: tuple[tuple[float, ...], ...]
    presence: Presence | None = None


AttributeParameters = Normal | Table | Histogram

LARGEST_BOUND = 1000.0
"""Of log-likelihoods. More than the logarithms of any two floats are apart."""

LARGEST_WEIGHT = 100.0
"""In absolute size. Fitted weights are near 0 to 2."""

LARGEST_INTERCEPT = 1000.0
"""In absolute size. More than the logarithms of any two priors, or of any two floats, are apart."""

LARGEST_MARGIN = 1e5
"""In absolute size. Certainty of a hundred attributes."""

LEAST_STEP = 1e-6
"""Between two margins of a line."""

LARGEST_LOG_ODDS = 50.0
"""In absolute size, of a line. More than the odds of one row in all that there are."""

MOST_MARGINS = 64
"""Of a line."""


@dataclass(frozen=True, slots=True)
class PublicSource:
    """The file that attribute weights were learned from, which the curator declares public.

    Attributes:
        name: Its declared name.
        digest: Hexadecimal SHA-256 of its content.
        left_out: Attributes that it says tell nothing; they were not released.
    """

    name: str
    digest: str
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CalibrationLine:
    """How the odds of the classes follow from the margin of a row's linear score: a table of few points. Public.

    Let s_c be a row's score of class c, as ``AttributeWeights`` says, l the largest class, o the first of the other
    classes whose score is the largest, and m = s_o - s_l, the margin. Relative to class l, whose weight is 1,

    * class o has the weight exp(h(m)), where h goes through ``log_odds`` at ``margins``, linear between them and flat
      outside: it rises strictly, so that rows are ranked as by their margins;
    * of more than two classes all others together have the weight exp(g(m)), where g goes through ``others`` in the
      same way. They share it in proportion to exp(t_c), t_c = ``evidence`` s_c + (1 - ``evidence``) log P(c), and none
      has quite as much as class o.

    The probability of a class is its weight in the sum of all (``likelihood.LineTerms``).

    Attributes:
        largest: Position of class l.
        margins: Rising, in nats; at most ``LARGEST_MARGIN`` in absolute size, and ``LEAST_STEP`` apart at least.
        log_odds: Rising: of class o to class l at each margin; at most ``LARGEST_LOG_ODDS`` in absolute size.
        others: Log-odds of all other classes together to class l at each margin, as large at most; empty for two
            classes.
        evidence: What part of their scores' differences counts among the other classes, from 0 to 1.
    """

    largest: int
    margins: tuple[float, ...]
    log_odds: tuple[float, ...]
    others: tuple[float, ...] = ()
    evidence: float = 0.0


@dataclass(frozen=True, slots=True)
class AttributeWeights:
    """Weights w of the attributes and intercepts b of the classes in a model's score.

    score_c = log P(c) + b_c + sum over attributes of w_i log P(x_i | c). Naive Bayes takes attributes for independent;
    weights below 1 make up for what correlated attributes say twice. (Zaidi, Cerquides, Carman and Webb 2013,
    "Alleviating naive Bayes attribute independence assumption by attribute weighting".)

    Attributes:
        method: How they were chosen, such as ``tempered``.
        weights: Per attribute of the model, in its order; at most ``LARGEST_WEIGHT`` in absolute size.
        intercepts: Per class; at most ``LARGEST_INTERCEPT`` in absolute size.
        source: The public file that they were learned from; None if there is none.
        line: How probabilities follow from the score; None where the score is the logarithm of the likelihood.
    """

    method: str
    weights: tuple[float, ...]
    intercepts: tuple[float, ...]
    source: PublicSource | None = None
    line: CalibrationLine | None = None


@dataclass(frozen=True)
class NaiveBayes:
    """A released naive Bayes classifier as plain data: what the functions of this room take.

    ``dpnb_columnar.api.model.Model`` is the same with methods for users.

    Attributes:
        domain: The declared domain that the classifier was trained for.
        guarantee: What was promised about the rows.
        measurements: All that was drawn, in its order, and all that the model is made of.
        classes: Priors of the classes by their counts.
        attributes: Parameters per attribute, in declared order; an attribute without a query has none.
        software: Versions of the program and of the libraries that drew the values.
        attribute_weights: Weights and intercepts of the score; None for ordinary naive Bayes.
        weighted_classes: Priors by what the domain adds up over the rows of each class; None where it adds up nothing.
            They take the place of the priors of ``classes`` in the score, and nowhere else: whatever is fitted is
            fitted to unweighted rows.
    """

    domain: Domain
    guarantee: Guarantee
    measurements: tuple[Measurement, ...]
    classes: Priors
    attributes: tuple[AttributeParameters, ...]
    software: Mapping[str, str]
    attribute_weights: AttributeWeights | None = None
    weighted_classes: Priors | None = None

    @property
    def priors(self) -> tuple[float, ...]:
        """The prior of each class in the score: that of the population, where the domain declares sums."""
        return (self.classes if self.weighted_classes is None else self.weighted_classes).probability

    @property
    def weights(self) -> tuple[float, ...]:
        """The weight of each attribute's log-likelihood in the score, in the order of ``attributes``."""
        return (1.0,) * len(self.attributes) if self.attribute_weights is None else self.attribute_weights.weights

    @property
    def intercepts(self) -> tuple[float, ...]:
        """What is added to each class's log-prior in the score."""
        weights = self.attribute_weights
        return (0.0,) * len(self.classes.probability) if weights is None else weights.intercepts

    @cached_property
    def measured(self) -> Mapping[Key, Measurement]:
        """The measurements by query and attribute."""
        return by_key(self.measurements)

    def counts(self, query: str, attribute: str | None = None) -> tuple[tuple[int, ...], ...]:
        """The noisy counts, or sums of weights in steps, that a query released: per class, one per cell."""
        return self.measured[query, attribute].counts

    @property
    def class_counts(self) -> tuple[int, ...]:
        """Per class, the noisy count as it was drawn; may be negative."""
        return tuple(int(count) for count in self.measured[CLASS_COUNTS, None].column)

    @property
    def weighted_counts(self) -> tuple[int, ...]:
        """Per class, the noisy sum of weights in steps as it was drawn, where the domain declares some."""
        return tuple(int(count) for count in self.measured[WEIGHTED_COUNTS, None].column)

    def sizes(self, attribute: str | None) -> tuple[int, ...]:
        """The released number of values of an attribute per class; where it was not asked for, the class counts."""
        asked = self.measured.get((PRESENCE, attribute))
        return self.class_counts if asked is None else tuple(present for present, *_ in asked.counts)

    @cached_property
    def batches_by_types(self) -> dict[tuple[Any, ...], Any]:
        """How rows are scored, by the types of their columns: ``predict`` finds it out once. No part of the model."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be made again."""
        made = ("batches_by_types", "measured")
        return {name: value for name, value in self.__dict__.items() if name not in made}


# The classes of a released model as a table: noisy counts, noisy sums of weights, and the prior of the score.


def prior_header(model: NaiveBayes) -> list[str]:
    """Name the columns of ``prior_rows``."""
    sums = [] if model.domain.weight is None else [f"noisy sum of {model.domain.weight.column}"]
    return ["class", "noisy count", *sums, "probability"]


def prior_rows(model: NaiveBayes) -> Iterator[list[str | int]]:
    """Yield the cells of each class: its text, whole numbers, and its prior to four digits."""
    weight, counts = model.domain.weight, model.class_counts
    for place, name in enumerate(class_texts(model.domain)):
        row: list[str | int] = [name, counts[place]]
        if weight is not None:
            total = model.weighted_counts[place] * weight.step
            row.append(int(total) if total.denominator == 1 else number_text(total))
        yield [*row, f"{model.priors[place]:.4f}"]
