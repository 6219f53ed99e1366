"""The terms of a row's score within each class, defined once.

score_c = log P(c) + b_c + sum over attributes of w_i log P(x_i | c), with w = 1 and b = 0 for ordinary naive Bayes
(``parameters.AttributeWeights``). Polars and NumPy (``score_batches``), SQL (``scoring_query``) and
``advice`` compute the same terms from these definitions, in which a weight is part of the constants. The terms of one
attribute are meant up to a number that all classes have in common, since probabilities do not depend on it.

The probabilities are in proportion to exp(score_c); under a line (``parameters.CalibrationLine``), to the weights that
``LineTerms`` defines.

Log-ratios of a released model's attributes: what weights multiply, as step functions of codes in whole units.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.core.code_limits import UNITS
from dpnb_columnar.core.queries.scores import ScoreTable
from dpnb_columnar.domain import Attribute, Numeric, Transform
from dpnb_columnar.model.parameters import (
    LARGEST_LOG_ODDS,
    LARGEST_MARGIN,
    AttributeParameters,
    CalibrationLine,
    Histogram,
    NaiveBayes,
    Normal,
    Table,
)

LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)

NEGLIGIBLE = 1e-60
"""Of the scale's width: a number so close to zero counts as zero. Its square would be too small for a float, where
PostgreSQL fails; the terms are the same to all digits. A weight so close to zero counts as zero likewise."""


class Arithmetic(Protocol):
    """Numbers of any backend: a Polars expression, a numpy array, an ``dpnb_columnar.dialects.nodes.Number``."""

    def __add__(self, other: float, /) -> Self: ...
    def __sub__(self, other: Self | float, /) -> Self: ...
    def __mul__(self, other: Self | float, /) -> Self: ...
    def __rmul__(self, other: float, /) -> Self: ...
    def clip(self, least: float, largest: float, /) -> Self: ...


Values = TypeVar("Values", bound=Arithmetic)


def class_terms(model: NaiveBayes) -> list[float]:
    """Compute the part of the score that no attribute changes: per class, log P(c) + b_c."""
    return [math.log(prior) + intercept for prior, intercept in zip(model.priors, model.intercepts, strict=True)]


LEAST_EXPONENT = -300.0
"""Of what a class has of the others' weight under a line: PostgreSQL fails where a product is too small for a float."""

BELOW_BEST = 1 - 2.0**-20
"""The most that one of the others may have of the best other class's weight, so that it is never predicted."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """A function that is linear between some margins, and flat before the first and beyond the last.

    A margin m lies in the piece of the number of ``starts`` that it reaches, and the function is there

        value + slope (m - origin).

    Attributes:
        starts: The margins, rising.
        origins: Of each piece; they are one more than ``starts``.
        values: Likewise.
        slopes: Likewise; 0 of the first and the last piece.
    """

    starts: tuple[float, ...]
    origins: tuple[float, ...]
    values: tuple[float, ...]
    slopes: tuple[float, ...]

    @classmethod
    def through(cls, margins: Sequence[float], values: Sequence[float]) -> Pieces:
        """Draw the function through a value at each margin."""
        slopes = [
            _distinct((after - before) / (end - start))
            for (start, end), (before, after) in zip(pairwise(margins), pairwise(values), strict=True)
        ]
        return cls(tuple(margins), (margins[0], *margins), (values[0], *values), (0.0, *slopes, 0.0))


@dataclass(frozen=True, slots=True)
class LineTerms:
    """What turns the scores s_c of a row into weights of its classes, of which probabilities are shares of the sum.

    With l the class ``largest``, b the largest s_c of ``others``, o the first of them that has it, and m = b - s_l, the
    weight of l is 1 and that of o exp(``odds``(m)). Of more than two classes let

        t_c = ``evidence`` s_c + ``constants``_c
        e_c = exp(max(t_c - (the largest t of ``others``), ``LEAST_EXPONENT``)), but 0 of o:

    then every other class has the weight min(``BELOW_BEST`` exp(odds(m)), exp(``rest``(m)) (1 / the sum of e) e_c). It
    is below that of o, so that l or o is predicted, by the one margin at which the line crosses 0.

    Every backend computes this as it stands here, sums class after class: ``score_batches``, ``scoring_query``. A
    factor 1 / sum is rounded alike by all of them (``NormalTerms.inverse``).

    Attributes:
        odds: Log-odds of class o to class l.
        rest: Log-odds of the others but o, together; None for two classes.
        evidence: What part of their scores' differences counts among them.
        constants: Per other class, (1 - evidence) times its log-prior.
    """

    largest: int
    others: tuple[int, ...]
    odds: Pieces
    rest: Pieces | None
    evidence: float
    constants: tuple[float, ...]


def line_terms(model: NaiveBayes) -> LineTerms | None:
    """Compute the constants of a model's line; None where it has none."""
    line = population_line(model)
    if line is None:
        return None
    priors = model.priors
    others = tuple(klass for klass in range(len(priors)) if klass != line.largest)
    return LineTerms(
        line.largest,
        others,
        Pieces.through(line.margins, line.log_odds),
        Pieces.through(line.margins, line.others) if line.others else None,
        _distinct(line.evidence),
        tuple((1 - line.evidence) * math.log(priors[klass]) for klass in others),
    )


def population_line(model: NaiveBayes) -> CalibrationLine | None:
    """Return a model's line, its log-odds those of the population where rows have weights; None where it has none.

    It was fitted to unweighted rows, in which the odds of all classes but l to l are (1 - P(l)) / P(l). To the priors
    of the population all of them change by one factor: that from these odds to the population's.
    """
    line = None if model.attribute_weights is None else model.attribute_weights.line
    if line is None or model.weighted_classes is None:
        return line

    def log_odds(priors: Sequence[float]) -> float:
        others = math.fsum(prior for klass, prior in enumerate(priors) if klass != line.largest)
        return math.log(others) - math.log(priors[line.largest])

    moved = log_odds(model.weighted_classes.probability) - log_odds(model.classes.probability)
    moved = min(max(moved, -LARGEST_LOG_ODDS), LARGEST_LOG_ODDS)
    return replace(
        line,
        log_odds=tuple(each + moved for each in line.log_odds),
        others=tuple(each + moved for each in line.others),
    )


def margin_above(line: CalibrationLine, log_odds: float, *, reached: bool = False) -> float:
    """Compute the margin above which the log-odds of the best other class are above some log-odds."""
    place = (bisect_left if reached else bisect_right)(line.log_odds, log_odds)
    if place == 0:
        return -LARGEST_MARGIN
    if place == len(line.log_odds):
        return LARGEST_MARGIN
    (start, end), (before, after) = line.margins[place - 1 : place + 1], line.log_odds[place - 1 : place + 1]
    return start + (end - start) * ((log_odds - before) / (after - before))


def deciding_terms(model: NaiveBayes) -> list[float]:
    """Compute ``class_terms`` so that the class of the largest score is the predicted one, under a line as well."""
    terms, line = class_terms(model), population_line(model)
    if line is not None:
        terms[line.largest] += margin_above(line, 0.0, reached=line.largest > 0)  # of equal ones the first is predicted
    return terms


@dataclass(frozen=True, slots=True)
class NormalTerms:
    """The weighted log-likelihoods of a value, truncated normal, relative to the class of the widest one, r.

    With z = (value - mean)/deviation, that is weight (z_r^2 - z^2)/2 plus constants. In the far tails of every class
    z^2 is huge, and so is its rounding error; but there the widest class is the likeliest, and only classes nearly as
    wide come near it. Under a negative weight all of this holds of the narrowest class. Where the deviations are equal
    (a pooled variance), z = z_r - shift and the squares cancel by algebra: (z_r^2 - z^2)/2 = shift (z_r - shift/2).

    Where the parameters have a bound, no term lies beyond the weight times that, on either side of 0, the term of r.

    Attributes:
        mean: Per class, on the attribute's scale.
        inverse: Per class, 1/deviation: a product is rounded alike by every backend, where Polars divides several rows
            by a constant in another way than one row.
        shift: Per class, where its deviation is that of r: the shift above; else None.
        constant: Per class, what does not depend on the value.
        most: Bound of the terms; None for no bound.
    """

    reference: int
    weight: float
    mean: tuple[float, ...]
    inverse: tuple[float, ...]
    shift: tuple[float | None, ...]
    constant: tuple[float, ...]
    most: float | None

    def of(self, value: Values) -> list[Values]:
        """Compute the term of each class; 0, or minus 0, of class r."""
        distance = (value - self.mean[self.reference]) * self.inverse[self.reference]
        terms = []
        for mean, inverse, shift, constant in zip(self.mean, self.inverse, self.shift, self.constant, strict=True):
            if shift is not None:
                gained = (self.weight * shift) * (distance - shift / 2)
            else:
                own = (value - mean) * inverse
                gained = (self.weight * 0.5) * (distance * distance - own * own)
            terms.append(gained + constant)
        if self.most is None:
            return terms
        return [
            term if place == self.reference else term.clip(-self.most, self.most) for place, term in enumerate(terms)
        ]


def normal_terms(attribute: Numeric, parameters: Normal, weight: float = 1.0) -> NormalTerms:
    """Compute the constants of the terms of a numeric attribute under its normal distributions."""
    scale, weight = attribute.scale, _distinct(weight)
    constants = [
        log_normalisation(mean, deviation, scale.origin, scale.end) + present
        for mean, deviation, present in zip(
            parameters.mean, parameters.deviation, present_terms(parameters), strict=True
        )
    ]
    means = tuple(0.0 if abs(mean) < negligible(attribute) else mean for mean in parameters.mean)
    reference = reference_class(parameters, weight)
    shifts = [
        float((Fraction(mean) - Fraction(means[reference])) / Fraction(deviation))
        if deviation == parameters.deviation[reference]
        else None
        for mean, deviation in zip(means, parameters.deviation, strict=True)
    ]
    return NormalTerms(
        reference,
        weight,
        means,
        tuple(1 / deviation for deviation in parameters.deviation),
        tuple(shifts),
        tuple(weight * (constant - constants[reference]) for constant in constants),
        None if parameters.bound is None else abs(weight) * parameters.bound,
    )


def reference_class(parameters: AttributeParameters, weight: float = 1.0) -> int:
    """Find the class that an attribute's terms are relative to, whose own are 0: the first; see also ``NormalTerms``.

    So a row has one number to look up, or to compute, less.
    """
    if not isinstance(parameters, Normal):
        return 0
    sign = 1 if _distinct(weight) >= 0 else -1
    return max(range(len(parameters.deviation)), key=lambda place: sign * parameters.deviation[place])


def cell_terms(parameters: Table | Histogram, weight: float = 1.0) -> list[list[float]]:
    """Compute the weighted log-likelihood of each category, or log-density of each bin, relative to the first class."""
    weight = _distinct(weight)
    present = [0.0] * len(parameters.probability) if isinstance(parameters, Table) else present_terms(parameters)
    # A bin is as wide in every class: its width is common to all.
    terms = [
        [weight * (math.log(cell) + each) for cell in row]
        for row, each in zip(parameters.probability, present, strict=True)
    ]
    return [[term - first for term, first in zip(row, terms[0], strict=True)] for row in terms]


def _distinct(weight: float) -> float:
    """Return the weight; 0 for one that cannot be told from it."""
    return weight if abs(weight) >= NEGLIGIBLE else 0.0


def present_terms(parameters: Normal | Histogram) -> list[float]:
    """Compute the log-probability of having a value within each class; 0 where a row without one is left out."""
    if parameters.presence is None:
        return [0.0] * len(parameters.mean if isinstance(parameters, Normal) else parameters.probability)
    return [math.log(present) for present, *_ in parameters.presence.probability]


def missing_terms(parameters: AttributeParameters, weight: float = 1.0) -> list[float] | None:
    """Compute the weighted log-probability of having no value, relative to ``reference_class``; None where left out.

    Of a categorical attribute a missing value is one of its cells, where it is not left out.
    """
    if isinstance(parameters, Table) or parameters.presence is None or len(parameters.presence.probability[0]) == 1:
        return None
    terms = [_distinct(weight) * math.log(missing) for _, missing in parameters.presence.probability]
    reference = terms[reference_class(parameters, weight)]
    return [term - reference for term in terms]


def log_normalisation(mean: float, deviation: float, lower: float, upper: float) -> float:
    """Compute the part of the truncated normal log-density that does not depend on the value.

    The density on ``[lower, upper]`` is phi((x - mean)/deviation) / (deviation * (Phi(b) - Phi(a))) with a = (lower -
    mean)/deviation, b = (upper - mean)/deviation. (Zafarani and Clifton 2021, section 2.1, print a difference of
    densities in the denominator; a density has to be divided by a difference of distribution functions.) The mean lies
    within ``[lower, upper]``, so a <= 0 <= b and no tail beyond both ends is ever subtracted. The deviation is at most
    ``upper - lower``, so b - a >= 1 and the difference is well conditioned.
    """
    # Phi(b) - Phi(a) = 1 - Phi(a) - Phi(-b): both tails are at most 1/2 each, without cancellation in either.
    outside = _tail((mean - lower) / deviation) + _tail((upper - mean) / deviation)
    return -math.log(deviation) - LOG_ROOT_TWO_PI - math.log1p(-outside)


def _tail(distance: float) -> float:
    """Compute the probability that a standard normal variable exceeds ``distance``."""
    return math.erfc(distance / math.sqrt(2)) / 2


def negligible(attribute: Numeric) -> float:
    """Return the distance from zero below which numbers on the attribute's scale count as zero."""
    return NEGLIGIBLE * (attribute.scale.end - attribute.scale.origin)


def bin_starts(attribute: Numeric, edges: Sequence[int]) -> Sequence[int]:
    """Find the first grid code of every bin but the first: rows are put into bins by whole numbers, as in counting.

    A start beyond the grid's last code is that of a bin that no row can be in.
    """
    if attribute.transform is Transform.IDENTITY:
        return edges[1:-1]
    # Loading numpy takes longer than scoring many a file.
    import numpy as np

    from dpnb_columnar.domain.attributes import scale_codes

    inner = np.array(edges[1:-1], dtype=np.int64)
    # The scale's code grows with the grid's: halve [low, high] until low is the first grid code to reach each edge.
    low, high = np.zeros_like(inner), np.full_like(inner, attribute.cells + 1)
    while np.any(low < high):
        middle = (low + high) // 2
        # The code beyond the grid's last is beyond every edge.
        reached = (middle > attribute.cells) | (scale_codes(attribute, middle) >= inner)
        low, high = np.where(reached, low, middle + 1), np.where(reached, middle, high)
    return [int(code) for code in low]


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
