"""Cross-validated accuracy with one public choice changed at a time (docs/journal/choices.md).

Usage: python -m benchmarks.tuning CHOICE DATA.parquet... [--epsilon 0.05,0.1,0.3,1,3] [--seeds 2] [--bounds 1]

The choice ``mechanism`` compares all mechanisms as they are. Per epsilon there are three numbers: the mean accuracy,
the 5 % quantile of the accuracy over folds and seeds, each of which is another release, and the mean log loss.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from dpnb_columnar.core.budget import Budget, parse_epsilon, parse_shares
from dpnb_columnar.core.mechanisms import bins, histogram, smooth_noise, tuning
from dpnb_columnar.counting.find_domain import find_domain
from dpnb_columnar.domain import Domain
from dpnb_columnar.mechanisms import OWN
from dpnb_columnar.model import postprocessing, score_calibration
from dpnb_columnar.model.parameters import CALIBRATED, Normal
from dpnb_columnar.releases import attribute_weights
from dpnb_columnar.releases.attribute_weights import NONE
from dpnb_columnar.releases.plan import plan
from studies.paper.coded_rows import Fold, code_rows, models, split
from studies.paper.data_sets import complete_rows, widened

RELEASED_NORMAL = postprocessing.normal
RELEASED_PROBABILITIES: Callable[..., tuple[tuple[float, ...], ...]] = postprocessing.probabilities


@dataclass(frozen=True)
class Trial:
    """An alternative to a choice.

    Attributes:
        name: Plain text.
        changed: (module, name, value) of each replaced constant or function.
        shares: How the budget is divided; None for the mechanism's own rule.
    """

    name: str
    changed: Sequence[tuple[Any, str, Any]] = ()
    shares: str | None = None


def each(module: Any, name: str, *values: Any) -> list[Trial]:
    """Make one trial for each value of a constant."""
    return [Trial(f"{name} {value}", [(module, name, value)]) for value in values]


def projected(counts: Any, sizes: Sequence[int], prior: Fraction) -> tuple[tuple[float, ...], ...]:
    """Make tables consistent with the class counts: the nearest non-negative counts that add up to them."""
    rows = []
    for row, size in zip(counts, sizes, strict=True):
        falling, total = sorted(row, reverse=True), max(size, 1)
        # Projection onto the simplex: the level subtracted from the largest counts, as many as stay positive.
        levels = [(sum(falling[:positive]) - total) / positive for positive in range(1, len(row) + 1)]
        level = next(each for each, least in zip(levels[::-1], falling[::-1], strict=True) if least > each)
        rows.append([max(count - level, 0.0) for count in row])
    return RELEASED_PROBABILITIES(rows, sizes, prior)


def wide_fallback(attribute: Any, means: Any, variances: Any, *arguments: Any) -> Normal:
    """Release an attribute whose variance is invalid in one class as uninformative in all."""
    valid = all(variance > Fraction(1, 12) for variance in variances)
    return RELEASED_NORMAL(attribute, means, variances if valid else [Fraction(0)] * len(variances), *arguments)


UNCHANGED = Trial("as it is")
CALIBRATION = "calibration"
BOUND = "bound"
WEIGHTED = (CALIBRATION, BOUND)
"""Choices whose models have calibrated attribute weights."""
CHOICES: dict[str, tuple[Sequence[str], Sequence[Trial]]] = {
    "mechanism": ([*OWN], []),
    CALIBRATION: (
        ["histogram", "smooth"],
        [
            *each(score_calibration, "PART", Fraction(1, 20), Fraction(1, 5)),
            *each(score_calibration, "TELLING", 1.5, math.inf),
        ],
    ),
    BOUND: (["smooth", "global-variance"], each(attribute_weights, "LARGEST_LOG_RATIO", 1.5, 2.0, 6.0, math.inf)),
    "trim": (["smooth"], each(tuning, "AFFORDABLE_TRIM", 0.003, 0.01, 0.05)),
    "largest-trim": (["smooth"], each(tuning, "LARGEST_TRIM", 0.05, 0.25)),
    "beta": (["smooth"], each(tuning, "POLYPLACE_ALPHA", *(Fraction(n, 2) for n in (3, 4, 7, 10, 16)))),
    "pooled-rows": (["smooth", "global-variance"], each(tuning, "POOLED_ROWS", 0, 3, 10, 100)),
    "fallback": (["smooth", "global-variance"], [Trial("wide", [(postprocessing, "normal", wide_fallback)])]),
    "prior-count": (
        ["smooth", "histogram"],
        each(tuning, "PRIOR_COUNT", Fraction(0), Fraction(1, 4), Fraction(1), Fraction(2)),
    ),
    "consistency": (
        ["smooth", "histogram"],
        [Trial("projected onto the class counts", [(postprocessing, "probabilities", projected)])],
    ),
    "bins": (
        ["histogram"],
        [
            Trial(f"{number} bins", [(tuning, "FEWEST_BINS", number), (tuning, "MOST_BINS", number)])
            for number in (8, 16, 32, 64)
        ],
    ),
    "amounts": (["histogram"], [Trial("equal bins everywhere", [(bins, "AMOUNTS", 2**40)])]),
    "placing": (
        ["adaptive-histogram"],
        [
            *each(histogram, "PLACING", Fraction(1, 8), Fraction(1, 2)),
            *each(bins, "REACH", 1.5, 3.5),
            *each(bins, "GROWTH", 2),
        ],
    ),
    "shares": (
        ["smooth", "histogram", "adaptive-histogram"],
        [
            Trial(shares, shares=shares)
            for shares in ("equal", "1:1:1", "2:1:1", "2:1:1/2", "3:2:1/2", "3:1:1", "1:1:1/4")
        ],
    ),
}
"""Per choice, the mechanisms that it affects, and its alternatives."""


def main() -> None:
    """Print, per mechanism and trial, three numbers per data set and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("choice", choices=CHOICES)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--epsilon", default="0.05,0.1,0.3,1,3")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--bounds", type=int, default=1)
    options = parser.parse_args()
    epsilons = options.epsilon.split(",")
    mechanisms, trials = CHOICES[options.choice]
    weights = CALIBRATED if options.choice in WEIGHTED else NONE
    for path in options.data:
        parts = folds(path, options.seeds, options.bounds)
        print(f"{path.stem:46}" + "".join(f"{epsilon:>22}" for epsilon in epsilons))
        for mechanism in mechanisms:
            for trial in (UNCHANGED, *trials):
                values = [scores(parts, trial, mechanism, epsilon, weights) for epsilon in epsilons]
                texts = (f"{mean:8.4f}{low:7.3f}{loss:7.3f}" for mean, low, loss in values)
                print(f"{mechanism:20}{trial.name:26}" + "".join(texts), flush=True)


def folds(path: Path, seeds: int, factor: int) -> list[list[Fold]]:
    """Split the rows into ten folds at random, with bounds declared ``factor`` times as wide."""
    domain: Domain = complete_rows(find_domain([path]).domain)
    rows, declared = code_rows([path], domain), domain if factor == 1 else widened(domain, factor)
    return [split(rows, domain, 10, seed).under(declared) for seed in range(seeds)]


def scores(
    parts: Sequence[Sequence[Fold]], trial: Trial, mechanism: str, epsilon: str, weights: str = NONE
) -> tuple[float, float, float]:
    """Compute the mean accuracy over splits and folds, its 5 % quantile, and the mean log loss."""
    division = None if trial.shares is None else parse_shares(trial.shares)
    budget = Budget(parse_epsilon(epsilon), division=division)
    smooth_noise._calibrated.cache_clear()
    tuning.smoothness.cache_clear()
    with ExitStack() as changes:
        for module, name, value in trial.changed:
            changes.enter_context(patch.object(module, name, value))
        planned = plan(parts[0][0].training.statistics.domain, budget, mechanism, attribute_weights=weights)
        scored = [
            (score.correct / fold.held_out.size, score.log_loss)
            for seed, part in enumerate(parts)
            for fold, model in zip(part, models(part, planned, seed), strict=True)
            for score in [fold.held_out.score(model)]
        ]
    accuracy, loss = np.array(scored).T
    return float(accuracy.mean()), float(np.quantile(accuracy, 0.05)), float(loss.mean())


if __name__ == "__main__":
    main()
