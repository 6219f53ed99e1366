"""Figures of errors of the study ``evaluation``: of released means and variances, and how many attributes are lost."""

from __future__ import annotations

import polars as pl

from dpnb_columnar.mechanisms.attribute_weights import NONE as UNWEIGHTED
from dpnb_columnar.report.figures import Axis, Figure, Panel, Point, Series, style
from dpnb_columnar.study.averages import (
    SETTING,
    epsilon_axis,
    names,
    of_method,
    pure,
    quartiles,
    weighted,
)
from dpnb_columnar.study.evaluation_figures import led

ERROR_NOTES = "Median over all iterations and folds; bars are the quartiles. Noise with heavy tails has no useful mean."

ERRORS = {
    "mean_error": (
        "Error of the released means",
        "standard deviations",
        "Root mean square over numeric attributes and classes of the error of a mean that the model uses, in standard "
        "deviations of the attribute in the class. Attributes without a usable spread, which tell nothing, are left "
        "out; a figure of their own counts them.",
    ),
    "variance_error": (
        "Error of the released variances",
        "|log ratio|",
        "Median over numeric attributes and classes of the absolute logarithm of used over exact variance. Attributes "
        "without a usable spread are left out.",
    ),
}
"""Column, title, label of the vertical axis, and definition."""

ERROR_EPSILON = 1.0
"""Epsilon that captions on errors state; the one nearest to it where it was not run."""


FLATTENED_NOTES = (
    "A numeric attribute none of whose released variances is above that of rounding gets one wide distribution for all "
    "classes, so it tells nothing. Mean number of such attributes over all iterations and folds."
)

RELEASED_NOTES = (
    "Root mean square over classes of the error of a mean as it was released, in standard deviations of the attribute "
    f"in the class, whatever the model makes of it. {ERROR_NOTES}"
)


def error_figures(cells: pl.DataFrame) -> list[Figure]:
    """Draw up the figures of both errors, where there are any: one each, with one panel per data set.

    Args:
        cells: Rows of the study ``evaluation``.
    """
    plain = weighted(cells, UNWEIGHTED)
    figures = [_error_figure(error, pure(quartiles(plain, error))) for error in ERRORS]
    return [figure for figure in (*figures, _flattened_figure(pure(plain)), *_released_figures(pure(plain))) if figure]


def _flattened_figure(cells: pl.DataFrame) -> Figure | None:
    counted = cells.filter(pl.col("flattened").is_not_null())
    means = counted.group_by(SETTING).agg(pl.col("flattened").cast(pl.Float64).mean().alias("mean")).sort(SETTING)
    if not means["mean"].sum():
        return None
    panels = []
    for dataset in means["dataset"].unique().sort():
        own = means.filter(pl.col("dataset") == dataset)
        series = tuple(
            Series(label, style(method[0], method[1]), _mean_points(of_method(own, method)))
            for method, label in names(own).items()
        )
        panels.append(Panel(dataset, epsilon_axis(own["epsilon"]), Axis("flattened", "attributes"), series))
    title = "Numeric attributes without a usable spread"
    worst = means.sort("mean", descending=True).row(0, named=True)
    caption = (
        f"At most {worst['mean']:.1f} on average: {worst['mechanism']} on {worst['dataset']}, ε = {worst['epsilon']:g}."
    )
    return Figure("flattened", title, caption, FLATTENED_NOTES, tuple(panels))


def _mean_points(own: pl.DataFrame) -> tuple[Point, ...]:
    rows = own.sort("epsilon").select("epsilon", "mean").iter_rows()
    return tuple(Point(epsilon, mean, None, None, f"{mean:.2f}") for epsilon, mean in rows)


def _released_figures(cells: pl.DataFrame) -> list[Figure]:
    """Draw up one figure per data set, with one panel per numeric attribute."""
    long = (
        cells.filter(pl.col("released_means").list.len() > 0)
        .select(*SETTING, pl.col("released_means"))
        .explode("released_means")
        .unnest("released_means")
    )
    figures = []
    for dataset in long["dataset"].unique().sort():
        own = long.filter(pl.col("dataset") == dataset)
        panels = []
        for attribute in own["attribute"].unique(maintain_order=True).sort():
            frame = quartiles(own.filter(pl.col("attribute") == attribute), "error")
            series = tuple(
                Series(label, style(method[0], method[1]), points)
                for method, label in names(frame).items()
                if (points := _error_points(of_method(frame, method)))
            )
            if series:
                axis = Axis("error", "standard deviations", logarithmic=True)
                panels.append(Panel(attribute, epsilon_axis(frame["epsilon"]), axis, series))
        if panels:
            title = f"{dataset}, error of each released mean"
            figures.append(Figure(f"released-{dataset}", title, _released_caption(own), RELEASED_NOTES, tuple(panels)))
    return figures


def _released_caption(long: pl.DataFrame) -> str:
    """Say which attribute's mean ``smooth`` releases worst."""
    own = long.filter(pl.col("mechanism") == "smooth")
    if own.is_empty():
        return "Errors of single attributes differ: a wide declared range, or values far from normal, cost most."
    epsilon = min(own["epsilon"].unique(), key=lambda value: abs(value - ERROR_EPSILON))
    medians = own.filter(pl.col("epsilon") == epsilon).group_by("attribute").agg(pl.col("error").median())
    ordered = medians.sort("error", "attribute", descending=[True, False])
    (worst, most), (first, least) = ordered.row(0), ordered.row(-1)
    return f"smooth at ε = {epsilon:g}: from {least:.2g} deviations for {first} to {most:.2g} for {worst}."


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
    )
    return f"Smallest error at ε = {epsilon:g}, by data sets: {led(leaders)}."
