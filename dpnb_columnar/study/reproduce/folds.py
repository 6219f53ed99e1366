"""CONFIDENTIAL. Cross-validation with additive statistics: each fold is counted once, and training is a subtraction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.counting.statistics import Cells, Statistics, assemble
from dpnb_columnar.domain import Domain
from dpnb_columnar.study.reproduce.coding import CodedRows
from dpnb_columnar.study.reproduce.scoring import HeldOut

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Folds:
    """Rows split at random into folds. Confidential.

    Attributes:
        rows: The rows.
        held_out: Per fold, the rows held out.
        counts: Per attribute, shape (folds, classes, distinct values); the classes alone stand under None, with one
            value. Whatever bounds a domain declares, its cells are sums of these.
    """

    rows: CodedRows
    held_out: tuple[HeldOut, ...]
    counts: dict[str | None, Integers]

    def training(self, fold: int, domain: Domain) -> Statistics:
        """Statistics of all rows but those of one fold.

        Args:
            fold: The fold that is held out, from 0.
            domain: The domain of the rows; other bounds and steps are welcome.
        """
        cells = [self._cells(None, fold, np.zeros(1, dtype=np.int64))]
        cells += [self._cells(each.name, fold, self.rows.codes(each)) for each in domain.attributes]
        return assemble(domain, cells)

    def _cells(self, name: str | None, fold: int, codes: Integers) -> Cells:
        """Counts of one attribute over the training rows, distinct values of one code side by side."""
        counted = self.counts[name]
        counts = counted.sum(axis=0) - counted[fold]
        classes, values = np.nonzero(counts)
        return Cells(name, classes, codes[values], counts[classes, values])


def split(rows: CodedRows, domain: Domain, folds: int, seed: int) -> Folds:
    """Split rows into folds of nearly equal size.

    Args:
        rows: Rows that fit the domain.
        domain: The domain of the rows.
        folds: Number of folds, at least 2.
        seed: Seed of the random split, not negative.
    """
    order = np.random.default_rng(seed).permutation(rows.size)
    fold = np.zeros(rows.size, dtype=np.int64)
    for number in range(folds):
        fold[order[number::folds]] = number
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
