"""The tables of docs/journal/accuracy.md, from the results of ``python -m studies.paper``.

Usage: python -m benchmarks.results results.parquet

An accuracy is the mean over iterations and folds; in parentheses is the 5 % quantile over releases, each scored on its
fold. Log losses are means in nats.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from studies.figures import BASELINES, MAJORITY
from studies.paper.averages import accuracies, weighted
from studies.paper.experiments import WEIGHTED
from studies.paper.results import Results, read_results

EPSILONS = (0.03, 0.1, 0.3, 1.0, 3.0)
BOUNDS = (("adult", 3.0), ("adult", 1.0), ("acs2018", 1.0), ("washington", 1.0), ("washington", 0.1))
ENOUGH = 3000
"""Rows times epsilon from which on attribute weights have to pay."""

KEY = ("dataset", "mechanism", "epsilon")
MEAN = pl.col("accuracy").round(3).cast(pl.String).str.pad_end(5, "0")
BOTH = pl.format("{} ({})", MEAN, pl.col("low").round(3).cast(pl.String).str.pad_end(5, "0"))
"""Mean and quantile as text."""


def main() -> None:
    """Print every table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    results = read_results(parser.parse_args().results)
    evaluated, bounds, allocation = (accuracies(results.study(name)) for name in ("evaluation", "bounds", "allocation"))
    pure = evaluated.filter(pl.col("delta") == "0")
    for epsilon in sorted(set(EPSILONS) & set(pure["epsilon"])):
        at = pure.filter((pl.col("epsilon") == epsilon) | pl.col("epsilon").is_null())
        for weights in WEIGHTED:
            print(f"\nEpsilon {epsilon:g}, attribute weights {weights}: accuracy\n")
            grid(weighted(at, weights).with_columns(text=BOTH), rows="dataset", columns="mechanism", cell="text")
            print(f"\nEpsilon {epsilon:g}, attribute weights {weights}: log loss\n")
            grid(weighted(at, weights), rows="dataset", columns="mechanism", cell="log_loss")
    for weights in WEIGHTED:
        print(f"\nWinners, attribute weights {weights}\n")
        grid(winners(weighted(pure, weights)), rows="dataset", columns="epsilon", cell="winner")
    for name in ("smooth", "histogram", "adaptive-histogram"):
        print(f"\nWhat auto chooses: {name}\n")
        chosen = pure.filter(pl.col("mechanism") == name, pl.col("attribute_weights") == "auto")
        grid(chosen, rows="dataset", columns="epsilon", cell="chosen")
    compared(pure, results)
    print("\nWith a delta\n")
    approximate = weighted(evaluated, "none").filter(
        (pl.col("epsilon") == 1) & pl.col("mechanism").is_in(["smooth", "paper"])
    )
    grid(approximate.with_columns(method=method()), rows="dataset", columns="method")
    for dataset, epsilon in BOUNDS:
        print(f"\nBounds: {dataset}, epsilon {epsilon:g}\n")
        part = bounds.filter(pl.col("dataset") == dataset, (pl.col("epsilon") == epsilon) | pl.col("epsilon").is_null())
        grid(part.with_columns(text=BOTH), rows="mechanism", columns="bounds", cell="text")
    for dataset in ("adult", "numeric-correlated", "categorical-correlated"):
        print(f"\nAllocation: {dataset}\n")
        part = allocation.filter(dataset=dataset, mechanism="smooth")
        grid(part, rows="weights", columns="epsilon")


def winners(pure: pl.DataFrame) -> pl.DataFrame:
    """Select the most accurate private mechanism per data set and epsilon, with its accuracy."""
    private = pure.filter(~pl.col("mechanism").is_in(BASELINES))
    best = private.sort("accuracy", descending=True).group_by("dataset", "epsilon", maintain_order=True).first()
    return best.sort("dataset", "epsilon").with_columns(winner=pl.format("{} {}", "mechanism", BOTH))


def compared(pure: pl.DataFrame, results: Results) -> None:
    """Print where auto is worse than no weights, or than the largest class, though rows and epsilon are enough."""
    rows = {name: int(results.metadata.get(f"rows.{name}", 0)) for name in pure["dataset"].unique()}
    sizes = pl.DataFrame({"dataset": list(rows), "rows": list(rows.values())})
    auto, none = (pure.filter(pl.col("attribute_weights") == weights) for weights in ("auto", "none"))
    largest = none.filter(pl.col("mechanism") == MAJORITY).select("dataset", "epsilon", majority="accuracy")
    both = auto.join(none.select(*KEY, without="accuracy", low_without="low"), on=KEY)
    both = both.join(largest, on=("dataset", "epsilon")).join(sizes, on="dataset")
    enough = both.filter(pl.col("rows") * pl.col("epsilon") >= ENOUGH)
    gain = (pl.col("accuracy") - pl.col("without")).alias("gain")
    print(f"\nAuto against none, {len(enough)} settings of rows x epsilon >= {ENOUGH:,}: mean gain by mechanism\n")
    by_mechanism = enough.group_by("mechanism").agg(
        gain.mean(), worst=gain.min(), low_gain=(pl.col("low") - pl.col("low_without")).mean()
    )
    line(["mechanism", "mean gain", "smallest gain", "mean gain of the 5 % quantile"])
    line(["---"] * 4)
    for mechanism, *numbers in by_mechanism.sort("mechanism").select("mechanism", "gain", "worst", "low_gain").rows():
        line([mechanism, *(f"{number:+.4f}" for number in numbers)])
    worse = enough.filter(
        (pl.col("accuracy") < pl.col("without") - 0.003) | (pl.col("accuracy") < pl.col("majority") - 0.002)
    )
    print("\nWhere auto is more than .003 below none, or more than .002 below the largest class\n")
    columns = (*KEY, "chosen", "accuracy", "without", "majority")
    line(columns)
    line(["---"] * len(columns))
    for row in worse.sort(KEY).select(columns).rows():
        line([str(value) if isinstance(value, str) else f"{value:g}" for value in row[:4]] + list(map(text, row[4:])))
    cells = results.study("evaluation").drop("rows").join(sizes, on="dataset")
    cells = cells.filter(pl.col("rows") * pl.col("epsilon") >= ENOUGH)
    fold = ("dataset", "epsilon", "iteration", "fold")
    largest = cells.filter(pl.col("mechanism") == MAJORITY).select(*fold, majority="accuracy")
    releases = cells.filter(pl.col("attribute_weights") == "auto").join(largest, on=fold)
    below = releases.filter(pl.col("accuracy") < pl.col("majority") - 0.002)
    print(
        f"\nOf {len(releases)} such releases, {len(below)} are more than .002 below the largest class, by mechanism\n"
    )
    line(["mechanism", "releases"])
    line(["---"] * 2)
    for mechanism, number in below.group_by("mechanism").len().sort("mechanism").rows():
        line([mechanism, str(number)])


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
    """Format a cell; without a bound on log-ratios a mean log loss may be of any size."""
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:.3f}" if value < 100 else f"{value:.0e}"


def line(cells: Sequence[str]) -> None:
    """Print a line of a Markdown table."""
    print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
