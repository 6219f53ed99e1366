"""Averages of cells by method and setting, and the series, axes and horizontal lines that figures draw of them.

A method is a mechanism, its noise family, its rule for delta, and how it weights attributes. A setting is what is
repeated over iterations and folds: a method on a data set, with an epsilon, a division of the budget, and a factor of
the bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from dpnb_columnar.mechanisms.attribute_weights import AUTO
from dpnb_columnar.mechanisms.attribute_weights import NONE as UNWEIGHTED
from dpnb_columnar.report.figures import BASELINES, Axis, Point, Reference, Series, legend_order, logarithmic, style
from dpnb_columnar.study.experiments import NO_DELTA

METHOD = ("mechanism", "noise", "delta", "attribute_weights")
"""Columns that name a method."""

SETTING = ("dataset", *METHOD, "epsilon", "weights", "bounds")
"""Columns that name a setting."""

WITHIN = 0.01
"""Accuracies closer than this count as the same in sentences."""

Method = tuple[str, str | None, str, str]
"""Mechanism, noise, delta and attribute weights."""

WORST = 0.05
"""A release is as bad as this quantile, or worse, once in twenty times: a mean does not show it."""


def accuracies(cells: pl.DataFrame) -> pl.DataFrame:
    """Average the accuracy of each setting, as the paper does, with the quantiles of single releases.

    Args:
        cells: Rows of one study.

    Returns:
        Columns ``SETTING``, ``accuracy`` and ``log_loss`` (mean over iterations of the mean over folds), ``low`` and
        ``high`` (quantiles of the accuracy over all releases, ``WORST`` from either end), ``releases`` and ``chosen``
        (the attribute weights of a release), sorted.
    """
    accuracy = pl.col("accuracy")
    iterations = cells.group_by(*SETTING, "iteration").agg(accuracy.mean(), pl.col("log_loss").mean())
    means = iterations.group_by(SETTING).agg(accuracy.mean(), pl.col("log_loss").mean())
    releases = cells.group_by(SETTING).agg(
        accuracy.quantile(WORST, "linear").alias("low"),
        accuracy.quantile(1 - WORST, "linear").alias("high"),
        pl.len().alias("releases"),
        pl.col("chosen").drop_nulls().sort().last(),
    )
    return means.join(releases, on=SETTING, nulls_equal=True).sort(SETTING)


def quartiles(cells: pl.DataFrame, error: str) -> pl.DataFrame:
    """Take the quartiles of an error per setting, over all iterations and folds: heavy-tailed noise has no useful mean.

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


def private(frame: pl.DataFrame) -> pl.DataFrame:
    """Select the rows of mechanisms that are no baselines and have an epsilon."""
    return frame.filter(~pl.col("mechanism").is_in(BASELINES), pl.col("epsilon").is_not_null())


def pure(frame: pl.DataFrame) -> pl.DataFrame:
    """Select the rows of private mechanisms without a delta."""
    return private(frame).filter(pl.col("delta") == NO_DELTA)


def weighted(frame: pl.DataFrame, attribute_weights: str) -> pl.DataFrame:
    """Select the rows with these attribute weights, and the baselines, which have none."""
    return frame.filter((pl.col("attribute_weights") == attribute_weights) | pl.col("mechanism").is_in(BASELINES))


def by_dataset(frame: pl.DataFrame) -> list[pl.DataFrame]:
    """Split averages by data set, in the order of their names, leaving out those without a private mechanism."""
    parts = [frame.filter(pl.col("dataset") == name) for name in frame["dataset"].unique().sort()]
    return [part for part in parts if len(private(part))]


def names(frame: pl.DataFrame) -> Mapping[Method, str]:
    """Label the methods of these rows, in the order of legends.

    The noise is named where a delta needs it, or where the mechanism has several; attribute weights are where there are
    several ways.
    """
    methods: list[Method] = [tuple(row) for row in frame.select(METHOD).unique().iter_rows()]
    methods.sort(
        key=lambda method: (
            legend_order(method[0]),
            method[2] != NO_DELTA,
            method[2],
            method[1] or "",
            method[3] == AUTO,
        )
    )
    noises = {(mechanism, noise) for mechanism, noise, delta, _ in methods if delta == NO_DELTA}
    alone = [mechanism for mechanism, _ in noises]
    several = len({weights for mechanism, _, _, weights in methods if mechanism not in BASELINES}) > 1
    labels = {}
    for mechanism, noise, delta, weights in methods:
        words = [mechanism]
        if noise and (delta != NO_DELTA or alone.count(mechanism) > 1):
            words.append(noise)
        if several and weights != UNWEIGHTED:
            words.append(weights)
        labels[mechanism, noise, delta, weights] = ", ".join(words)
    return labels


def of_method(frame: pl.DataFrame, method: Method) -> pl.DataFrame:
    """Select the rows of one method."""
    mechanism, noise, delta, weights = method
    return frame.filter(
        pl.col("mechanism") == mechanism,
        pl.col("noise").eq_missing(pl.lit(noise)),
        pl.col("delta") == delta,
        pl.col("attribute_weights") == weights,
    )


def level(averages: pl.DataFrame, baseline: str, measure: str = "accuracy") -> float | None:
    """Average the accuracy, or another measure, of a baseline over all its settings; None where it was not run."""
    mean = averages.filter(pl.col("mechanism") == baseline)[measure].mean()
    return None if mean is None else float(mean)  # type: ignore[arg-type]


def references(averages: pl.DataFrame, measure: str = "accuracy") -> tuple[Reference, ...]:
    """Make a horizontal line of each baseline that was run."""
    levels = ((name, level(averages, name, measure)) for name in BASELINES)
    return tuple(Reference(name, style(name), value, f"{value:.3f}") for name, value in levels if value is not None)


def lines(averages: pl.DataFrame, x: str, labels: Mapping[Method, str]) -> tuple[Series, ...]:
    """Make one series per method, accuracy against a column.

    Args:
        averages: Result of ``accuracies``, with one row per method and x.
        x: Column of the horizontal axis.
        labels: Methods and their labels.
    """
    return tuple(
        Series(label, style(method[0], method[1]), accuracy_points(of_method(averages, method), x))
        for method, label in labels.items()
    )


def accuracy_points(averages: pl.DataFrame, x: str) -> tuple[Point, ...]:
    """Make points of accuracy with bars between the quantiles of single releases, sorted by a column."""
    return tuple(_accuracy_point(row, x) for row in averages.sort(x).iter_rows(named=True))


def _accuracy_point(row: Mapping[str, Any], x: str) -> Point:
    accuracy, low, high = row["accuracy"], row["low"], row["high"]
    if row["releases"] == 1:
        return Point(float(row[x]), accuracy, None, None, f"{accuracy:.3f}")
    return Point(float(row[x]), accuracy, low, high, f"{accuracy:.3f} ({low:.3f})")


ACCURACY_BARS = (
    "Mean over iterations of the mean over folds; in parentheses the 5 % quantile over all releases, each scored on "
    "its fold. Bars reach from that quantile to the 95 % quantile."
)
"""How to read the points of ``accuracy_points``."""


def epsilon_axis(values: Iterable[float | None]) -> Axis:
    """Make the axis of the total epsilon, on a logarithmic scale."""
    return logarithmic("epsilon", "total ε", [value for value in values if value is not None])


def accuracy_axis(limits: tuple[float, float]) -> Axis:
    """Make an axis of accuracy between limits, cut to the range of an accuracy."""
    return Axis("accuracy", "accuracy", limits=(max(limits[0], -0.02), min(limits[1], 1.02)))


def listed(words: list[str]) -> str:
    """List words as a sentence does."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
