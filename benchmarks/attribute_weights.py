"""Cross-validated accuracy and log loss by attribute weights (docs/choosing.md, "Correlated attributes").

Usage: python -m benchmarks.attribute_weights DATA.parquet... [--mechanisms histogram,smooth] [--epsilon 0.1,0.3,1]
[--weights none,tempered,calibrated] [--seeds 2] [--public SAMPLE.parquet]

With a public sample, in the same domain and of other rows, two lines more: releases by its weights and shares, and the
public model alone, which is the same at every epsilon. The third number is the 5 % quantile of the accuracy over folds
and seeds, each of which is another release.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.tuning import folds
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget, parse_epsilon
from dpnb_columnar.counting.find_domain import find_domain
from dpnb_columnar.errors import UsageError
from dpnb_columnar.public_sample import PublicFile, learn_public_weights, open_public_file, without_noise
from dpnb_columnar.releases.attribute_weights import PublicWeights
from dpnb_columnar.releases.plan import plan
from studies.paper.coded_rows import Fold, HeldOut, models


def main() -> None:
    """Print a table per file: a line per mechanism and weights, three numbers per epsilon."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--mechanisms", default="histogram,adaptive-histogram,smooth")
    parser.add_argument("--weights", default="none,tempered,calibrated")
    parser.add_argument("--epsilon", default="0.1,0.3,1")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--public", type=Path)
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
            if options.public is not None:
                public = open_public_file(options.public, find_domain([path]).domain, inputs=[path])
                print_public(parts, mechanism, public, epsilons)


def print_public(parts: Sequence[Sequence[Fold]], mechanism: str, public: PublicFile, epsilons: Sequence[str]) -> None:
    """Print the lines of a public sample: of releases by its weights, and of its own model."""
    weights = learn_public_weights(public, mechanism)
    cells = [line(parts, mechanism, weights, epsilon) for epsilon in epsilons]
    print(f"{mechanism:20}{'public':12}" + "".join(cells), flush=True)
    alone = without_noise(public.count(weights.counted(public.domain)), weights.released(public.domain), mechanism)
    model = replace(alone, attribute_weights=weights.attribute_weights)
    held_out = [(fold.held_out, model) for part in parts for fold in part]
    print(f"{mechanism:20}{'its own':12}" + summary(held_out) * len(epsilons), flush=True)


def line(parts: Sequence[Sequence[Fold]], mechanism: str, weights: str | PublicWeights, epsilon: str) -> str:
    """Average over splits and folds."""
    domain = parts[0][0].training.statistics.domain
    planned = plan(domain, Budget(parse_epsilon(epsilon)), mechanism, attribute_weights=weights)
    return summary(
        [
            (fold.held_out, model)
            for seed, part in enumerate(parts)
            for fold, model in zip(part, models(part, planned, seed), strict=True)
        ]
    )


def summary(scored: Sequence[tuple[HeldOut, Model]]) -> str:
    """Average accuracy and log loss, with the 5 % quantile of the accuracy."""
    accuracy = np.array([rows.correct(model) / rows.size for rows, model in scored])
    loss = np.array([rows.log_loss(model) for rows, model in scored])
    return f"{accuracy.mean():8.4f}{loss.mean():7.3f}{np.quantile(accuracy, 0.05):7.3f}"


if __name__ == "__main__":
    main()
