"""The study of loose bounds: accuracy against the factor by which every numeric bound was widened."""

from __future__ import annotations

import polars as pl

from dpnb_columnar.report.averages import accuracies
from dpnb_columnar.report.curves import accuracy_axis, lines
from dpnb_columnar.report.figures import Figure, Panel, logarithmic, shared_limits
from dpnb_columnar.report.methods import listed, names, private, pure
from dpnb_columnar.report.styles import NONE

NOTES = "Mean over iterations of the mean over folds; bars are one standard deviation between iterations."


def figures(cells: pl.DataFrame) -> list[Figure]:
    """One figure per data set, one panel per epsilon.

    Args:
        cells: Rows of the study ``bounds``.
    """
    averages = accuracies(cells)
    own = [averages.filter(pl.col("dataset") == name) for name in averages["dataset"].unique().sort()]
    return [_figure(frame) for frame in own if len(private(frame))]


def _figure(averages: pl.DataFrame) -> Figure:
    dataset = averages["dataset"][0]
    epsilons = private(averages)["epsilon"].unique().sort().to_list()
    series = []
    for epsilon in epsilons:
        own = averages.filter((pl.col("epsilon") == epsilon) | (pl.col("mechanism") == NONE))
        series.append(lines(own, "bounds", names(own)))
    y = accuracy_axis(shared_limits(series))
    x = logarithmic("bounds", "bounds widened, times", [float(value) for value in averages["bounds"]])
    panels = tuple(Panel(f"ε = {epsilon:g}", x, y, drawn) for epsilon, drawn in zip(epsilons, series, strict=True))
    return Figure(f"bounds-{dataset}", f"{dataset}, bounds widened", _caption(averages), NOTES, panels)


def losses(averages: pl.DataFrame) -> tuple[float, float, dict[str, float]] | None:
    """Accuracy that the widest bounds cost each pure mechanism, at the middle epsilon.

    Args:
        averages: Result of ``accuracies`` of one data set.

    Returns:
        Epsilon, widest factor, and the loss by mechanism, smallest first; none where nothing can be compared.
    """
    epsilons = pure(averages)["epsilon"].unique().sort()
    if not len(epsilons):
        return None
    epsilon, widest = epsilons[len(epsilons) // 2], averages["bounds"].max()
    own = pure(averages).filter(pl.col("epsilon") == epsilon)
    ends = [own.filter(pl.col("bounds") == factor).select("mechanism", "noise", "accuracy") for factor in (1, widest)]
    both = ends[0].join(ends[1], on=["mechanism", "noise"], nulls_equal=True)
    lost = both.select("mechanism", loss=pl.col("accuracy") - pl.col("accuracy_right")).sort("loss", "mechanism")
    found = dict(lost.iter_rows())
    return (epsilon, float(widest), found) if found and widest != 1 else None  # type: ignore[arg-type]


def _caption(averages: pl.DataFrame) -> str:
    found = losses(averages)
    if found is None:
        return ""
    epsilon, widest, lost = found
    told = [f"{mechanism} {max(loss, 0):.3f}" for mechanism, loss in lost.items()]
    return f"At ε = {epsilon:g}, bounds {widest:,.0f} times too wide cost an accuracy of: {listed(told)}."
