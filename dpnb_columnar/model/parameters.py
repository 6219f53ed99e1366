"""What a model holds: released numbers, the parameters made of them, and the guarantee they were released under.

Public: no exact count, no sensitivity, no trimmed statistic of the rows and no seed has a field here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dpnb_columnar.core.guarantee import Guarantee
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.domain_text import class_texts
from dpnb_columnar.domain.names import number_text

VERSION = 6
"""Of a model's document. Incremented whenever its meaning changes, the rules by which parameters follow from released
values included; a program reads the versions it knows and no other."""

SPREADS = {
    "released_variance": "variance",
    "released_deviation": "standard deviation",
    "released_square": "mean of squares",
}
"""Fields of ``Normal`` that may hold the released spread, each with the statistic it is; every ``Normal`` has one."""


@dataclass(frozen=True, slots=True)
class ClassCounts:
    """The classes' released counts, or sums of weights in steps, and the prior probabilities made of them.

    Attributes:
        released: Per class, the noisy count or sum as it was drawn; may be negative.
        probability: Per class, positive, adding up to 1.
    """

    released: tuple[int, ...]
    probability: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Presence:
    """How many rows have a value of a numeric attribute, for one that declares what a missing value means.

    Attributes:
        released: Per class, the noisy number of rows with a value as it was drawn; then, where to be missing is a
            category, that of the rows without one. May be negative.
        probability: Per class, the probability of each: positive, adding up to 1. Where rows without a value leave the
            attribute out, the likelihood is that of the rows which have one, and the probability is 1.
    """

    released: tuple[tuple[int, ...], ...]
    probability: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Normal:
    """A numeric attribute as one truncated normal distribution per class, on the attribute's scale.

    Attributes:
        attribute: Attribute name.
        released_mean: Per class, the noisy mean as it was drawn, in the scale's unit.
        released_variance: Per class, the noisy variance as it was drawn, in the scale's unit squared; may be negative.
            None where the spread was drawn as something else.
        mean: Per class, location of the distribution, within the declared bounds.
        deviation: Per class, its scale, positive and at most the width of the declared bounds.
        released_deviation: Per class, the noisy standard deviation as it was drawn, in the scale's unit; may be
            negative. None unless the spread was drawn so.
        released_square: Per class, the noisy mean of the squared distances from the scale's origin as it was drawn, in
            the scale's unit squared; may be negative. None unless the spread was drawn so.
        presence: How many rows have a value; None where that was not asked.
        bound: Most that the log-likelihood of a class may differ from that of the class of the largest deviation, in
            nats; None for no bound. The tails of a normal distribution say more than a noisy deviation can know.
    """

    attribute: str
    released_mean: tuple[float, ...]
    released_variance: tuple[float, ...] | None
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    released_deviation: tuple[float, ...] | None = None
    released_square: tuple[float, ...] | None = None
    presence: Presence | None = None
    bound: float | None = None

    @property
    def released_spread(self) -> tuple[str, tuple[float, ...]]:
        """The field of ``SPREADS`` that is set, by name, and its released numbers."""
        (spread,) = ((name, drawn) for name in SPREADS if (drawn := getattr(self, name)) is not None)
        return spread


@dataclass(frozen=True, slots=True)
class Table:
    """A categorical attribute as one probability per class and category.

    Attributes:
        attribute: Attribute name.
        released: Per class, the noisy count of every category as it was drawn; may be negative.
        probability: Per class, the probability of every category: positive, adding up to 1 within a class.
    """

    attribute: str
    released: tuple[tuple[int, ...], ...]
    probability: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Histogram:
    """A numeric attribute as one histogram per class over public bins.

    Attributes:
        attribute: Attribute name.
        edges: Bin b holds the scale's codes ``edges[b] <= code < edges[b + 1]``; from 0 to the last code plus 1.
        released: Per class, the noisy count of every bin as it was drawn.
        probability: Per class, the probability of every bin: positive, adding up to 1 within a class.
        presence: How many rows have a value; None where that was not asked.
        released_mean: The noisy mean of all classes together that placed the bins, as it was drawn, in the scale's
            unit. None where the declaration alone placed them.
        released_variance: The noisy variance that did, in the scale's unit squared; may be negative. None likewise.
    """

    attribute: str
    edges: tuple[int, ...]
    released: tuple[tuple[int, ...], ...]
    probability: tuple[tuple[float, ...], ...]
    presence: Presence | None = None
    released_mean: float | None = None
    released_variance: float | None = None


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
        classes: Class counts and priors.
        attributes: Parameters per attribute, in declared order; an attribute without a query has none.
        software: Versions of the program and of the libraries that drew the values.
        attribute_weights: Weights and intercepts of the score; None for ordinary naive Bayes.
        weighted_classes: What the domain adds up over the rows of each class, in steps, and the priors made of it; None
            where it adds up nothing. They take the place of the priors of ``classes`` in the score, and nowhere else:
            whatever is fitted is fitted to unweighted rows.
    """

    domain: Domain
    guarantee: Guarantee
    classes: ClassCounts
    attributes: tuple[AttributeParameters, ...]
    software: Mapping[str, str]
    attribute_weights: AttributeWeights | None = None
    weighted_classes: ClassCounts | None = None

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
    def batches_by_types(self) -> dict[tuple[Any, ...], Any]:
        """How rows are scored, by the types of their columns: ``predict`` finds it out once. No part of the model."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be made again."""
        return {name: value for name, value in self.__dict__.items() if name != "batches_by_types"}


# The classes of a released model as a table: noisy counts, noisy sums of weights, and the prior of the score.


def prior_header(model: NaiveBayes) -> list[str]:
    """Name the columns of ``prior_rows``."""
    sums = [] if model.domain.weight is None else [f"noisy sum of {model.domain.weight.column}"]
    return ["class", "noisy count", *sums, "probability"]


def prior_rows(model: NaiveBayes) -> Iterator[list[str | int]]:
    """Yield the cells of each class: its text, whole numbers, and its prior to four digits."""
    weight, weighted = model.domain.weight, model.weighted_classes
    for place, name in enumerate(class_texts(model.domain)):
        row: list[str | int] = [name, model.classes.released[place]]
        if weight is not None and weighted is not None:
            total = weighted.released[place] * weight.step
            row.append(int(total) if total.denominator == 1 else number_text(total))
        yield [*row, f"{model.priors[place]:.4f}"]
