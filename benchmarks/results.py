"""The tables of docs/results.md, from the results of ``dpnb-columnar reproduce``.

Usage: python -m benchmarks.results results.parquet
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import polars as pl

CEILING, FLOOR = "none", "majority"
EPSILONS = (0.03, 0.1, 0.3, 1.0, 3.0)
BOUNDS = (("adult", 3.0), ("adult", 1.0), ("acs2018", 1.0), ("washington", 1.0), ("washington", 0.1))


def main() -> None:
    """Print every table as Markdown, mean accuracy over iterations and folds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    found = averages(pl.read_parquet(parser.parse_args().results))
    evaluated = found.filter(pl.col("study") == "evaluation")
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
        part = found.filter(study="bounds", dataset=dataset).filter(
            (pl.col("epsilon") == epsilon) | pl.col("epsilon").is_null()
        )
        grid(part, rows="mechanism", columns="bounds")
    for dataset in ("adult", "numeric-correlated", "categorical-correlated"):
        print(f"\nAllocation: {dataset}\n")
        part = found.filter(study="allocation", dataset=dataset, mechanism="smooth")
        grid(part, rows="weights", columns="epsilon")


def averages(cells: pl.DataFrame) -> pl.DataFrame:
    """Per combination the mean over iterations of the mean over folds, and the deviation between iterations."""
    key = ["study", "dataset", "mechanism", "noise", "epsilon", "delta", "weights", "bounds"]
    folds = cells.group_by(*key, "iteration", maintain_order=True).agg(pl.col("accuracy").mean())
    return folds.group_by(*key, maintain_order=True).agg(
        pl.col("accuracy").mean(), pl.col("accuracy").std(ddof=0).alias("deviation")
    )


def winners(pure: pl.DataFrame) -> pl.DataFrame:
    """Per data set and epsilon the private mechanism that is ahead, and its accuracy."""
    private = pure.filter(~pl.col("mechanism").is_in([CEILING, FLOOR]))
    best = private.sort("accuracy", descending=True).group_by("dataset", "epsilon", maintain_order=True).first()
    text = pl.format("{} {}", "mechanism", pl.col("accuracy").round(3))
    return best.sort("dataset", "epsilon").with_columns(winner=text)


def method() -> pl.Expr:
    """Mechanism, noise and rule for delta in one text."""
    return pl.format("{} {} {}", "mechanism", "noise", "delta")


def grid(part: pl.DataFrame, rows: str, columns: str, cell: str = "accuracy") -> None:
    """Print a table with one line per value of ``rows``."""
    across = part[columns].unique(maintain_order=True).to_list()
    line(["", *map(str, across)])
    line(["---"] * (len(across) + 1))
    for name in part[rows].unique(maintain_order=True):
        held = dict(part.filter(pl.col(rows) == name).select(columns, cell).iter_rows())
        line([str(name), *(text(held.get(value)) for value in across)])


def text(value: float | str | None) -> str:
    """A cell."""
    return "" if value is None else value if isinstance(value, str) else f"{value:.3f}"


def line(cells: Sequence[str]) -> None:
    """A line of a Markdown table."""
    print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
