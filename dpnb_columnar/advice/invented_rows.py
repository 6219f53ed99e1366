"""Rows of an invented population: their expected counts to release from, and samples to score models on.

The released tables depend on one attribute at a time. So one population stands for rows of any dependence between its
attributes, and a release from it is scored on two samples: attributes independent within a class, and attributes in
families. Public: everything follows from the domain and declared numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.advice.population import LIKENESS, Population
from dpnb_columnar.counting.scores import ScoreCounts, Scores
from dpnb_columnar.counting.statistics import WEIGHT_CODE, Cells, Statistics, assemble
from dpnb_columnar.model.likelihood import class_terms
from dpnb_columnar.model.parameters import NaiveBayes

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

SAMPLE_ROWS = 10_000
SEED = 2021


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Rows of an invented population.

    Attributes:
        population: The population.
        family: Number of attributes that say much the same; 1 where all are independent within a class.
        classes: Shape (rows,), int64: class codes.
        places: Per attribute, shape (rows,), int64: position of each row's code among the distribution's.
    """

    population: Population
    family: int
    classes: Integers
    places: Mapping[str, Integers]

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.classes)

    def score_counts(self, scores: Scores, class_counts: Integers) -> ScoreCounts:
        """Count the rows of each bin of a score and each class, as of that many rows of each class."""
        score = np.zeros(self.size, dtype=np.int64)
        for table in scores.tables:
            steps = np.searchsorted(table.starts, self.population.distributions[table.attribute].codes, side="right")
            score += np.array(table.scores, dtype=np.int64)[steps - 1].take(self.places[table.attribute])
        bins = np.searchsorted(scores.edges, score, side="right")
        counts = np.zeros((scores.bins, len(class_counts)), dtype=np.int64)
        for number, size in enumerate(class_counts):
            found = np.cumsum(np.bincount(bins[self.classes == number], minlength=scores.bins))
            counts[:, number] = whole(found / max(found[-1], 1), int(size) if found[-1] else 0)
        return ScoreCounts(scores, counts)


def whole(cumulative: Floats, size: int) -> Integers:
    """Round expected numbers of rows to whole ones that add up to ``size``; no cumulative one is off by more than 1/2.

    Args:
        cumulative: Cumulative probabilities, the last one 1.
        size: Number of rows, below 2**53.
    """
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


def sample(population: Population, family: int) -> Sample:
    """Draw rows of the population from a fixed seed: the expected counts of every attribute, combined at random.

    Within a class, each attribute's values are dealt out in the order of a normal variable of its own; in families, of
    one that has the correlation ``LIKENESS`` with those of the other members.

    Args:
        population: The population.
        family: Number of neighbouring attributes that say much the same, 1 for independent ones.
    """
    generator = np.random.default_rng(SEED)
    class_counts = whole(population.class_shares, SAMPLE_ROWS)
    classes = np.repeat(np.arange(len(class_counts)), class_counts)
    common, places = np.zeros(SAMPLE_ROWS), {}
    for number, (name, distribution) in enumerate(population.distributions.items()):
        own = generator.standard_normal(SAMPLE_ROWS)
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
    return Sample(population, family, classes, places)


def accuracy(model: NaiveBayes, ratios: Mapping[str, Floats], rows: Sample) -> float:
    """Compute the part of the rows that a model classifies as they are: the first class of the largest score."""
    first, *others = class_terms(model)
    log_odds = np.repeat((np.array(others) - first)[:, None], rows.size, axis=1)
    for parameters, weight in zip(model.attributes, model.weights, strict=True):
        for row, table in zip(log_odds, ratios[parameters.attribute] * weight, strict=True):
            row += table.take(rows.places[parameters.attribute])
    predicted = np.where(log_odds.max(axis=0) > 0, log_odds.argmax(axis=0) + 1, 0)
    return float(np.mean(predicted == rows.classes))
