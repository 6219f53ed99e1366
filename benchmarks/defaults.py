"""What who types nothing gets: cross-validated figures of ``--mechanism auto`` with ``--attribute-weights auto``.

Usage: python -m benchmarks.defaults DATA.parquet... [--epsilon 0.1,0.3,1] [--seeds 2] [--mechanism auto]
[--weights auto] [--wider 1]

Per file and epsilon a line of docs/journal/accuracy.md ("Defaults, before and after"), of ten folds for each seed: what
``auto`` took, the number of rows that a model is trained on being declared; mean accuracy with its standard error and
5 % quantile (each fold is another release); the mean, and the worst, of its distance from always predicting the largest
class, and how many releases were more than .002 below that; log loss beside that of the released shares of the classes
alone, and in how many releases it was the larger one; calibration error.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.tuning import folds
from dpnb_columnar.advice.rehearsal import BELOW
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget, parse_epsilon
from dpnb_columnar.releases.attribute_weights import AUTO
from dpnb_columnar.releases.model_plan import ReleasePlan
from dpnb_columnar.releases.plan import plan
from studies.paper.coded_rows import Fold, HeldOut, models

HEADER = (
    "| data | epsilon | mechanism, weights | accuracy | 5 % | to the largest class (worst) | more than .002 below | "
    "log loss, that of the shares (larger) | calibration error |\n|---|---|---|---|---|---|---|---|---|"
)
TENTHS = 10


@dataclass(frozen=True, slots=True)
class Release:
    """Figures of one release on the rows of its fold.

    Attributes:
        accuracy: Part of the rows that are classified correctly.
        gain: Accuracy less that of the rows' largest class.
        log_loss: Mean of minus the logarithm of the true class's probability.
        base_rate: The same, of the released shares of the classes.
        calibration_error: As of an ``Evaluation``.
    """

    accuracy: float
    gain: float
    log_loss: float
    base_rate: float
    calibration_error: float


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--epsilon", default="0.1,0.3,1")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--mechanism", default=AUTO)
    parser.add_argument("--weights", default=AUTO)
    parser.add_argument("--wider", type=int, default=1, help="how many times as wide bounds are declared")
    options = parser.parse_args()
    print(HEADER)
    for path in options.data:
        parts = folds(path, options.seeds, options.wider)
        for epsilon in options.epsilon.split(","):
            planned = default_plan(parts[0][0], epsilon, options.mechanism, options.weights)
            found = [each for seed, part in enumerate(parts) for each in releases(part, planned, seed)]
            print(f"| {path.stem} | {epsilon} | {line(planned, found)} |", flush=True)


def default_plan(fold: Fold, epsilon: str, mechanism: str = AUTO, weights: str = AUTO) -> ReleasePlan:
    """Plan what is released from a fold, its number of rows declared."""
    statistics = fold.training.statistics
    rows = int(statistics.class_counts.sum())
    budget = Budget(parse_epsilon(epsilon))
    return plan(statistics.domain, budget, mechanism, attribute_weights=weights, rows=rows)


def releases(part: list[Fold], planned: ReleasePlan, seed: int) -> Iterator[Release]:
    """Release a model for each fold, and score it."""
    for fold, model in zip(part, models(part, planned, seed), strict=True):
        yield scored(fold.held_out, model)


def scored(rows: HeldOut, model: Model) -> Release:
    """Score a model on rows."""
    joint = rows.joint(model)
    logs = joint - np.logaddexp.reduce(joint, axis=0)
    predicted, correct = np.exp(logs.max(axis=0)), joint.argmax(axis=0) == rows.classes
    sizes = np.bincount(rows.classes, minlength=len(joint)) / rows.size
    shares = np.array(model.classes.probability)
    accuracy = float(correct.mean())
    return Release(
        accuracy,
        accuracy - float(sizes.max()),
        -float(np.take_along_axis(logs, rows.classes[None], axis=0).mean()),
        -float(sizes @ np.log(shares)),
        calibration_error(predicted, correct),
    )


def calibration_error(probability: NDArray[np.float64], correct: NDArray[np.bool_]) -> float:
    """Compute the mean distance, within tenths of the probability, of its mean from the part that is correct."""
    tenth = np.minimum((probability * TENTHS).astype(np.int64), TENTHS - 1)
    distance = np.bincount(tenth, weights=probability - correct, minlength=TENTHS)
    return float(np.abs(distance).sum() / len(probability))


def line(planned: ReleasePlan, found: list[Release]) -> str:
    """Write the figures of all releases."""
    accuracy, gain, loss, base, error = (
        np.array([getattr(each, name) for each in found])
        for name in ("accuracy", "gain", "log_loss", "base_rate", "calibration_error")
    )
    certain = accuracy.std(ddof=1) / np.sqrt(len(found))
    return " | ".join(
        (
            f"{planned.mechanism.name}, {planned.attribute_weights or 'none'}",
            f"{accuracy.mean():.4f} ± {certain:.4f}",
            f"{np.quantile(accuracy, 0.05):.4f}",
            f"{gain.mean():+.4f} ({gain.min():+.4f})",
            f"{np.count_nonzero(gain < -BELOW)} of {len(found)}",
            f"{loss.mean():.4f}, {base.mean():.4f} ({np.count_nonzero(loss > base)})",
            f"{error.mean():.4f}",
        )
    )


if __name__ == "__main__":
    main()
