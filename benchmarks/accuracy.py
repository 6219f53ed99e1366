"""Cross-validated accuracy of every mechanism on a prepared data set.

Usage: python -m benchmarks.accuracy adult.parquet [--epsilon 0.1,1] [--seeds 5]
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

from dpnb_columnar.budget import Budget, parse_epsilon
from dpnb_columnar.counting.find_domain import find_domain
from dpnb_columnar.mechanisms.plan import MECHANISMS, plan
from dpnb_columnar.study.cross_validation import accuracies, read_folds


def main() -> None:
    """Print one line per mechanism, one column per epsilon: mean over folds and seeds, deviation between seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--epsilon", default="0.05,0.1,0.3,1")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    epsilons = options.epsilon.split(",")
    domain = find_domain([options.data]).domain
    folds = [read_folds([options.data], domain, seed=seed) for seed in range(options.seeds)]
    print(f"{'':20}" + "".join(f"{'epsilon ' + epsilon:>18}" for epsilon in epsilons))
    for mechanism in MECHANISMS:
        cells = []
        for epsilon in epsilons:
            planned = plan(domain, Budget(parse_epsilon(epsilon)), mechanism)
            means = [statistics.fmean(accuracies(part, planned, seed)) for seed, part in enumerate(folds)]
            cells.append(f"{statistics.fmean(means):.4f} ± {statistics.pstdev(means):.4f}")
        print(f"{mechanism:20}" + "".join(f"{cell:>18}" for cell in cells))


if __name__ == "__main__":
    main()
