"""Cross-validated accuracy and log loss by attribute weights (docs/choosing.md, "Correlated attributes").

Usage: python -m benchmarks.attribute_weights DATA.parquet... [--mechanisms histogram,smooth] [--epsilon 0.1,0.3,1]
[--weights none,tempered,calibrated] [--seeds 2]

The third number is the 5 % quantile of the accuracy over folds and seeds, each of which is another release.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.tuning import folds
from dpnb_columnar.budget import Budget, parse_epsilon
from dpnb_columnar.errors import UsageError
from dpnb_columnar.mechanisms.plan import plan
from dpnb_columnar.study.cross_validation import Fold, models


def main() -> None:
    """Print a table per file: a line per mechanism and weights, three numbers per epsilon."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--mechanisms", default="histogram,adaptive-histogram,smooth")
    parser.add_argument("--weights", default="none,tempered,calibrated")
    parser.add_argument("--epsilon", default="0.1,0.3,1")
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    epsilons = options.epsilon.split(",")
    for path in options.data:
        parts = folds(path, options.seeds, 1)
        print(f"{path.stem:32}" + "".join(f"{epsilon:>22}" for epsilon in epsilons))
        for mechanism in options.mechanisms.split(","):
            for weights in options.weights.split(","):
                try:
                    cells = [line(parts, mechanism, weights, epsilon) for epsilon in epsilons]
                except UsageError:
                    continue  # tempered is for histograms
                print(f"{mechanism:20}{weights:12}" + "".join(cells), flush=True)


def line(parts: Sequence[Sequence[Fold]], mechanism: str, weights: str, epsilon: str) -> str:
    """Average over splits and folds."""
    domain = parts[0][0].training.statistics.domain
    planned = plan(domain, Budget(parse_epsilon(epsilon)), mechanism, attribute_weights=weights)
    scored = [
        (fold.held_out.correct(model) / fold.held_out.size, fold.held_out.log_loss(model))
        for seed, part in enumerate(parts)
        for fold, model in zip(part, models(part, planned, seed), strict=True)
    ]
    accuracy, loss = np.array(scored).T
    return f"{accuracy.mean():8.4f}{loss.mean():7.3f}{np.quantile(accuracy, 0.05):7.3f}"


if __name__ == "__main__":
    main()
