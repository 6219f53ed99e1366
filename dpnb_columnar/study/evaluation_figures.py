"""Figures of the study ``evaluation``: accuracy and errors of the released moments, each against epsilon."""

from __future__ import annotations

import polars as pl

from dpnb_columnar.report.figures import Axis, Figure, Panel, Point, Series, shared_limits
from dpnb_columnar.report.styles import NONE, style
from dpnb_columnar.study.averages import (
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
    quartiles,
    references,
)
from dpnb_columnar.study.plan import NO_DELTA

TELLING = 0.1
"""Epsilon that captions on accuracy state; the one nearest to it where it was not run."""

ACCURACY_NOTES = (
    "Mean over iterations of the mean over folds; bars are one standard deviation between iterations. "
    "none: naive Bayes without privacy. majority: always the largest class."
)

ERROR_NOTES = "Median over all iterations and folds; bars are the quartiles. Noise with heavy tails has no useful mean."

ERRORS = {
    "mean_error": (
        "Error of the released means",
        "standard deviations",
        "Root mean square over numeric attributes and classes of the error of a mean, in standard deviations of the "
        "attribute in the class.",
    ),
    "variance_error": (
        "Error of the released variances",
        "|log ratio|",
        "Median over numeric attributes and classes of the absolute logarithm of used over exact variance.",
    ),
}
"""Column, title, label of the vertical axis, and definition."""

ERROR_EPSILON = 1.0
"""Epsilon that captions on errors state; the one nearest to it where it was not run."""


def accuracy_figures(cells: pl.DataFrame) -> list[Figure]:
    """Draw up the paper's figures, accuracy against epsilon: one per data set, in the order of their names.

    Args:
        cells: Rows of the study ``evaluation``.
    """
    return [_accuracy_figure(averages) for averages in by_dataset(accuracies(cells))]


def _accuracy_figure(averages: pl.DataFrame) -> Figure:
    """The figure of one data set: pure mechanisms, then one panel per delta beside the pure ones it replaces."""
    dataset = averages["dataset"][0]
    deltas = sorted(set(private(averages)["delta"]) - {NO_DELTA})
    parts = [("ε-differential privacy", pure(averages))] if len(pure(averages)) else []
    for delta in deltas:
        mechanisms = private(averages).filter(pl.col("delta") == delta)["mechanism"].unique().to_list()
        beside = (pl.col("delta") == delta) | ((pl.col("delta") == NO_DELTA) & pl.col("mechanism").is_in(mechanisms))
        parts.append((f"(ε, δ), δ = {delta.replace('^2', '²')}", private(averages).filter(beside)))
    levels = references(averages)
    series = [lines(part, "epsilon", names(part)) for _, part in parts]
    y = accuracy_axis(shared_limits(series, [line.value for line in levels]))
    panels = tuple(
        Panel(title, epsilon_axis(averages["epsilon"]), y, drawn, levels)
        for (title, _), drawn in zip(parts, series, strict=True)
    )
    return Figure(dataset, f"{dataset}, accuracy", _accuracy_caption(averages), ACCURACY_NOTES, panels)


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
    """Name the pure variant of ``smooth``; None where it was not run."""
    own = pure(averages).filter(pl.col("mechanism") == "smooth")
    return ("smooth", own["noise"][0], NO_DELTA) if len(own) else None


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
        sentences.append(f"At ε = {epsilon:g} the best is {first['mechanism']}, {first['accuracy']:.3f}{beside}.")
    return " ".join(sentences)


def _nearest(epsilons: pl.Series, wanted: float) -> float:
    """The epsilon nearest to another in ratio; the first of several."""
    distances = (epsilons.log() - pl.Series([wanted]).log().item()).abs()
    return float(epsilons.gather(distances.arg_min() or 0).item())


def error_figures(cells: pl.DataFrame) -> list[Figure]:
    """Draw up the figures of both errors, where there are any: one each, with one panel per data set.

    Args:
        cells: Rows of the study ``evaluation``.
    """
    return [figure for error in ERRORS if (figure := _error_figure(error, pure(quartiles(cells, error)))) is not None]


def _error_figure(error: str, frame: pl.DataFrame) -> Figure | None:
    title, axis, definition = ERRORS[error]
    panels = []
    for dataset in frame["dataset"].unique().sort():
        own = frame.filter(pl.col("dataset") == dataset)
        series = tuple(
            Series(label, style(method[0], method[1]), points)
            for method, label in names(own).items()
            if (points := _error_points(of_method(own, method)))
        )
        if series:
            panels.append(Panel(dataset, epsilon_axis(own["epsilon"]), Axis(error, axis, logarithmic=True), series))
    if not panels:
        return None
    notes = f"{definition} {ERROR_NOTES}"
    return Figure(error.replace("_", "-"), title, _error_caption(frame), notes, tuple(panels))


def _error_points(own: pl.DataFrame) -> tuple[Point, ...]:
    """Medians with their quartiles; an error of zero has no place on a logarithmic scale."""
    return tuple(
        Point(
            row["epsilon"],
            row["median"],
            row["low"] if row["low"] > 0 else row["median"],
            row["high"],
            f"{row['median']:.3g} ({row['low']:.3g} to {row['high']:.3g})",
        )
        for row in own.sort("epsilon").iter_rows(named=True)
        if row["median"] > 0
    )


def _error_caption(frame: pl.DataFrame) -> str:
    """On how many data sets each mechanism is the most precise."""
    epsilon = min(frame["epsilon"].unique(), key=lambda value: abs(value - ERROR_EPSILON))
    leaders = (
        frame.filter(pl.col("epsilon") == epsilon)
        .sort("median", "mechanism")
        .group_by("dataset", maintain_order=True)
        .first()
        .group_by("mechanism")
        .len()
        .sort(["len", "mechanism"], descending=[True, False])
    )
    counts = [f"{mechanism} on {number}" for mechanism, number in leaders.iter_rows()]
    return f"Smallest error at ε = {epsilon:g}, by data sets: {listed(counts)}."
