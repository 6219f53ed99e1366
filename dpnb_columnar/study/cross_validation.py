"""CONFIDENTIAL. Cross-validation of releases with additive statistics.

Each fold is counted once, and the statistics of its training rows are a subtraction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.counting.gradients import GradientQuery, GradientSums
from dpnb_columnar.counting.scores import ScoreCounts, Scores
from dpnb_columnar.counting.statistics import Cells, Statistics, assemble
from dpnb_columnar.domain import Domain
from dpnb_columnar.mechanisms.release_plan import ReleasePlan
from dpnb_columnar.model.model import Model
from dpnb_columnar.noise import ExactSampler, SeededBits
from dpnb_columnar.study.coded_rows import CodedRows, HeldOut
from dpnb_columnar.training import train

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, repr=False)
class TrainingRows:
    """Rows of several folds as rows that a release counts. Confidential.

    Attributes:
        statistics: Their statistics.
        parts: The rows, fold by fold.
    """

    statistics: Statistics
    parts: tuple[HeldOut, ...]

    can_score = True

    def check(self, domain: Domain) -> TrainingRows:
        """Leave out the counts of attributes that the domain has not; the rows were read in theirs."""
        return TrainingRows(self.statistics.only(domain), self.parts)

    def count(self) -> Statistics:
        """Return the statistics. Confidential."""
        return self.statistics

    def count_scores(self, scores: Scores) -> ScoreCounts:
        """Count the rows of each bin of a score and each class. Confidential."""
        return reduce(add, (part.score_counts(scores) for part in self.parts))

    def sum_gradients(self, query: GradientQuery) -> GradientSums:
        """Sum up a round's gradient. Confidential."""
        return reduce(add, (part.sum_gradients(query) for part in self.parts))


@dataclass(frozen=True, slots=True, repr=False)
class Fold:
    """One fold: all other rows, and this fold's rows. Confidential."""

    training: TrainingRows
    held_out: HeldOut


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Folds:
    """Rows split at random into folds. Confidential.

    Attributes:
        rows: The rows.
        held_out: Per fold, the rows held out.
        counts: Per attribute, shape (folds, classes, distinct values); under None the classes alone, with one value.
            Whatever bounds a domain declares, its cells are sums of these.
    """

    rows: CodedRows
    held_out: tuple[HeldOut, ...]
    counts: dict[str | None, Integers]

    def training(self, fold: int, domain: Domain) -> Statistics:
        """Compute the statistics of all rows but those of one fold.

        Args:
            fold: The fold that is held out, from 0.
            domain: The domain of the rows; its numeric bounds and steps may differ from those at the split.
        """
        cells = [self._cells(None, fold, np.zeros(1, dtype=np.int64))]
        cells += [self._cells(each.name, fold, self.rows.codes(each)) for each in domain.attributes]
        return assemble(domain, cells)

    def under(self, domain: Domain) -> list[Fold]:
        """Pair the rows of every fold with all others, whose statistics are computed in a domain as by ``training``."""
        return [Fold(self.training_rows(number, domain), held_out) for number, held_out in enumerate(self.held_out)]

    def training_rows(self, fold: int, domain: Domain) -> TrainingRows:
        """Collect all rows but those of one fold, and their statistics as by ``training``."""
        return TrainingRows(self.training(fold, domain), self.held_out[:fold] + self.held_out[fold + 1 :])

    def _cells(self, name: str | None, fold: int, codes: Integers) -> Cells:
        """Counts of one attribute over the training rows, distinct values of one code side by side."""
        counted = self.counts[name]
        counts = counted.sum(axis=0) - counted[fold]
        classes, values = np.nonzero(counts)
        return Cells(name, classes, codes[values], counts[classes, values])


def fold_numbers(rows: int, folds: int, seed: int) -> Integers:
    """Number the fold of each row, at random and nearly equal in size; shape (rows,)."""
    order = np.random.default_rng(seed).permutation(rows)
    fold = np.zeros(rows, dtype=np.int64)
    for number in range(folds):
        fold[order[number::folds]] = number
    return fold


def split(rows: CodedRows, domain: Domain, folds: int, seed: int) -> Folds:
    """Split rows at random into folds of nearly equal size.

    Args:
        rows: Rows that fit the domain.
        domain: The domain of the rows.
        folds: Number of folds, at least 2.
        seed: Seed of the random split, not negative.
    """
    fold = fold_numbers(rows.size, folds, seed)
    classes = len(domain.classes)
    group = fold * classes + rows.classes
    counts: dict[str | None, Integers] = {
        None: np.bincount(group, minlength=folds * classes).reshape(folds, classes, 1)
    }
    for name, column in rows.columns.items():
        width = len(column.values)
        cell = group * width + column.places
        counts[name] = np.bincount(cell, minlength=folds * classes * width).reshape(folds, classes, width)
    held_out = tuple(HeldOut.of(rows, np.flatnonzero(fold == number)) for number in range(folds))
    return Folds(rows, held_out, counts)


def models(folds: Sequence[Fold], plan: ReleasePlan, seed: int = 0) -> Iterator[Model]:
    """Release a model for each fold from the rows of all others, its noise drawn from a seed."""
    for number, fold in enumerate(folds):
        yield train(plan, fold.training, draw=ExactSampler(SeededBits(seed * len(folds) + number)))


def accuracies(folds: Sequence[Fold], plan: ReleasePlan, seed: int = 0) -> list[float]:
    """Compute the accuracy on each fold of a model released from the others, its noise drawn from a seed."""
    pairs = zip(folds, models(folds, plan, seed), strict=True)
    return [fold.held_out.correct(model) / fold.held_out.size for fold, model in pairs]
