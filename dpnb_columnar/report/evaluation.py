"""The paper's figures: accuracy against epsilon, one figure per data set."""

from __future__ import annotations

import polars as pl

from dpnb_columnar.report.averages import accuracies
from dpnb_columnar.report.curves import accuracy_axis, epsilon_axis, level, lines, references
from dpnb_columnar.report.figures import Figure, Panel, shared_limits
from dpnb_columnar.report.methods import PURE, WITHIN, Method, names, private, pure
from dpnb_columnar.report.styles import NONE

TELLING = 0.1
"""Epsilon that captions speak of; the one nearest to it where it was not run."""

NOTES = (
    "Mean over iterations of the mean over folds; bars are one standard deviation between iterations. "
    "none: naive Bayes without privacy. majority: always the largest class."
)


def figures(cells: pl.DataFrame) -> list[Figure]:
    """One figure per data set, in the order of their names.

    Args:
        cells: Rows of the study ``evaluation``.
    """
    averages = accuracies(cells)
    own = [averages.filter(pl.col("dataset") == name) for name in averages["dataset"].unique().sort()]
    return [_figure(frame) for frame in own if len(private(frame))]


def _figure(averages: pl.DataFrame) -> Figure:
    """The figure of one data set: pure mechanisms, then one panel per delta beside the pure ones it replaces."""
    dataset = averages["dataset"][0]
    deltas = sorted(set(private(averages)["delta"]) - {PURE})
    parts = [("ε-differential privacy", pure(averages))] if len(pure(averages)) else []
    for delta in deltas:
        mechanisms = private(averages).filter(pl.col("delta") == delta)["mechanism"].unique().to_list()
        beside = (pl.col("delta") == delta) | ((pl.col("delta") == PURE) & pl.col("mechanism").is_in(mechanisms))
        parts.append((f"(ε, δ), δ = {told_delta(delta)}", private(averages).filter(beside)))
    levels = references(averages)
    series = [lines(part, "epsilon", names(part)) for _, part in parts]
    y = accuracy_axis(shared_limits(series, [line.value for line in levels]))
    panels = tuple(
        Panel(title, epsilon_axis(averages["epsilon"]), y, drawn, levels)
        for (title, _), drawn in zip(parts, series, strict=True)
    )
    return Figure(dataset, f"{dataset}, accuracy", caption(averages), NOTES, panels)


def told_delta(delta: str) -> str:
    """A rule for delta in print."""
    return delta.replace("^2", "²")


def telling(averages: pl.DataFrame) -> float:
    """The epsilon that captions speak of."""
    found = averages["epsilon"].drop_nulls()
    return float(found.gather((found.log() - pl.Series([TELLING]).log().item()).abs().arg_min() or 0).item())


def best(averages: pl.DataFrame, epsilon: float) -> dict[str, object] | None:
    """The row of the most accurate pure mechanism at an epsilon; none where none was run."""
    found = pure(averages).filter(pl.col("epsilon") == epsilon)
    return max(found.to_dicts(), key=lambda row: row["accuracy"], default=None)


def reached(averages: pl.DataFrame, method: Method, ceiling: float) -> float | None:
    """The epsilon from which on a method stays within ``WITHIN`` of an accuracy; none where it does not."""
    mechanism, noise, delta = method
    found: float | None = None
    own = averages.filter(
        pl.col("mechanism") == mechanism, pl.col("noise").eq_missing(pl.lit(noise)), pl.col("delta") == delta
    )
    for row in own.sort("epsilon", descending=True).to_dicts():
        if row["accuracy"] < ceiling - WITHIN:
            break
        found = row["epsilon"]
    return found


def smooth_method(averages: pl.DataFrame) -> Method | None:
    """The pure variant of ``smooth``; none where it was not run."""
    own = pure(averages).filter(pl.col("mechanism") == "smooth")
    return ("smooth", own["noise"][0], PURE) if len(own) else None


def caption(averages: pl.DataFrame) -> str:
    """How far ``smooth`` gets, and who is best at a telling epsilon."""
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
    epsilon = telling(averages)
    first = best(averages, epsilon)
    if first is not None:
        own = pure(averages).filter(pl.col("epsilon") == epsilon, pl.col("mechanism") == "smooth")["accuracy"]
        beside = "" if first["mechanism"] == "smooth" or own.is_empty() else f"; smooth reaches {max(own):.3f}"
        sentences.append(f"At ε = {epsilon:g} the best is {first['mechanism']}, {first['accuracy']:.3f}{beside}.")
    return " ".join(sentences)
