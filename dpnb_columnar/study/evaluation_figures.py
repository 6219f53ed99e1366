"""Figures of the study ``evaluation``: accuracy and log loss, each against epsilon."""

from __future__ import annotations

import polars as pl

from dpnb_columnar.mechanisms.attribute_weights import AUTO
from dpnb_columnar.mechanisms.attribute_weights import NONE as UNWEIGHTED
from dpnb_columnar.report.figures import NONE, Axis, Figure, Panel, Point, Series, shared_limits, style
from dpnb_columnar.study.averages import (
    ACCURACY_BARS,
    WITHIN,
    Method,
    accuracies,
    accuracy_axis,
    by_dataset,
    epsilon_axis,
    level,
    lines,
    listed,
    names,
    of_method,
    private,
    pure,
    references,
    weighted,
)
from dpnb_columnar.study.experiments import NO_DELTA, WEIGHTED

TELLING = 0.1
"""Epsilon that captions on accuracy state; the one nearest to it where it was not run."""

ACCURACY_NOTES = f"{ACCURACY_BARS} none: naive Bayes without privacy. majority: always the largest class."

LOSS_NOTES = (
    "Mean over iterations and folds of -log of the probability of a row's true class, in nats. none: naive Bayes "
    "without privacy. majority: always the largest class."
)


def accuracy_figures(cells: pl.DataFrame) -> list[Figure]:
    """Draw up the paper's figures, accuracy against epsilon: one per data set, in the order of their names.

    Args:
        cells: Rows of the study ``evaluation``.
    """
    return [_accuracy_figure(averages) for averages in by_dataset(accuracies(cells))]


def _accuracy_figure(averages: pl.DataFrame) -> Figure:
    """Make the figure of one data set: pure mechanisms, then one panel per delta beside the pure ones it replaces."""
    dataset = averages["dataset"][0]
    deltas = sorted(set(private(averages)["delta"]) - {NO_DELTA})
    parts = _by_weights(pure(averages))
    for delta in deltas:
        mechanisms = private(averages).filter(pl.col("delta") == delta)["mechanism"].unique().to_list()
        beside = (pl.col("delta") == delta) | ((pl.col("delta") == NO_DELTA) & pl.col("mechanism").is_in(mechanisms))
        plain = weighted(private(averages), UNWEIGHTED)
        parts.append((f"(ε, δ), δ = {delta.replace('^2', '²')}", plain.filter(beside)))
    levels = references(averages)
    series = [lines(part, "epsilon", names(part)) for _, part in parts]
    y = accuracy_axis(shared_limits(series, [line.value for line in levels]))
    panels = tuple(
        Panel(title, epsilon_axis(averages["epsilon"]), y, drawn, levels)
        for (title, _), drawn in zip(parts, series, strict=True)
    )
    return Figure(dataset, f"{dataset}, accuracy", _accuracy_caption(averages), ACCURACY_NOTES, panels)


def _by_weights(averages: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Return the rows of each way to weight attributes, with a title."""
    title = "ε-differential privacy"
    parts = [(title, weighted(averages, UNWEIGHTED)), (f"{title}, attribute weights {AUTO}", weighted(averages, AUTO))]
    return [(name, part) for name, part in parts if len(part)]


def loss_figures(cells: pl.DataFrame) -> list[Figure]:
    """Draw up the figures of log loss, where it was measured: one per way to weight attributes, one panel per data set.

    Args:
        cells: Rows of the study ``evaluation``.
    """
    measured = accuracies(cells.filter(pl.col("log_loss").is_not_null()))
    ways = [weights for weights in WEIGHTED if len(pure(measured).filter(pl.col("attribute_weights") == weights))]
    return [_loss_figure(weighted(measured, weights), weights) for weights in ways]


def _loss_figure(averages: pl.DataFrame, weights: str) -> Figure:
    panels = []
    for own in by_dataset(averages):
        levels = references(own, "log_loss")
        series = tuple(
            Series(label, style(method[0], method[1]), _loss_points(of_method(pure(own), method)))
            for method, label in names(pure(own)).items()
        )
        axis = Axis("log_loss", "log loss", logarithmic=True)
        panels.append(Panel(own["dataset"][0], epsilon_axis(own["epsilon"]), axis, series, levels))
    title = f"Log loss, attribute weights {weights}"
    return Figure(f"log-loss-{weights}", title, _loss_caption(pure(averages)), LOSS_NOTES, tuple(panels))


def _loss_points(own: pl.DataFrame) -> tuple[Point, ...]:
    rows = own.sort("epsilon").select("epsilon", "log_loss").iter_rows()
    return tuple(Point(epsilon, loss, None, None, f"{loss:.3f}") for epsilon, loss in rows)


def _loss_caption(frame: pl.DataFrame) -> str:
    """On how many data sets each mechanism has the smallest log loss."""
    epsilon = _nearest(frame["epsilon"].unique().sort(), TELLING)
    leaders = (
        frame.filter(pl.col("epsilon") == epsilon)
        .sort("log_loss", "mechanism")
        .group_by("dataset", maintain_order=True)
        .first()
    )
    return f"Smallest log loss at ε = {epsilon:g}, by data sets: {led(leaders)}."


def led(leaders: pl.DataFrame) -> str:
    """Say of how many data sets each mechanism is ahead.

    Args:
        leaders: One row per data set, with its ``mechanism``.
    """
    counts = leaders.group_by("mechanism").len().sort(["len", "mechanism"], descending=[True, False])
    return listed([f"{mechanism} on {number}" for mechanism, number in counts.iter_rows()])


def named(mechanism: object, attribute_weights: object) -> str:
    """Name a mechanism with its attribute weights, if it has any."""
    return str(mechanism) if attribute_weights == UNWEIGHTED else f"{mechanism} with weights {attribute_weights}"


def best(averages: pl.DataFrame, epsilon: float) -> dict[str, object] | None:
    """Select the row of the most accurate pure mechanism at an epsilon; None where none was run."""
    rows = pure(averages).filter(pl.col("epsilon") == epsilon)
    return max(rows.to_dicts(), key=lambda row: row["accuracy"], default=None)


def reached(averages: pl.DataFrame, method: Method, ceiling: float) -> float | None:
    """Find the epsilon from which on a method stays within ``WITHIN`` of an accuracy; None where it does not."""
    start: float | None = None
    for row in of_method(averages, method).sort("epsilon", descending=True).to_dicts():
        if row["accuracy"] < ceiling - WITHIN:
            break
        start = row["epsilon"]
    return start


def smooth_method(averages: pl.DataFrame) -> Method | None:
    """Name the pure variant of ``smooth`` without attribute weights; None where it was not run."""
    own = weighted(pure(averages), UNWEIGHTED).filter(pl.col("mechanism") == "smooth")
    return ("smooth", own["noise"][0], NO_DELTA, UNWEIGHTED) if len(own) else None


def _accuracy_caption(averages: pl.DataFrame) -> str:
    """From which epsilon on ``smooth`` comes close to no privacy, and which mechanism is best at a small epsilon."""
    sentences = []
    method, ceiling = smooth_method(averages), level(averages, NONE)
    if method is not None and ceiling is not None:
        start = reached(averages, method, ceiling)
        last = max(averages["epsilon"].drop_nulls())
        sentences.append(
            f"Up to ε = {last:g}, smooth stays more than {WITHIN:g} below the accuracy without privacy, {ceiling:.3f}."
            if start is None
            else f"From ε = {start:g} on, smooth is within {WITHIN:g} of the accuracy without privacy, {ceiling:.3f}."
        )
    epsilon = _nearest(averages["epsilon"].drop_nulls(), TELLING)
    first = best(averages, epsilon)
    if first is not None:
        own = pure(averages).filter(pl.col("epsilon") == epsilon, pl.col("mechanism") == "smooth")["accuracy"]
        beside = "" if first["mechanism"] == "smooth" or own.is_empty() else f"; smooth reaches {max(own):.3f}"
        name = named(first["mechanism"], first["attribute_weights"])
        sentences.append(f"At ε = {epsilon:g} the best is {name}, {first['accuracy']:.3f}{beside}.")
    return " ".join(sentences)


def _nearest(epsilons: pl.Series, wanted: float) -> float:
    """Return the epsilon nearest to another in ratio; the first of several."""
    distances = (epsilons.log() - pl.Series([wanted]).log().item()).abs()
    return float(epsilons.gather(distances.arg_min() or 0).item())
