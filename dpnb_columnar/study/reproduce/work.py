"""One process's work: the cells of a unit, on rows that it reads and splits once and keeps for the next units."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.domain import Domain
from dpnb_columnar.mechanisms.release import release
from dpnb_columnar.noise import ExactSampler, SeededBits
from dpnb_columnar.study.reproduce.cells import Unit, split_seed
from dpnb_columnar.study.reproduce.coding import CodedRows, code_rows
from dpnb_columnar.study.reproduce.folds import Folds, split
from dpnb_columnar.study.reproduce.moment_errors import Moments, exact_moments, moment_errors
from dpnb_columnar.study.reproduce.widening import widened

Row = dict[str, str | int | float | None]
"""One cell of the results by column name."""


@dataclass(frozen=True)
class Located:
    """A data set that is there.

    Attributes:
        name: Its name in the results.
        file: Parquet file.
        domain: The declared domain.
        rows: The publicly documented number of rows.
    """

    name: str
    file: Path
    domain: Domain
    rows: int


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Training:
    """Training rows of one fold, counted. Confidential."""

    statistics: Statistics
    moments: Mapping[str, tuple[Moments | None, ...]]


def run_unit(unit: Unit, data: Located) -> list[Row]:
    """Release and score every cell of a unit; one row of the results for each."""
    folds = _split(data, unit.folds, unit.iteration)
    rows = []
    for epsilon, fold in unit.cells:
        training, held_out = _training(data, unit.folds, unit.iteration, unit.bounds, fold), folds.held_out[fold]
        draw = ExactSampler(SeededBits(unit.seed(epsilon, fold)))
        budget = unit.budget(epsilon, data.rows)
        start = time.perf_counter()
        model = release(training.statistics, budget, unit.method.mechanism, unit.method.noise, draw)
        seconds = time.perf_counter() - start
        errors, correct = moment_errors(model, training.moments), held_out.correct(model)
        rows.append(
            {
                "study": unit.study,
                "dataset": unit.dataset,
                "mechanism": unit.method.mechanism,
                "noise": unit.method.noise,
                "epsilon": None if epsilon is None else float(epsilon),
                "delta": unit.method.delta,
                "delta_value": float(budget.delta),
                "weights": unit.weights,
                "bounds": unit.bounds,
                "iteration": unit.iteration,
                "fold": fold,
                "rows": held_out.size,
                "correct": correct,
                "accuracy": correct / held_out.size,
                "mean_error": errors.mean,
                "variance_error": errors.variance,
                "seconds": seconds,
            }
        )
    return rows


# Units come by data set, split and bounds, so what the last one needed is what the next one needs.


@lru_cache(maxsize=1)
def _rows(data: Located) -> CodedRows:
    return code_rows([data.file], data.domain)


@lru_cache(maxsize=1)
def _split(data: Located, folds: int, iteration: int) -> Folds:
    return split(_rows(data), data.domain, folds, split_seed(data.name, folds, iteration))


@lru_cache(maxsize=16)
def _training(data: Located, folds: int, iteration: int, bounds: int, fold: int) -> Training:
    domain = data.domain if bounds == 1 else widened(data.domain, bounds)
    statistics = _split(data, folds, iteration).training(fold, domain)
    return Training(statistics, exact_moments(statistics))
