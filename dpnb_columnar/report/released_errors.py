"""Errors of the released means and variances against epsilon: one figure each, one panel per data set."""

from __future__ import annotations

import polars as pl

from dpnb_columnar.report.averages import quartiles
from dpnb_columnar.report.curves import epsilon_axis
from dpnb_columnar.report.figures import Axis, Figure, Panel, Point, Series
from dpnb_columnar.report.methods import listed, names, pure, rows_of
from dpnb_columnar.report.styles import style

NOTES = "Median over all iterations and folds; bars are the quartiles. Noise with heavy tails has no useful mean."

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
"""Column, title, what is on the vertical axis, and its definition."""

SPEAKING = 1.0
"""Epsilon that the captions speak of."""


def figures(cells: pl.DataFrame) -> list[Figure]:
    """The figures of both errors, where there are any.

    Args:
        cells: Rows of the study ``evaluation``.
    """
    return [figure for error in ERRORS if (figure := _figure(error, pure(quartiles(cells, error)))) is not None]


def _figure(error: str, frame: pl.DataFrame) -> Figure | None:
    title, axis, definition = ERRORS[error]
    panels = []
    for dataset in frame["dataset"].unique().sort():
        own = frame.filter(pl.col("dataset") == dataset)
        series = tuple(
            Series(label, style(method[0], method[1]), points)
            for method, label in names(own).items()
            if (points := _points(rows_of(own, method)))
        )
        if series:
            x = epsilon_axis(own["epsilon"])
            panels.append(Panel(dataset, x, Axis(error, axis, logarithmic=True), series))
    if not panels:
        return None
    return Figure(error.replace("_", "-"), title, _caption(frame), f"{definition} {NOTES}", tuple(panels))


def _points(rows: list[dict[str, float]]) -> tuple[Point, ...]:
    """Medians with their quartiles; an error of zero has no place on a logarithmic scale."""
    return tuple(
        Point(
            row["epsilon"],
            row["median"],
            row["low"] if row["low"] > 0 else row["median"],
            row["high"],
            f"{row['median']:.3g} ({row['low']:.3g} to {row['high']:.3g})",
        )
        for row in sorted(rows, key=lambda row: row["epsilon"])
        if row["median"] > 0
    )


def _caption(frame: pl.DataFrame) -> str:
    """On how many data sets each mechanism is the most precise."""
    epsilons = frame["epsilon"].unique()
    epsilon = min(epsilons, key=lambda value: abs(value - SPEAKING))
    leaders = (
        frame.filter(pl.col("epsilon") == epsilon)
        .sort("median", "mechanism")
        .group_by("dataset", maintain_order=True)
        .first()
        .group_by("mechanism")
        .len()
        .sort(["len", "mechanism"], descending=[True, False])
    )
    counted = [f"{mechanism} on {number}" for mechanism, number in leaders.iter_rows()]
    return f"Smallest error at ε = {epsilon:g}, by data sets: {listed(counted)}."
