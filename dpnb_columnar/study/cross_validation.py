"""Cross-validation with additive statistics: each fold is counted once, and training is a subtraction."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import polars as pl

from dpnb_columnar.aggregation.local import aggregate
from dpnb_columnar.aggregation.statistics import Statistics
from dpnb_columnar.boundary.release import release
from dpnb_columnar.budget import Budget
from dpnb_columnar.domain import Domain
from dpnb_columnar.model.predict import PREDICTED, score
from dpnb_columnar.noise import ExactSampler, SeededBits
from dpnb_columnar.rows.expressions import class_code, fits
from dpnb_columnar.rows.source import open_source

TRUE = "__true"


@dataclass(frozen=True, slots=True, repr=False)
class Fold:
    """One fold: the statistics of all other rows, and this fold's rows with their class code."""

    training: Statistics
    held_out: pl.DataFrame


def split(files: Sequence[Path], domain: Domain, folds: int = 10, seed: int = 0) -> list[Fold]:
    """Split the rows that fit the domain into folds at random.

    Args:
        files: Parquet files small enough to hold in memory.
        domain: Their domain.
        folds: Number of folds, at least 2.
        seed: Seed of the random split.
    """
    source = open_source(files, domain)
    columns = list(source.kinds)
    rows = pl.concat([pl.read_parquet(file, columns=columns) for file in source.files])
    rows = rows.filter(fits(domain, source.kinds)).with_columns(class_code(domain, source.kinds).alias(TRUE))
    order = np.random.default_rng(seed).permutation(len(rows))
    parts = [rows[order[number::folds]] for number in range(folds)]
    counted = [_count(part.drop(TRUE), domain) for part in parts]
    total = reduce(add, counted)
    return [Fold(total - own, part) for own, part in zip(counted, parts, strict=True)]


def accuracies(
    folds: Sequence[Fold], budget: Budget, mechanism: str, noise: str | None = None, seed: int = 0
) -> list[float]:
    """Accuracy on each fold of a model released from the others, the noise drawn from a seed."""
    found = []
    for number, fold in enumerate(folds):
        draw = ExactSampler(SeededBits(seed * len(folds) + number))
        model = release(fold.training, budget, mechanism, noise, draw)
        classes = pl.Series(model.domain.classes)
        truth = pl.lit(classes).gather(pl.col(TRUE))
        scored = score(model, fold.held_out.lazy(), keep=[TRUE]).select((pl.col(PREDICTED) == truth).mean())
        found.append(float(scored.collect().item()))
    return found


def _count(rows: pl.DataFrame, domain: Domain) -> Statistics:
    """Statistics of rows in memory, by the same engine as everywhere."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "fold.parquet"
        rows.write_parquet(file)
        return aggregate(open_source([file], domain), domain)
