"""CONFIDENTIAL. Accuracy and moment errors of seeded releases: runs the cells of a unit, one release and score each."""

from __future__ import annotations

import math
import statistics as averages
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from dpnb_columnar.core.budget import Budget
from dpnb_columnar.core.mechanisms.mechanism import on_scale
from dpnb_columnar.core.noise import ExactSampler, SeededBits
from dpnb_columnar.core.queries.statistics import Statistics
from dpnb_columnar.core.sensitivity import trimmed_mean, trimmed_variance
from dpnb_columnar.domain import Domain, Numeric
from dpnb_columnar.model.parameters import NaiveBayes, Normal
from dpnb_columnar.model.query_noise import in_unit
from dpnb_columnar.releases.attribute_weights import NONE
from dpnb_columnar.releases.model_plan import ReleasePlan
from dpnb_columnar.releases.plan import plan
from dpnb_columnar.training import carry_out
from studies.paper.coded_rows import CodedRows, Folds, TrainingRows, code_rows, split
from studies.paper.data_sets import widened
from studies.paper.experiments import Unit, split_seed

Moments = tuple[float, float]
"""Mean and variance of one attribute within one class, on the attribute's scale."""

Row = dict[str, str | int | float | Sequence[Mapping[str, str | float]] | None]
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
        mean: Root of the mean square of (mean used - exact mean) / exact deviation, flattened attributes left out; None
            without such distributions.
        variance: Median of |log(variance used / exact variance)|; flattened attributes left out likewise.
        flattened: Number of attributes that got one wide distribution for all classes, since their noise left no spread
            to tell them by; None without normal distributions.
        released: Per numeric attribute, the root of the mean square over classes of (mean released - exact mean) /
            exact deviation, whatever the model makes of it.
    """

    mean: float | None
    variance: float | None
    flattened: int | None
    released: Mapping[str, float]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Training:
    """Training rows of one fold, and their exact moments. Confidential."""

    rows: TrainingRows
    moments: Mapping[str, tuple[Moments | None, ...]]


def run_unit(unit: Unit, data: Located) -> list[Row]:
    """Release and score every cell of a unit; one row of the results for each.

    Rows are read and split once per process, and kept for the next units.
    """
    folds = _split(data, unit.folds, unit.iteration)
    rows = list[Row]()
    for epsilon, fold in unit.cells:
        training, held_out = _training(data, unit.folds, unit.iteration, unit.bounds, fold), folds.held_out[fold]
        draw = ExactSampler(SeededBits(unit.seed(epsilon, fold)))
        budget = unit.budget(epsilon, data.rows)
        start = time.perf_counter()
        model = carry_out(_planned(unit, budget, data), training.rows, draw=draw)
        seconds = time.perf_counter() - start
        errors, score = moment_errors(model, training.moments), held_out.score(model)
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
                "attribute_weights": unit.method.attribute_weights,
                "chosen": NONE if model.attribute_weights is None else model.attribute_weights.method,
                "bounds": unit.bounds,
                "iteration": unit.iteration,
                "fold": fold,
                "rows": held_out.size,
                "correct": score.correct,
                "accuracy": score.correct / held_out.size,
                "log_loss": score.log_loss,
                "mean_error": errors.mean,
                "variance_error": errors.variance,
                "flattened": errors.flattened,
                "released_means": [{"attribute": name, "error": error} for name, error in errors.released.items()],
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
    parts = _split(data, folds, iteration)
    rows = parts.training_rows(fold, _domain(data, bounds))
    return Training(rows, exact_moments(rows.statistics))


def _domain(data: Located, bounds: int) -> Domain:
    return data.domain if bounds == 1 else widened(data.domain, bounds)


def _planned(unit: Unit, budget: Budget, data: Located) -> ReleasePlan:
    method = unit.method
    return plan(_domain(data, unit.bounds), budget, method.mechanism, method.noise, method.attribute_weights, data.rows)


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


def moment_errors(model: NaiveBayes, exact: Mapping[str, tuple[Moments | None, ...]]) -> MomentErrors:
    """Compare the means and variances that a model uses, and its released means, with the exact ones.

    Args:
        exact: Their ``exact_moments``. Classes without spread are left out. Confidential.

    Returns:
        The errors. Confidential.
    """
    normals = [parameters for parameters in model.attributes if isinstance(parameters, Normal)]
    means, variances, released = [], [], {}
    for parameters in normals:
        known = [(place, *moments) for place, moments in enumerate(exact[parameters.attribute]) if moments is not None]
        if known:
            name, measured = parameters.attribute, model.measured["mean", parameters.attribute]
            means_drawn = [in_unit(model.domain, "mean", name, number) for number in measured.column]
            drawn = [(means_drawn[place] - mean) ** 2 / variance for place, mean, variance in known]
            released[name] = math.sqrt(averages.fmean(drawn))
        if is_flattened(model, parameters):
            continue
        for place, mean, variance in known:
            means.append((parameters.mean[place] - mean) ** 2 / variance)
            variances.append(abs(2 * math.log(parameters.deviation[place]) - math.log(variance)))
    return MomentErrors(
        math.sqrt(averages.fmean(means)) if means else None,
        averages.median(variances) if variances else None,
        sum(is_flattened(model, parameters) for parameters in normals) if normals else None,
        released,
    )


def is_flattened(model: NaiveBayes, parameters: Normal) -> bool:
    """Say whether an attribute got one distribution for all classes, as wide as its range."""
    attribute = model.domain[parameters.attribute]
    assert isinstance(attribute, Numeric)
    width = attribute.scale.end - attribute.scale.origin
    return len(set(parameters.mean)) == 1 and math.isclose(min(parameters.deviation), width)
