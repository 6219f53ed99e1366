"""The tables of docs/results.md, from the results of ``dpnb-columnar reproduce``.

Usage: python -m benchmarks.results results.parquet
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from dpnb_columnar.report.styles import BASELINES
from dpnb_columnar.study.averages import accuracies
from dpnb_columnar.study.results import read_results

EPSILONS = (0.03, 0.1, 0.3, 1.0, 3.0)
BOUNDS = (("adult", 3.0), ("adult", 1.0), ("acs2018", 1.0), ("washington", 1.0), ("washington", 0.1))


def main() -> None:
    """Print every table as Markdown, mean accuracy over iterations and folds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    results = read_results(parser.parse_args().results)
    evaluated, bounds, allocation = (accuracies(results.study(name)) for name in ("evaluation", "bounds", "allocation"))
    pure = evaluated.filter(pl.col("delta") == "0")
    for epsilon in EPSILONS:
        print(f"\nEpsilon {epsilon:g}\n")
        at = pure.filter((pl.col("epsilon") == epsilon) | pl.col("epsilon").is_null())
        grid(at, rows="dataset", columns="mechanism")
    print("\nWinners\n")
    grid(winners(pure), rows="dataset", columns="epsilon", cell="winner")
    print("\nWith a delta\n")
    approximate = evaluated.filter((pl.col("epsilon") == 1) & pl.col("mechanism").is_in(["smooth", "paper"]))
    grid(approximate.with_columns(method=method()), rows="dataset", columns="method")
    for dataset, epsilon in BOUNDS:
        print(f"\nBounds: {dataset}, epsilon {epsilon:g}\n")
        part = bounds.filter(pl.col("dataset") == dataset, (pl.col("epsilon") == epsilon) | pl.col("epsilon").is_null())
        grid(part, rows="mechanism", columns="bounds")
    for dataset in ("adult", "numeric-correlated", "categorical-correlated"):
        print(f"\nAllocation: {dataset}\n")
        part = allocation.filter(dataset=dataset, mechanism="smooth")
        grid(part, rows="weights", columns="epsilon")


def winners(pure: pl.DataFrame) -> pl.DataFrame:
    """Select the most accurate private mechanism per data set and epsilon, with its accuracy."""
    private = pure.filter(~pl.col("mechanism").is_in(BASELINES))
    best = private.sort("accuracy", descending=True).group_by("dataset", "epsilon", maintain_order=True).first()
    text = pl.format("{} {}", "mechanism", pl.col("accuracy").round(3))
    return best.sort("dataset", "epsilon").with_columns(winner=text)


def method() -> pl.Expr:
    """Join mechanism, noise and rule for delta into one text."""
    return pl.format("{} {} {}", "mechanism", "noise", "delta")


def grid(part: pl.DataFrame, rows: str, columns: str, cell: str = "accuracy") -> None:
    """Print a table with one line per value of ``rows``."""
    across = part[columns].unique(maintain_order=True).to_list()
    line(["", *map(str, across)])
    line(["---"] * (len(across) + 1))
    for name in part[rows].unique(maintain_order=True):
        by_column = dict(part.filter(pl.col(rows) == name).select(columns, cell).iter_rows())
        line([str(name), *(text(by_column.get(value)) for value in across)])


def text(value: float | str | None) -> str:
    """Format a cell."""
    return "" if value is None else value if isinstance(value, str) else f"{value:.3f}"


def line(cells: Sequence[str]) -> None:
    """Print a line of a Markdown table."""
    print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
