"""An invented population for a declared domain: the sizes of its classes, and the values of attributes within each.

Its rows are expected counts to release from, and samples to score models on. The released tables depend on one
attribute at a time. So one population serves for rows of any dependence between its attributes, and a release from it
is scored on two samples: attributes independent within a class, and attributes in families. Public: everything follows
from the domain and declared numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dpnb_columnar.core.code_limits import UNITS
from dpnb_columnar.core.queries.query import Query
from dpnb_columnar.core.queries.scores import (
    ClassScores,
    GradientQuery,
    GradientSums,
    LaterAnswer,
    ScoreCounts,
    ScoreTable,
)
from dpnb_columnar.core.queries.statistics import Cells, Statistics, assemble
from dpnb_columnar.domain import Attribute, Categorical, Domain, Numeric, Transform
from dpnb_columnar.domain.attributes import scale_codes
from dpnb_columnar.domain.declared_domain import WEIGHT_CODE
from dpnb_columnar.domain.names import exact_number
from dpnb_columnar.errors import UsageError, excerpt
from dpnb_columnar.model.likelihood import deciding_terms
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.releases.attribute_weights import cells

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

USUAL = 3
RARE = 15
"""How many times as large as each of the others the first class is, where the classes' sizes are not declared: of two
classes the second has a quarter of the rows, or, rare, 6 %."""

DISTANCE = 1.52
"""Distance between two classes in deviations, all families together: of two classes, 3:1, a model without noise
classifies 83 to 84 %. Chosen so that what is expected of Adult, of the ACS and of Census-Income is within .015 of what
is measured (docs/journal/accuracy.md); no table is the same, and no public fact says how much attributes tell."""

TELLING_POWER = 0.3
"""What an attribute tells, its distance squared, grows with this power of the number of its cells: occupations say more
than sexes, and their tables are the noisiest."""

LIKENESS = 0.9
"""Correlation, within a class, of the attributes of one family."""

FAMILY_POWER = 0.43
"""Families have about as many attributes as this power of the number of all. Naive Bayes counts what they say again;
its score should have the weight 1/(1 + (family - 1) ``LIKENESS``), which is .36 for 14 attributes, .36 for 22 and .27
for 40. Calibrated at epsilon 1, ``histogram`` has .46 for Adult, .48 for Mushroom and .21 for Census-Income."""

LARGEST_RATIO = 10**6
SHOWN_CLASSES = 4

DEVIATIONS = 6
"""Values fill a range this many deviations wide: the declared one, where bounds are tight."""

FEWEST_CODES = 12
"""However wide the bounds are declared, values take this many codes at least: nobody declares ten times as many
children as families have."""

AMOUNT_CODES = 1000
"""A range of more whole units than this is that of an amount, such as money: many small ones, a few large ones."""

RESOLUTION = 256
"""Most distinct values of a numeric attribute."""

LONGEST_TAIL = 8
"""An amount's values are distinct up to this many times their mean; all beyond count as the last one."""


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """One attribute's rising codes, shape (values,), and cumulative probabilities, shape (classes, values).

    ``order``, shape (values,), is of positions: from the value that tells most for one end of the classes to the other.
    """

    codes: Integers
    cumulative: Floats
    order: Integers


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """An invented population; the sizes of its classes are in proportion to each other."""

    domain: Domain
    looseness: int
    class_sizes: tuple[Fraction, ...]
    distributions: Mapping[str, Distribution]

    @property
    def class_shares(self) -> Floats:
        """Cumulative shares of the classes; shape (classes,)."""
        sizes = np.array(self.class_sizes, dtype=np.float64)
        shares: Floats = np.cumsum(sizes) / sizes.sum()
        shares[-1] = 1
        return shares


def one_large_class(classes: int, times: int) -> tuple[Fraction, ...]:
    """Make class sizes of which the first is ``times`` as large as each of the others."""
    return (Fraction(times), *[Fraction(1)] * (classes - 1))


def parse_class_sizes(value: str, domain: Domain) -> tuple[Fraction, ...]:
    """Parse sizes of the classes written as ``94:6``, in the domain's order."""
    try:
        sizes = tuple(exact_number(part) for part in value.split(":"))
    except ValueError:
        sizes = ()
    names = ":".join(domain.classes) if len(domain.classes) <= SHOWN_CLASSES else f"{len(domain.classes)} classes"
    if len(sizes) != len(domain.classes) or min(sizes) <= 0:
        raise UsageError(
            f"class shares: expected a positive number for each class, {excerpt(names)}, found {excerpt(value)}"
        )
    if max(sizes) > LARGEST_RATIO * min(sizes):
        raise UsageError(f"class shares: none may be more than a million times another, found {excerpt(value)}")
    return sizes


def family_size(attributes: int) -> int:
    """Compute the number of attributes in a family; the last one's may be fewer."""
    return int(attributes**FAMILY_POWER)


def population(domain: Domain, looseness: int, class_sizes: tuple[Fraction, ...]) -> Population:
    """Invent the population of a domain."""
    count = len(domain.attributes)
    family = family_size(count)
    # The means of a family's attributes add up, and the variance of their sum is 1 + (family - 1) LIKENESS times that
    # of independent ones: so much less it tells.
    effect = DISTANCE * math.sqrt((1 + (family - 1) * LIKENESS) / count)
    telling = np.array([cells(attribute) for attribute in domain.attributes]) ** TELLING_POWER
    effects = effect * np.sqrt(telling / telling.mean())
    distributions = {
        attribute.name: _distribution(attribute, own * _places(len(domain.classes), number // family), looseness)
        for number, (attribute, own) in enumerate(zip(domain.attributes, effects.tolist(), strict=True))
    }
    return Population(domain, looseness, class_sizes, distributions)


def _places(classes: int, turn: int) -> Floats:
    """Place the classes evenly about zero, one apart (root mean square over pairs), rotated by ``turn``."""
    order = ((np.arange(classes) + turn) % classes).astype(np.float64)
    places: Floats = order - order.mean()
    apart = math.sqrt(2 * classes / max(classes - 1, 1) * float(np.mean(places**2)))
    return places / apart if apart else places


def _distribution(attribute: Attribute, shifts: Floats, looseness: int) -> Distribution:
    """Distribute an attribute's values, each class shifted by so many deviations."""
    if isinstance(attribute, Categorical):
        return _categories(attribute.size, shifts)
    low, high, zero = _range(attribute, looseness)
    if attribute.transform is Transform.IDENTITY and attribute.step >= 1 and attribute.cells > AMOUNT_CODES:
        means = (high - low) / DEVIATIONS * np.exp(shifts)
        reach = zero + LONGEST_TAIL * float(means.max())
        return _numbers(attribute, zero, reach, lambda place: -np.expm1(-np.maximum(place - zero, 0) / means[:, None]))
    deviation = (high - low) / DEVIATIONS
    centres = (low + high) / 2 + shifts * deviation
    return _numbers(attribute, low, high, lambda place: ndtr((place - centres[:, None]) / deviation))


def _categories(size: int, shifts: Floats) -> Distribution:
    """Frequencies fall as 1, 1/2, 1/3, ...; every second category is the likelier, the higher the class stands."""
    frequencies = 1 / np.arange(1, size + 1)
    frequencies /= frequencies.sum()
    scores = np.where(np.arange(size) % 2, 1.0, -1.0)
    scores -= frequencies @ scores
    spread = math.sqrt(float(frequencies @ scores**2))
    tilted = frequencies * np.exp(shifts[:, None] * (scores / spread if spread else scores))
    cumulative = _completed(np.cumsum(tilted, axis=1) / tilted.sum(axis=1, keepdims=True))
    return Distribution(np.arange(size), cumulative, np.argsort(scores, kind="stable"))


def _range(attribute: Numeric, looseness: int) -> tuple[float, float, float]:
    """Codes that the values fill, and that of zero or of the bound nearest; bounds are loose on the far side of it."""
    cells = attribute.cells
    zero = min(max(float(-attribute.lower / attribute.step), 0.0), float(cells))
    codes = max(cells / looseness, min(cells, FEWEST_CODES))
    low = zero - zero / cells * codes
    ends = scale_codes(attribute, np.rint([low, low + codes, zero]).astype(np.int64))
    return float(ends[0]), float(max(ends[1], ends[0] + 1)), float(ends[2])


def _numbers(attribute: Numeric, low: float, high: float, distribution: Callable[[Floats], Floats]) -> Distribution:
    """Discretise a continuous distribution to at most ``RESOLUTION`` codes of the attribute's grid."""
    places = np.linspace(low, min(high, attribute.scale.cells), RESOLUTION)
    codes = np.unique(_grid_codes(attribute, places))
    scaled = scale_codes(attribute, codes).astype(np.float64)
    cumulative = _completed(distribution(np.append((scaled[1:] + scaled[:-1]) / 2, scaled[-1])))
    return Distribution(codes, cumulative, np.arange(len(codes)))


def _grid_codes(attribute: Numeric, places: Floats) -> Integers:
    if attribute.transform is Transform.IDENTITY:
        return np.rint(places).astype(np.int64)
    values = np.expm1(attribute.scale.origin + attribute.scale.step * places)
    codes = np.rint((values - float(attribute.lower)) / float(attribute.step))
    return np.clip(codes, 0, attribute.cells).astype(np.int64)


def _completed(cumulative: Floats) -> Floats:
    cumulative[:, -1] = 1
    return cumulative


SAMPLE_ROWS = 10_000
SEED = 2021


@dataclass(frozen=True, slots=True, eq=False)
class InventedRows:
    """Rows of an invented population: class codes, and positions among the codes of each attribute, shape (rows,)."""

    population: Population
    family: int
    classes: Integers
    places: Mapping[str, Integers]

    @property
    def size(self) -> int:
        return len(self.classes)

    def answer(self, query: Query[Any], class_counts: Integers) -> LaterAnswer:
        """Answer the query of a later pass, as of that many rows of each class."""
        if isinstance(query, ClassScores):
            return self._score_counts(query, class_counts)
        assert isinstance(query, GradientQuery)
        return self._sum_gradients(query, class_counts)

    def _score_counts(self, scores: ClassScores, class_counts: Integers) -> ScoreCounts:
        by_class = np.empty((len(scores.offsets), self.size), dtype=np.int64)
        for row, offset, tables in zip(by_class, scores.offsets, scores.by_class, strict=True):
            row[:] = offset + sum(map(self._scores, tables))
        bins = scores.bins_of(by_class, self.classes)
        counts = scores.empty().counts
        for number, size in enumerate(class_counts):
            found = np.cumsum(np.bincount(bins[self.classes == number], minlength=scores.bins))
            counts[:, number] = whole(found / max(found[-1], 1), int(size) if found[-1] else 0)
        return ScoreCounts(scores, counts)

    def _sum_gradients(self, query: GradientQuery, class_counts: Integers) -> GradientSums:
        scores = np.array(list(map(self._scores, query.tables)))
        factors, sums = query.factors_of(scores, self.classes), np.zeros(query.sums)
        for number, size in enumerate(class_counts):
            rows = np.flatnonzero(self.classes == number)
            own = np.append(scores[:, rows] @ factors[rows], UNITS * factors[rows].sum())
            sums += own * (int(size) / max(len(rows), 1))
        return GradientSums(query, np.rint(sums).astype(np.int64), class_counts)

    def _scores(self, table: ScoreTable) -> Integers:
        steps = np.searchsorted(table.starts, self.population.distributions[table.attribute].codes, side="right")
        scores: Integers = np.array(table.scores, dtype=np.int64)[steps - 1].take(self.places[table.attribute])
        return scores


def whole(cumulative: Floats, size: int) -> Integers:
    """Round expected numbers of rows to whole ones that add up to ``size``; cumulative ones are off by 1/2 at most."""
    totals = np.rint(cumulative * size).astype(np.int64)
    counts: Integers = totals - np.append(0, totals[:-1])
    return counts


def expected_statistics(population: Population, rows: int) -> Statistics:
    """Compute the expected counts of exactly ``rows`` rows, whole numbers."""
    class_counts = whole(population.class_shares, rows)
    classes = np.arange(len(class_counts))
    cells = [Cells(None, classes, np.zeros_like(classes), class_counts)]
    if (weight := population.domain.weight) is not None:  # half of the cap for every row
        cells.append(Cells(None, classes, np.full_like(classes, WEIGHT_CODE), class_counts * weight.steps // 2))
    for name, distribution in population.distributions.items():
        for number, (cumulative, size) in enumerate(zip(distribution.cumulative, class_counts, strict=True)):
            counts = whole(cumulative, int(size))
            present = counts > 0
            codes = distribution.codes[present]
            cells.append(Cells(name, np.full_like(codes, number), codes, counts[present]))
    return assemble(population.domain, cells)


def sample(population: Population, family: int) -> InventedRows:
    """Draw rows of the population from a fixed seed: the expected counts of every attribute, combined at random."""
    generator = np.random.default_rng(SEED)
    class_counts = whole(population.class_shares, SAMPLE_ROWS)
    classes = np.repeat(np.arange(len(class_counts)), class_counts)
    common, places = np.zeros(SAMPLE_ROWS), {}
    for number, (name, distribution) in enumerate(population.distributions.items()):
        own = generator.standard_normal(SAMPLE_ROWS)  # correlated by ``LIKENESS`` in a family
        if family > 1:
            if number % family == 0:
                common = generator.standard_normal(SAMPLE_ROWS)
            own = math.sqrt(LIKENESS) * common + math.sqrt(1 - LIKENESS) * own
        # By class, then by the variable: the rows that the class's values go to, in their order.
        rows = np.lexsort((own, classes))
        dealt = np.empty(SAMPLE_ROWS, dtype=np.int64)
        dealt[rows] = np.concatenate(
            [
                np.repeat(distribution.order, whole(cumulative, int(size))[distribution.order])
                for cumulative, size in zip(distribution.cumulative, class_counts, strict=True)
            ]
        )
        places[name] = dealt
    return InventedRows(population, family, classes, places)


def accuracy(model: NaiveBayes, ratios: Mapping[str, Floats], rows: InventedRows) -> float:
    """Compute the part of the rows that a model classifies as they are: the first class of the largest score."""
    first, *others = deciding_terms(model)
    log_odds = np.repeat((np.array(others) - first)[:, None], rows.size, axis=1)
    for parameters, weight in zip(model.attributes, model.weights, strict=True):
        for row, table in zip(log_odds, ratios[parameters.attribute] * weight, strict=True):
            row += table.take(rows.places[parameters.attribute])
    predicted = np.where(log_odds.max(axis=0) > 0, log_odds.argmax(axis=0) + 1, 0)
    return float(np.mean(predicted == rows.classes))
