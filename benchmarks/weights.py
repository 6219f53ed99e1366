"""What a declared weight does for the population: the prior's error and calibration, by rows and by households.

Usage: python -m benchmarks.weights acs.parquet --dataset acs2018 --weight PWGTP --unit SERIALNO

The file has the columns of the data set, the weight, and the one that names the household. A fifth of the households is
held out, five times; a cell is a mean over these and over releases. The population's prior is the part of all weights,
of the whole file and not cut off, that is of the second class.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl

import dpnb_columnar as dpnb
from benchmarks.units import EPSILONS, FOLDS, folds_of, parser_of
from dpnb_columnar.domain import Domain, Weight

CAPS = (None, 100, 400, 1000)
"""The most that one row weighs; None for a domain without a weight."""

UNCUT = Fraction(2**20)
"""Cap of the weights that figures are computed by."""


def main() -> None:
    """Print the table as Markdown."""
    parser = parser_of(__doc__)
    parser.add_argument("--weight", default="PWGTP")
    options = parser.parse_args()
    rows = pl.read_parquet(options.data)
    domain = dpnb.read_domain(dataset=options.dataset)
    assert isinstance(domain, Domain)
    by_weight = replace(domain, weight=Weight(options.weight, UNCUT))
    population = dpnb.aggregate(rows, domain=by_weight)
    assert population.weight_sums is not None
    share = population.weight_sums[1] / population.weight_sums.sum()
    by_rows = population.class_counts[1] / population.class_counts.sum()
    print(f"population: {share:.4f}; rows: {by_rows:.4f}\n")
    folds = folds_of(rows[options.unit])
    settings = [*product((None, 1), CAPS)]
    figures: dict[tuple[tuple[int | None, int | None], str], list[tuple[float, ...]]] = {}
    for fold, setting in product(range(FOLDS), settings):
        most, cap = setting
        declared = domain if cap is None else replace(domain, weight=Weight(options.weight, Fraction(cap)))
        unit = {} if most is None else {"unit": options.unit, "unit_rows": most}
        statistics = dpnb.aggregate(rows.filter(folds != fold), domain=declared, **unit)
        for epsilon in EPSILONS * options.releases:
            model = dpnb.release(
                statistics,
                epsilon=epsilon,
                mechanism=options.mechanism,
                attribute_weights=options.attribute_weights,
            )
            scored = replace(model, domain=by_weight).evaluate(rows.filter(folds == fold)).weighted
            assert scored is not None
            bias = abs(scored.mean_probabilities[1] - scored.shares[1])
            found = abs(model.priors[1] - share), bias, scored.calibration_error, scored.log_loss, scored.accuracy
            figures.setdefault((setting, epsilon), []).append(found)
    header = ["guarantee for", "weight", "epsilon", "error of the prior", "error of the mean probability"]
    header += ["calibration error", "log loss", "accuracy"]
    print(f"| {' | '.join(header)} |\n|{' --- |' * len(header)}")
    for setting, epsilon in product(settings, EPSILONS):
        most, cap = setting
        name = "one row" if most is None else "one household, 1 of its rows"
        weight = "none" if cap is None else f"at most {cap}"
        cells = [f"{mean:.3f}" for mean in np.mean(figures[setting, epsilon], axis=0)]
        print(f"| {name} | {weight} | {epsilon} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
