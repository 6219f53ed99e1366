"""What is run: cells, each one release scored on one fold, and units, the cells that one process runs in a row."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass

from dpnb_columnar.budget import Budget, parse_delta, parse_epsilon, parse_weights

OWN = "own"
"""Weights: the mechanism's own division of the budget."""

NO_DELTA = "0"


@dataclass(frozen=True, slots=True)
class Method:
    """How a model is released.

    Attributes:
        mechanism: Name of the mechanism.
        noise: Noise family; None where the mechanism takes none.
        delta: Rule for delta, ``NO_DELTA`` or one that ``parse_delta`` knows.
        private: Whether it spends a budget at all; if not, it is run once per fold, whatever the epsilons.
    """

    mechanism: str
    noise: str | None = None
    delta: str = NO_DELTA
    private: bool = True


@dataclass(frozen=True, slots=True)
class Unit:
    """Cells of one method on one split of a data set.

    Attributes:
        study: The study it belongs to.
        dataset: Name of the data set.
        method: How models are released.
        weights: Division of the budget, ``OWN`` or text such as ``2:1:1``.
        bounds: How many times as wide as declared the numeric ranges are.
        iteration: Number of the random split, from 0.
        folds: Number of folds of the split.
        cells: Pairs of epsilon (as typed, None where nothing is spent) and fold.
    """

    study: str
    dataset: str
    method: Method
    weights: str
    bounds: int
    iteration: int
    folds: int
    cells: tuple[tuple[str | None, int], ...]

    def budget(self, epsilon: str | None, rows: int) -> Budget:
        """The budget of a cell.

        Args:
            epsilon: Epsilon as typed; None where nothing is spent.
            rows: Public number of rows of the data set.
        """
        weights = None if self.weights == OWN else parse_weights(self.weights)
        return Budget(parse_epsilon(epsilon or "1"), weights=weights, delta=parse_delta(self.method.delta, rows))

    def seed(self, epsilon: str | None, fold: int) -> int:
        """Seed of a cell's noise: a function of what the cell is, whatever runs before it."""
        method = self.method
        return _seed(
            "noise",
            self.study,
            self.dataset,
            method.mechanism,
            method.noise,
            method.delta,
            self.weights,
            self.bounds,
            epsilon,
            self.folds,
            self.iteration,
            fold,
        )


def split_seed(dataset: str, folds: int, iteration: int) -> int:
    """Seed of a random split: one for all methods and studies, so that they are compared on the same rows."""
    return _seed("split", dataset, folds, iteration)


def grid(folds: int, epsilons: tuple[str, ...], private: bool) -> Iterator[tuple[str | None, int]]:
    """Every pair of epsilon and fold; epsilon is None, once, for a method that spends nothing."""
    for epsilon in epsilons if private else (None,):
        for fold in range(folds):
            yield epsilon, fold


def _seed(*identity: str | int | None) -> int:
    return int.from_bytes(hashlib.sha256(json.dumps(identity).encode()).digest()[:16], "big")
