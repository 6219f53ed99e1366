"""Figures of the studies ``bounds``, ``allocation`` and ``runtime``.

Accuracy against the factor by which every numeric bound was widened; accuracy against epsilon for each division of the
budget between attributes; and seconds against rows.
"""

from __future__ import annotations

import math

import polars as pl

from dpnb_columnar.report.figures import (
    NONE,
    ORDERED,
    STYLES,
    Axis,
    Figure,
    Panel,
    Point,
    Series,
    Style,
    legend_order,
    logarithmic,
    shared_limits,
    style,
)
from dpnb_columnar.study.averages import (
    ACCURACY_BARS,
    accuracies,
    accuracy_axis,
    accuracy_points,
    by_dataset,
    epsilon_axis,
    lines,
    listed,
    names,
    of_method,
    private,
    pure,
    references,
)

ALLOCATION_NOTES = f"Allocations are numeric : categorical : class counts, per attribute. {ACCURACY_BARS}"

TIME_NOTES = "Median of the times measured; bars reach from the fastest to the slowest. Both scales are logarithmic."

STAGES = {"seconds": "From rows to the model", "release_seconds": "From counts to the model"}
"""Columns of the training times, and the stage that each one times."""

DIRECT = Style("ink", "x", (3, 2), 1.4)
"""Style of a method that is no mechanism: the paper's quadratic search."""


def bounds_figures(cells: pl.DataFrame) -> list[Figure]:
    """Draw up one figure per data set, with one panel per epsilon.

    Args:
        cells: Rows of the study ``bounds``.
    """
    return [_bounds_figure(averages) for averages in by_dataset(accuracies(cells))]


def _bounds_figure(averages: pl.DataFrame) -> Figure:
    dataset = averages["dataset"][0]
    epsilons = private(averages)["epsilon"].unique().sort().to_list()
    series = []
    for epsilon in epsilons:
        own = averages.filter((pl.col("epsilon") == epsilon) | (pl.col("mechanism") == NONE))
        series.append(lines(own, "bounds", names(own)))
    y = accuracy_axis(shared_limits(series))
    x = logarithmic("bounds", "bounds widened, times", [float(value) for value in averages["bounds"]])
    panels = tuple(Panel(f"ε = {epsilon:g}", x, y, drawn) for epsilon, drawn in zip(epsilons, series, strict=True))
    return Figure(f"bounds-{dataset}", f"{dataset}, bounds widened", _bounds_caption(averages), ACCURACY_BARS, panels)


def losses(averages: pl.DataFrame) -> tuple[float, float, dict[str, float]] | None:
    """Compute the accuracy that the widest bounds cost each pure mechanism, at the middle epsilon.

    Args:
        averages: Result of ``accuracies`` of one data set.

    Returns:
        Epsilon, widest factor, and the loss by mechanism, smallest first; None where nothing can be compared.
    """
    epsilons = pure(averages)["epsilon"].unique().sort()
    if not len(epsilons):
        return None
    epsilon, widest = epsilons[len(epsilons) // 2], averages["bounds"].max()
    own = pure(averages).filter(pl.col("epsilon") == epsilon)
    ends = [own.filter(pl.col("bounds") == factor).select("mechanism", "noise", "accuracy") for factor in (1, widest)]
    both = ends[0].join(ends[1], on=["mechanism", "noise"], nulls_equal=True)
    differences = both.select("mechanism", loss=pl.col("accuracy") - pl.col("accuracy_right"))
    by_mechanism = dict(differences.sort("loss", "mechanism").iter_rows())
    return (epsilon, float(widest), by_mechanism) if by_mechanism and widest != 1 else None  # type: ignore[arg-type]


def _bounds_caption(averages: pl.DataFrame) -> str:
    compared = losses(averages)
    if compared is None:
        return ""
    epsilon, widest, lost = compared
    parts = [f"{mechanism} {max(loss, 0):.3f}" for mechanism, loss in lost.items()]
    return f"At ε = {epsilon:g}, bounds {widest:,.0f} times too wide cost an accuracy of: {listed(parts)}."


def allocation_figures(cells: pl.DataFrame) -> list[Figure]:
    """Draw up one figure per data set, with one panel per method.

    Args:
        cells: Rows of the study ``allocation``.
    """
    averages = accuracies(cells)
    allocations = sorted(private(averages)["weights"].unique(), key=_proportion)
    return [_allocation_figure(own, allocations) for own in by_dataset(averages)]


def _allocation_figure(averages: pl.DataFrame, allocations: list[str]) -> Figure:
    dataset, own = averages["dataset"][0], private(averages)
    levels = references(averages)
    panels = [(label, _allocation_series(of_method(own, method), allocations)) for method, label in names(own).items()]
    x = epsilon_axis(own["epsilon"])
    y = accuracy_axis(shared_limits([series for _, series in panels], [line.value for line in levels]))
    drawn = tuple(Panel(label, x, y, series, levels) for label, series in panels)
    title = f"{dataset}, budget allocations"
    return Figure(f"allocation-{dataset}", title, _allocation_caption(panels), ALLOCATION_NOTES, drawn)


def _allocation_series(own: pl.DataFrame, allocations: list[str]) -> tuple[Series, ...]:
    """Make one series per allocation that was run."""
    return tuple(
        Series(weights, ORDERED[number % len(ORDERED)], points)
        for number, weights in enumerate(allocations)
        if (points := accuracy_points(own.filter(pl.col("weights") == weights), "epsilon"))
    )


def _allocation_caption(panels: list[tuple[str, tuple[Series, ...]]]) -> str:
    """Say where each method's allocations differ most."""
    sentences = []
    for label, series in panels:
        spreads = []
        for x in sorted({point.x for line in series for point in line.points}):
            at_x = [(point.y, line.label) for line in series for point in line.points if point.x == x]
            spreads.append((max(at_x)[0] - min(at_x)[0], -x, max(at_x)[1]))
        spread, x, first = max(spreads)
        sentences.append(f"{label}: allocations differ by at most {spread:.3f}, at ε = {-x:g}, best {first}.")
    return " ".join(sentences)


def _proportion(weights: str) -> tuple[float, str]:
    """Sort key of allocations: the share of a numeric attribute over that of a categorical one; other texts last."""
    try:
        numeric, categorical = (float(part) for part in weights.split(":")[:2])
        return numeric / categorical, weights
    except (ValueError, ZeroDivisionError):
        return float("inf"), weights


def time_figures(times: pl.DataFrame) -> list[Figure]:
    """Draw up the figure of training times, where there are any.

    Args:
        times: Columns ``rows``, ``method``, ``seconds``, and ``release_seconds`` where it was measured.
    """
    parts = [(title, _condensed(times, column)) for column, title in STAGES.items() if column in times.columns]
    drawn = [(title, _time_series(frame)) for title, frame in parts if len(frame)]
    if not drawn:
        return []
    x = Axis("rows", "rows", _decades(times["rows"].cast(pl.Float64).to_list()), logarithmic=True)
    y = Axis("seconds", "seconds", logarithmic=True)
    panels = tuple(Panel(title, x, y, series) for title, series in drawn)
    return [Figure("runtime", "Training time", _time_caption(*drawn[0]), TIME_NOTES, panels)]


def _condensed(times: pl.DataFrame, column: str) -> pl.DataFrame:
    """Median, fastest and slowest time per method and size, sorted."""
    seconds = pl.col(column).cast(pl.Float64)
    return (
        times.filter(seconds > 0, pl.col("rows") > 0)
        .group_by("method", pl.col("rows").cast(pl.Float64))
        .agg(seconds.median().alias("seconds"), seconds.min().alias("low"), seconds.max().alias("high"))
        .sort("method", "rows")
    )


def _time_series(condensed: pl.DataFrame) -> tuple[Series, ...]:
    """Make one series per method."""
    return tuple(
        Series(method, style(method) if method in STYLES else DIRECT, _time_points(condensed, method))
        for method in sorted(condensed["method"].unique(), key=legend_order)
    )


def _time_points(condensed: pl.DataFrame, method: str) -> tuple[Point, ...]:
    return tuple(
        Point(row["rows"], row["seconds"], row["low"], row["high"], f"{row['seconds']:.3g}")
        for row in condensed.filter(pl.col("method") == method).iter_rows(named=True)
    )


def _decades(places: list[float]) -> tuple[tuple[float, str], ...]:
    """Powers of ten around these places."""
    ends = math.floor(math.log10(min(places))), math.ceil(math.log10(max(places)))
    return tuple((10.0**power, f"{10**power:,}") for power in range(ends[0], ends[1] + 1))


def _time_caption(title: str, series: tuple[Series, ...]) -> str:
    """Say the time of the largest run, and the power of rows that time grows with at the large end."""
    parts = []
    for line in series:
        last = line.points[-1]
        growth = ""
        if earlier := [point for point in line.points[:-1] if last.x / point.x <= 10] or line.points[-2:-1]:
            first = earlier[0]
            growth = f", growing as rows to the power {math.log(last.y / first.y) / math.log(last.x / first.x):.1f}"
        parts.append(f"{line.label} takes {last.y:.2g} s for {last.x:,.0f} rows{growth}")
    return f"{title}: {listed(parts)}."
