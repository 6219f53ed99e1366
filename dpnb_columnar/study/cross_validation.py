"""Cross-validation of releases: each fold is counted once, and its rows are prepared once for all models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dpnb_columnar.budget import Budget
from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.domain import Domain
from dpnb_columnar.mechanisms.release import release
from dpnb_columnar.noise import ExactSampler, SeededBits
from dpnb_columnar.study.reproduce import folds as splitting
from dpnb_columnar.study.reproduce.coding import code_rows
from dpnb_columnar.study.reproduce.scoring import HeldOut


@dataclass(frozen=True, slots=True, repr=False)
class Fold:
    """One fold: the statistics of all other rows, and this fold's rows. Confidential."""

    training: Statistics
    held_out: HeldOut


def split(files: Sequence[Path], domain: Domain, folds: int = 10, seed: int = 0) -> list[Fold]:
    """Split the rows that fit the domain into folds at random.

    Args:
        files: Parquet files whose columns, coded, fit in memory.
        domain: Their domain.
        folds: Number of folds, at least 2.
        seed: Seed of the random split.
    """
    found = splitting.split(code_rows(files, domain), domain, folds, seed)
    return [Fold(found.training(number, domain), held_out) for number, held_out in enumerate(found.held_out)]


def accuracies(
    folds: Sequence[Fold], budget: Budget, mechanism: str, noise: str | None = None, seed: int = 0
) -> list[float]:
    """Accuracy on each fold of a model released from the others, the noise drawn from a seed."""
    found = []
    for number, fold in enumerate(folds):
        draw = ExactSampler(SeededBits(seed * len(folds) + number))
        model = release(fold.training, budget, mechanism, noise, draw)
        found.append(fold.held_out.correct(model) / fold.held_out.size)
    return found
