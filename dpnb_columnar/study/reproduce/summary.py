"""What the evaluation found, in one table."""

from __future__ import annotations

import polars as pl

from dpnb_columnar.study.reproduce.cells import NO_DELTA

SHOWN = (0.1, 1.0)
"""Epsilons of the table."""


def summary(cells: pl.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Mean accuracies of the evaluation's pure mechanisms, per data set.

    Args:
        cells: Rows of the results.

    Returns:
        A header, and a line per data set: per mechanism, the means over iterations and folds at the epsilons ``SHOWN``
        (one where no epsilon is spent), parted by a slash; empty where there are none.
    """
    shown = cells.filter(
        (pl.col("study") == "evaluation")
        & (pl.col("delta") == NO_DELTA)
        & (pl.col("epsilon").is_null() | pl.col("epsilon").is_in(SHOWN))
    )
    means = shown.group_by("dataset", "mechanism", "epsilon").agg(pl.col("accuracy").mean())
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for dataset, mechanism, epsilon, accuracy in means.iter_rows():
        found.setdefault((dataset, mechanism), []).append((epsilon or 0.0, accuracy))
    datasets = list(dict.fromkeys(sorted(dataset for dataset, _ in found)))
    mechanisms = [name for name in _mechanisms() if any(name == mechanism for _, mechanism in found)]
    lines = []
    for dataset in datasets:
        accuracies = [sorted(found.get((dataset, mechanism), [])) for mechanism in mechanisms]
        lines.append([dataset, *(" / ".join(f"{accuracy:.3f}" for _, accuracy in each) for each in accuracies)])
    return ["data set", *mechanisms], lines


def _mechanisms() -> list[str]:
    from dpnb_columnar.mechanisms.release import MECHANISMS

    return list(MECHANISMS)
