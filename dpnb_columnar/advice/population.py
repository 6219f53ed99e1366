"""An invented population for a declared domain, its expected counts, and a sample to score models on.

Attributes are independent within a class. Each tells as much about the class as any other, and together they classify
about 85 % of the rows of two classes. Everything follows from the domain and from how tightly its bounds are declared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dpnb_columnar.counting.statistics import Cells, Statistics, assemble
from dpnb_columnar.domain import Attribute, Categorical, Domain, Numeric, Transform
from dpnb_columnar.domain.attributes import scale_codes

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

LARGEST_CLASS = 3
"""The first class is this many times as large as each of the others."""

DISTANCE = 1.75
"""Distance between two classes in deviations, all attributes together: of two classes, 3:1, 85 % are classified."""

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
    """One attribute's values within every class.

    Attributes:
        codes: Shape (values,), int64, rising: grid codes or category codes.
        cumulative: Shape (classes, values): probability of this code or a smaller one; the last is 1.
    """

    codes: Integers
    cumulative: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """An invented population.

    Attributes:
        domain: The declared domain.
        looseness: How many times as wide as the values' range the bounds are.
        distributions: Per attribute, its values.
    """

    domain: Domain
    looseness: int
    distributions: Mapping[str, Distribution]

    @property
    def class_shares(self) -> Floats:
        """Cumulative shares of the classes; shape (classes,)."""
        weights = np.ones(len(self.domain.classes))
        weights[0] = LARGEST_CLASS
        shares: Floats = np.cumsum(weights) / weights.sum()
        return shares


def population(domain: Domain, looseness: int) -> Population:
    """Invent the population of a domain.

    Args:
        domain: The declared domain.
        looseness: How many times as wide as the values' range the numeric bounds are, at least 1.
    """
    effect = DISTANCE / math.sqrt(len(domain.attributes))
    distributions = {
        attribute.name: _distribution(attribute, effect * _places(len(domain.classes), turn), looseness)
        for turn, attribute in enumerate(domain.attributes)
    }
    return Population(domain, looseness, distributions)


def whole(cumulative: Floats, size: int) -> Integers:
    """Round expected numbers of rows to whole ones that add up to ``size``; no cumulative one is off by more than 1/2.

    Args:
        cumulative: Cumulative probabilities, the last one 1.
        size: Number of rows, below 2**53.
    """
    totals = np.rint(cumulative * size).astype(np.int64)
    counts: Integers = totals - np.append(0, totals[:-1])
    return counts


def _places(classes: int, turn: int) -> Floats:
    """Where the classes stand: evenly spaced about zero, one apart (root mean square over pairs), taking turns."""
    order = ((np.arange(classes) + turn) % classes).astype(np.float64)
    places: Floats = order - order.mean()
    apart = math.sqrt(2 * classes / max(classes - 1, 1) * float(np.mean(places**2)))
    return places / apart if apart else places


def _distribution(attribute: Attribute, shifts: Floats, looseness: int) -> Distribution:
    """An attribute's values, the classes shifted by so many deviations."""
    if isinstance(attribute, Categorical):
        return _categories(attribute.size, shifts)
    low, high, zero = _range(attribute, looseness)
    if _is_amount(attribute):
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
    return Distribution(np.arange(size), _ended(np.cumsum(tilted, axis=1) / tilted.sum(axis=1, keepdims=True)))


def _range(attribute: Numeric, looseness: int) -> tuple[float, float, float]:
    """Codes of the attribute's scale that the values fill, and that of zero, or of the bound nearest to it.

    Bounds are loose on the far side of zero: there nobody knows where values end.
    """
    cells = attribute.cells
    zero = min(max(float(-attribute.lower / attribute.step), 0.0), float(cells))
    codes = max(cells / looseness, min(cells, FEWEST_CODES))
    low = zero - zero / cells * codes
    ends = scale_codes(attribute, np.rint([low, low + codes, zero]).astype(np.int64))
    return float(ends[0]), float(max(ends[1], ends[0] + 1)), float(ends[2])


def _is_amount(attribute: Numeric) -> bool:
    return attribute.transform is Transform.IDENTITY and attribute.step >= 1 and attribute.cells > AMOUNT_CODES


def _numbers(attribute: Numeric, low: float, high: float, distribution: Callable[[Floats], Floats]) -> Distribution:
    """A continuous distribution on the attribute's scale, on at most ``RESOLUTION`` codes of its grid.

    Args:
        attribute: The attribute.
        low: Smallest code of its scale; what lies below goes to it.
        high: Largest code of its scale; what lies above goes to it.
        distribution: From places on its scale, shape (places,), to cumulative probabilities, shape (classes, places).
    """
    places = np.linspace(low, min(high, attribute.scale.cells), RESOLUTION)
    codes = np.unique(_grid_codes(attribute, places))
    scaled = scale_codes(attribute, codes).astype(np.float64)
    return Distribution(codes, _ended(distribution(np.append((scaled[1:] + scaled[:-1]) / 2, scaled[-1]))))


def _grid_codes(attribute: Numeric, places: Floats) -> Integers:
    """Codes of the grid nearest to places on the attribute's scale."""
    if attribute.transform is Transform.IDENTITY:
        return np.rint(places).astype(np.int64)
    values = np.expm1(attribute.scale.origin + attribute.scale.step * places)
    codes = np.rint((values - float(attribute.lower)) / float(attribute.step))
    return np.clip(codes, 0, attribute.cells).astype(np.int64)


def _ended(cumulative: Floats) -> Floats:
    """The last value takes what is left."""
    cumulative[:, -1] = 1
    return cumulative


SAMPLE_ROWS = 10_000
SEED = 2021


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Rows of an invented population. Public: they follow from the domain.

    Attributes:
        classes: Shape (rows,), int64: class codes.
        places: Per attribute, shape (rows,), int64: position of each row's code among the distribution's.
    """

    classes: Integers
    places: Mapping[str, Integers]

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.classes)


def expected_statistics(population: Population, rows: int) -> Statistics:
    """Compute the expected counts of exactly ``rows`` rows, whole numbers."""
    class_counts = whole(population.class_shares, rows)
    classes = np.arange(len(class_counts))
    cells = [Cells(None, classes, np.zeros_like(classes), class_counts)]
    for name, distribution in population.distributions.items():
        for number, (cumulative, size) in enumerate(zip(distribution.cumulative, class_counts, strict=True)):
            counts = whole(cumulative, int(size))
            present = counts > 0
            codes = distribution.codes[present]
            cells.append(Cells(name, np.full_like(codes, number), codes, counts[present]))
    return assemble(population.domain, cells)


def sample(population: Population) -> Sample:
    """Draw rows of the population from a fixed seed: the expected counts of every attribute, combined at random."""
    generator = np.random.default_rng(SEED)
    class_counts = whole(population.class_shares, SAMPLE_ROWS)
    places = {
        name: np.concatenate(
            [
                generator.permutation(np.repeat(np.arange(len(distribution.codes)), whole(cumulative, int(size))))
                for cumulative, size in zip(distribution.cumulative, class_counts, strict=True)
            ]
        )
        for name, distribution in population.distributions.items()
    }
    return Sample(np.repeat(np.arange(len(class_counts)), class_counts), places)
