"""Cells condensed to what a figure shows: accuracies and errors of one setting over folds and iterations."""

from __future__ import annotations

import polars as pl

METHOD = ("mechanism", "noise", "delta")
"""Columns that name how a release was made."""

SETTING = ("dataset", *METHOD, "epsilon", "weights", "bounds")
"""Columns that name what is repeated over iterations and folds."""


def accuracies(cells: pl.DataFrame) -> pl.DataFrame:
    """Accuracy per setting, as the paper counts it.

    Args:
        cells: Rows of one study.

    Returns:
        Columns ``SETTING``, ``accuracy`` (mean over iterations of the mean over folds), ``deviation`` (standard
        deviation between iterations, with n - 1; null for one iteration) and ``iterations``, sorted.
    """
    iterations = cells.group_by(*SETTING, "iteration").agg(pl.col("accuracy").mean())
    return (
        iterations.group_by(SETTING)
        .agg(
            pl.col("accuracy").mean(),
            pl.col("accuracy").std().alias("deviation"),
            pl.len().alias("iterations"),
        )
        .sort(SETTING)
    )


def quartiles(cells: pl.DataFrame, error: str) -> pl.DataFrame:
    """Quartiles of an error per setting, over all iterations and folds: heavy-tailed noise has no useful mean.

    Args:
        cells: Rows of one study.
        error: ``mean_error`` or ``variance_error``.

    Returns:
        Columns ``SETTING``, ``low``, ``median`` and ``high``, sorted; settings without the error are left out.
    """
    column = pl.col(error)
    return (
        cells.filter(column.is_not_null())
        .group_by(SETTING)
        .agg(
            column.quantile(0.25, "linear").alias("low"),
            column.median().alias("median"),
            column.quantile(0.75, "linear").alias("high"),
        )
        .sort(SETTING)
    )
