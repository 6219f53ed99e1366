"""CONFIDENTIAL. Accuracy and moment errors of seeded releases: runs the cells of a unit, one release and score each."""

from __future__ import annotations

import math
import statistics as averages
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.domain import Domain
from dpnb_columnar.mechanisms.plan import plan
from dpnb_columnar.mechanisms.release import release
from dpnb_columnar.mechanisms.samples import on_scale
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.parameters import Normal
from dpnb_columnar.noise import ExactSampler, SeededBits
from dpnb_columnar.sensitivity import trimmed_mean, trimmed_variance
from dpnb_columnar.study.coded_rows import CodedRows, code_rows
from dpnb_columnar.study.cross_validation import Folds, split
from dpnb_columnar.study.data_sets import widened
from dpnb_columnar.study.plan import Unit, split_seed

Moments = tuple[float, float]
"""Mean and variance of one attribute within one class, on the attribute's scale."""

Row = dict[str, str | int | float | None]
"""One cell of the results by column name."""


@dataclass(frozen=True)
class Located:
    """A data set whose file exists.

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


@dataclass(frozen=True, slots=True)
class MomentErrors:
    """Errors of a model's normal distributions over numeric attributes and classes.

    Attributes:
        mean: Root of the mean square of (mean used - exact mean) / exact deviation; None without normal distributions.
        variance: Median of |log(variance used / exact variance)|; None likewise.
    """

    mean: float | None
    variance: float | None


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Training:
    """Training rows of one fold: their statistics and exact moments. Confidential."""

    statistics: Statistics
    moments: Mapping[str, tuple[Moments | None, ...]]


def run_unit(unit: Unit, data: Located) -> list[Row]:
    """Release and score every cell of a unit; one row of the results for each.

    Rows are read and split once per process, and kept for the next units.
    """
    folds = _split(data, unit.folds, unit.iteration)
    rows = []
    for epsilon, fold in unit.cells:
        training, held_out = _training(data, unit.folds, unit.iteration, unit.bounds, fold), folds.held_out[fold]
        draw = ExactSampler(SeededBits(unit.seed(epsilon, fold)))
        budget = unit.budget(epsilon, data.rows)
        start = time.perf_counter()
        planned = plan(training.statistics.domain, budget, unit.method.mechanism, unit.method.noise)
        model = release(training.statistics, planned, draw)
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


# Units come by data set, split and bounds, so consecutive units need the same rows, split and statistics.


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


def exact_moments(statistics: Statistics) -> Mapping[str, tuple[Moments | None, ...]]:
    """Compute the moments of training rows without noise.

    Args:
        statistics: Exact counts. Confidential.

    Returns:
        Per numeric attribute and class, mean and variance; None where a class has no rows, or one value only.
        Confidential.
    """
    exact = {}
    for attribute in statistics.domain.numeric:
        scale, moments = attribute.scale, list[Moments | None]()
        for column in statistics.columns[attribute.name]:
            scaled = on_scale(attribute, column)
            variance = trimmed_variance(scaled, 0) if scaled.size else 0
            if not variance:
                moments.append(None)
                continue
            mean = scale.origin + scale.step * float(trimmed_mean(scaled, 0))
            moments.append((mean, scale.step**2 * float(variance)))
        exact[attribute.name] = tuple(moments)
    return exact


def moment_errors(model: Model, exact: Mapping[str, tuple[Moments | None, ...]]) -> MomentErrors:
    """Compare the means and variances that a model uses with the exact ones of its training rows.

    Args:
        model: A model of the rows.
        exact: Their ``exact_moments``. Classes without spread are left out. Confidential.

    Returns:
        The errors. Confidential.
    """
    means, variances = [], []
    for parameters in model.attributes:
        if not isinstance(parameters, Normal):
            continue
        used = zip(parameters.mean, parameters.deviation, exact[parameters.attribute], strict=True)
        for mean, deviation, moments in used:
            if moments is None:
                continue
            true_mean, true_variance = moments
            means.append((mean - true_mean) ** 2 / true_variance)
            variances.append(abs(2 * math.log(deviation) - math.log(true_variance)))
    if not means:
        return MomentErrors(None, None)
    return MomentErrors(math.sqrt(averages.fmean(means)), averages.median(variances))
