"""What a guarantee for whole households costs: accuracy by what counts, on rows of households that were held out.

Usage: python -m benchmarks.units acs.parquet --dataset acs2018 --unit SERIALNO

The file has the columns of the data set, and the one that names the household. A fifth of the households is held out,
five times; a cell is the mean accuracy over these and over releases, with its deviation, and the mean log loss.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

import dpnb_columnar as dpnb

FOLDS = 5
SEED = 20261122
EPSILONS = ("0.1", "1")
ROWS = (None, 1, 2, 5)
"""Rows of a household that count; None for a guarantee for one row."""


def main() -> None:
    """Print the table as Markdown."""
    options = parser_of(__doc__).parse_args()
    rows = pl.read_parquet(options.data)
    folds = folds_of(rows[options.unit])
    figures: dict[tuple[int | None, str], list[tuple[float, float]]] = {each: [] for each in product(ROWS, EPSILONS)}
    counted: dict[int | None, list[int]] = {most: [] for most in ROWS}
    for fold, most in product(range(FOLDS), ROWS):
        unit = {} if most is None else {"unit": options.unit, "unit_rows": most}
        statistics = dpnb.aggregate(rows.filter(folds != fold), dataset=options.dataset, **unit)
        counted[most].append(int(statistics.class_counts.sum()))
        for epsilon in EPSILONS * options.releases:
            model = dpnb.release(
                statistics,
                epsilon=epsilon,
                mechanism=options.mechanism,
                attribute_weights=options.attribute_weights,
            )
            scored = model.evaluate(rows.filter(folds == fold))
            figures[most, epsilon].append((scored.accuracy, scored.log_loss))
    print("| guarantee for | rows that count |" + "".join(f" epsilon {each} |" for each in EPSILONS))
    print("| --- | --- |" + " --- |" * len(EPSILONS))
    for most in ROWS:
        name = "one row" if most is None else f"one household, at most {most} of its rows"
        cells = []
        for epsilon in EPSILONS:
            accuracy, loss = np.array(figures[most, epsilon]).T
            cells.append(f"{accuracy.mean():.3f} ± {accuracy.std():.3f}, {loss.mean():.3f}")
        print(f"| {name} | {np.mean(counted[most]):,.0f} | {' | '.join(cells)} |")


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """Make the parser of what both tables of households are made from."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--dataset", default="acs2018")
    parser.add_argument("--unit", default="SERIALNO")
    parser.add_argument("--mechanism", default="histogram")
    parser.add_argument("--attribute-weights", default="tempered")
    parser.add_argument("--releases", type=int, default=4)
    return parser


def folds_of(households: pl.Series) -> pl.Series:
    """Return the fold of each row: that of its household."""
    names = households.unique().sort()
    chosen = np.random.default_rng(SEED).integers(0, FOLDS, len(names))
    return households.replace_strict(names, pl.Series(chosen), return_dtype=pl.Int64)


if __name__ == "__main__":
    main()
